"""A hybrid logical clock: timestamps that respect cause and effect and stay close to real time.

Source: Kulkarni, Demirbas, Madappa, Avva and Leone, "Logical Physical Clocks", OPODIS 2014. The
bound on drift is section 4's: what claims to come from too far ahead is kept, but not followed, so
one device with a wrong calendar cannot drag the clocks of the others along.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

__all__ = ["MAX_DRIFT_MS", "ZERO", "Hlc", "HybridClock"]

MAX_DRIFT_MS = 60 * 60 * 1000
"""Milliseconds a timestamp may be ahead of this phone's clock and still move it."""
MAX_WALL_MS = (1 << 53) - 1
MAX_LOGICAL = (1 << 32) - 1


class Hlc(NamedTuple):
    """One timestamp, in the order of (wall, logical)."""

    wall: int
    """Unix milliseconds."""
    logical: int
    """Steps within that millisecond."""


ZERO = Hlc(0, 0)


class HybridClock:
    """The clock of one device; `now` gives unix seconds, `last` is where it had come to."""

    def __init__(self, now: Callable[[], float], last: Hlc = ZERO) -> None:
        self._now = now
        self._last = last

    @property
    def last(self) -> Hlc:
        """The newest timestamp given or followed; keep it with what it stamped."""
        return self._last

    def tick(self, at: float | None = None) -> Hlc:
        """A timestamp for a local write, later than any given or followed before.

        `at`: unix seconds at which it was made, where it is written down only now.
        """
        wall = self._physical() if at is None else min(_milliseconds(at), self._physical())
        self._last = _after(self._last, max(wall, self._last.wall))
        return self._last

    def follow(self, seen: Hlc) -> bool:
        """Note a timestamp of another device; False when it is too far ahead to be followed."""
        physical = self._physical()
        if seen.wall - physical > MAX_DRIFT_MS:
            return False
        if seen > self._last:
            self._last = seen
        return True

    def _physical(self) -> int:
        return _milliseconds(self._now())


def _milliseconds(seconds: float) -> int:
    return min(max(int(seconds * 1000), 0), MAX_WALL_MS)


def _after(last: Hlc, wall: int) -> Hlc:
    if wall > last.wall:
        return Hlc(wall, 0)
    if last.logical < MAX_LOGICAL:
        return Hlc(last.wall, last.logical + 1)
    return Hlc(last.wall + 1, 0)
