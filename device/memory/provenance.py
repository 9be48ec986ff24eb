"""Which turns an item's words come from, and what is left of it without some of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from device.memory.coding import turn_id, turn_sequence
from device.memory.confidence import preference_confidence
from device.memory.records import Item, ItemKind

__all__ = ["drawn_from", "numbers_of", "without_turns"]


def numbers_of(turns: Iterable[str]) -> set[int]:
    """Sequence numbers of turn ids; ids of other things are passed over."""
    return {number for number in map(turn_sequence, turns) if number is not None}


def drawn_from(item: Item, turns: Collection[int]) -> bool:
    """Whether an item's words come from one of these turns: any turn of an event or change, the
    newest turn of a preference or entity (its wording is always the newest one's)."""
    numbers = [turn_sequence(identifier) for identifier in item.turns]
    if item.kind in (ItemKind.EVENT, ItemKind.CHANGE):
        return any(number in turns for number in numbers)
    return bool(numbers) and numbers[-1] in turns


def without_turns(item: Item, turns: Collection[int]) -> Item:
    """The item as if these turns had not been said; a preference is that much less sure."""
    forgotten = {turn_id(number) for number in turns}
    kept = tuple(turn for turn in item.turns if turn not in forgotten)
    item = replace(item, turns=kept)
    if item.kind is not ItemKind.PREFERENCE:
        return item
    span = item.updated - item.created
    sure = preference_confidence(len(kept), span, abs(item.sentiment))
    return replace(item, confidence=min(item.confidence, sure))
