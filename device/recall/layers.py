"""The two indexed layers: each keeps its index abreast of its memory actor, then ranks.

Catching up is incremental: one small question when nothing changed. What was forgotten is dropped
before anything is ranked, so a deleted memory cannot come back through an index.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from device.actors import ActorRef, checkpoint
from device.language.kept import kept
from device.memory import (
    ForgottenTurns,
    ItemsAfter,
    ItemsByIds,
    RawStats,
    Reached,
    TurnsAfter,
    TurnsByIds,
)
from device.memory.confidence import VOLUNTEERED
from device.memory.records import AGENT_KINDS, EventState, Item, ItemKind, Turn
from device.recall.analysis import terms
from device.recall.candidates import Candidate, from_item, from_turn
from device.recall.changemap import ChangeMap
from device.recall.dense import DenseIndex
from device.recall.focus import focus
from device.recall.index import EPISODE_GAP_SECONDS, Entry, LayerIndex, Match, Ranking
from device.recall.relevance import only_asks
from device.recall.shards import SHARD, IndexShards
from protocol.models import EMBEDDING, lexicon

__all__ = ["RawLayer", "Seek", "StructuredLayer"]

NEAR = 100
"""Turns near the query that a chosen embedder names."""
RESIDENT = 32_768
"""Sealed memories up to which their vectors stay in RAM: 3 MB."""
CATCH_UP = 512
"""Memories asked for at a time: other questions are served in between."""
RAW_PREFIX = "raw:"
ITEM_PREFIX = "mem:"
SYSTEM_KIND = "system"
HIDDEN_STATES = frozenset({EventState.CANCELLED})
PAST_STATES = frozenset({EventState.COMPLETED, EventState.EXPIRED})
ITEM_RANKING = Ranking(neighbours=(), episode=0.0)
"""Items stand in no conversation."""


@dataclass(frozen=True, slots=True)
class Seek:
    """A query as the layers see it: words, the times it names, whether it asks about the past."""

    query: str
    """As it was asked."""
    text: str
    """What to look for: the query without the words that only ask."""
    spans: tuple[tuple[float, float], ...] = ()
    past: bool = False
    preferences: bool = False
    """It asks for preferences, so that ones not sure enough to volunteer may answer too."""
    changes: bool = False
    """It asks what was changed, so that change records may answer and not only stand beside."""

    @classmethod
    def of(
        cls,
        query: str,
        spans: tuple[tuple[float, float], ...],
        now: float,
        named: Sequence[str] = (),
    ) -> Seek:
        """A query asked at `now`; `spans` are the times it names, `named` their words."""
        past = any(start < now for start, _ in spans)
        return cls(query, focus(query, named), spans, past, *_kinds_asked(query))


@kept
def _kinds_asked(query: str) -> tuple[bool, bool]:
    """Whether `query` asks for preferences, and for what was changed."""
    folded = query.casefold()
    preferences = lexicon.PREFERENCE.search(folded) or lexicon.HABIT.search(folded)
    return bool(preferences), bool(lexicon.CHANGE.search(folded))


class RawLayer:
    """Ranks turns, with their speaker and conversation as context."""

    __slots__ = (
        "_actor",
        "_dense",
        "_forgotten",
        "_index",
        "_lock",
        "_restored",
        "_revision",
        "_shards",
        "_through",
    )

    def __init__(
        self,
        actor: ActorRef,
        shards: IndexShards | None = None,
        dense: DenseIndex | None = None,
    ) -> None:
        """`shards`: where the index is sealed to and read back from; None: it is built anew.
        `dense`: vectors of a chosen embedder."""
        self._dense = dense
        self._actor = actor
        self._shards = shards
        self._restored = shards is None
        self._index = LayerIndex(terms, dimension=EMBEDDING)
        self._through = -1
        self._revision = -1
        self._forgotten = 0
        self._lock = asyncio.Lock()

    def __len__(self) -> int:
        return len(self._index)

    async def search(self, seek: Seek, k: int) -> list[Candidate]:
        """The best `k` turns, best first."""
        await self.catch_up()
        similar = await self._dense.near(seek.text, NEAR) if self._dense is not None else ()
        found = self._index.search(seek.text, k, spans=seek.spans, similar=similar)
        ids = [f"{RAW_PREFIX}{match.number}" for match in found]
        turns = await self._actor.ask(TurnsByIds(ids)) if ids else []
        by_id = {turn.id: turn for turn in turns}
        return [
            from_turn(by_id[identifier], match.score, match.coverage)
            for identifier, match in zip(ids, found, strict=True)
            if identifier in by_id
        ]

    async def around(self, ids: Sequence[str], reach: int) -> list[Turn]:
        """The turns up to `reach` places from these ones, in the same conversation, by sequence."""
        centres = await self._actor.ask(TurnsByIds(list(ids)))
        near = {n for turn in centres for n in _places(turn.sequence, reach)}
        near -= {turn.sequence for turn in centres}
        turns = await self._actor.ask(TurnsByIds([f"{RAW_PREFIX}{n}" for n in sorted(near)]))
        return [
            turn
            for turn in turns
            if turn.kind != SYSTEM_KIND and any(_together(turn, centre) for centre in centres)
        ]

    async def catch_up(self) -> None:
        """Index what was recorded since the last time and drop what was forgotten."""
        async with self._lock:
            stats = await self._actor.ask(RawStats())
            if stats.revision == self._revision:
                return
            self._restore()
            if self._through > stats.last_sequence:
                self._begin_anew()
            if stats.forgotten != self._forgotten:
                self.forget(await self._actor.ask(ForgottenTurns()))
                self._forgotten = stats.forgotten
            while True:
                turns = await self._actor.ask(TurnsAfter(self._through, CATCH_UP))
                self._index.add([_turn_entry(turn) for turn in turns if turn.kind != SYSTEM_KIND])
                if turns:
                    self._through = turns[-1].sequence
                if len(turns) < CATCH_UP:
                    break
                await checkpoint()
            self._revision = stats.revision

    def forget(self, ids: Iterable[str]) -> int:
        """Drop these turns from the index, sealed or not; returns how many were there."""
        self._restore()
        numbers = _numbers(ids, RAW_PREFIX)
        if self._dense is not None:
            self._dense.forget(numbers)
        gone = self._index.remove(numbers)
        if self._shards is not None:
            # Sealed or not, slots close up together: a shard is a run of the index's slots.
            self._shards.forget(numbers)
            self._index.tidy(every=True)
        return gone

    def tidy(self, *, every: bool) -> bool:
        """Clear the index's tombstones away, all or only when there are many; whether it did."""
        return self._index.tidy(every=every)

    async def seal(self, *, release: bool = False) -> int:
        """Seal every full shard of the index not sealed yet; how many memories those are.

        With `release` the sealed vectors leave RAM, however few they are.
        """
        if self._shards is None:
            return 0
        async with self._lock:
            self._restore()
            before = self._shards.memories
            while len(self._index) - self._shards.memories >= SHARD:
                first = self._shards.memories
                self._shards.save(self._index.extract(first, first + SHARD))
                self._lean(release)
                await checkpoint()
            self._lean(release)
            return self._shards.memories - before

    def _lean(self, release: bool = False) -> None:
        """Sealed vectors stay in RAM only as long as they are few."""
        if self._shards is not None and (release or self._shards.memories > RESIDENT):
            self._index.lean_on(self._shards.rows, self._shards.memories)

    def _restore(self) -> None:
        """Read the sealed part of the index back, once."""
        if self._restored or self._shards is None:
            return
        self._restored = True
        for part in self._shards.load():
            self._index.restore(part)
            self._through = self._shards.through
            self._lean()
        self._index.settle()

    def _begin_anew(self) -> None:
        """The shards know turns that the raw layer does not: its log was put back to an older
        state, and what they hold may be of other turns with the same numbers."""
        assert self._shards is not None
        self._shards.clear()
        self._index, self._through = LayerIndex(terms, dimension=EMBEDDING), -1


class StructuredLayer:
    """Ranks items. Cancelled and replaced ones are not recalled; past events only when asked."""

    __slots__ = ("_actor", "_changes", "_index", "_lock", "_revision", "_through")

    def __init__(self, actor: ActorRef) -> None:
        self._actor = actor
        self._index = LayerIndex(
            terms,
            dimension=EMBEDDING,
            ranking=ITEM_RANKING,
            numbers=np.int64,  # items of other devices have large numbers
        )
        self._changes = ChangeMap()
        self._through = -1
        self._revision = 0
        self._lock = asyncio.Lock()

    def __len__(self) -> int:
        return len(self._index)

    async def search(self, seek: Seek, k: int) -> list[Candidate]:
        """The best `k` items, best first."""
        await self.catch_up()
        found = self._index.search(seek.text, k, spans=seek.spans, ask_past=seek.past)
        items = await self._actor.ask(ItemsByIds([f"{ITEM_PREFIX}{m.number}" for m in found]))
        return _pair(found, [item for item in items if _offered(item, seek)])

    def covers(self, turn: str) -> bool:
        """Whether this turn was consolidated, so that items speak for it."""
        return int(turn.removeprefix(RAW_PREFIX)) <= self._through

    @property
    def any_outdated(self) -> bool:
        """Whether anything that was said was taken back since."""
        return self._changes.any_outdated

    def outdated(self, turn: str) -> bool:
        """Whether what this turn says was cancelled, moved, corrected or replaced since."""
        return self._changes.outdated(turn)

    async def changes(self, turns: Iterable[str], most: int) -> list[Item]:
        """Records of how what was said in these turns changed since, newest first."""
        ids = self._changes.about(turns)
        items = await self._actor.ask(ItemsByIds(ids)) if ids else []
        return sorted(items, key=lambda item: (-item.created, item.id))[:most]

    async def catch_up(self) -> None:
        """Take in every change since the revision reached last."""
        async with self._lock:
            revision, self._through = await self._actor.ask(Reached())
            while self._revision < revision:
                items, gone, reached = await self._actor.ask(ItemsAfter(self._revision, CATCH_UP))
                self.forget([*gone, *(item.id for item in items)])
                self._changes.put(items)
                self._index.add([_item_entry(item) for item in items if _recallable(item)])
                if reached == self._revision:
                    break
                self._revision = reached
                if reached < revision:
                    await checkpoint()

    def forget(self, ids: Iterable[str]) -> int:
        """Drop these items from the index; returns how many were there."""
        ids = list(ids)
        self._changes.drop(ids)
        return self._index.remove(_numbers(ids, ITEM_PREFIX))

    def tidy(self, *, every: bool) -> bool:
        """Clear the index's tombstones away, all or only when there are many; whether it did."""
        return self._index.tidy(every=every)


def _offered(item: Item, seek: Seek) -> bool:
    """Whether an item may answer: an unsure preference is never volunteered, and a change record is
    context unless changes are asked for."""
    if item.kind is ItemKind.PREFERENCE:
        return seek.preferences or item.confidence >= VOLUNTEERED
    return item.kind is not ItemKind.CHANGE or seek.changes


def _places(centre: int, reach: int) -> range:
    return range(max(centre - reach, 0), centre + reach + 1)


def _together(turn: Turn, other: Turn) -> bool:
    """Said in one conversation."""
    if turn.session or other.session:
        return turn.session == other.session
    return abs(turn.at - other.at) <= EPISODE_GAP_SECONDS


def _pair(found: Sequence[Match], items: Sequence[Item]) -> list[Candidate]:
    by_id = {item.id: item for item in items}
    pairs = ((match, by_id.get(f"{ITEM_PREFIX}{match.number}")) for match in found)
    return [from_item(item, match.score, match.coverage) for match, item in pairs if item]


def _turn_entry(turn: Turn) -> Entry:
    # The speaker's name is part of what was said: "what did Melanie paint" names her.
    text = f"{turn.speaker}: {turn.text}" if turn.speaker else turn.text
    return Entry(turn.sequence, text, turn.at, turn.session, asks=only_asks(turn.text))


def _item_entry(item: Item) -> Entry:
    # A change's subject is the id of the item it changed, no word.
    subject = "" if item.kind is ItemKind.CHANGE else item.subject
    words = [subject, item.action, item.object, item.place, *item.people]
    extra = [word for word in words if word and word not in item.text]
    return Entry(
        number=int(item.id.removeprefix(ITEM_PREFIX)),
        text=" ".join([item.text, *extra, item.time_text]),
        at=item.updated,
        starts=item.starts,
        ends=item.ends,
        past=item.state in PAST_STATES,
    )


def _recallable(item: Item) -> bool:
    hidden = item.state in HIDDEN_STATES or item.kind in AGENT_KINDS
    return not hidden and not item.replaced_by


def _numbers(ids: Iterable[str], prefix: str) -> Collection[int]:
    """The integers of the ids of one layer; ids of other layers are passed over."""
    return [int(i.removeprefix(prefix)) for i in ids if i.startswith(prefix)]
