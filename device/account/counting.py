"""Which of a sender's numbers have come: how a device notices that a letter was lost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

__all__ = ["MAX_RANGES", "Received"]

MAX_RANGES = 32
"""Separate runs remembered; the highest is let go, and comes again once asked for."""


@dataclass(frozen=True, slots=True)
class Received:
    """Everything up to ``floor``, and the runs (first, last) above it, ascending and apart."""

    floor: int = 0
    runs: tuple[tuple[int, int], ...] = ()

    @property
    def top(self) -> int:
        """The highest number that has come."""
        return self.runs[-1][1] if self.runs else self.floor

    def __contains__(self, number: int) -> bool:
        return number <= self.floor or any(a <= number <= b for a, b in self.runs)

    def gaps(self) -> Iterator[tuple[int, int]]:
        """The runs that are missing below the highest number."""
        last = self.floor
        for first, end in self.runs:
            yield last + 1, first - 1
            last = end

    def misses(self, number: int) -> bool:
        """Whether this number was sent before one that has come, and has not come itself."""
        return number < self.top and number not in self

    def joined(self, runs: Iterable[tuple[int, int]]) -> Received:
        """With these runs of numbers as well."""
        floor, kept = self.floor, list[tuple[int, int]]()
        for first, last in sorted((*self.runs, *runs)):
            if last <= floor:
                continue
            if first <= floor + 1:
                floor = last
            elif kept and first <= kept[-1][1] + 1:
                kept[-1] = (kept[-1][0], max(last, kept[-1][1]))
            else:
                kept.append((first, last))
        return Received(floor, tuple(kept[:MAX_RANGES]))

    def with_number(self, number: int) -> Received:
        """With one more number."""
        return self.joined([(number, number)])
