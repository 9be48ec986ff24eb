"""Incremental BM25 over compact postings.

A term is kept as a 64-bit hash and a posting as (slot: int32, count: uint8), so that the index of
100,000 turns takes about 5 bytes a posting and holds no word in clear. Fresh documents go to a
small unsorted tail; full tails become sorted segments which merge geometrically. BM25 after
Robertson and Zaragoza, "The Probabilistic Relevance Framework" (2009), with the idf of Lucene.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from device.recall.columns import Column

__all__ = ["LexicalIndex", "LexicalScores"]

SATURATION = 1.2
"""BM25 k1: how fast repeating a word stops counting."""
LENGTH_WEIGHT = 0.4
"""BM25 b: chat turns are short, so length is discounted less than the usual 0.75."""
TAIL_POSTINGS = 20_000
"""Postings scanned linearly before they become a sorted segment."""
MAX_COUNT = 255
HASH_MASK = (1 << 64) - 1

Analyser = Callable[[str], Sequence[str]]


@dataclass(frozen=True, slots=True)
class LexicalScores:
    """Per slot: BM25 score and the share (0 … 1) of the query's idf mass that it contains."""

    bm25: NDArray[np.float32]
    coverage: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class _Segment:
    """Postings sorted by term: those of ``terms[i]`` are ``slots[starts[i]:starts[i + 1]]``."""

    terms: NDArray[np.uint64]
    starts: NDArray[np.int64]
    slots: NDArray[np.int32]
    counts: NDArray[np.uint8]

    @classmethod
    def of(
        cls, terms: NDArray[np.uint64], slots: NDArray[np.int32], counts: NDArray[np.uint8]
    ) -> _Segment:
        """Sort loose postings (one term each) into a segment; slots stay ascending in a term."""
        order = np.argsort(terms, kind="stable")
        unique, first = np.unique(terms[order], return_index=True)
        return cls(unique, np.append(first, len(terms)), slots[order], counts[order])

    def loose(self) -> tuple[NDArray[np.uint64], NDArray[np.int32], NDArray[np.uint8]]:
        """Back to one term a posting."""
        return np.repeat(self.terms, np.diff(self.starts)), self.slots, self.counts

    def find(self, term: int) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
        """Slots and counts of a term's documents, empty when it is not here."""
        place = int(np.searchsorted(self.terms, np.uint64(term)))
        if place == len(self.terms) or int(self.terms[place]) != term:
            return self.slots[:0], self.counts[:0]
        span = slice(self.starts[place], self.starts[place + 1])
        return self.slots[span], self.counts[span]


class LexicalIndex:
    """Documents by slot (0, 1, … in order of adding); slots close up when some are removed."""

    def __init__(self, analyse: Analyser) -> None:
        self._analyse = analyse
        self._lengths = Column(np.float32)
        self._segments: list[_Segment] = []
        self._clear_tail()

    def __len__(self) -> int:
        return len(self._lengths)

    def add(self, texts: Sequence[str]) -> None:
        """Index texts as the next slots."""
        lengths = []
        for slot, text in enumerate(texts, start=len(self._lengths)):
            counts = Counter(self._analyse(text))
            lengths.append(float(counts.total()))
            self._tail_terms.extend([hash(term) & HASH_MASK for term in counts])
            self._tail_slots.extend([slot] * len(counts))
            self._tail_counts.extend([min(count, MAX_COUNT) for count in counts.values()])
        self._lengths.extend(lengths)
        if len(self._tail_terms) >= TAIL_POSTINGS:
            self._seal_tail()

    def score(self, query: str) -> LexicalScores:
        """Score every slot against the query's terms."""
        size = len(self._lengths)
        bm25 = np.zeros(size, np.float32)
        matched = np.zeros(size, np.float32)
        wanted = Counter(self._analyse(query))
        if not size or not wanted:
            return LexicalScores(bm25, matched)
        lengths = self._lengths.view
        norms = SATURATION * (
            1 - LENGTH_WEIGHT + LENGTH_WEIGHT * lengths / max(float(lengths.mean()), 1.0)
        )
        mass = 0.0
        for term, repeats in wanted.items():
            found = self._postings(hash(term) & HASH_MASK)
            frequency = sum(len(slots) for slots, _ in found)
            idf = float(np.log1p((size - frequency + 0.5) / (frequency + 0.5)))
            mass += idf
            for slots, counts in found:
                weight = idf * repeats * (SATURATION + 1)
                bm25[slots] += weight * counts / (counts + norms[slots])
                matched[slots] += np.float32(idf)
        return LexicalScores(bm25, matched / np.float32(mass))

    def keep(self, mask: NDArray[np.bool_]) -> None:
        """Drop the documents whose mask is False, their postings at once with them."""
        self._seal_tail()
        renumbered = np.cumsum(mask, dtype=np.int32) - 1
        kept = []
        for segment in self._segments:
            terms, slots, counts = segment.loose()
            live = mask[slots]
            if live.any():
                kept.append(
                    _Segment.of(terms[live], renumbered[slots[live]].astype(np.int32), counts[live])
                )
        self._segments = kept
        self._lengths.keep(mask)

    def _postings(self, term: int) -> list[tuple[NDArray[np.int32], NDArray[np.uint8]]]:
        found = [segment.find(term) for segment in self._segments]
        if self._tail_terms:
            here = np.flatnonzero(np.frombuffer(self._tail_terms, np.uint64) == np.uint64(term))
            found.append(
                (
                    np.frombuffer(self._tail_slots, np.int32)[here],
                    np.frombuffer(self._tail_counts, np.uint8)[here],
                )
            )
        return found

    def _clear_tail(self) -> None:
        self._tail_terms = array("Q")
        self._tail_slots = array("i")
        self._tail_counts = array("B")

    def _seal_tail(self) -> None:
        """Turn the tail into a segment and merge while the last two are of like size."""
        if not self._tail_terms:
            return
        fresh = _Segment.of(
            np.frombuffer(self._tail_terms, np.uint64),
            np.frombuffer(self._tail_slots, np.int32),
            np.frombuffer(self._tail_counts, np.uint8),
        )
        self._clear_tail()
        while self._segments and len(self._segments[-1].slots) < 2 * len(fresh.slots):
            older = self._segments.pop().loose()
            newer = fresh.loose()
            fresh = _Segment.of(
                np.concatenate([older[0], newer[0]]),
                np.concatenate([older[1], newer[1]]),
                np.concatenate([older[2], newer[2]]),
            )
        self._segments.append(fresh)
