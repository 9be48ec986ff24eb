"""Sealed copies of the index, a shard of 4,096 memories each: opening reads them, not the texts.

Building the index of 100,000 turns takes ten seconds and more; reading its shards takes a fraction
of one. Their vectors need not even come into RAM: a query that words do not answer reads them
shard by shard and lets go of each (002: the index is loaded in shards). A memory that is forgotten
leaves its shard at once: the shard is written again without it and the old one shredded with its
key.

A shard is one record of columns and postings, and one of vectors in a log of their own, so that
reading the vectors reads nothing else. A shard of which one half is missing (the power went), of
another version or of another embedder is shredded and made again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import msgpack
import numpy as np
from numpy.typing import NDArray

from device.recall.parts import Part
from device.vault import SealedLog

__all__ = ["SHARD", "IndexShards"]

SHARD = 4096
"""Memories of one shard: half a megabyte sealed, a third of a second to make again."""
FORMAT = 1
"""Raised when the columns or the analysis of the texts change."""
Head = tuple[int, str, int, int, int]
"""Format, embedder, number of the first and last memory it was made of, memories left in it."""


@dataclass(frozen=True, slots=True)
class _Held:
    first: int
    last: int
    size: int
    columns: int
    rows: int
    """Sequences of its two records in their logs."""


class IndexShards:
    """Owner of two sealed logs; shards follow each other in order of slot."""

    def __init__(self, columns: SealedLog, rows: SealedLog, model: str) -> None:
        """`model` names the embedder: vectors of two are never mixed."""
        self._columns = columns
        self._rows = rows
        self._model = model
        self._held: list[_Held] = []

    @property
    def memories(self) -> int:
        """Memories in all shards: those of the index's first slots."""
        return sum(held.size for held in self._held)

    @property
    def through(self) -> int:
        """Highest number that a shard was made of; −1 without any."""
        return max((held.last for held in self._held), default=-1)

    def load(self) -> Iterator[Part]:
        """Every shard, in order; what is of no use is shredded first."""
        columns, rows = self._heads(self._columns), self._heads(self._rows)
        self._held = [
            _Held(*head[2:], columns[head], rows[head])
            for head in sorted(columns.keys() & rows.keys(), key=lambda head: head[2])
            if head[:2] == (FORMAT, self._model)
        ]
        _keep_only(self._columns, {held.columns for held in self._held})
        _keep_only(self._rows, {held.rows for held in self._held})
        for held in self._held:
            yield self._read(held)

    def save(self, part: Part) -> None:
        """Add the next shard."""
        self._held.append(self._write(part, int(part.numbers[0]), int(part.numbers[-1])))

    def rows(self) -> Iterator[tuple[int, NDArray[np.int8]]]:
        """The vectors of every shard, in no order, each with its first slot."""
        starts: dict[int, tuple[int, int]] = {}
        place = 0
        for held in self._held:
            starts[held.rows] = place, held.size
            place += held.size
        for sequence, payload in self._rows.read():
            if sequence in starts:
                start, size = starts[sequence]
                yield start, np.frombuffer(msgpack.unpackb(payload)[-1], np.int8).reshape(size, -1)

    def forget(self, numbers: Collection[int]) -> None:
        """Write every shard that holds one of these memories again, without them."""
        ordered = np.sort(np.fromiter(numbers, np.int64, len(numbers)))
        doomed: list[_Held] = []
        for place, held in enumerate(self._held):
            low, high = np.searchsorted(ordered, (held.first, held.last + 1))
            if low == high:
                continue
            part = self._read(held)
            kept = part.without(ordered[low:high].tolist())
            if len(kept) < len(part):
                self._held[place] = self._write(kept, held.first, held.last)
                doomed.append(held)
        if doomed:
            self._columns.erase([held.columns for held in doomed])
            self._rows.erase([held.rows for held in doomed])

    def clear(self) -> None:
        """Shred every shard."""
        self._held = []
        self._columns.snapshot([])
        self._rows.snapshot([])

    def _write(self, part: Part, first: int, last: int) -> _Held:
        columns, rows = part.pack()
        head: Head = (FORMAT, self._model, first, last, len(part))
        return _Held(
            *head[2:],
            self._columns.append(msgpack.packb([*head, columns])),
            self._rows.append(msgpack.packb([*head, rows])),
        )

    def _read(self, held: _Held) -> Part:
        return Part.unpack(_body(self._columns, held.columns), _body(self._rows, held.rows))

    def _heads(self, log: SealedLog) -> dict[Head, int]:
        """The newest record of every shard."""
        found = {}
        for sequence, payload in log.read():
            *head, _ = msgpack.unpackb(payload)
            found[tuple(head)] = sequence
        return found


def _body(log: SealedLog, sequence: int) -> bytes:
    _, payload = next(log.read(sequence - 1))
    body: bytes = msgpack.unpackb(payload)[-1]
    return body


def _keep_only(log: SealedLog, wanted: set[int]) -> None:
    useless = [sequence for sequence, _ in log.read() if sequence not in wanted]
    if useless:
        log.erase(useless)
