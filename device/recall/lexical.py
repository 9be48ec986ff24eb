"""Incremental BM25 over compressed postings.

A term is kept as a 32-bit hash, so the index holds no word in clear. Fresh documents go to a small
unsorted tail; full tails become sorted segments which merge geometrically up to a size that bounds
the scratch of a merge. A removed document counts for nothing from that moment; its postings go
with the next `keep`. BM25 after Robertson and Zaragoza, "The Probabilistic Relevance Framework"
(2009), with the idf of Lucene.
"""

from __future__ import annotations

import zlib
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from device.recall.columns import Column
from device.recall.postings import Found, Postings, find, joined

__all__ = ["LexicalIndex", "LexicalScores"]

SATURATION = 1.2
"""BM25 k1: how fast repeating a word stops counting."""
LENGTH_WEIGHT = 0.4
"""BM25 b: chat turns are short, so length is discounted less than the usual 0.75."""
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


class LexicalIndex:
    """Documents by slot (0, 1, … in order of adding); `keep` closes slots up."""

    def __init__(self, analyse: Analyser) -> None:
        self._analyse = analyse
        self._lengths = Column(np.float32)
        self._segments: list[Postings] = []
        self._removed = 0
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
            counts = Counter(self._analyse(text))
            lengths.append(float(counts.total()))
            self._tail_terms.extend(map(_hashed, counts))
            self._tail_slots.extend([slot] * len(counts))
            self._tail_counts.extend([min(count, MAX_COUNT) for count in counts.values()])
        self._lengths.extend(lengths)
        if len(self._tail_terms) >= TAIL_POSTINGS:
            self._seal_tail()

    def remove(self, slots: NDArray[np.intp]) -> None:
        """Let these documents count for nothing; the slots stay until `keep` drops them."""
        lengths = self._lengths.view
        self._removed += int(np.count_nonzero(lengths[slots] >= 0))
        lengths[slots] = REMOVED

    def score(self, query: str) -> LexicalScores:
        """Score every slot against the query's terms; a removed one scores 0."""
        size = len(self._lengths)
        bm25 = np.zeros(size, np.float32)
        matched = np.zeros(size, np.float32)
        wanted = Counter(self._analyse(query))
        if not size or not wanted:
            return LexicalScores(bm25, matched)
        norms = self._length_norms()
        live = size - self._removed
        mass = 0.0
        for (slots, counts), repeats in zip(self._found(wanted), wanted.values(), strict=True):
            idf = float(np.log1p((live - len(slots) + 0.5) / (len(slots) + 0.5)))
            mass += idf
            weight = np.float32(idf * repeats * (SATURATION + 1))
            if counts is None:
                bm25[slots] += weight / (np.float32(1.0) + norms[slots])
            else:
                bm25[slots] += weight * counts / (counts + norms[slots])
            matched[slots] += np.float32(idf)
        return LexicalScores(bm25, matched / np.float32(mass))

    def keep(self, mask: NDArray[np.bool_]) -> None:
        """Drop the slots whose mask is False, their postings with them."""
        self._seal_tail()
        kept = (segment.keep(mask) for segment in self._segments)
        self._segments = [segment for segment in kept if segment is not None]
        self._lengths.keep(mask)
        self._removed = int(np.count_nonzero(self._lengths.view < 0))

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
        self._removed += int(np.count_nonzero(lengths < 0))

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

    def _length_norms(self) -> NDArray[np.float32]:
        """The part of BM25's denominator that depends on the length alone."""
        lengths = self._lengths.view
        live = len(lengths) - self._removed
        total = float(lengths.sum(dtype=np.float64)) - REMOVED * self._removed
        share = np.float32(LENGTH_WEIGHT / max(total / max(live, 1), 1.0))
        return np.float32(SATURATION) * (np.float32(1 - LENGTH_WEIGHT) + share * lengths)

    def _found(self, terms: Iterable[str]) -> list[Found]:
        """Of each term the documents that hold it, removed ones left out."""
        hashed = [_hashed(term) for term in terms]
        found = find(self._segments, hashed)
        if self._tail_terms:
            tail = np.frombuffer(self._tail_terms, np.uint32)
            found = [self._with_tail(*pair, tail) for pair in zip(found, hashed, strict=True)]
        return [self._living(*pair) for pair in found] if self._removed else found

    def _with_tail(self, found: Found, term: int, tail: NDArray[np.uint32]) -> Found:
        """What the segments know of `term`, and the documents of `tail`, the tail's terms."""
        here = (tail == np.uint32(term)).nonzero()[0]
        if not len(here):
            return found
        slots, counts = found
        fresh = np.frombuffer(self._tail_counts, np.uint8)[here].astype(np.intp)
        sealed = np.ones(len(slots), np.intp) if counts is None else counts
        slots = np.concatenate([slots, np.frombuffer(self._tail_slots, np.int32)[here]])
        return slots, np.concatenate([sealed, fresh])

    def _living(self, slots: NDArray[np.int32], counts: NDArray[np.intp] | None) -> Found:
        live = self._lengths.view[slots] >= 0
        return slots[live], None if counts is None else counts[live]

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


@lru_cache(maxsize=_CACHED_TERMS)
def _hashed(term: str) -> int:
    """Stable across processes, as what is sealed today is read tomorrow."""
    return zlib.crc32(term.encode("utf-8", "surrogatepass"))
