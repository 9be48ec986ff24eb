"""The memories as an owner names them: ids of turns, items and values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from device.actors import ActorRef, DomainError
from device.memory import (
    ListArchived,
    ListItems,
    RawStats,
    StructuredStats,
    TurnsByIds,
    Value,
    Values,
)
from device.memory.coding import item_number, turn_sequence
from device.memory.records import Item, ItemKind, Turn

__all__ = ["VALUE_PREFIX", "Layers", "Named", "UnknownMemory", "sort_ids"]

VALUE_PREFIX = "value:"
SHOWN_IDS = 5


class UnknownMemory(DomainError):
    """Ids that name no memory held here; nothing was changed."""

    def __init__(self, ids: Sequence[str]) -> None:
        named = ", ".join(ids[:SHOWN_IDS]) + (" …" if len(ids) > SHOWN_IDS else "")
        super().__init__(
            f"no memory is called {named}: ids look like raw:12, mem:768 or value:name "
            "(see `reverie-device list` and `recall`)"
        )


@dataclass(frozen=True, slots=True)
class Layers:
    """The three memory actors of one phone."""

    raw: ActorRef
    structured: ActorRef
    working: ActorRef

    async def turns(self, ids: Iterable[str]) -> list[Turn]:
        """The turns still held among these, in the order asked."""
        return await self.raw.ask(TurnsByIds(list(ids)))

    async def values(self) -> dict[str, Value]:
        """Every value by its id, ``value:<key>``."""
        held = await self.working.ask(Values())
        return {f"{VALUE_PREFIX}{value.key}": value for value in held}

    async def entities(self) -> list[Item]:
        """Every entity of the working set and of the archive."""
        cold = await self.structured.ask(ListArchived())
        held = await self.structured.ask(ListItems(ItemKind.ENTITY))
        return [*held, *(item for item in cold if item.kind is ItemKind.ENTITY)]

    async def newest(self) -> int:
        """Sequence of the newest turn ever recorded; −1 when none was."""
        return (await self.raw.ask(RawStats())).last_sequence

    async def forgetting_cut_short(self) -> bool:
        """Whether a crash left a forgetting unfinished: structured memory learns of it last."""
        raw = await self.raw.ask(RawStats())
        return raw.forgotten > (await self.structured.ask(StructuredStats())).forgotten_turns


@dataclass(frozen=True, slots=True)
class Named:
    """Ids by what they name."""

    turns: tuple[str, ...]
    items: tuple[str, ...]
    values: tuple[str, ...]


def sort_ids(ids: Iterable[str]) -> Named:
    """Ids by their kind, each once, in the order given.

    Raises:
        UnknownMemory: an id of no kind we know.
    """
    each = list(dict.fromkeys(ids))
    turns = tuple(i for i in each if turn_sequence(i) is not None)
    items = tuple(i for i in each if item_number(i) is not None)
    values = tuple(i for i in each if i.startswith(VALUE_PREFIX))
    strange = [i for i in each if i not in {*turns, *items, *values}]
    if strange:
        raise UnknownMemory(strange)
    return Named(turns, items, values)
