"""Plain copies out of the memory, page by page, and back into it without doubling anything.

A copied item keeps the number of the turn that made it, so on another phone it takes the number
that consolidating that turn there would give it. Turns brought back consolidated are marked so:
what was drawn from them comes with them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count

from device.agent.keeping import renamed
from device.memory import (
    Apply,
    Archive,
    Browse,
    Change,
    ChangeKind,
    Consolidated,
    Covered,
    ForgottenItems,
    ListArchived,
    ListItems,
    RecordMany,
    Remember,
    TurnsAfter,
    Value,
)
from device.memory.coding import item_id, item_number, turn_id, turn_sequence
from device.memory.lifecycle import SLOTS
from device.memory.records import Item, Turn, TurnDraft
from device.owner.records import Layers

__all__ = ["Copied", "Keeper", "TakenBack"]

PAGE = 1000
"""Turns or items copied at a time."""
FREE_SLOTS = range(48, SLOTS)
"""Item numbers of a turn that neither what it says nor the passing of time ever uses."""
TURNLESS = 1 << 56
"""Item numbers from here on belong to no turn."""
Fingerprint = tuple[str, str, str, str, str, str, str]


@dataclass(frozen=True, slots=True)
class Copied:
    """One page of a copy; ask again with ``next`` until it is empty."""

    turns: tuple[Turn, ...] = ()
    unconsolidated: tuple[str, ...] = ()
    """Ids among the turns that no dream has taken in yet."""
    items: tuple[Item, ...] = ()
    archived: tuple[str, ...] = ()
    """Ids among the items that lie in the archive."""
    values: tuple[Value, ...] = ()
    next: str = ""


@dataclass(frozen=True, slots=True)
class TakenBack:
    """What became of the items brought back: their new ids by the old ones, and how many of them
    are new here."""

    ids: Mapping[str, str]
    added: int


class Keeper:
    """Copies a phone's memories and takes copies back."""

    def __init__(
        self, layers: Layers, consolidate: Callable[[], Awaitable[int]], now: Callable[[], float]
    ) -> None:
        """`consolidate` takes in whatever waits; `now` gives unix seconds."""
        self._layers = layers
        self._consolidate = consolidate
        self._now = now

    async def copy(self, cursor: str = "") -> Copied:
        """One page: the turns first, then the items, the archive and the values."""
        part, _, place = (cursor or "turns:-1").partition(":")
        if part == "turns":
            return await self._copy_turns(int(place))
        if part in ("items", "archive"):
            return await self._copy_items(int(place), archived=part == "archive")
        return Copied(values=tuple((await self._layers.values()).values()))

    async def take_turns(self, drafts: Sequence[TurnDraft], *, consolidated: bool) -> list[Turn]:
        """Record turns brought back; `consolidated`: their items come too, draw nothing from them.

        What waits here is consolidated first, so that the order of what was said is kept.
        """
        if consolidated:
            await self._consolidate()
        turns = await self._layers.raw.ask(RecordMany(list(drafts)))
        if consolidated:
            covered = [turn.sequence for turn in turns]
            await self._layers.structured.ask(Apply([], covered=covered))
        return turns

    async def take_items(
        self, items: Sequence[Item], archived: Sequence[str], turns: Mapping[str, str]
    ) -> TakenBack:
        """Bring back items whose turns are called `turns` (old id → new id) here.

        All of a copy's items together, since they name one another. What is held already stays as
        it is; what comes in begins to fade from now.
        """
        held = await self._layers.structured.ask(ListItems())
        held = [*held, *await self._layers.structured.ask(ListArchived())]
        names = _Names(held, await self._layers.structured.ask(ForgottenItems()), turns)
        fresh = [item for item in items if names.give(item)]
        ids, now = names.ids, self._now()
        moved = [_moved(item, ids, turns, now) for item in fresh]
        await self._layers.structured.ask(Apply([Change(ChangeKind.CREATE, i) for i in moved]))
        cold = [ids[item.id] for item in fresh if item.id in set(archived)]
        if cold:
            await self._layers.structured.ask(Archive(cold))
        return TakenBack(ids, len(moved))

    async def take_values(self, values: Sequence[Value], turns: Mapping[str, str]) -> None:
        """Bring back values; the newer of two under one key wins."""
        for value in values:
            source = turns.get(value.source, value.source if ":" not in value.source else "")
            await self._layers.working.ask(Remember(value.key, value.value, source, value.at))

    async def _copy_turns(self, after: int) -> Copied:
        turns = await self._layers.raw.ask(TurnsAfter(after, PAGE))
        through = await self._layers.structured.ask(Consolidated())
        covered = await self._layers.structured.ask(Covered())
        waiting = [t.id for t in turns if t.sequence > through and t.sequence not in covered]
        more = len(turns) == PAGE
        following = f"turns:{turns[-1].sequence}" if more else "items:0"
        return Copied(turns=tuple(turns), unconsolidated=tuple(waiting), next=following)

    async def _copy_items(self, offset: int, *, archived: bool) -> Copied:
        asked = Browse(archived=archived, offset=offset, limit=PAGE)
        page = await self._layers.structured.ask(asked)
        reached = offset + len(page.items)
        part = "archive" if archived else "items"
        following = "values:" if archived else "archive:0"
        if reached < page.total and page.items:
            following = f"{part}:{reached}"
        cold = tuple(item.id for item in page.items) if archived else ()
        return Copied(items=page.items, archived=cold, next=following)


def _fingerprint(item: Item) -> Fingerprint:
    """What makes two items the same memory, whatever they are called."""
    said = (item.kind.value, item.text, repr(item.created), repr(item.updated))
    return (*said, item.action, item.object, repr(item.starts))


class _Names:
    """Gives items the ids they have here."""

    def __init__(
        self, held: Sequence[Item], forgotten: Collection[str], turns: Mapping[str, str]
    ) -> None:
        self._held = {item.id for item in held}
        self._told = {item.id: (item.kind, item.text) for item in held}
        self._known = {_fingerprint(item): item.id for item in held}
        self._used = {*self._held, *forgotten}
        self._turns = turns
        self.ids: dict[str, str] = {}
        """New id by old id."""

    def give(self, item: Item) -> bool:
        """Name an item; whether it is new here."""
        own = self._own(item)
        same = own if own in self._held else self._known.get(_fingerprint(item))
        if same is None:
            self.ids[item.id] = own if own and own not in self._used else self._free(item)
            self._used.add(self.ids[item.id])
            return True
        self.ids[item.id] = same
        return False

    def _own(self, item: Item) -> str:
        """The id that consolidating its making turn gives it here; empty without that turn. What
        has no turn is its own only where it already lies."""
        if not item.turns:
            return item.id if self._told.get(item.id) == (item.kind, item.text) else ""
        number = item_number(item.id) or 0
        maker = turn_sequence(self._turns.get(turn_id(number // SLOTS), ""))
        return "" if maker is None else item_id(maker * SLOTS + number % SLOTS)

    def _free(self, item: Item) -> str:
        """A free id: of its newest turn that came along, or of no turn as it had none."""
        if not item.turns:
            # Never its own: an agent here may be about to give that to something it learns.
            return next(i for i in map(item_id, count(TURNLESS)) if i not in self._used)
        here = [self._turns[turn] for turn in item.turns if turn in self._turns]
        newest = turn_sequence(here[-1]) or 0
        numbers = (turn * SLOTS + slot for turn in count(newest) for slot in FREE_SLOTS)
        return next(i for i in map(item_id, numbers) if i not in self._used)


def _moved(item: Item, ids: Mapping[str, str], turns: Mapping[str, str], now: float) -> Item:
    """The item under its new names; what it names that did not come along is left out."""
    return replace(
        item,
        id=ids[item.id],
        turns=tuple(turns[turn] for turn in item.turns if turn in turns),
        replaced_by=ids.get(item.replaced_by, ""),
        subject=ids.get(item.subject, item.subject),
        last_access=max(item.last_access, now),
        detail=renamed(item, ids),
    )
