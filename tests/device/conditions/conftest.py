from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

MOMENT = 2.0
"""Seconds a killed process is given to be gone."""


class Bench:
    """A folder of fake executables that is first on PATH, and who they left behind."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.children = folder / "children"

    def tool(self, name: str, script: str) -> Path:
        """A shell script that notes its own process and then does `script`."""
        path = self.folder / name
        path.write_text(f"#!/bin/sh\necho $$ >> {self.children}\n{script}\n")
        path.chmod(0o755)
        return path

    def prints(self, name: str, text: str, code: int = 0) -> Path:
        """A tool that prints `text` whatever it is asked."""
        (self.folder / f"{name}.out").write_text(text)
        return self.tool(name, f"cat {self.folder}/{name}.out; exit {code}")

    def noted(self, count: int) -> bool:
        """Whether `count` processes have noted themselves."""
        return self.children.exists() and len(self.children.read_text().split()) >= count

    def left_behind(self) -> list[int]:
        """Noted processes that still run a moment later.

        A killed grandchild is not ours to wait for: the kernel ends it when it is next scheduled.
        """
        if not self.children.exists():
            return []
        left = [int(pid) for pid in self.children.read_text().split()]
        deadline = time.monotonic() + MOMENT
        while left and time.monotonic() < deadline:
            left = [pid for pid in left if runs(pid)]
        return left


def runs(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in ("Z", "X")


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}/usr/bin{os.pathsep}/bin")
    return Bench(folder)
