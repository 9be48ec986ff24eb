"""Incremental BM25 over compressed postings.

A term is kept as a 32-bit hash, so the index holds no word in clear. Fresh documents go to a small
unsorted tail; full tails become sorted segments which merge geometrically up to a size that bounds
the scratch of a merge. A removed document counts for nothing from that moment; its postings go
with the next `keep`.
"""

from __future__ import annotations

import zlib
from array import array
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise, repeat
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from device.language.kept import kept
from device.recall.bm25 import LENGTH_WEIGHT, SATURATION, Posting, idf_of, score_few
from device.recall.columns import Column
from device.recall.few import FEW, Few
from device.recall.postings import Found, Piece, Postings, decoded_few, find, joined, pieces_of

__all__ = ["LexicalIndex", "LexicalScores"]

TAIL_POSTINGS = 20_000
"""Postings scanned linearly before they become a sorted segment."""
SEGMENT_BYTES = 1 << 20
"""Bytes of postings over which segments are not merged any further: it would take over 0.2 s."""
MAX_COUNT = 255
_CACHED_TERMS = 4_096
"""Hashes remembered: people say the same words again and again."""
REMOVED = -1.0
"""Length of a removed document."""

Analyser = Callable[[str], Sequence[str]]


@dataclass(frozen=True, slots=True)
class LexicalScores:
    """Per slot: BM25 score and the share (0 … 1) of the query's idf mass that it contains."""

    bm25: NDArray[np.float32]
    coverage: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class _Postings:
    """Where the terms of a query are found: one posting a place, term after term."""

    rows: NDArray[np.intp]
    """Which of the terms."""
    slots: NDArray[np.int32]
    counts: NDArray[np.intp]
    sizes: NDArray[np.intp]
    """Documents that hold each term."""
    once: NDArray[np.bool_] | None
    """Terms that the segments alone hold, once a document: they are scored in single precision,
    None: there are none."""

    @classmethod
    def of(
        cls,
        terms: int,
        rows: NDArray[np.intp],
        slots: NDArray[np.int32],
        counts: NDArray[np.intp],
        once: NDArray[np.bool_] | None = None,
    ) -> _Postings:
        """Postings of so many terms."""
        return cls(rows, slots, counts, np.bincount(rows, minlength=terms), once)


class LexicalIndex:
    """Documents by slot (0, 1, … in order of adding); `keep` closes slots up."""

    __slots__ = (
        "_analyse",
        "_lengths",
        "_removed",
        "_segments",
        "_tail_counts",
        "_tail_slots",
        "_tail_terms",
        "_total",
    )

    def __init__(self, analyse: Analyser) -> None:
        self._analyse = analyse
        self._lengths = Column(np.float32)
        self._segments: list[Postings] = []
        self._removed = 0
        self._total = 0.0
        """Of the lengths of what is not removed: whole numbers, so that no order matters."""
        self._clear_tail()

    def __len__(self) -> int:
        return len(self._lengths)

    @property
    def removed(self) -> int:
        """Slots whose document was removed and not yet dropped."""
        return self._removed

    @property
    def nbytes(self) -> int:
        """Bytes of postings and lengths held."""
        tail = len(self._tail_terms) * (4 + 4 + 1)
        return sum(segment.nbytes for segment in self._segments) + tail + 4 * len(self._lengths)

    def add(self, texts: Sequence[str]) -> None:
        """Index texts as the next slots."""
        lengths = []
        for slot, text in enumerate(texts, start=len(self._lengths)):
            hashes, counts = _counted(text, self._analyse)
            lengths.append(float(sum(counts)))
            self._tail_terms.extend(hashes)
            self._tail_slots.extend([slot] * len(counts))
            many = max(counts, default=0) > MAX_COUNT
            self._tail_counts.extend([min(c, MAX_COUNT) for c in counts] if many else list(counts))
        self._lengths.extend(lengths)
        self._total += sum(lengths)
        if len(self._tail_terms) >= TAIL_POSTINGS:
            self._seal_tail()

    def remove(self, slots: NDArray[np.intp]) -> None:
        """Let these documents count for nothing; the slots stay until `keep` drops them."""
        lengths = self._lengths.view
        here = lengths[slots]
        live = here >= 0
        self._removed += int(np.count_nonzero(live))
        self._total -= float(here[live].sum(dtype=np.float64))
        lengths[slots] = REMOVED

    def score(self, query: str) -> LexicalScores:
        """Score every slot against the query's terms; a removed one scores 0."""
        size = len(self._lengths)
        bm25 = np.zeros(size, np.float32)
        matched = np.zeros(size, np.float32)
        hashes, repeats = _counted(query, self._analyse)
        if not size or not hashes:
            return LexicalScores(bm25, matched)
        found = self._found(hashes)
        live = size - self._removed
        idfs = [idf_of(live, holding) for holding in found.sizes.tolist()]
        mass = 0.0
        for idf in idfs:
            mass += idf
        factors = [idf * times * (SATURATION + 1) for idf, times in zip(idfs, repeats, strict=True)]
        weights = np.array(factors, np.float32)[found.rows]
        norms = self._length_norms(found.slots)
        gains = weights * found.counts / (found.counts + norms)
        if found.once is not None:
            once = found.once[found.rows]
            gains[once] = weights[once] / (np.float32(1.0) + norms[once])
        # Term by term, each sum rounded as it comes: the order is part of the score.
        for first, last in pairwise([0, *found.sizes.cumsum().tolist()]):
            if last > first:
                bm25[found.slots[first:last]] += gains[first:last]
        np.add.at(matched, found.slots, np.array(idfs, np.float32)[found.rows])
        return LexicalScores(bm25, matched / np.float32(mass))

    def few(self, query: str) -> tuple[Few, Few] | None:
        """Score and coverage as of `score`, of the slots that hold a term; None when more than FEW
        postings hold one."""
        hashes, repeats = _counted(query, self._analyse)
        few = self._found_few(hashes) if hashes else ([], set())
        if few is None:
            return None
        live = len(self._lengths) - self._removed
        return score_few(*few, repeats, live, self._lengths.view, self._length_share())

    def keep(self, mask: NDArray[np.bool_]) -> None:
        """Drop the slots whose mask is False, their postings with them."""
        self._seal_tail()
        kept = (segment.keep(mask) for segment in self._segments)
        self._segments = [segment for segment in kept if segment is not None]
        self._lengths.keep(mask)
        self._count()

    def extract(self, first: int, last: int) -> tuple[NDArray[np.float32], Postings | None]:
        """Lengths and postings of the slots in [first, last), numbered from 0, for `restore`."""
        self._seal_tail()
        parts = []
        ends = [*(segment.base for segment in self._segments[1:]), len(self._lengths)]
        for segment, end in zip(self._segments, ends, strict=True):
            if segment.base >= last or end <= first:
                continue
            terms, slots, counts = segment.loose()
            here = (slots >= first) & (slots < last)
            if here.any():
                parts.append((terms[here], slots[here] - np.int32(first), counts[here]))
        lengths = self._lengths.view[first:last].copy()
        return lengths, Postings.of(joined(parts)) if parts else None

    def restore(self, lengths: NDArray[np.float32], postings: Postings | None) -> None:
        """Append what `extract` gave as the next slots."""
        self._seal_tail()
        first = len(self._lengths)
        if postings is not None:
            self._segments.append(replace(postings, base=postings.base + first))
        self._lengths.extend(lengths)
        self._count()

    def settle(self) -> None:
        """Merge what many calls of `restore` left: the fewer segments, the faster a search."""
        waiting, self._segments = self._segments, []
        run: list[Postings] = []
        for segment in waiting:
            if run and sum(len(part.data) for part in run) + len(segment.data) > SEGMENT_BYTES:
                self._segments.append(Postings.merged(run))
                run = []
            run.append(segment)
        if run:
            self._segments.append(Postings.merged(run))

    def _length_norms(self, slots: NDArray[np.int32]) -> NDArray[np.float32]:
        """Of each of these slots the part of BM25's denominator that depends on the length."""
        share = np.float32(self._length_share())
        lengths = self._lengths.view[slots]
        return np.float32(SATURATION) * (np.float32(1 - LENGTH_WEIGHT) + share * lengths)

    def _length_share(self) -> float:
        """Weight of a document's length against the mean one."""
        live = len(self._lengths) - self._removed
        return LENGTH_WEIGHT / max(self._total / max(live, 1), 1.0)

    def _count(self) -> None:
        """Count anew what is removed, and how long the rest is."""
        lengths = self._lengths.view
        live = lengths >= 0
        self._removed = len(lengths) - int(np.count_nonzero(live))
        self._total = float(lengths[live].sum(dtype=np.float64))

    def _found(self, hashes: Sequence[int]) -> _Postings:
        """Where each term is found, removed documents left out."""
        found = self._in_tail(hashes)
        if self._segments:
            found = _joined(find(self._segments, hashes), found)
        if not self._removed:
            return found
        live = self._lengths.view[found.slots] >= 0
        return _Postings.of(
            len(hashes), found.rows[live], found.slots[live], found.counts[live], found.once
        )

    def _found_few(self, hashes: array[int]) -> tuple[list[Posting], set[int]] | None:
        """Every posting of the terms, as `_found` has them, and the terms that the segments alone
        hold, once a document; None when there are many."""
        tail = np.frombuffer(self._tail_terms, np.uint32)
        held = (tail == np.frombuffer(hashes, np.uint32)[:, np.newaxis]).ravel().nonzero()[0]
        sealed = pieces_of(self._segments, hashes) if self._segments else []
        if len(held) + sum([len(data) for pieces in sealed for data, _ in pieces]) > FEW:
            return None
        slots, counts, size = self._tail_slots, self._tail_counts, len(tail)
        found = []
        for place in held.tolist():
            term, here = divmod(place, size)
            found.append((term, slots[here], counts[here]))
        alone = set()
        if sealed:
            alone = set(range(len(hashes))).difference([term for term, _, _ in found])
            found = _with_sealed(sealed, found, alone)
        if self._removed:
            lengths = self._lengths.view
            found = [posting for posting in found if lengths.item(posting[1]) >= 0]
        return found, alone

    def _in_tail(self, hashes: Sequence[int]) -> _Postings:
        """What the tail holds of each term."""
        tail = np.frombuffer(self._tail_terms, np.uint32)
        wanted = np.array(hashes, np.uint32)
        rows, places = (tail == wanted[:, np.newaxis]).nonzero()
        slots = np.frombuffer(self._tail_slots, np.int32)[places]
        counts = np.frombuffer(self._tail_counts, np.uint8)[places].astype(np.intp)
        return _Postings.of(len(hashes), rows, slots, counts)

    def _clear_tail(self) -> None:
        self._tail_terms = array("I")
        self._tail_slots = array("i")
        self._tail_counts = array("B")

    def _seal_tail(self) -> None:
        """Turn the tail into a segment and merge while the last two are of like, small size."""
        if not self._tail_terms:
            return
        fresh = Postings.of(
            (
                np.frombuffer(self._tail_terms, np.uint32),
                np.frombuffer(self._tail_slots, np.int32),
                np.frombuffer(self._tail_counts, np.uint8),
            )
        )
        self._clear_tail()
        parts, size = [fresh], len(fresh.data)
        while self._segments and len(self._segments[-1].data) < 2 * size <= SEGMENT_BYTES:
            parts.insert(0, self._segments.pop())
            size += len(parts[0].data)
        self._segments.append(Postings.merged(parts) if len(parts) > 1 else fresh)


def _with_sealed(
    sealed: Sequence[Sequence[Piece]], tail: Sequence[Posting], alone: set[int]
) -> list[Posting]:
    """Term by term what the segments hold, then what the tail holds. Leaves of `alone` what the
    segments hold more than once in some document."""
    found: list[Posting] = []
    for term, pieces in enumerate(sealed):
        if pieces:
            slots, counts = decoded_few(pieces)
            found += zip(repeat(term), slots, counts)
            if len(slots) != sum(counts):
                alone.discard(term)
    return sorted([*found, *tail], key=itemgetter(0)) if found else list(tail)


def _joined(sealed: Sequence[Found], tail: _Postings) -> _Postings:
    """What the segments hold of each term, then what the tail holds of it."""
    once = np.array([counts is None for _, counts in sealed], np.bool_) & (tail.sizes == 0)
    fresh = tail.sizes.tolist()
    slots: list[NDArray[np.int32]] = []
    counts: list[NDArray[np.intp]] = []
    first = 0
    for (held, times), size in zip(sealed, fresh, strict=True):
        slots += held, tail.slots[first : first + size]
        counts += (
            np.ones(len(held), np.intp) if times is None else times,
            tail.counts[first : first + size],
        )
        first += size
    sizes = [len(held) + size for (held, _), size in zip(sealed, fresh, strict=True)]
    rows = np.repeat(np.arange(len(sealed)), sizes)
    return _Postings.of(len(sealed), rows, np.concatenate(slots), np.concatenate(counts), once)


@kept
def _counted(text: str, analyse: Analyser) -> tuple[array[int], array[int]]:
    """The hashes of a text's terms, each once, in reading order, and how often each is there."""
    counts = Counter(analyse(text))
    return array("I", map(_hashed, counts)), array("I", counts.values())


@lru_cache(maxsize=_CACHED_TERMS)
def _hashed(term: str) -> int:
    """Stable across processes, as what is sealed today is read tomorrow."""
    return zlib.crc32(term.encode("utf-8", "surrogatepass"))
