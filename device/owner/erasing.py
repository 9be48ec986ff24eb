"""Forgetting as the owner means it: in every layer, in the archive, in the examples, for good.

A memory is forgotten with the turns it was drawn from, since their words are the memory; and what
else was drawn from those turns goes along. A query takes the turns that hold its words, and no
other turn. A plan says beforehand what that would be, and can be carried out to the letter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import tzinfo

from device.agent.keeping import learnt_only_from
from device.learning import ExampleStore
from device.memory import (
    DrawnFrom,
    Forget,
    ForgetAll,
    ForgetItems,
    ForgetValue,
    ForgottenTurns,
    ListArchived,
    ListItems,
    Together,
    Value,
)
from device.memory.lifecycle import Transition
from device.memory.records import Item, ItemKind, Turn
from device.owner.matching import Words, items_with, turns_with, values_with
from device.owner.records import Layers, Named, UnknownMemory, sort_ids

__all__ = ["Doomed", "Eraser", "ForgetPlan", "Forgotten"]

SHOWN = 50
"""Memories a plan shows by their words; the rest it counts."""
USER = "user"
OTHERS_WORDS = frozenset({Transition.REPLACED.value, Transition.MERGED.value})
"""Changes whose newest turn tells another memory, which stays."""


@dataclass(frozen=True, slots=True)
class Doomed:
    """One memory that would go, as it is shown."""

    id: str
    kind: str
    """turn | event | preference | entity | change | value"""
    text: str
    at: float


@dataclass(frozen=True, slots=True)
class ForgetPlan:
    """What a forgetting would take: ``ids`` to hand to it, the counts, and the first few."""

    ids: tuple[str, ...]
    turns: int
    items: int
    values: int
    shown: tuple[Doomed, ...]


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What a forgetting took from each place."""

    turns: int
    items: int
    values: int
    examples: int

    @property
    def total(self) -> int:
        """Entries gone in all."""
        return self.turns + self.items + self.values + self.examples


@dataclass(frozen=True, slots=True)
class _Closure:
    """Ids named, with everything that goes along."""

    turns: list[str]
    items: list[Item]
    values: dict[str, Value]


class Eraser:
    """Forgets in all of a phone's memories."""

    def __init__(
        self,
        layers: Layers,
        examples: ExampleStore,
        drop_from_indexes: Callable[[Iterable[str]], int],
        forget_readings: Callable[[], None],
    ) -> None:
        self._layers = layers
        self._examples = examples
        self._drop_from_indexes = drop_from_indexes
        self._forget_readings = forget_readings

    async def plan(self, ids: Sequence[str]) -> ForgetPlan:
        """What forgetting these ids would take.

        Raises:
            UnknownMemory: an id that names nothing.
        """
        return await self._plan(await self._closure(sort_ids(ids), widen=True))

    async def plan_query(self, query: str, now: float, zone: tzinfo) -> ForgetPlan:
        """What forgetting everything that holds these words would take; times in `query` are read
        from `now`.

        Raises:
            NothingToSeek: the query holds no telling word.
        """
        words = Words(query, now, zone)
        turns = await turns_with(self._layers, words)
        items = await items_with(self._layers, words, turns)
        values = await values_with(self._layers, words)
        ids = [*(turn.id for turn in turns), *(item.id for item in items), *values]
        return await self._plan(await self._closure(sort_ids(ids), widen=False))

    async def forget(self, ids: Sequence[str], words: str = "", *, widen: bool = True) -> Forgotten:
        """Forget these ids; `words` also drops examples that hold them.

        With `widen` the turns behind the memories named go too, as a plan for them says; without,
        the ids are a plan's own, to be carried out as it stands.

        Raises:
            UnknownMemory: an id that names nothing; nothing was forgotten.
        """
        going = await self._closure(sort_ids(ids), widen=widen)
        held = await self._layers.turns(going.turns)
        return await self._forget(going, held, words)

    async def forget_turns(self, ids: Sequence[str]) -> Forgotten:
        """Forget turns and what was drawn from them; ids of nothing are passed over."""
        held = await self._layers.turns(sort_ids(ids).turns)
        turns = [turn.id for turn in held]
        items = list(await self._layers.structured.ask(DrawnFrom(turns)))
        return await self._forget(_Closure(turns, items, {}), held, "")

    async def forget_all(self) -> Forgotten:
        """Forget everything ever told to this phone."""
        everything = ForgetAll(await self._layers.newest())
        values = len(await self._layers.values())
        turns = await self._layers.raw.ask(everything)
        await self._layers.working.ask(everything)
        examples = self._examples.forget_all()
        items = await self._layers.structured.ask(everything)
        self._forget_readings()
        return Forgotten(turns, items, values, examples)

    async def finish(self) -> None:
        """Complete a forgetting that a crash cut short."""
        if await self._layers.forgetting_cut_short():
            gone = list(await self._layers.raw.ask(ForgottenTurns()))
            await self._forget(_Closure(gone, [], {}), [], "")

    async def _forget(self, going: _Closure, held: Sequence[Turn], words: str) -> Forgotten:
        layers, forget = self._layers, Forget(going.turns)
        ids = [item.id for item in going.items]
        said = [turn.text for turn in held] + [item.text for item in going.items]
        before = len(await layers.values())
        turns = await layers.raw.ask(forget) if going.turns else 0
        if going.turns:
            await layers.working.ask(forget)
        for value in going.values.values():
            await layers.working.ask(ForgetValue(value.key))
        values = before - len(await layers.values())
        examples = self._examples.forget(turns=going.turns, texts=said, words=words)
        self._drop_from_indexes([*going.turns, *ids])
        items = await layers.structured.ask(ForgetItems(ids)) if ids else 0
        items += await layers.structured.ask(forget) if going.turns else 0
        self._forget_readings()
        return Forgotten(turns, items, values, examples)

    async def _closure(self, named: Named, *, widen: bool) -> _Closure:
        structured = self._layers.structured
        items = {item.id: item for item in await structured.ask(Together(named.items))}
        values = await self._layers.values()
        turns = dict.fromkeys(turn.id for turn in await self._layers.turns(named.turns))
        strange = [i for i in named.items if i not in items]
        strange += [i for i in named.turns if i not in turns]
        strange += [i for i in named.values if i not in values]
        if strange:
            raise UnknownMemory(strange)
        chosen = {i: values[i] for i in named.values}
        if widen:
            facts = await self._facts_behind(chosen.values()) if chosen else []
            items |= {item.id: item for item in facts}
            items |= {item.id: item for item in await self._learnt_from(items.values())}
            own = (item for item in items.values() if item.action not in OTHERS_WORDS)
            turns |= dict.fromkeys(turn for item in own for turn in item.turns)
            told = (v.source for v in chosen.values() if v.source.startswith("raw:"))
            turns |= dict.fromkeys(told)
        drawn = await structured.ask(DrawnFrom(tuple(turns)))
        items |= {item.id: item for item in drawn}
        chosen |= {i: value for i, value in values.items() if value.source in turns}
        return _Closure(list(turns), [items[i] for i in sorted(items)], chosen)

    async def _learnt_from(self, items: Iterable[Item]) -> list[Item]:
        """What the agent learnt from nothing but the runs among these items."""
        runs = {item.id for item in items if item.kind is ItemKind.RUN}
        if not runs:
            return []
        held = await self._layers.structured.ask(ListItems(ItemKind.FACT))
        cold = await self._layers.structured.ask(ListArchived())
        return learnt_only_from(runs, [*held, *cold])

    async def _facts_behind(self, values: Iterable[Value]) -> list[Item]:
        """The structured facts that say the same as these values."""
        keys = {value.key for value in values}
        held = await self._layers.entities()
        facts = [i.id for i in held if i.subject == USER and i.action in keys]
        return list(await self._layers.structured.ask(Together(facts)))

    async def _plan(self, going: _Closure) -> ForgetPlan:
        held = await self._layers.turns(going.turns)
        shown = [Doomed(turn.id, "turn", turn.text, turn.at) for turn in held]
        shown += [Doomed(i.id, i.kind.value, i.text, i.updated) for i in going.items]
        shown += [
            Doomed(i, "value", f"{v.key}: {v.value}", v.at) for i, v in sorted(going.values.items())
        ]
        ids = [turn.id for turn in held] + [item.id for item in going.items] + [*going.values]
        return ForgetPlan(
            ids=tuple(ids),
            turns=len(held),
            items=len(going.items),
            values=len(going.values),
            shown=tuple(shown[:SHOWN]),
        )
