"""The ranking index of one memory layer, in RAM only (law 5).

Holds no text: postings of hashed terms, int8 vectors, times and episodes, one slot a memory. The
memory actor stays the owner of the words; the index only says which ids to ask it for.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from device.recall.columns import Column
from device.recall.lexical import Analyser, LexicalIndex
from device.recall.vectors import VectorIndex
from protocol.models.features import embed

__all__ = ["Entry", "LayerIndex", "Match", "Ranking"]

EPISODE_GAP_SECONDS = 1800.0
"""Without a session name, a silence this long starts another conversation."""
DAY_SECONDS = 86_400.0


@dataclass(frozen=True, slots=True)
class Entry:
    """What the index needs of one memory. ``number`` is the integer of its id."""

    number: int
    text: str
    at: float
    session: str = ""
    starts: float | None = None
    ends: float | None = None
    past: bool = False
    """Over and done with: found only by queries that ask about the past."""


@dataclass(frozen=True, slots=True)
class Match:
    """A ranked memory: ``score`` 0 … about 1.5, ``coverage`` share of the query's idf mass."""

    number: int
    score: float
    coverage: float


@dataclass(frozen=True, slots=True)
class Ranking:
    """The tunable weights of one layer's ranking (fitted on LoCoMo 0–5, cats 1–4)."""

    neighbours: tuple[float, ...] = (0.4, 0.3, 0.15)
    """Share of its score that a match lends to turns 1, 2, … places away in its episode."""
    episode: float = 0.3
    """Share of an episode's best score lent to every match in it."""
    time_boost: float = 1.0
    """Extra share for a memory inside the time that the query names; never a filter."""
    vector: float = 0.2
    """Weight of the best vector match against the best word match, where words find little."""
    vector_below: float = 0.15
    """Best coverage under which words are said to find little."""


class LayerIndex:
    """Ranks the memories of one layer for a query. Synchronous; the caller feeds it."""

    def __init__(
        self, analyse: Analyser, *, dimension: int, ranking: Ranking | None = None
    ) -> None:
        self._ranking = ranking or Ranking()
        self._lexical = LexicalIndex(analyse)
        self._vectors = VectorIndex(dimension)
        self._numbers = Column(np.int64)
        self._starts = Column(np.float64)
        self._ends = Column(np.float64)
        self._episodes = Column(np.int32)
        self._past = Column(np.bool_)
        self._sessions: dict[str, int] = {}
        self._next_episode = 0
        self._last: tuple[str, float, int] = ("", -np.inf, -1)

    def __len__(self) -> int:
        return len(self._numbers)

    def add(self, entries: Sequence[Entry]) -> None:
        """Append memories; an id already present must be removed first."""
        if not entries:
            return
        self._lexical.add([entry.text for entry in entries])
        self._vectors.add(np.stack([embed(entry.text) for entry in entries]))
        self._numbers.extend([entry.number for entry in entries])
        self._starts.extend([e.at if e.starts is None else e.starts for e in entries])
        self._ends.extend([_end_of(entry) for entry in entries])
        self._episodes.extend([self._episode_of(entry) for entry in entries])
        self._past.extend([entry.past for entry in entries])

    def remove(self, numbers: Collection[int]) -> int:
        """Drop memories and every posting of theirs at once; returns how many were here."""
        mask = ~np.isin(self._numbers.view, np.fromiter(numbers, np.int64, len(numbers)))
        dropped = len(mask) - int(np.count_nonzero(mask))
        if dropped:
            for part in (self._lexical, self._vectors, self._numbers, self._starts):
                part.keep(mask)
            for part in (self._ends, self._episodes, self._past):
                part.keep(mask)
        return dropped

    def search(
        self,
        query: str,
        k: int,
        *,
        spans: Sequence[tuple[float, float]] = (),
        ask_past: bool = False,
    ) -> list[Match]:
        """The best `k` memories, best first, ties by age (older first)."""
        if not len(self):
            return []
        words = self._lexical.score(query)
        best = float(words.bm25.max())
        scores = words.bm25 / np.float32(best) if best > 0 else words.bm25.copy()
        scores *= np.float32(words.coverage.max(initial=0.0))
        scores = self._with_context(scores)
        inside = self._inside(spans)
        scores = scores * (1.0 + self._ranking.time_boost * inside)
        if float(words.coverage.max()) < self._ranking.vector_below:
            scores = self._with_vectors(query, scores, inside)
        if not ask_past:
            scores = np.where(self._past.view, 0.0, scores)
        return self._best(scores, words.coverage, k)

    def _best(
        self, scores: NDArray[np.floating], coverage: NDArray[np.float32], k: int
    ) -> list[Match]:
        found = np.flatnonzero(scores > 0)
        if len(found) > k:
            found = found[np.argpartition(-scores[found], k - 1)[:k]]
        order = found[np.lexsort((found, -scores[found]))]
        return [
            Match(int(self._numbers.view[slot]), float(scores[slot]), float(coverage[slot]))
            for slot in order
        ]

    def _with_context(self, scores: NDArray[np.float32]) -> NDArray[np.float32]:
        """Conversation context: a match lifts its neighbours and its whole episode a little."""
        episodes = self._episodes.view
        lifted = scores.copy()
        for distance, share in enumerate(self._ranking.neighbours, start=1):
            together = episodes[distance:] == episodes[:-distance]
            lifted[distance:] += np.where(together, share * scores[:-distance], 0.0)
            lifted[:-distance] += np.where(together, share * scores[distance:], 0.0)
        if self._ranking.episode:
            tops = np.zeros(self._next_episode, np.float32)
            np.maximum.at(tops, episodes, scores)
            lifted += np.where(lifted > 0, self._ranking.episode * tops[episodes], 0.0)
        return lifted

    def _inside(self, spans: Sequence[tuple[float, float]]) -> NDArray[np.float32]:
        """1 inside a named span, falling to 0 within one span's length (at least a day) of it."""
        nearness = np.zeros(len(self), np.float32)
        for start, end in spans:
            slack = max(end - start, DAY_SECONDS)
            gap = np.maximum(start - self._ends.view, self._starts.view - end)
            near = np.clip(1.0 - np.maximum(gap, 0.0) / slack, 0.0, 1.0)
            np.maximum(nearness, near.astype(np.float32), out=nearness)
        return nearness

    def _with_vectors(
        self, query: str, scores: NDArray[np.floating], inside: NDArray[np.float32]
    ) -> NDArray[np.floating]:
        """Similarity added to what words found, on the scale of `scores`.

        The hashed embedder is weak: fused into every query it lowers BM25's recall, so it speaks
        only where words found little (memory research, 1.11 and Part 5).
        """
        similar = np.maximum(self._vectors.similarities(embed(query)), 0.0)
        similar *= 1.0 + self._ranking.time_boost * inside
        peak = float(similar.max(initial=0.0))
        if peak == 0.0:
            return scores
        scale = float(scores.max(initial=0.0)) or peak
        return scores + self._ranking.vector * scale * similar / peak

    def _episode_of(self, entry: Entry) -> int:
        """One number a session name; without a name, one a stretch without long silence."""
        session, at, episode = self._last
        if entry.session:
            episode = self._sessions.get(entry.session, -1)
        elif session or abs(entry.at - at) > EPISODE_GAP_SECONDS:
            episode = -1
        if episode < 0:
            episode = self._next_episode
            self._next_episode += 1
            if entry.session:
                self._sessions[entry.session] = episode
        self._last = (entry.session, entry.at, episode)
        return episode


def _end_of(entry: Entry) -> float:
    if entry.ends is not None:
        return entry.ends
    return entry.at if entry.starts is None else entry.starts
