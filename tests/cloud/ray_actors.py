"""Actors for the tests of Ray: as ours, they keep what counts outside themselves."""

from __future__ import annotations

import os
import resource
from pathlib import Path

__all__ = ["Patient", "Tally"]


class Tally:
    """Counts the different things it was told of, in a file."""

    def __init__(self, path: str) -> None:
        self._path = Path(path)

    def add(self, thing: str) -> int:
        """Remember a thing; how many there are. Safe to run twice."""
        known = self._path.read_text().split() if self._path.exists() else []
        if thing not in known:
            known.append(thing)
            self._path.write_text("\n".join(known))
        return len(known)

    def pid(self) -> int:
        """Where it lives."""
        return os.getpid()

    def echo(self, data: bytes) -> bytes:
        """The same again."""
        return data

    def rss_kib(self) -> int:
        """The most memory its process ever had, in KiB."""
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


class Patient:
    """Cannot be built before its file is there."""

    def __init__(self, path: str) -> None:
        self._said = Path(path).read_text()

    def hello(self) -> str:
        """What the file said."""
        return self._said
