"""What the owner sees of one memory, and where an answer comes from."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from device.memory import ChangesAbout, DrawnFrom, ItemTrace, Trace, Value
from device.memory.foreign import told_on
from device.memory.records import Answer, Hit, Item, Layer, Turn
from device.owner.records import Layers, UnknownMemory, sort_ids
from device.recall.floors import Floors

__all__ = ["Reason", "Seer", "Shown", "Why"]

BY_ID = "id"
MAX_CHANGES = 20


@dataclass(frozen=True, slots=True)
class Shown:
    """One memory whole: exactly one of ``turn``, ``item`` and ``value`` is there."""

    id: str
    at: float
    """When this was shown, unix seconds: ages are counted from it."""
    turn: Turn | None = None
    item: Item | None = None
    value: Value | None = None
    archived: bool = False
    older: tuple[Item, ...] = ()
    """What an item was before, nearest first."""
    changes: tuple[Item, ...] = ()
    """The records of how it changed, oldest first."""
    sources: tuple[Turn, ...] = ()
    """The turns it was drawn from, oldest first."""
    gone: tuple[str, ...] = ()
    """Turns it names that are not held any more."""
    drawn: tuple[Item, ...] = ()
    """What was drawn from a turn."""
    elsewhere: tuple[str, ...] = ()
    """Turns it names that were said on another device of the account, and stay there."""


@dataclass(frozen=True, slots=True)
class Reason:
    """One memory of an answer with the turns behind it and what changed it."""

    hit: Hit
    sources: tuple[Turn, ...]
    changes: tuple[Item, ...] = ()
    state: str = ""
    """Of a structured memory: active, cancelled, completed, expired."""


@dataclass(frozen=True, slots=True)
class Why:
    """Where an answer, or one memory, comes from; as `Answer` says how it was found."""

    about: str
    at: float
    decided_by: str
    """rule | model | fallback | id"""
    reasons: tuple[Reason, ...]
    weights: Mapping[str, float] = field(default_factory=dict)
    floors: Floors | None = None
    """Weights under which a layer was not searched, and who set them; None: nothing was routed."""
    rounds: int = 0
    missing: tuple[str, ...] = ()


class Seer:
    """Looks into a phone's memories and changes nothing."""

    def __init__(self, layers: Layers, now: Callable[[], float]) -> None:
        self._layers = layers
        self._now = now

    async def show(self, identifier: str) -> Shown:
        """The memory with this id, with its history and provenance.

        Raises:
            UnknownMemory: nothing held is called so.
        """
        named = sort_ids([identifier])
        if named.turns:
            return await self._show_turn(identifier)
        if named.items:
            return await self._show_item(identifier)
        return await self._show_value(identifier)

    async def why(self, about: str, recall: Callable[[str], Awaitable[Answer]]) -> Why:
        """Where the memory with the id `about`, or the answer to the query `about`, comes from.

        Raises:
            UnknownMemory: `about` is an id that names nothing.
        """
        try:
            sort_ids([about])
        except UnknownMemory:
            return await self._why_answer(await recall(about))
        shown = await self.show(about)
        hit = _as_hit(shown)
        state = shown.item.state.value if shown.item else ""
        reason = Reason(hit, shown.sources or _own(shown), shown.changes, state)
        return Why(about, shown.at, BY_ID, (reason,))

    async def _why_answer(self, answer: Answer) -> Why:
        reasons = []
        for hit in answer.hits:
            sources = tuple(await self._layers.turns(hit.turns))
            changes = await self._layers.structured.ask(ChangesAbout([hit.id], MAX_CHANGES))
            reasons.append(Reason(hit, sources, tuple(changes), await self._state(hit)))
        return Why(
            about=answer.query,
            at=answer.at,
            decided_by=answer.decided_by,
            reasons=tuple(reasons),
            weights=answer.weights,
            rounds=answer.rounds,
            missing=answer.missing,
        )

    async def _state(self, hit: Hit) -> str:
        if hit.layer is not Layer.STRUCTURED:
            return ""
        trace = await self._trace(hit.id)
        return trace.item.state.value if trace else ""

    async def _show_turn(self, identifier: str) -> Shown:
        held = await self._layers.turns([identifier])
        if not held:
            raise UnknownMemory([identifier])
        drawn = await self._layers.structured.ask(DrawnFrom([identifier]))
        return Shown(identifier, self._now(), turn=held[0], drawn=drawn)

    async def _show_item(self, identifier: str) -> Shown:
        trace = await self._trace(identifier)
        if trace is None:
            raise UnknownMemory([identifier])
        sources = await self._layers.turns(trace.item.turns)
        held = {turn.id for turn in sources}
        return Shown(
            identifier,
            self._now(),
            item=trace.item,
            archived=trace.archived,
            older=trace.older,
            changes=trace.changes,
            sources=tuple(sources),
            gone=tuple(t for t in trace.item.turns if t not in held and told_on(t) is None),
            elsewhere=tuple(t for t in trace.item.turns if told_on(t) is not None),
        )

    async def _show_value(self, identifier: str) -> Shown:
        value = (await self._layers.values()).get(identifier)
        if value is None:
            raise UnknownMemory([identifier])
        sources = tuple(await self._layers.turns([value.source]))
        gone = () if sources or not value.source.startswith("raw:") else (value.source,)
        return Shown(identifier, self._now(), value=value, sources=sources, gone=gone)

    async def _trace(self, identifier: str) -> ItemTrace | None:
        return await self._layers.structured.ask(Trace(identifier))


def _own(shown: Shown) -> tuple[Turn, ...]:
    return (shown.turn,) if shown.turn else ()


def _as_hit(shown: Shown) -> Hit:
    """A memory looked up by its id, in the form of an answer's hit."""
    if shown.turn is not None:
        turn = shown.turn
        return Hit(turn.id, Layer.RAW, turn.text, turn.at, 1.0, (turn.id,), turn.source)
    if shown.item is not None:
        item = shown.item
        return Hit(item.id, Layer.STRUCTURED, item.text, item.updated, 1.0, item.turns)
    assert shown.value is not None
    value = shown.value
    text = f"{value.key}: {value.value}"
    return Hit(shown.id, Layer.WORKING, text, value.at, 1.0, tuple(t.id for t in shown.sources))
