"""The ranking index of one memory layer, in RAM only (law 5).

Holds no text: postings of hashed terms, int8 vectors, times and episodes, one slot a memory. The
memory actor stays the owner of the words; the index only says which ids to ask it for.
"""

from __future__ import annotations

import zlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from device.recall.columns import Column
from device.recall.few import Few, Lending, single
from device.recall.lexical import Analyser, LexicalIndex
from device.recall.parts import Part
from device.recall.rows import rows_of
from device.recall.timely import Spans, nearness, nearness_of_one, within
from device.recall.vectors import Source, VectorIndex
from protocol.models.embedding import embed, embed_many

__all__ = ["EPISODE_GAP_SECONDS", "Entry", "LayerIndex", "Match", "Ranking", "Similar"]

LENDERS = 2_048
"""Best matches that lend to their surroundings: bounds the cost of a word that everybody says."""
VECTOR_CANDIDATES = 256
"""Best vector matches that are looked at beside the word matches."""
EPISODE_GAP_SECONDS = 1800.0
"""Without a session name, a silence this long starts another conversation."""
ALIKE = 0.13
"""Cosine of the built-in embedder under which two texts are taken for strangers: the noise of its
96 hashed dimensions is 0.1."""
_ALIKE = single(ALIKE)
NAMELESS = 0
"""Hash of no session name."""
TALK = 16
"""Memories added together up to which each row is looked for among the kept ones."""
FEW_SLOTS = 256
"""Slots up to which walking them takes no longer than setting arrays up."""
GONE = -1
"""Number of a slot whose memory was removed."""
TOMBSTONES = 0.2
"""Share of such slots from which `tidy` closes them up (002)."""
Slots = NDArray[np.intp]
Similar = Sequence[tuple[int, float]]
"""Numbers of memories and their cosines with the query."""


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
    asks: bool = False
    """It ends in a question: what answers it stands right after it."""


class Match(NamedTuple):
    """A ranked memory: ``score`` 0 … about 1.5, ``coverage`` share of the query's idf mass."""

    number: int
    score: float
    coverage: float


@dataclass(frozen=True, slots=True)
class Ranking:
    """The tunable weights of one layer's ranking.

    Round numbers from a plateau of LoCoMo 0–5: fitted on all but one conversation and tried on the
    one left out, finer ones gain under half a point.
    """

    neighbours: tuple[float, ...] = (0.4, 0.3, 0.15)
    """Share of its score that a match lends to turns 1, 2, … places away in its episode."""
    reply: float = 0.3
    """Further share that a matching question lends to the turn after it."""
    episode: float = 0.4
    """Share of an episode's best score lent to every match in it."""
    time_boost: float = 1.0
    """Extra share for a memory inside the time that the query names; never a filter."""
    timely: float = 1.0
    """Weight of being of that time against the best match, where words find little."""
    vector: float = 0.2
    """Weight of the best vector match against the best word match, where words find little."""
    vector_below: float = 0.15
    """Best coverage under which words are said to find little."""
    dense: float = 0.5
    """Weight of the best match of a chosen embedder against the best word match."""


DEFAULT = Ranking()


@cache
def _lending_of(ranking: Ranking) -> Lending:
    return Lending(ranking.neighbours, ranking.reply, ranking.episode)


@cache
def _gifts_of(
    ranking: Ranking,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.intp]]:
    """What a match lends by distance, what a question adds to that, and where to: for `_lend`."""
    near = ranking.neighbours
    replies = [ranking.reply, *[0.0] * len(near)][: len(near)]
    places = [d for n in range(1, len(near) + 1) for d in (n, -n)]
    return np.array(near, np.float64), np.array(replies), np.array(places, np.intp)


class LayerIndex:
    """Ranks the memories of one layer for a query. Synchronous; the caller feeds it."""

    __slots__ = (
        "_asks",
        "_episodes",
        "_last",
        "_lasting",
        "_lending",
        "_lexical",
        "_next_episode",
        "_numbers",
        "_past",
        "_ranking",
        "_removed",
        "_sessions",
        "_starts",
        "_vectors",
    )

    def __init__(
        self,
        analyse: Analyser,
        *,
        dimension: int,
        ranking: Ranking | None = None,
        numbers: DTypeLike = np.int32,
    ) -> None:
        """`numbers` is the type that holds the integers of the ids."""
        self._ranking = ranking or DEFAULT
        self._lending = _lending_of(self._ranking)
        self._lexical = LexicalIndex(analyse)
        self._vectors = VectorIndex(dimension)
        self._numbers = Column(numbers)
        self._starts = Column(np.float64)
        self._lasting = Column(np.float32)
        self._episodes = Column(np.int32)
        self._past = Column(np.bool_)
        self._asks = Column(np.bool_)
        self._sessions: dict[int, int] = {}
        self._next_episode = 0
        self._removed = 0
        self._last: tuple[int, float, int] = (NAMELESS, -np.inf, -1)

    def __len__(self) -> int:
        return len(self._numbers) - self._removed

    def add(self, entries: Sequence[Entry]) -> None:
        """Append memories; an id already present must be removed first."""
        if not entries:
            return
        texts = [entry.text for entry in entries]
        self._lexical.add(texts)
        if len(texts) <= TALK:
            self._vectors.restore(*rows_of(texts))
        else:
            self._vectors.add(embed_many(texts))
        self._numbers.extend([entry.number for entry in entries])
        self._starts.extend([e.at if e.starts is None else e.starts for e in entries])
        self._lasting.extend([_lasts(entry) for entry in entries])
        self._episodes.extend([self._episode_of(entry) for entry in entries])
        self._past.extend([entry.past for entry in entries])
        self._asks.extend([entry.asks for entry in entries])

    def remove(self, numbers: Collection[int]) -> int:
        """Let these memories be found no more; returns how many were here.

        They leave tombstones, which `tidy` clears away.
        """
        slots = self._slots_of(numbers)
        if len(slots):
            self._lexical.remove(slots)
            self._vectors.remove(slots)
            self._numbers.view[slots] = GONE
            self._removed += len(slots)
        return len(slots)

    def _slots_of(self, numbers: Collection[int]) -> Slots:
        """Where these memories are; those that are not here are passed over."""
        held = self._numbers.view
        if len(held) <= FEW_SLOTS:
            wanted = set(numbers)
            here = [slot for slot, number in enumerate(held.tolist()) if number in wanted]
            return np.array(here, np.intp)
        return np.flatnonzero(np.isin(held, np.fromiter(numbers, np.int64, len(numbers))))

    def tidy(self, *, every: bool = False) -> bool:
        """Close up the slots of removed memories when there are many, or `every` one; whether it
        did. Work for an idle phone: a tenth of a second at 100,000 memories."""
        if not self._removed or not (every or self._removed > TOMBSTONES * len(self._numbers)):
            return False
        mask = self._numbers.view != GONE
        for part in (self._lexical, self._vectors, self._numbers, self._starts):
            part.keep(mask)
        for part in (self._lasting, self._episodes, self._past, self._asks):
            part.keep(mask)
        self._removed = 0
        return True

    def extract(self, first: int, last: int) -> Part:
        """The slots in [first, last) as they are, none of them removed, for `restore`."""
        lengths, postings = self._lexical.extract(first, last)
        scales, rows = self._vectors.extract(first, last)
        span = slice(first, last)
        return Part(
            numbers=self._numbers.view[span].copy(),
            starts=self._starts.view[span].copy(),
            lasting=self._lasting.view[span].copy(),
            episodes=self._episodes.view[span].copy(),
            sessions=self._names_of(self._episodes.view[span]),
            past=self._past.view[span].copy(),
            asks=self._asks.view[span].copy(),
            lengths=lengths,
            scales=scales,
            rows=rows,
            postings=postings,
        )

    def restore(self, part: Part) -> None:
        """Append what `extract` gave; `settle` after the last part."""
        if not len(part):
            return
        self._lexical.restore(part.lengths, part.postings)
        self._vectors.restore(part.scales, part.rows)
        for column, values in (
            (self._numbers, part.numbers),
            (self._starts, part.starts),
            (self._lasting, part.lasting),
            (self._episodes, part.episodes),
            (self._past, part.past),
            (self._asks, part.asks),
        ):
            column.extend(values)
        named = part.sessions != NAMELESS
        pairs = zip(part.sessions[named].tolist(), part.episodes[named].tolist(), strict=True)
        self._sessions.update(pairs)
        self._next_episode = max(self._next_episode, int(part.episodes.max()) + 1)
        last = int(part.sessions[-1]), float(part.starts[-1]), int(part.episodes[-1])
        self._last = last

    def _names_of(self, episodes: NDArray[np.int32]) -> NDArray[np.uint32]:
        """Hash of each episode's session name."""
        names = np.zeros(self._next_episode, np.uint32)
        names[list(self._sessions.values())] = list(self._sessions)
        return names[episodes]

    def settle(self) -> None:
        """Make a search of what was restored fast."""
        self._lexical.settle()

    def lean_on(self, source: Source, slots: int) -> None:
        """Let go of the vectors of the first `slots`; `source` reads them when a query must."""
        self._vectors.lean_on(source, slots)

    def search(
        self,
        query: str,
        k: int,
        *,
        spans: Spans = (),
        ask_past: bool = False,
        similar: Similar = (),
        likeness: bool = True,
    ) -> list[Match]:
        """The best `k` memories, best first, ties by age (older first).

        `similar`: what a chosen embedder finds near the query, instead of the built-in one, which
        is not asked either without `likeness`.
        """
        if not len(self):
            return []
        few = None if similar else self._lexical.few(query)
        if few is not None:
            found = self._search_few(query, k, few, spans, ask_past, likeness)
            if found is not None:
                return found
        words = self._lexical.score(query)
        best = float(words.bm25.max())
        coverage, known = words.coverage, float(words.coverage.max(initial=0.0))
        scores = words.bm25 * np.float32(known / best) if best > 0 else words.bm25.copy()
        slots = self._lift(scores)
        if similar:
            slots = self._add_given(scores, similar)
        elif likeness and known < self._ranking.vector_below:
            slots = self._add_similar(query, scores, slots)
        if spans and known < self._ranking.vector_below:
            shares = self._add_timely(scores, spans)
            slots = np.flatnonzero(scores)
            # A query of nothing but a time is answered in full by what lies in it.
            coverage = coverage if known else shares
        if self._removed:
            slots = slots[self._numbers.view[slots] != GONE]
        if not ask_past:
            slots = slots[~self._past.view[slots]]
        boosted = scores[slots]
        if spans:
            starts = self._starts.view[slots]
            near = nearness(starts, starts + self._lasting.view[slots], spans)
            boosted *= 1.0 + self._ranking.time_boost * near
        return self._best(slots, boosted, coverage, k)

    def _search_few(
        self,
        query: str,
        k: int,
        words: tuple[Few, Few],
        spans: Spans,
        ask_past: bool,
        likeness: bool,
    ) -> list[Match] | None:
        """As `search`, slot by slot from the few that words found; None when every memory must be
        looked at for its time."""
        bm25, coverage = words
        known = max(coverage.values(), default=0.0)
        little = known < self._ranking.vector_below
        if spans and little:
            return None
        scale = single(known / max(bm25.values())) if bm25 else 0.0
        scores = {slot: single(score * scale) for slot, score in bm25.items()}
        self._lending.lift(scores, self._episodes.view, self._asks.view)
        if likeness and little:
            self._add_similar_few(query, scores)
        numbers, past = self._numbers.view, self._past.view
        found = [
            (-(self._boosted(slot, score, spans) if spans else score), slot)
            for slot, score in scores.items()
            if numbers.item(slot) != GONE and (ask_past or not past.item(slot))
        ]
        found.sort()
        return [
            Match(numbers.item(slot), -score, coverage.get(slot, 0.0)) for score, slot in found[:k]
        ]

    def _add_similar_few(self, query: str, scores: Few) -> None:
        """As `_add_similar`."""
        alike = self._vectors.alike(embed(query), _ALIKE, VECTOR_CANDIDATES)
        if alike:
            peak = alike[0][1]
            scale = max(scores.values(), default=0.0) or peak
            share = single(self._ranking.vector * scale / peak)
            for slot, cosine in alike:
                scores[slot] = single(scores.get(slot, 0.0) + single(share * cosine))

    def _boosted(self, slot: int, score: float, spans: Spans) -> float:
        starts = self._starts.view.item(slot)
        near = nearness_of_one(starts, starts + self._lasting.view.item(slot), spans)
        return single(score * single(1.0 + single(single(self._ranking.time_boost) * near)))

    def _best(
        self, slots: Slots, scores: NDArray[np.floating], coverage: NDArray[np.float32], k: int
    ) -> list[Match]:
        if len(slots) > k:
            chosen = np.argpartition(-scores, k - 1)
            # Ties at the edge must not depend on how the partition left them: older first.
            edge = scores[chosen[k - 1]]
            chosen = np.flatnonzero(scores >= edge)
            slots, scores = slots[chosen], scores[chosen]
        order = np.lexsort((slots, -scores))[:k]
        best = slots[order]
        numbers, shares = self._numbers.view[best].tolist(), coverage[best].tolist()
        return list(map(Match, numbers, scores[order].tolist(), shares))

    def _lift(self, scores: NDArray[np.float32]) -> Slots:
        """Conversation context: a match lifts its neighbours and its whole episode a little.

        Changes `scores` in place, at the places near a match only: a memory of 100,000 turns must
        not be walked for the sake of twenty. Returns the slots that have a score.
        """
        lenders = np.flatnonzero(scores)
        if len(lenders) > LENDERS:
            lenders = np.sort(lenders[np.argpartition(-scores[lenders], LENDERS)[:LENDERS]])
        own = scores[lenders]
        if len(lenders) and self._ranking.neighbours:
            self._lend(scores, lenders, own)
        slots = np.flatnonzero(scores)
        if self._ranking.episode and len(lenders):
            episodes = self._episodes.view
            tops = np.zeros(self._next_episode, np.float32)
            np.maximum.at(tops, episodes[lenders], own)
            scores[slots] += np.float32(self._ranking.episode) * tops[episodes[slots]]
        return slots

    def _lend(self, scores: NDArray[np.float32], lenders: Slots, own: NDArray[np.float32]) -> None:
        """Add what the lenders, whose scores are their `own`, give to the slots beside them in
        their episodes: nearest first, the slot after before the one before."""
        shares, replies, distances = _gifts_of(self._ranking)
        after = own * (shares[:, np.newaxis] + replies[:, np.newaxis] * self._asks.view[lenders])
        before = own * shares.astype(np.float32)[:, np.newaxis]
        gifts = np.stack([after.astype(np.float32), before], axis=1).reshape(-1, len(lenders))
        places = lenders + distances[:, np.newaxis]
        episodes = self._episodes.view
        # A place outside is cut to the edge, which is then refused as no place of its own.
        near = np.minimum(np.maximum(places, 0), len(episodes) - 1)
        there = (near == places) & (episodes[near] == episodes[lenders])
        # One by one in order: a place met from two distances must add them the same way always.
        np.add.at(scores, places[there], gifts[there])

    def _add_similar(self, query: str, scores: NDArray[np.float32], slots: Slots) -> Slots:
        """Similarity added to what words found, on the scale of `scores`.

        The hashed embedder is weak: fused into every query it lowers BM25's recall, so it speaks
        only where words found little (memory research, 1.11 and Part 5).
        """
        near, similar = self._vectors.nearest(embed(query), VECTOR_CANDIDATES)
        near, similar = near[similar >= ALIKE], similar[similar >= ALIKE]
        if not len(near):
            return slots
        peak = float(similar[0])
        scale = float(scores.max(initial=0.0)) or peak
        scores[near] += np.float32(self._ranking.vector * scale / peak) * similar
        return np.flatnonzero(scores)

    def _add_given(self, scores: NDArray[np.float32], similar: Similar) -> Slots:
        """A chosen embedder speaks in every query: unlike the built-in one it knows meanings."""
        cosines = {number: cosine for number, cosine in similar if cosine > 0}
        slots = np.flatnonzero(np.isin(self._numbers.view, list(cosines)))
        if len(slots):
            near = np.array([cosines[n] for n in self._numbers.view[slots].tolist()], np.float32)
            scale = float(scores.max(initial=0.0)) or 1.0
            scores[slots] += np.float32(self._ranking.dense * scale) * near / near.max()
        return np.flatnonzero(scores)

    def _add_timely(self, scores: NDArray[np.float32], spans: Spans) -> NDArray[np.float32]:
        """Where words find little, being of the time that is asked for is itself an answer.

        Adds to `scores`; returns how much (0 … 1) of each memory lies in that time.
        """
        starts = self._starts.view
        shares = within(starts, starts + self._lasting.view, spans)
        scale = float(scores.max(initial=0.0)) or 1.0
        scores += np.float32(self._ranking.timely * scale) * (shares + np.sign(shares)) / 2
        return shares

    def _episode_of(self, entry: Entry) -> int:
        """One number a session name; without a name, one a stretch without long silence."""
        before, at, episode = self._last
        name = _hashed(entry.session)
        if name != NAMELESS:
            episode = self._sessions.get(name, -1)
        elif before != NAMELESS or abs(entry.at - at) > EPISODE_GAP_SECONDS:
            episode = -1
        if episode < 0:
            episode = self._next_episode
            self._next_episode += 1
            if name != NAMELESS:
                self._sessions[name] = episode
        self._last = (name, entry.at, episode)
        return episode


def _hashed(session: str) -> int:
    return zlib.crc32(session.encode("utf-8", "surrogatepass")) if session else NAMELESS


def _lasts(entry: Entry) -> float:
    """Seconds from its start to its end."""
    if entry.ends is None:
        return 0.0
    return entry.ends - (entry.at if entry.starts is None else entry.starts)
