"""Compressed postings: which documents hold a term, and how often.

A list is the gaps between ascending document slots as variable-length bytes (LEB128), a gap of
zero meaning "once more in the same document"; after Moffat and Zobel, "Compression and fast
indexing for multi-gigabyte text databases" (1992). About 1.4 bytes a posting and 8 a distinct
term, where plain arrays take 5 and 16. Terms are 32-bit hashes: with 200,000 distinct terms, one
query word in 20,000 meets another's postings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

__all__ = ["Found", "Loose", "Piece", "Postings", "decoded_few", "find", "joined", "pieces_of"]

Found = tuple[NDArray[np.int32], NDArray[np.intp] | None]
"""Slots, ascending, and how often each holds the term; None: once each."""
Piece = tuple[NDArray[np.uint8], int]
"""A term's list in one part, and the slot from which its first gap counts."""
Loose = tuple[NDArray[np.uint32], NDArray[np.int32], NDArray[np.uint8]]
"""Columns of term, slot and count (≥ 1), one posting a row."""

CONTINUES = 0x80
"""Bit of a byte that is not the last of its gap."""
BITS = 7
LOW = 0x7F
STEPS = (7, 14, 21, 28)
"""Bits from which a gap needs one more byte."""
MERGED_BYTES = 256 << 10
"""Bytes of lists taken apart at a time while merging: each takes about 30 of scratch."""
HASHES = 1 << 32
FEW_BYTES = 48
"""Bytes of one term's lists up to which they are decoded without arrays."""
_NOWHERE: NDArray[np.int32] = np.empty(0, np.int32)


@dataclass(frozen=True, slots=True)
class Postings:
    """The lists of many terms, sorted by term; list i is ``data[starts[i]:starts[i + 1]]``."""

    base: int
    """Slot from which the first gap of every list counts, as 1."""
    terms: NDArray[np.uint32]
    starts: NDArray[np.uint32]
    data: NDArray[np.uint8]

    @classmethod
    def of(cls, loose: Loose) -> Postings:
        """Compress loose postings, at least one; the slots of each term ascend."""
        return cls._based(int(loose[1].min()), loose)

    @classmethod
    def _based(cls, base: int, loose: Loose) -> Postings:
        order = np.argsort(loose[0], kind="stable")
        terms, slots, counts = loose[0][order], loose[1][order], loose[2][order]
        opens = np.ones(len(terms), np.bool_)
        np.not_equal(terms[1:], terms[:-1], out=opens[1:])
        gaps = np.empty(len(slots), np.int32)
        np.subtract(slots[1:], slots[:-1], out=gaps[1:])
        gaps[opens] = slots[opens] - np.int32(base - 1)
        ends = np.cumsum(counts, dtype=np.int32)
        values = np.zeros(int(ends[-1]), np.int32)
        places = ends - counts
        values[places] = gaps
        data, offsets = _pack(values)
        starts = np.append(offsets[places[opens]], len(data)).astype(np.uint32)
        return cls(base, terms[opens], starts, data)

    @classmethod
    def merged(cls, parts: Sequence[Postings]) -> Postings:
        """One of several whose slots follow each other, a range of terms at a time."""
        base = min(part.base for part in parts)
        steps = 1 + sum(len(part.data) for part in parts) // MERGED_BYTES
        made: list[Postings] = []
        for low, high in pairwise(np.linspace(0, HASHES, steps + 1).astype(np.int64)):
            pieces = [part._between(low, high).loose() for part in parts]
            loose = joined([piece for piece in pieces if len(piece[0])] or pieces[:1])
            if len(loose[0]):
                made.append(cls._based(base, loose))
        sizes = np.cumsum([0, *(len(part.data) for part in made)]).astype(np.uint32)
        starts = [part.starts[:-1] + size for part, size in zip(made, sizes[:-1], strict=True)]
        return cls(
            base,
            np.concatenate([part.terms for part in made]),
            np.concatenate([*starts, sizes[-1:]]),
            np.concatenate([part.data for part in made]),
        )

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self.terms.nbytes + self.starts.nbytes + self.data.nbytes

    def loose(self) -> Loose:
        """Back to one posting a row, sorted by term, then slot."""
        deltas = _unpack(self.data)
        heads = np.flatnonzero(deltas)
        counts = np.diff(heads, append=len(deltas)).astype(np.uint8)
        lasts = np.flatnonzero(self.data < CONTINUES)[heads]
        sizes = np.diff(np.searchsorted(lasts, self.starts))
        sums = np.cumsum(deltas[heads], dtype=np.int64)
        firsts = np.cumsum(sizes) - sizes
        before = sums[firsts] - deltas[heads[firsts]]
        sums += np.repeat(self.base - 1 - before, sizes)
        return np.repeat(self.terms, sizes), sums.astype(np.int32), counts

    def keep(self, mask: NDArray[np.bool_]) -> Postings | None:
        """The postings of the slots whose mask is True, which close up; None when none is left."""
        terms, slots, counts = self.loose()
        live = mask[slots]
        if not live.any():
            return None
        renumbered = np.cumsum(mask, dtype=np.int32) - np.int32(1)
        return Postings.of((terms[live], renumbered[slots[live]], counts[live]))

    def _between(self, low: np.int64, high: np.int64) -> Postings:
        """The lists of the terms in [low, high)."""
        first, last = np.searchsorted(self.terms, (low, high))
        starts = self.starts[first : last + 1]
        data = self.data[starts[0] : starts[-1]]
        return Postings(self.base, self.terms[first:last], starts - starts[0], data)


def joined(parts: Sequence[Loose]) -> Loose:
    """The rows of all parts, in order."""
    terms, slots, counts = zip(*parts, strict=True)
    return np.concatenate(terms), np.concatenate(slots), np.concatenate(counts)


def find(parts: Sequence[Postings], terms: Sequence[int]) -> list[Found]:
    """Of each term the documents that hold it in any of `parts`, whose slots follow each other."""
    return [_decoded(pieces) for pieces in pieces_of(parts, terms)]


def pieces_of(parts: Sequence[Postings], terms: Sequence[int]) -> list[list[Piece]]:
    """Of each term its lists in `parts`, as they are."""
    wanted = np.asarray(terms, np.uint32)
    pieces: list[list[Piece]] = [[] for _ in terms]
    for part in parts:
        places = part.terms.searchsorted(wanted)
        here = (part.terms.take(places, mode="clip") == wanted).nonzero()[0]
        for number, place in zip(here.tolist(), places[here].tolist(), strict=True):
            first, last = part.starts[place : place + 2].tolist()
            pieces[number].append((part.data[first:last], part.base))
    return pieces


def _decoded(pieces: Sequence[Piece]) -> Found:
    """One term's list from the piece of it that each part holds."""
    if not pieces:
        return _NOWHERE, None
    if sum([len(piece) for piece, _ in pieces]) <= FEW_BYTES:
        places, times = decoded_few(pieces)
        once = len(places) == sum(times)
        return np.array(places, np.int32), None if once else np.array(times, np.intp)
    data = np.concatenate([piece for piece, _ in pieces])
    deltas = _unpack(data)
    slots = np.cumsum(deltas, dtype=np.int32)
    place = before = 0
    for piece, base in pieces:
        size = int(np.count_nonzero(piece < CONTINUES))
        span = slots[place : place + size]
        reached = int(span[-1])
        span += base - 1 - before
        place, before = place + size, reached
    heads = np.flatnonzero(deltas)
    if len(heads) == len(deltas):
        return slots, None
    return slots[heads], np.diff(heads, append=len(deltas))


def decoded_few(pieces: Sequence[Piece]) -> tuple[list[int], list[int]]:
    """Slots and counts, byte by byte: of a short list the arrays alone would cost more."""
    slots: list[int] = []
    counts: list[int] = []
    for piece, base in pieces:
        reached, gap, shift = base - 1, 0, 0
        for byte in piece.tolist():
            gap |= (byte & LOW) << shift
            if byte & CONTINUES:
                shift += BITS
                continue
            if gap:
                reached += gap
                slots.append(reached)
                counts.append(1)
            else:
                counts[-1] += 1
            gap = shift = 0
    return slots, counts


def _pack(values: NDArray[np.int32]) -> tuple[NDArray[np.uint8], NDArray[np.int32]]:
    """Bytes of all values (≥ 0), and where each begins."""
    sizes = np.ones(len(values), np.uint8)
    for bits in STEPS:
        sizes += values >= 1 << bits
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
