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

from device.memory.coding import item_from_fields, item_to_fields
from device.memory.records import Item

__all__ = [
    "Replay",
    "archived_record",
    "commit_record",
    "forgotten_record",
    "item_record",
    "replay",
]

ITEM = 0
COMMIT = 1
FORGOTTEN = 2
ARCHIVED = 3


def item_record(revision: int, item: Item) -> bytes:
    """One item as of one revision."""
    return bytes(msgpack.packb([ITEM, revision, item_to_fields(item)]))


def commit_record(first: int, last: int, through: int) -> bytes:
    """The items of revisions first…last stand; raw turns up to `through` are consolidated."""
    return bytes(msgpack.packb([COMMIT, first, last, through]))


def forgotten_record(revision: int, items: Iterable[str], turns: Iterable[int]) -> bytes:
    """These items are gone for good, and nothing may be drawn from these turns again."""
    return bytes(msgpack.packb([FORGOTTEN, revision, list(items), list(turns)]))


def archived_record(revision: int, items: Iterable[str]) -> bytes:
    """These items leave the working set but stay in the log."""
    return bytes(msgpack.packb([ARCHIVED, revision, list(items)]))


@dataclass(slots=True)
class Replay:
    """What a log says once read: the state of the structured layer."""

    items: dict[str, Item] = field(default_factory=dict)
    revisions: dict[str, int] = field(default_factory=dict)
    """Revision of each item's present form."""
    sequences: dict[str, list[int]] = field(default_factory=dict)
    """Log records of each item, oldest first; the last one holds its present form."""
    gone: list[tuple[int, str]] = field(default_factory=list)
    """(revision, id) of items forgotten or archived, oldest first."""
    archived: set[str] = field(default_factory=set)
    forgotten_items: set[str] = field(default_factory=set)
    forgotten_turns: set[int] = field(default_factory=set)
    revision: int = 0
    through: int = -1
    uncommitted: list[int] = field(default_factory=list)
    """Log records of batches that never committed; the owner erases them."""


def replay(records: Iterator[tuple[int, bytes]]) -> Replay:
    """Fold the log's (sequence, payload) records into the state they describe."""
    state = Replay()
    waiting: list[tuple[int, int, list[Any]]] = []
    for sequence, payload in records:
        kind, revision, *rest = msgpack.unpackb(payload)
        state.revision = max(state.revision, revision)
        if kind == ITEM:
            waiting.append((sequence, revision, rest[0]))
        elif kind == COMMIT:
            _commit(state, waiting, revision, rest[0], rest[1])
            waiting = []
        elif kind == FORGOTTEN:
            forget(state, revision, rest[0], rest[1])
        elif kind == ARCHIVED:
            archive(state, revision, rest[0])
    state.uncommitted.extend(sequence for sequence, _, _ in waiting)
    return state


def _commit(
    state: Replay, waiting: list[tuple[int, int, list[Any]]], first: int, last: int, through: int
) -> None:
    for sequence, revision, fields in waiting:
        if first <= revision <= last:
            keep(state, revision, sequence, item_from_fields(fields))
        else:
            state.uncommitted.append(sequence)
    state.revision = max(state.revision, last)
    state.through = max(state.through, through)


def keep(state: Replay, revision: int, sequence: int, item: Item) -> None:
    """Put one committed item into the state; both maps stay in order of revision."""
    state.items.pop(item.id, None)
    state.items[item.id] = item
    state.revisions.pop(item.id, None)
    state.revisions[item.id] = revision
    state.sequences.setdefault(item.id, []).append(sequence)
    state.archived.discard(item.id)


def forget(state: Replay, revision: int, items: list[str], turns: list[int]) -> None:
    """Drop items for good and bar the turns they came from."""
    for identifier in items:
        state.items.pop(identifier, None)
        state.revisions.pop(identifier, None)
        state.sequences.pop(identifier, None)
        state.archived.discard(identifier)
        state.gone.append((revision, identifier))
    state.forgotten_items.update(items)
    state.forgotten_turns.update(turns)


def archive(state: Replay, revision: int, items: list[str]) -> None:
    """Move items out of the working set; their log records stay."""
    for identifier in items:
        if state.items.pop(identifier, None) is not None:
            state.revisions.pop(identifier, None)
            state.archived.add(identifier)
            state.gone.append((revision, identifier))
