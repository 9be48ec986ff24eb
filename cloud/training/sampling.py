"""Who is in a step's batch: every unit with the same chance, independently (Poisson sampling)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from privacy.bits import BitSource, draw

__all__ = ["Draws", "SecretDraws", "SeededDraws", "UnitRows", "poisson_batches"]

Rows = NDArray[np.int64]

_WORD_BITS = 64


class Draws(Protocol):
    """Where a training run's choices come from."""

    def chosen(self, size: int, rate: float) -> Rows:
        """Which of `size` units are in a batch, each with chance `rate`: ascending numbers."""

    def keys(self, size: int) -> NDArray[np.uint64]:
        """`size` random sort keys."""


class SeededDraws:
    """Reproducible, and therefore no secret: simulated worlds and tests."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng

    def chosen(self, size: int, rate: float) -> Rows:
        """As `Draws.chosen`."""
        return np.flatnonzero(self._rng.random(size) < rate)

    def keys(self, size: int) -> NDArray[np.uint64]:
        """As `Draws.keys`."""
        return self._rng.integers(2**_WORD_BITS, size=size, dtype=np.uint64)


class SecretDraws:
    """From the system's cryptographic generator: who was in a batch is part of what protects."""

    def __init__(self, bits: BitSource) -> None:
        self._bits = bits

    def chosen(self, size: int, rate: float) -> Rows:
        """As `Draws.chosen`; the chance is rounded down to a multiple of 2^-64."""
        threshold = int(rate * 2**_WORD_BITS)
        if threshold >= 2**_WORD_BITS:
            return np.arange(size)
        return np.flatnonzero(self.keys(size) < np.uint64(threshold))

    def keys(self, size: int) -> NDArray[np.uint64]:
        """As `Draws.keys`."""
        return np.frombuffer(draw(self._bits, size * _WORD_BITS // 8), dtype="<u8")


def poisson_batches(size: int, rate: float, steps: int, draws: Draws) -> Iterator[Rows]:
    """`steps` batches of unit numbers; each unit is in each batch with chance `rate`.

    A batch may be empty: to draw another one instead would tell that somebody is there.
    """
    for _ in range(steps):
        yield draws.chosen(size, rate)


@dataclass(frozen=True)
class UnitRows:
    """Which rows belong to which unit, units renumbered 0 … len-1.

    `rows` int64[n]: row numbers, those of one unit together; unit u has
    rows[starts[u] : starts[u + 1]].
    """

    rows: Rows
    starts: Rows

    @classmethod
    def of(cls, units: Rows) -> UnitRows:
        """From the unit number of every row."""
        order = np.argsort(units, kind="stable")
        ordered = units[order]
        first = np.flatnonzero(np.diff(ordered, prepend=ordered[:1] - 1))
        return cls(order, np.append(first, len(units)))

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def largest(self) -> int:
        """Rows of the unit that has most."""
        return int(np.diff(self.starts).max(initial=0))

    def picked(self, chosen: Rows, most: int, draws: Draws) -> tuple[Rows, NDArray[np.bool_]]:
        """Up to `most` rows of each chosen unit, uniformly and without replacement.

        Returns rows int64[len(chosen), width] and which of them are there, bool of that shape;
        width is the smaller of `most` and the most rows any unit has.
        """
        counts = self.starts[chosen + 1] - self.starts[chosen]
        width = min(most, self.largest)
        columns = np.arange(width)
        there = columns < np.minimum(counts, width)[:, None]
        places = np.where(there, self.starts[chosen][:, None] + columns, 0)
        if self.largest > width:
            places[there] = self._shuffled(chosen, counts, draws)[places_of(counts, width)]
        rows: Rows = self.rows[places]
        return rows, there

    def _shuffled(self, chosen: Rows, counts: Rows, draws: Draws) -> Rows:
        """Places of all rows of the chosen units, unit by unit, in random order within each."""
        owner = np.repeat(np.arange(len(chosen)), counts)
        within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        places = np.repeat(self.starts[chosen], counts) + within
        order: Rows = np.lexsort((draws.keys(len(places)), owner))
        shuffled: Rows = places[order]
        return shuffled


def places_of(counts: Rows, width: int) -> Rows:
    """Where the first `width` of each run of `counts` lie in the runs one after the other."""
    taken = np.minimum(counts, width)
    within = np.arange(taken.sum()) - np.repeat(np.cumsum(taken) - taken, taken)
    places: Rows = np.repeat(np.cumsum(counts) - counts, taken) + within
    return places
