"""One recall: route, search, read, clarify if need be, answer with provenance."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, tzinfo
from math import ceil

from device.actors import ActorRef, Clock
from device.language import Prefer, find_times
from device.logs import get_logger
from device.memory import Lookup, TurnsByIds
from device.memory.foreign import told_on
from device.memory.records import Answer, Hit, Item, Layer, Turn
from device.recall.candidates import Candidate, from_hit, from_item, merge
from device.recall.claims import claims_of
from device.recall.clarifying import DEPTH, Clarifier
from device.recall.dense import DenseIndex
from device.recall.evaluation import USEFUL, carries, judged, tells
from device.recall.folding import Judge, fold, judge_with
from device.recall.layers import RawLayer, Seek, StructuredLayer
from device.recall.public import PublicLayer
from device.recall.public_precedence import with_public
from device.recall.relevance import Question
from device.recall.router import Route, Router
from device.recall.rules import VAGUE_GRAINS
from device.recall.shards import IndexShards
from device.vault import VaultError

__all__ = ["Recaller"]

log = get_logger(__name__)

DEVICE_DIGITS = 8
"""Of the id of the owner's other device on which something was said, as `account show` has it."""
CLARIFYING_ROUNDS = 2
FOLDED = 1.5
"""Candidates compared for duplicates, per hit wanted: folding makes room for those that follow."""
OUTDATED = 0.6
"""Share that is left of a turn's score when what it says was cancelled, moved or replaced since."""
CHANGES = 5
"""Change records passed along with an answer at most."""
CONFLICT = "conflict"
ANSWER_ID_BYTES = 8


class Recaller:
    """Answers queries from the three layers. Recalls may run side by side."""

    __slots__ = (
        "_answers",
        "_clarifier",
        "_clock",
        "_dense",
        "_judge",
        "_public",
        "_raw",
        "_raw_actor",
        "_router",
        "_structured",
        "_working",
        "_zone",
    )

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
        clarifying_rounds: int = CLARIFYING_ROUNDS,
        shards: IndexShards | None = None,
        dense: DenseIndex | None = None,
        public: PublicLayer | None = None,
    ) -> None:
        """`zone` is where "tomorrow" is meant; the providers give the router and the judge of
        duplicates in use now; `clarifying_rounds` bounds the looks after the first (0: none);
        `shards` is where the raw layer's index is sealed, None: it is built anew each time;
        `dense` holds a chosen embedder's vectors of the turns; `public` what documents for everyone
        say, which stands behind what the phone was told."""
        self._raw_actor = raw
        self._working = working
        self._raw = RawLayer(raw, shards, dense)
        self._dense = dense
        self._public = public
        self._structured = StructuredLayer(structured)
        self._clarifier = Clarifier(self._raw, clarifying_rounds, self._read, self._claims)
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
        await self._structured.catch_up()
        route = self._router().route(query, now)
        question, seek = Question.of(query), self._seek(query, now)
        layers = route.layers
        first = self._read(
            question, merge(await self._search(seek, route, layers, ceil(k * DEPTH)))
        )
        found = await self._clarifier.clarify(
            question, seek, first, k, raw_searched=Layer.RAW in layers
        )
        own = fold(found.candidates[: ceil(k * FOLDED)], self._judge(), k)
        best = self._with_public(question, seek, own, k)
        hits = tuple([c.shown(tells(question, c)) for c in best])
        missing = _still_missing(found.assessment.missing, best, question)
        conflicts = found.assessment.conflicts
        return Answer(
            id=self._answer_id(query, now),
            query=query,
            at=now,
            hits=await self._with_sources(hits),
            weights={layer.value: weight for layer, weight in route.weights.items()},
            decided_by=route.decided_by,
            rounds=found.rounds,
            missing=(*missing, CONFLICT) if conflicts else missing,
            conflicts=conflicts,
            changes=await self._changes(hits),
        )

    def _with_public(
        self, question: Question, seek: Seek, own: list[Candidate], k: int
    ) -> list[Candidate]:
        """What public documents add. They know no attribute of the user, and cost nothing when
        there are none."""
        if self._public is None or self._public.empty or question.attribute:
            return own
        try:
            public = self._public.search(seek, k, least=USEFUL if own else 0.0)
        except VaultError as error:
            # Damage to what everybody has must not keep anyone from their own memory.
            log.warning("public documents cannot be read", reason=str(error))
            return own
        return with_public(own, judged(question, public), self._judge(), k)

    async def catch_up(self) -> None:
        """Bring both indexes abreast of the memories, ahead of the next query."""
        await self._raw.catch_up()
        await self._structured.catch_up()

    def forget(self, ids: Iterable[str]) -> int:
        """Drop these memories (raw and structured ids) from the indexes, with all they held."""
        gone = list(ids)
        dropped = self._raw.forget(gone) + self._structured.forget(gone)
        self.tidy(every=True)
        return dropped

    def tidy(self, *, every: bool = False) -> bool:
        """Clear the indexes' tombstones away where there are many, or every one; whether any went.

        Work for an idle phone: a tenth of a second at 100,000 memories.
        """
        cleared = [layer.tidy(every=every) for layer in (self._raw, self._structured)]
        return any(cleared)

    async def seal(self, *, release: bool = False) -> int:
        """Seal what the raw layer's index holds so that the next opening reads it back; how many
        memories were not sealed yet. With `release`, sealed vectors leave RAM."""
        if release and self._public is not None:
            self._public.release()
        return await self._raw.seal(release=release)

    async def embed_missing(self) -> int:
        """Let the chosen embedder make the vectors still missing; how many it made."""
        if self._public is not None:
            await self._public.catch_up()
        return await self._dense.fill(self._raw_actor) if self._dense is not None else 0

    def _seek(self, query: str, now: float) -> Seek:
        """The query with the times it names. "On 2 May" may be the last one or the next: both are
        meant, for a boost falls on whichever holds memories."""
        at = datetime.fromtimestamp(now, self._zone)
        found = [t for side in (Prefer.PAST, Prefer.FUTURE) for t in find_times(query, at, side)]
        times = [time for time in found if time.grain not in VAGUE_GRAINS]
        spans = dict.fromkeys((time.start, time.end) for time in times)
        return Seek.of(query, tuple(spans), now, named=[time.text for time in times])

    async def _search(
        self, seek: Seek, route: Route, layers: Sequence[Layer], depth: int
    ) -> list[Candidate]:
        # One after the other: a layer answers in its asker's turn, and tasks would cost more.
        found = [await self._search_layer(layer, seek, depth) for layer in layers]
        return [
            candidate.scaled(route.weights[layer])
            for layer, candidates in zip(layers, found, strict=True)
            for candidate in candidates
        ]

    def _read(self, question: Question, candidates: list[Candidate]) -> list[Candidate]:
        if self._structured.any_outdated:
            candidates = [self._weighed(candidate) for candidate in candidates]
        return judged(question, candidates)

    def _claims(self, candidate: Candidate) -> Sequence[Item]:
        """The item itself, or what a turn tells that no dream has taken in yet."""
        if candidate.item is not None:
            return (candidate.item,)
        waits = candidate.hit.layer is Layer.RAW and not self._structured.covers(candidate.hit.id)
        return claims_of(candidate, self._zone) if waits else ()

    def _weighed(self, candidate: Candidate) -> Candidate:
        """Words that were taken back since stand below those that hold."""
        hit = candidate.hit
        if hit.layer is Layer.RAW and self._structured.outdated(hit.id):
            return candidate.scaled(OUTDATED)
        return candidate

    async def _search_layer(self, layer: Layer, seek: Seek, depth: int) -> list[Candidate]:
        if layer is Layer.RAW:
            return await self._raw.search(seek, depth)
        if layer is Layer.STRUCTURED:
            return await self._structured.search(seek, depth)
        return [from_hit(hit) for hit in await self._working.ask(Lookup(seek.query))]

    async def _changes(self, hits: tuple[Hit, ...]) -> tuple[Hit, ...]:
        """How what the hits tell of has changed since: moved, cancelled, corrected, replaced."""
        shown = {hit.id for hit in hits}
        turns = [turn for hit in hits for turn in hit.turns]
        items = await self._structured.changes(turns, CHANGES)
        return tuple(from_item(item, 0.0, 0.0).hit for item in items if item.id not in shown)

    async def _with_sources(self, hits: tuple[Hit, ...]) -> tuple[Hit, ...]:
        """Fill in where structured and working memories come from: their newest turn's source."""
        wanted = sorted({hit.turns[-1] for hit in hits if _sourceless(hit)})
        if not wanted:
            return hits
        turns = await self._raw_actor.ask(TurnsByIds(wanted))
        said = {turn.id: turn for turn in turns}
        return tuple(
            _from(hit, said.get(hit.turns[-1])) if _sourceless(hit) else hit for hit in hits
        )

    def _answer_id(self, query: str, now: float) -> str:
        """Unique on this phone; says nothing of the query to whoever sees only the id."""
        self._answers += 1
        seed = f"{now!r}|{self._answers}|{query}".encode()
        return f"ans:{hashlib.blake2b(seed, digest_size=ANSWER_ID_BYTES).hexdigest()}"


def _still_missing(
    missing: tuple[str, ...], best: Sequence[Candidate], question: Question
) -> tuple[str, ...]:
    """What no own memory tells and no public record of the answer either."""
    public = [c for c in best if c.hit.public is not None and c.relevance >= USEFUL]
    return tuple(a for a in missing if not any(carries(c, a, question) for c in public))


def _sourceless(hit: Hit) -> bool:
    """It has a turn behind it but not yet that turn's source and speaker."""
    return bool(hit.turns) and (not hit.speaker or hit.source in hit.turns)


def _from(hit: Hit, turn: Turn | None) -> Hit:
    """The hit with the source and speaker of the turn behind it."""
    if turn is None:
        elsewhere = told_on(hit.turns[-1])
        if elsewhere is not None:
            return replace(hit, source=f"device {elsewhere[0][:DEVICE_DIGITS]}")
        return replace(hit, source="" if hit.source in hit.turns else hit.source)
    h = hit
    return Hit(
        h.id, h.layer, h.text, h.at, h.score, h.turns, turn.source, turn.speaker, h.tells, h.public
    )  # fmt: skip
