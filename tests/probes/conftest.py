"""A small suite written into a folder, for tests of the engine itself."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from device.probing import Suite, load_suite

WriteSuite = Callable[[str], Suite]

TINY = """
path = "raw"

[[dialogue]]
id = "en-shed"
starts = 2026-03-02 19:00:00
steps = ["The ladder is behind the shed", { dream = true }]
probes = [
  { id = "ladder", kind = "raw", ask = "where is the ladder?", finds = [1], within = 1 },
  { id = "wrong", kind = "raw", ask = "where is the ladder?", says = ["in the attic"] },
]

[[dialogue]]
id = "zh-shed"
starts = 2026-03-02 19:00:00
steps = ["梯子在棚子后面"]
probes = [{ id = "ladder", kind = "raw", ask = "梯子在哪", finds = [1], within = 1 }]
"""


@pytest.fixture
def write_suite(tmp_path: Path) -> WriteSuite:
    """Reads the text of one file of probes."""

    def write(text: str) -> Suite:
        folder = tmp_path / "suite"
        folder.mkdir(exist_ok=True)
        (folder / "tiny.toml").write_text(text, encoding="utf-8")
        return load_suite(folder)

    return write


@pytest.fixture
def tiny(write_suite: WriteSuite) -> Suite:
    """Two dialogues, three probes, one of which must fail."""
    return write_suite(TINY)
