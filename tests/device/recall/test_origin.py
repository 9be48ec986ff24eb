"""The provenance line under an answer."""

from __future__ import annotations

import pytest

from device.memory.records import Hit, Layer
from device.recall import origin_line

DAY = 86_400.0


def hit(at: float, speaker: str = "user", source: str = "") -> Hit:
    return Hit("raw:1", Layer.RAW, "text", at, 1.0, ("raw:1",), source, speaker)


@pytest.mark.parametrize(
    ("ago", "english", "chinese"),
    [
        (3 * DAY + 5.0, "from what you said 3 days ago", "根据你3天前说的"),
        (DAY, "from what you said 1 day ago", "根据你1天前说的"),
        (7_200.0, "from what you said 2 hours ago", "根据你2小时前说的"),
        (60.0, "from what you said 1 minute ago", "根据你1分钟前说的"),
        (5.0, "from what you said just now", "根据你刚才说的"),
    ],
)
def test_provenance_line_says_who_and_how_long_ago(ago: float, english: str, chinese: str) -> None:
    assert origin_line(hit(0.0), ago) == english
    assert origin_line(hit(0.0), ago, "zh") == chinese


def test_provenance_line_names_another_speaker_and_the_source() -> None:
    line = origin_line(hit(0.0, "Melanie", "whatsapp.txt:12"), 2 * DAY)
    assert line == "from what Melanie said 2 days ago (whatsapp.txt:12)"
    assert origin_line(hit(0.0, "小李"), 2 * DAY, "zh") == "根据小李2天前说的"
