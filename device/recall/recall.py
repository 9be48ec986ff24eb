"""One recall: route, search, merge, evaluate, clarify once if need be, answer with provenance."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo
from math import ceil

from device.actors import ActorRef, Clock
from device.language import find_times
from device.memory import Lookup, TurnsByIds
from device.memory.records import Answer, Hit, Layer
from device.recall.candidates import Candidate, from_hit, merge
from device.recall.evaluation import Assessment, assess, carries
from device.recall.folding import Judge, fold, judge_with
from device.recall.layers import RawLayer, Seek, StructuredLayer
from device.recall.router import FLOOR, VAGUE_GRAINS, Route, Router

__all__ = ["Recaller"]

DEPTH = 1.5
"""Each layer is asked for this many times the hits wanted: merging folds some into others."""
CLARIFYING_WORDS = 12
"""Words of the best hit that a clarifying retrieval adds to the query."""
FILLS_GAP = 1.5
"""A clarifying hit that tells what was missing counts this much more."""
CLARIFYING_WEIGHT = 0.8
"""Weight of the raw layer when it was not routed to: what it adds ranks after what was found."""
FIRST_ROUND, CLARIFIED = 1, 2
CONFLICT = "conflict"
ANSWER_ID_BYTES = 8


@dataclass(frozen=True, slots=True)
class _Found:
    candidates: list[Candidate]
    assessment: Assessment
    rounds: int


class Recaller:
    """Answers queries from the three layers. Recalls may run side by side."""

    def __init__(
        self,
        raw: ActorRef,
        structured: ActorRef,
        working: ActorRef,
        router_provider: Callable[[], Router],
        clock: Clock,
        *,
        judge_provider: Callable[[], Judge] = lambda: judge_with(None),
        zone: tzinfo = UTC,
    ) -> None:
        """`zone` is where "tomorrow" is meant; the providers give the router and the judge of
        duplicates in use now."""
        self._raw_actor = raw
        self._working = working
        self._raw = RawLayer(raw)
        self._structured = StructuredLayer(structured)
        self._router = router_provider
        self._judge = judge_provider
        self._clock = clock
        self._zone = zone
        self._answers = 0

    async def recall(self, query: str, k: int = 10) -> Answer:
        """The best `k` memories for `query`, each with ids, turns, time and source.

        An empty query, or one nothing is known about, has no hits.
        """
        now = self._clock.now()
        route = self._router().route(query, now)
        seek = self._seek(query, now)
        found = await self._find(seek, route, k)
        hits = tuple(c.hit for c in fold(found.candidates, self._judge(), k))
        missing = found.assessment.missing
        if found.assessment.conflicts:
            missing = (*missing, CONFLICT)
        return Answer(
            id=self._answer_id(query, now),
            query=query,
            at=now,
            hits=await self._with_sources(hits),
            weights={layer.value: weight for layer, weight in route.weights.items()},
            decided_by=route.decided_by,
            rounds=found.rounds,
            missing=missing,
        )

    async def catch_up(self) -> None:
        """Bring both indexes abreast of the memories, ahead of the next query."""
        await self._raw.catch_up()
        await self._structured.catch_up()

    def forget(self, ids: Iterable[str]) -> int:
        """Drop these memories (raw and structured ids) from the indexes at once."""
        gone = list(ids)
        return self._raw.forget(gone) + self._structured.forget(gone)

    def _seek(self, query: str, now: float) -> Seek:
        times = find_times(query, datetime.fromtimestamp(now, self._zone))
        spans = tuple((t.start, t.end) for t in times if t.grain not in VAGUE_GRAINS)
        return Seek(query, spans, past=any(start < now for start, _ in spans))

    async def _find(self, seek: Seek, route: Route, k: int) -> _Found:
        first = merge(await self._search(seek, route, ceil(k * DEPTH)))
        assessment = assess(seek.text, first)
        if not _worth_clarifying(assessment, raw_searched=Layer.RAW in route.layers):
            return _Found(first, assessment, FIRST_ROUND)
        clarified = await self._clarify(seek, route, first, assessment, k)
        return _Found(clarified, assess(seek.text, clarified), CLARIFIED)

    async def _search(self, seek: Seek, route: Route, depth: int) -> list[Candidate]:
        layers = [layer for layer in route.layers if route.weights[layer] >= FLOOR]
        found = await asyncio.gather(*(self._search_layer(layer, seek, depth) for layer in layers))
        return [
            candidate.scaled(route.weights[layer])
            for layer, candidates in zip(layers, found, strict=True)
            for candidate in candidates
        ]

    async def _search_layer(self, layer: Layer, seek: Seek, depth: int) -> list[Candidate]:
        if layer is Layer.RAW:
            return await self._raw.search(seek, depth)
        if layer is Layer.STRUCTURED:
            return await self._structured.search(seek, depth)
        return [from_hit(hit) for hit in await self._working.ask(Lookup(seek.text))]

    async def _clarify(
        self,
        seek: Seek,
        route: Route,
        found: list[Candidate],
        assessment: Assessment,
        k: int,
    ) -> list[Candidate]:
        """One more look, in the raw layer, with the words of the best hit beside the query's."""
        searched_raw = Layer.RAW in route.layers
        text = seek.text
        if found and assessment.useful:
            text = f"{text} {' '.join(found[0].hit.text.split()[:CLARIFYING_WORDS])}"
        more = await self._raw.search(replace(seek, text=text), ceil(k * DEPTH))
        weight = CLARIFYING_WEIGHT if assessment.useful or searched_raw else 1.0
        return merge([*found, *(_clarifying(c, assessment, weight) for c in more)])

    async def _with_sources(self, hits: tuple[Hit, ...]) -> tuple[Hit, ...]:
        """Fill in where structured and working memories come from: their newest turn's source."""
        wanted = sorted({hit.turns[-1] for hit in hits if _sourceless(hit)})
        if not wanted:
            return hits
        turns = await self._raw_actor.ask(TurnsByIds(wanted))
        sources = {turn.id: turn.source for turn in turns}
        return tuple(
            replace(hit, source=sources.get(hit.turns[-1], "")) if _sourceless(hit) else hit
            for hit in hits
        )

    def _answer_id(self, query: str, now: float) -> str:
        """Unique on this phone; says nothing of the query to whoever sees only the id."""
        self._answers += 1
        seed = f"{now!r}|{self._answers}|{query}".encode()
        return f"ans:{hashlib.blake2b(seed, digest_size=ANSWER_ID_BYTES).hexdigest()}"


def _worth_clarifying(assessment: Assessment, *, raw_searched: bool) -> bool:
    """Whether a second look can find what the first did not: never the same search again."""
    if raw_searched:
        return assessment.useful and bool(assessment.missing or assessment.conflicts)
    return not assessment.enough


def _sourceless(hit: Hit) -> bool:
    """It has a turn behind it but not yet that turn's source."""
    return bool(hit.turns) and (not hit.source or hit.source in hit.turns)


def _clarifying(candidate: Candidate, assessment: Assessment, weight: float) -> Candidate:
    fills = any(carries(candidate, aspect) for aspect in assessment.missing)
    return candidate.scaled(weight * (FILLS_GAP if fills else 1.0))
