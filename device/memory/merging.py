"""Stored memories that say the same become one, and can be parted again (000, 001).

Pure functions from items to changes. The one told last stands: its words are the newest turn's. The
one before stays as its history (`replaced_by`), a change record says what happened, and holds what
an exact `undo` needs: numbers and places in a list only, never words, so that forgetting a turn has
nothing to look for in it. Two parted memories are never merged again unasked.

Candidates come from a hash join on what must be equal anyway, so never all pairs are compared.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

import msgpack

from device.actors import DomainError
from device.memory.changes import Change, ChangeKind
from device.memory.coding import item_id, item_number, turn_sequence
from device.memory.confidence import preference_confidence
from device.memory.judgement import Judgement
from device.memory.lifecycle import Transition, record_of
from device.memory.records import EventState, Item, ItemKind

__all__ = ["CannotUndo", "about", "alike", "merge", "parted", "undo"]

MERGE_NUMBERS = 1 << 40
"""Item numbers of merge records: this plus the number of the item merged away, which is above any
number a turn gives, so that a record's place is its own."""
SAME_TELLING_SECONDS = 86_400.0
"""Two tellings of an event without a time are one event only within a day."""
SURER = 0.05
"""Confidence that a second telling adds to an event or an attribute."""
MERGEABLE = frozenset({ItemKind.EVENT, ItemKind.PREFERENCE, ItemKind.ENTITY})


class CannotUndo(DomainError):
    """No merge to undo here; the message says what to do."""


@dataclass(frozen=True, slots=True)
class _Before:
    """What undoing a merge needs to know of the kept item: as it was, and as the merge left it."""

    state: str
    """Of the item merged away."""
    common: list[int]
    """Places in the other item's turns of those the kept item had too."""
    created: float
    updated: float
    accesses: int
    last_access: float
    confidence: float
    merged_created: float
    merged_updated: float
    merged_accesses: int
    merged_last_access: float
    merged_confidence: float


def about(item: Item) -> Hashable | None:
    """What two items must have in common besides their words; None: never merged."""
    if item.kind not in MERGEABLE or item.state is not EventState.ACTIVE or item.replaced_by:
        return None
    named = (item.kind, item.subject, item.action, item.place, item.people)
    return (*named, item.starts, item.ends, item.detail)


def alike(block: Iterable[Item], barred: frozenset[str]) -> Iterator[tuple[Item, Item]]:
    """Pairs (older, newer) worth judging among items of one wording about one thing: neighbours in
    the order they were told.

    `barred` are ids of items that were parted by undoing a merge.
    """
    told = sorted((item for item in block if item.id not in barred), key=_told)
    for older, newer in pairwise(told):
        timeless = older.kind is ItemKind.EVENT and older.starts is None
        if older.sentiment * newer.sentiment < 0.0:
            continue
        if not timeless or abs(newer.updated - older.updated) <= SAME_TELLING_SECONDS:
            yield older, newer


def parted(items: Iterable[Item]) -> frozenset[str]:
    """Ids of the items that a merge was undone for."""
    return frozenset(item.subject for item in items if item.action == Transition.PARTED)


def merge(older: Item, newer: Item, judgement: Judgement, now: float) -> list[Change]:
    """The changes that make one memory of two at `now` (unix seconds); none where the gate says no.

    `newer` takes over the other's turns, uses and confidence; `older` becomes its history.
    """
    number = item_number(older.id)
    if number is None or not judgement.may_merge(older.text, newer.text):
        return []
    kept = _joined(older, newer)
    common = [place for place, turn in enumerate(older.turns) if turn in newer.turns]
    before = _Before(
        older.state.value,
        common,
        newer.created,
        newer.updated,
        newer.accesses,
        newer.last_access,
        newer.confidence,
        kept.created,
        kept.updated,
        kept.accesses,
        kept.last_access,
        kept.confidence,
    )
    record = record_of(MERGE_NUMBERS + number, older, Transition.MERGED, now)
    # CANCELLED hides it from recall, where it would only say the memory's words once more.
    record = replace(record, turns=kept.turns, state=EventState.CANCELLED, detail=_packed(before))
    gone = replace(older, state=EventState.EXPIRED, replaced_by=newer.id)
    return [
        Change(ChangeKind.UPDATE, kept),
        Change(ChangeKind.UPDATE, gone),
        Change(ChangeKind.CREATE, record),
    ]


def undo(identifier: str, items: Mapping[str, Item], now: float) -> list[Change]:
    """The changes that part a merge again, named by its record, or by either of the two memories.

    Both are as if they had never met: what the kept one learnt since stays its own.

    Raises:
        CannotUndo: nothing was merged there, a later merge stands on it, or it is forgotten.
    """
    record = _record(identifier, items)
    older = items.get(record.subject)
    newer = items.get(older.replaced_by) if older is not None else None
    if older is None or newer is None:
        raise CannotUndo("a memory of this merge was forgotten; there is nothing to part")
    later = items.get(_record_id(newer.id))
    if newer.replaced_by and later is not None and later.action == Transition.MERGED:
        raise CannotUndo(f"this memory was merged again later: undo {later.id} first")
    before = _Before(*msgpack.unpackb(record.detail))
    return [
        Change(ChangeKind.UPDATE, _as_before(newer, older, before)),
        Change(ChangeKind.UPDATE, replace(older, state=EventState(before.state), replaced_by="")),
        Change(
            ChangeKind.UPDATE,
            replace(record, action=Transition.PARTED.value, updated=now, detail=b""),
        ),
    ]


def _told(item: Item) -> tuple[int, float, str]:
    """Order of telling: by the turn that gave an item its words."""
    newest = turn_sequence(item.turns[-1]) if item.turns else None
    return (-1 if newest is None else newest, item.updated, item.id)


def _joined(older: Item, newer: Item) -> Item:
    turns = (*(turn for turn in older.turns if turn not in newer.turns), *newer.turns)
    joined = replace(
        newer,
        turns=turns,
        created=min(older.created, newer.created),
        updated=max(older.updated, newer.updated),
        accesses=older.accesses + newer.accesses,
        last_access=max(older.last_access, newer.last_access),
    )
    return replace(joined, confidence=_confidence(joined, max(older.confidence, newer.confidence)))


def _confidence(joined: Item, surest: float) -> float:
    if joined.kind is not ItemKind.PREFERENCE:
        return min(surest + SURER, 1.0)
    span = joined.updated - joined.created
    return max(preference_confidence(len(joined.turns), span, abs(joined.sentiment)), surest)


def _as_before(newer: Item, older: Item, before: _Before) -> Item:
    """The kept item without the other: exactly what it was, plus what happened to it since."""
    held = {older.turns[place] for place in before.common if place < len(older.turns)}
    turns = tuple(turn for turn in newer.turns if turn in held or turn not in older.turns)
    apart = replace(
        newer,
        turns=turns,
        created=_since(before.created, before.merged_created, newer.created),
        updated=_since(before.updated, before.merged_updated, newer.updated),
        accesses=max(before.accesses + newer.accesses - before.merged_accesses, 0),
        last_access=_since(before.last_access, before.merged_last_access, newer.last_access),
    )
    if newer.confidence == before.merged_confidence:
        return replace(apart, confidence=before.confidence)
    if newer.kind is not ItemKind.PREFERENCE:
        return apart
    span = apart.updated - apart.created
    return replace(apart, confidence=preference_confidence(len(turns), span, abs(apart.sentiment)))


def _since(before: float, merged: float, now: float) -> float:
    """`before`, unless it changed again after the merge."""
    return before if now == merged else now


def _record(identifier: str, items: Mapping[str, Item]) -> Item:
    """The record of the merge that an id names."""
    for item in (items.get(identifier), items.get(_record_id(identifier))):
        if item is not None and item.action == Transition.MERGED:
            return item
    into = [_record_id(item.id) for item in items.values() if item.replaced_by == identifier]
    records = [items[i] for i in into if i in items and items[i].action == Transition.MERGED]
    if not records:
        raise CannotUndo(f"nothing was merged into or out of {identifier}")
    return max(records, key=lambda record: (record.created, record.id))


def _record_id(identifier: str) -> str:
    number = item_number(identifier)
    return "" if number is None else item_id(MERGE_NUMBERS + number)


def _packed(before: _Before) -> bytes:
    values = [getattr(before, name) for name in _Before.__dataclass_fields__]
    return bytes(msgpack.packb(values))
