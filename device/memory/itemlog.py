"""The records of the structured layer's sealed log and how they replay.

A batch is items, then one commit naming the revisions it covers. Items with no commit (a crash
between the two) are not applied. Forgotten ids stay as numbers only, so that a batch computed
before the forgetting cannot bring an item back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import msgpack

from device.memory.barred import Barred
from device.memory.coding import item_from_fields, item_to_fields, turn_sequence
from device.memory.links import Links
from device.memory.records import Item

__all__ = [
    "Replay",
    "archived_record",
    "commit_record",
    "emptied_record",
    "forgotten_record",
    "item_record",
    "replay",
]

ITEM = 0
COMMIT = 1
FORGOTTEN = 2
ARCHIVED = 3
EMPTIED = 4


def item_record(revision: int, item: Item) -> bytes:
    """One item as of one revision."""
    return bytes(msgpack.packb([ITEM, revision, item_to_fields(item)]))


def commit_record(first: int, last: int, through: int, covered: Iterable[int] = ()) -> bytes:
    """The items of revisions first…last stand; raw turns up to `through`, and the single ones
    `covered`, are consolidated."""
    return bytes(msgpack.packb([COMMIT, first, last, through, list(covered)]))


def forgotten_record(revision: int, items: Iterable[str], turns: Iterable[int]) -> bytes:
    """These items are gone for good, and nothing may be drawn from these turns again."""
    return bytes(msgpack.packb([FORGOTTEN, revision, list(items), list(turns)]))


def archived_record(revision: int, items: Iterable[str]) -> bytes:
    """These items leave the working set but stay in the log."""
    return bytes(msgpack.packb([ARCHIVED, revision, list(items)]))


def emptied_record(revision: int, last: int) -> bytes:
    """Everything is gone for good, and nothing may be drawn from turns up to `last` again."""
    return bytes(msgpack.packb([EMPTIED, revision, last]))


@dataclass(slots=True)
class Replay:
    """What a log says once read: the state of the structured layer."""

    items: dict[str, Item] = field(default_factory=dict)
    revisions: dict[str, int] = field(default_factory=dict)
    """Revision of each item's present form."""
    sequences: dict[str, tuple[int, ...]] = field(default_factory=dict)
    """Log records of each item, oldest first; the last one holds its present form."""
    gone: list[tuple[int, str]] = field(default_factory=list)
    """(revision, id) of items forgotten or archived, oldest first."""
    archived: dict[str, tuple[int, ...]] = field(default_factory=dict)
    """Archived items, each with the turns it was drawn from."""
    links: Links = field(default_factory=Links)
    forgotten_items: set[str] = field(default_factory=set)
    barred: Barred = field(default_factory=Barred)
    covered: set[int] = field(default_factory=set)
    """Turns above `through` that are consolidated already."""
    revision: int = 0
    through: int = -1
    forgot_at: int = -1
    """Revision of the last forgetting."""
    leftover: list[int] = field(default_factory=list)
    """Log records that stand for nothing any more, by a crash; the owner erases them."""


def replay(records: Iterator[tuple[int, bytes]]) -> Replay:
    """Fold the log's (sequence, payload) records into the state they describe."""
    state = Replay()
    waiting: list[tuple[int, int, list[Any]]] = []
    marked = -1
    for sequence, payload in records:
        kind, revision, *rest = msgpack.unpackb(payload)
        state.revision = max(state.revision, revision)
        if kind == ITEM:
            waiting.append((sequence, revision, rest[0]))
        elif kind == COMMIT:
            last, through, *covered = rest
            _commit(state, waiting, revision, last, through, *covered)
            waiting = []
        elif kind == FORGOTTEN:
            state.leftover += forget(state, revision, rest[0], rest[1])
            marked = sequence
        elif kind == ARCHIVED:
            archive(state, revision, rest[0])
        elif kind == EMPTIED:
            state.leftover += [n for n, _, _ in waiting] + empty(state, revision, rest[0])
            waiting = []
            marked = sequence
    state.leftover.extend(sequence for sequence, _, _ in waiting)
    _superseded_before(state, marked)
    return state


def _commit(
    state: Replay,
    waiting: list[tuple[int, int, list[Any]]],
    first: int,
    last: int,
    through: int,
    covered: Iterable[int] = (),
) -> None:
    for sequence, revision, fields in waiting:
        if first <= revision <= last:
            keep(state, revision, sequence, item_from_fields(fields))
        else:
            state.leftover.append(sequence)
    state.revision = max(state.revision, last)
    advance(state, through, covered)


def _superseded_before(state: Replay, mark: int) -> None:
    """Forgetting erases every superseded record with what it forgets: older forms may hold words
    of a forgotten turn. Those a crash left behind stand before the mark."""
    for identifier, sequences in state.sequences.items():
        stale = [n for n in sequences[:-1] if n < mark]
        state.leftover += stale
        state.sequences[identifier] = sequences[len(stale) :]


def advance(state: Replay, through: int, covered: Iterable[int]) -> None:
    """Turns up to `through`, and the single ones `covered`, are consolidated."""
    state.through = max(state.through, through)
    state.covered = {n for n in state.covered.union(covered) if n > state.through}


def keep(state: Replay, revision: int, sequence: int, item: Item) -> None:
    """Put one committed item into the state; both maps stay in order of revision."""
    state.items.pop(item.id, None)
    state.items[item.id] = item
    state.revisions.pop(item.id, None)
    state.revisions[item.id] = revision
    state.sequences[item.id] = (*state.sequences.get(item.id, ()), sequence)
    state.archived.pop(item.id, None)
    state.links.put(item)


def forget(state: Replay, revision: int, items: list[str], turns: list[int]) -> list[int]:
    """Drop items for good and bar the turns they came from; the log records they still have."""
    erased: list[int] = []
    for identifier in items:
        state.items.pop(identifier, None)
        state.revisions.pop(identifier, None)
        erased += state.sequences.pop(identifier, ())
        state.archived.pop(identifier, None)
        state.links.drop(identifier)
        state.gone.append((revision, identifier))
    state.forgotten_items.update(items)
    state.barred.add(turns)
    state.forgot_at = revision
    return erased


def empty(state: Replay, revision: int, last: int) -> list[int]:
    """Drop everything and bar every turn up to `last`; the log records there still are."""
    erased = forget(state, revision, [*state.items, *state.archived], [])
    state.forgotten_items.clear()  # their turns are barred: none of them can come again
    state.barred.raise_floor(last)
    advance(state, last, ())
    return erased


def archive(state: Replay, revision: int, items: list[str]) -> None:
    """Move items out of the working set; their log records stay."""
    for identifier in items:
        item = state.items.pop(identifier, None)
        if item is not None:
            state.revisions.pop(identifier, None)
            numbers = (turn_sequence(turn) for turn in item.turns)
            state.archived[identifier] = tuple(n for n in numbers if n is not None)
            state.gone.append((revision, identifier))
