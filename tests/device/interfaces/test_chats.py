from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from device.interfaces.chats import ChatUnreadable, read_chat
from device.interfaces.whatsapp import read_whatsapp


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def at(*parts: int) -> float:
    return datetime(*parts, tzinfo=UTC).timestamp()  # type: ignore[arg-type, misc]


def test_our_jsonl(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "chat.jsonl",
        '\ufeff{"at": "2026-03-02T08:15:00+08:00", "speaker": "user", "text": "早", '
        '"session": "s1"}\n\n'
        '{"at": "2026-03-02T00:20:00", "speaker": "agent", "text": "hi", "extra": 1}\n',
    )
    first, second = read_chat(path)
    assert (first.at, first.speaker, first.text) == (at(2026, 3, 2, 0, 15), "user", "早")
    assert (first.session, first.source) == ("s1", "chat.jsonl#1")
    assert (second.at, second.source) == (at(2026, 3, 2, 0, 20), "chat.jsonl#3")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{oops", "not one JSON object"),
        ("[1]", "not one JSON object"),
        ('{"at": "2026-01-01", "text": "x"}', '"speaker" is missing'),
        ('{"at": "yesterday", "speaker": "u", "text": "x"}', "ISO-8601"),
        ('{"at": "1800-01-01", "speaker": "u", "text": "x"}', "between 1970"),
        ('{"at": "2026-01-01", "speaker": "u", "text": 5}', '"text" is missing'),
    ],
)
def test_a_damaged_line_is_named(tmp_path: Path, line: str, reason: str) -> None:
    good = '{"at": "2026-01-01", "speaker": "u", "text": "x"}'
    path = write(tmp_path, "chat.jsonl", f"{good}\n{line}\n")
    with pytest.raises(ChatUnreadable, match=reason) as caught:
        list(read_chat(path))
    assert caught.value.line == 2
    assert "\n" not in str(caught.value)


ANDROID_24 = """\
26/03/2026, 21:05 - Messages and calls are end-to-end encrypted. Tap to learn more.
26/03/2026, 21:05 - Ana: hello
second line: with a colon
26/03/2026, 21:06 - Ana: <Media omitted>
26/03/2026, 21:07 - Bob Smith: see you 3/4?
"""
ANDROID_12 = """\
3/9/26, 9:05\u202fPM - Ana: hello
3/26/26, 12:10 AM - Bob: late
"""
IOS = """\
\u200e[26.03.26, 21:05:11] Ana: \u200eMessages and calls are end-to-end encrypted.
[26.03.26, 21:05:12] Ana: hello
[26.03.26, 21:05:13] Ana: \u200eimage omitted
"""
IOS_ZH = """\
[2026/3/26 下午9:05:11] 小林: 你好
[2026/3/26 上午12:05:11] 小林: 晚安
"""


def test_whatsapp_android_24h(tmp_path: Path) -> None:
    first, second = read_chat(write(tmp_path, "wa.txt", ANDROID_24))
    assert (first.at, first.speaker) == (at(2026, 3, 26, 21, 5), "Ana")
    assert first.text == "hello\nsecond line: with a colon"
    assert first.source == "wa.txt#2"
    assert (second.speaker, second.text) == ("Bob Smith", "see you 3/4?")


def test_whatsapp_android_12h_month_first(tmp_path: Path) -> None:
    first, second = read_chat(write(tmp_path, "wa.txt", ANDROID_12))
    assert first.at == at(2026, 3, 9, 21, 5)
    assert second.at == at(2026, 3, 26, 0, 10)


def test_whatsapp_ios(tmp_path: Path) -> None:
    turns = list(read_chat(write(tmp_path, "_chat.txt", IOS)))
    assert [t.text for t in turns][-1] == "hello"
    assert turns[-1].at == at(2026, 3, 26, 21, 5, 12)
    assert all("omitted" not in t.text for t in turns)


def test_whatsapp_ios_chinese(tmp_path: Path) -> None:
    evening, midnight = read_chat(write(tmp_path, "_chat.txt", IOS_ZH))
    assert evening.at == at(2026, 3, 26, 21, 5, 11)
    assert midnight.at == at(2026, 3, 26, 0, 5, 11)


def test_ambiguous_dates_are_read_so_that_time_runs_forward(tmp_path: Path) -> None:
    text = "2/12/26, 10:00 - A: x\n3/1/26, 10:00 - A: y\n"
    first, second = read_chat(write(tmp_path, "wa.txt", text))
    assert (first.at, second.at) == (at(2026, 2, 12, 10), at(2026, 3, 1, 10))


def test_telegram(tmp_path: Path) -> None:
    chat = {
        "name": "Ana", "type": "personal_chat", "id": 42,
        "messages": [
            {"id": 1, "type": "service", "date": "2026-03-26T21:00:00", "action": "x", "text": ""},
            {"id": 2, "type": "message", "date": "2026-03-26T21:05:00", "from": "Ana",
             "text": ["look ", {"type": "link", "text": "https://e.org"}, "!"]},
            {"id": 3, "type": "message", "date": "2026-03-26T21:05:00",
             "date_unixtime": "1774559100", "from": "Bob", "text": "ok"},
            {"id": 4, "type": "message", "date": "2026-03-26T21:06:00", "from": "Bob", "text": ""},
        ],
    }  # fmt: skip
    for document in (chat, {"chats": {"list": [chat]}}):
        path = write(tmp_path, "result.json", json.dumps(document, indent=1))
        first, second = read_chat(path)
        assert (first.text, first.speaker) == ("look https://e.org!", "Ana")
        assert (first.session, first.source) == ("Ana", "result.json#42/2")
        assert second.at == 1774559100.0
    compact = write(tmp_path, "result.json", json.dumps(chat))
    assert len(list(read_chat(compact))) == 2


@pytest.mark.parametrize(
    "text", ["", "   \n", "just some prose\nmore prose", '{"a": 1}', '{\n"messages": [', "{\n}"]
)
def test_other_files_are_refused_in_one_line(tmp_path: Path, text: str) -> None:
    with pytest.raises(ChatUnreadable) as caught:
        list(read_chat(write(tmp_path, "x.txt", text)))
    assert "\n" not in str(caught.value)


def test_binary_and_missing_files_are_refused(tmp_path: Path) -> None:
    binary = tmp_path / "x.bin"
    binary.write_bytes(b"\xff\xfe\x00\x01")
    with pytest.raises(ChatUnreadable, match="UTF-8"):
        list(read_chat(binary))
    with pytest.raises(ChatUnreadable, match="cannot open"):
        list(read_chat(tmp_path / "missing"))


@given(st.lists(st.text(alphabet="0123456789/,:-[] APM上午Ana\u200e", max_size=40), max_size=8))
def test_any_text_is_read_or_skipped(lines: list[str]) -> None:
    for turn in read_whatsapp(enumerate(lines, start=1), "x", UTC):
        assert turn.speaker
        assert turn.text
