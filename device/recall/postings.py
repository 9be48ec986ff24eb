"""Compressed postings: which documents hold a term, and how often.

A list is the gaps between ascending document slots as variable-length bytes (LEB128), a gap of
zero meaning "once more in the same document"; after Moffat and Zobel, "Compression and fast
indexing for multi-gigabyte text databases" (1992). About 1.4 bytes a posting and 8 a distinct
term, where plain arrays take 5 and 16. Terms are 32-bit hashes: with 200,000 distinct terms, one
query word in 20,000 meets another's postings.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Found", "Postings"]

Found = tuple[NDArray[np.int32], NDArray[np.int32]]
"""Slots, ascending, and how often each holds the term."""

CONTINUES = 0x80
"""Bit of a byte that is not the last of its gap."""
BITS = 7
LOW = 0x7F
EMPTY: Found = (np.empty(0, np.int32), np.empty(0, np.int32))


@dataclass(frozen=True, slots=True)
class Postings:
    """The lists of many terms, sorted by term; list i is ``data[starts[i]:starts[i + 1]]``."""

    base: int
    """Slot from which the first gap of every list counts."""
    terms: NDArray[np.uint32]
    starts: NDArray[np.uint32]
    data: NDArray[np.uint8]

    @classmethod
    def of(
        cls, terms: NDArray[np.uint32], slots: NDArray[np.int32], counts: NDArray[np.uint8]
    ) -> Postings:
        """Compress loose postings, one (term, slot, count ≥ 1) each, slots ascending."""
        base = int(slots[0])
        order = np.argsort(terms, kind="stable")
        terms, slots, counts = terms[order], slots[order], counts[order]
        opens = np.ones(len(terms), np.bool_)
        np.not_equal(terms[1:], terms[:-1], out=opens[1:])
        gaps = np.diff(slots, prepend=np.int32(0))
        gaps[opens] = slots[opens] - (base - 1)
        ends = np.cumsum(counts, dtype=np.int32)
        values = np.zeros(int(ends[-1]), np.int32)
        places = ends - counts
        values[places] = gaps
        data, offsets = _pack(values)
        starts = np.append(offsets[places[opens]], len(data)).astype(np.uint32)
        return cls(base, terms[opens], starts, data)

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self.terms.nbytes + self.starts.nbytes + self.data.nbytes

    def find(self, term: int) -> Found:
        """The documents that hold the term; empty when none does."""
        place = int(np.searchsorted(self.terms, np.uint32(term)))
        if place == len(self.terms) or int(self.terms[place]) != term:
            return EMPTY
        deltas = _unpack(self.data[self.starts[place] : self.starts[place + 1]])
        slots = np.cumsum(deltas, dtype=np.int32)
        slots += self.base - 1
        if deltas.all():
            return slots, np.ones(len(slots), np.int32)
        heads = np.flatnonzero(deltas)
        counts = np.diff(heads, append=len(deltas)).astype(np.int32)
        return slots[heads], counts

    def loose(self) -> tuple[NDArray[np.uint32], NDArray[np.int32], NDArray[np.uint8]]:
        """Back to one posting a row, in order of slot (stable by term within a slot)."""
        deltas = _unpack(self.data)
        heads = np.flatnonzero(deltas)
        counts = np.diff(heads, append=len(deltas)).astype(np.uint8)
        sizes = self._list_sizes(heads)
        slots = np.cumsum(deltas[heads], dtype=np.int64)
        firsts = np.cumsum(sizes) - sizes
        before = slots[firsts] - deltas[heads[firsts]]
        slots += np.repeat(self.base - 1 - before, sizes)
        terms = np.repeat(self.terms, sizes)
        order = np.argsort(slots, kind="stable")
        return terms[order], slots[order].astype(np.int32), counts[order]

    def _list_sizes(self, heads: NDArray[np.intp]) -> NDArray[np.intp]:
        """How many documents each list names; `heads` are the gaps that open a document."""
        closing = np.flatnonzero(self.data < CONTINUES)[heads]
        return np.diff(np.searchsorted(closing, self.starts))


def _pack(values: NDArray[np.int32]) -> tuple[NDArray[np.uint8], NDArray[np.int32]]:
    """Bytes of all values, and where each begins."""
    sizes = np.ones(len(values), np.int32)
    for step in range(1, 5):
        sizes += values >= 1 << BITS * step if BITS * step < 31 else 0
    ends = np.cumsum(sizes, dtype=np.int32)
    offsets = ends - sizes
    data = np.empty(int(ends[-1]), np.uint8)
    for step in range(int(sizes.max())):
        here = np.flatnonzero(sizes > step)
        part = (values[here] >> BITS * step) & LOW
        data[offsets[here] + step] = part | np.where(sizes[here] > step + 1, CONTINUES, 0)
    return data, offsets


def _unpack(data: NDArray[np.uint8]) -> NDArray[np.int32]:
    """The values whose bytes these are."""
    lasts = np.flatnonzero(data < CONTINUES)
    if len(lasts) == len(data):
        return data.astype(np.int32)
    firsts = np.zeros(len(lasts), np.intp)
    firsts[1:] = lasts[:-1] + 1
    values = (data[firsts] & LOW).astype(np.int32)
    more = lasts - firsts
    for step in range(1, int(more.max()) + 1):
        here = np.flatnonzero(more >= step)
        values[here] |= (data[firsts[here] + step] & LOW).astype(np.int32) << BITS * step
    return values
