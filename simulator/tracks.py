"""When something holds: tracks of intervals, and the three that a phone's window is made of."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

__all__ = ["CONDITIONS", "PhoneAvailability", "Track", "seconds_by_hour"]

CONDITIONS = ("charging", "unmetered", "idle")

_HOURS = 24
_HOUR = 3600.0


class Track:
    """Disjoint half-open intervals of unix seconds, ascending: ``(start, end), …``.

    A week of one condition is a few hundred edges, and a fleet has three tracks a phone: bare
    doubles, 8 bytes an edge.
    """

    __slots__ = ("_edges",)

    def __init__(self, spans: Iterable[tuple[float, float]]) -> None:
        # Starts and ends in turn: an odd number of them passed means that the condition holds.
        self._edges = array("d", (edge for span in spans for edge in span))

    @classmethod
    def of_edges(cls, edges: NDArray[np.float64]) -> Track:
        """The track of starts and ends in turn."""
        track = cls(())
        track._edges.frombytes(edges.astype(np.float64).tobytes())
        return track

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Track) and self._edges == other._edges

    def __hash__(self) -> int:
        return hash(self._edges.tobytes())

    def __repr__(self) -> str:
        return f"Track({self.spans})"

    @property
    def spans(self) -> tuple[tuple[float, float], ...]:
        """The intervals, made on demand."""
        return tuple(zip(self._edges[::2], self._edges[1::2], strict=True))

    def holds(self, at: float) -> bool:
        """Whether the condition is true at unix time `at`."""
        return bisect_right(self._edges, at) % 2 == 1

    def span_at(self, at: float) -> tuple[float, float] | None:
        """The interval in force at `at`, if any."""
        passed = bisect_right(self._edges, at)
        return (self._edges[passed - 1], self._edges[passed]) if passed % 2 == 1 else None

    def next_change(self, at: float) -> float:
        """The first edge after `at`; infinity when there is none."""
        return self.stands(at)[1]

    def stands(self, at: float) -> tuple[bool, float]:
        """Both: whether it holds at `at`, and the first edge after it."""
        passed = bisect_right(self._edges, at)
        edge = self._edges[passed] if passed < len(self._edges) else float("inf")
        return passed % 2 == 1, edge

    def intersection(self, other: Track) -> Track:
        """The seconds in which both hold."""
        return Track(_overlaps(self.spans, other.spans))

    def seconds(self) -> float:
        """Total length."""
        return sum(end - start for start, end in self.spans)


@dataclass(frozen=True)
class PhoneAvailability:
    """One phone's three condition tracks; the window is open where all three hold."""

    charging: Track
    unmetered: Track
    idle: Track

    @cached_property
    def window(self) -> Track:
        """The true window, before any settling time."""
        return self.charging.intersection(self.unmetered).intersection(self.idle)

    def next_change(self, at: float) -> float:
        """The first edge of any condition after `at`."""
        return min(track.next_change(at) for track in (self.charging, self.unmetered, self.idle))


def seconds_by_hour(track: Track, utc_offset: float) -> NDArray[np.float64]:
    """(24,) seconds of the track by local hour of day."""
    total = np.zeros(_HOURS)
    for start, end in track.spans:
        at = start
        while at < end:
            hour = (at + utc_offset) // _HOUR
            until = min(end, (hour + 1) * _HOUR - utc_offset)
            total[int(hour) % _HOURS] += until - at
            at = until
    return total


def _overlaps(
    left: Iterable[tuple[float, float]], right: Iterable[tuple[float, float]]
) -> Iterator[tuple[float, float]]:
    """Common parts of two ascending interval lists, by one sweep over their edges."""
    edges = sorted(
        [(start, 1) for spans in (left, right) for start, _ in spans]
        + [(end, -1) for spans in (left, right) for _, end in spans]
    )
    depth = 0
    for (at, step), (following, _) in pairwise(edges):
        depth += step
        if depth == 2 and following > at:
            yield at, following
