"""Sealed copies of the index, a shard of 4,096 memories each: opening reads them, not the texts.

Building the index of 100,000 turns takes ten seconds and more; reading its shards takes a fraction
of one. Their vectors need not even come into RAM: a query that words do not answer reads them
shard by shard and lets go of each (002: the index is loaded in shards). A memory that is forgotten
leaves its shard at once: the shard is written again without it and the old one shredded with its
key.

A shard is one record of columns and postings, and one of vectors in a log of their own, so that
reading the vectors reads nothing else; each log is to have one record a segment, so that a record
is read alone. The newest record of the first log lists the shards. What it does not list is
shredded, and without it (the power went) every shard is, to be made again from the raw layer.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import astuple, dataclass
from typing import Any

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


@dataclass(frozen=True, slots=True)
class _Held:
    first: int
    last: int
    """Numbers of the first and last memory it was made of."""
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
        return self._held[-1].last if self._held else -1

    def load(self) -> Iterator[Part]:
        """Every shard, in order; what is of no use is shredded first."""
        self._held = [_Held(*fields) for fields in self._list()]
        self._sweep()
        for held in self._held:
            yield self._read(held)

    def save(self, part: Part) -> None:
        """Add the next shard."""
        self._held.append(self._write(part, int(part.numbers[0]), int(part.numbers[-1])))
        self._commit()

    def rows(self) -> Iterator[tuple[int, NDArray[np.int8]]]:
        """The vectors of every shard, in order, each with its first slot."""
        place = 0
        for held in self._held:
            if held.size:
                rows = np.frombuffer(_payload(self._rows, held.rows), np.int8)
                yield place, rows.reshape(held.size, -1)
            place += held.size

    def forget(self, numbers: Collection[int]) -> None:
        """Write every shard that holds one of these memories again, without them."""
        ordered = np.sort(np.fromiter(numbers, np.int64, len(numbers)))
        changed = False
        for place, held in enumerate(self._held):
            low, high = np.searchsorted(ordered, (held.first, held.last + 1))
            if low == high:
                continue
            part = self._read(held)
            kept = part.without(ordered[low:high].tolist())
            if len(kept) < len(part):
                self._held[place] = self._write(kept, held.first, held.last)
                changed = True
        if changed:
            self._commit()

    def clear(self) -> None:
        """Shred every shard."""
        self._held = []
        self._columns.snapshot([])
        self._rows.snapshot([])

    def _write(self, part: Part, first: int, last: int) -> _Held:
        columns, rows = part.pack()
        return _Held(first, last, len(part), self._columns.append(columns), self._rows.append(rows))

    def _read(self, held: _Held) -> Part:
        columns = _payload(self._columns, held.columns)
        return Part.unpack(columns, _payload(self._rows, held.rows))

    def _commit(self) -> None:
        """List the shards there are now, then shred what the list no longer names."""
        fields = [astuple(held) for held in self._held]
        self._columns.append(msgpack.packb([FORMAT, self._model, fields]))
        self._sweep()

    def _sweep(self) -> None:
        newest = {self._columns.next_sequence - 1} if self._held else set()
        _keep_only(self._columns, {held.columns for held in self._held} | newest)
        _keep_only(self._rows, {held.rows for held in self._held})

    def _list(self) -> list[list[int]]:
        """What the newest record says, if it is a list of this format and embedder."""
        newest = self._columns.next_sequence - 1
        for _, payload in self._columns.read(newest - 1):
            listed: Any = msgpack.unpackb(payload)
            if isinstance(listed, list) and listed[:2] == [FORMAT, self._model]:
                fields: list[list[int]] = listed[2]
                return fields
        return []


def _payload(log: SealedLog, sequence: int) -> bytes:
    _, payload = next(log.read(sequence - 1))
    return payload


def _keep_only(log: SealedLog, wanted: set[int]) -> None:
    """Shred the rest. Numbers without a record cost nothing."""
    if len(log) > len(wanted):
        log.erase([n for n in range(log.next_sequence) if n not in wanted])
