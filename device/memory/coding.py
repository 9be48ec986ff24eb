"""Turns and items as msgpack arrays: positions, not names, so a record stays small."""

from __future__ import annotations

from typing import Any

import msgpack

from device.memory.records import EventState, Item, ItemKind, Turn, TurnDraft

__all__ = [
    "item_from_fields",
    "item_id",
    "item_number",
    "item_to_fields",
    "turn_from_payload",
    "turn_id",
    "turn_of",
    "turn_sequence",
    "turn_to_payload",
]

TURN_PREFIX = "raw:"
ITEM_PREFIX = "mem:"
DIALOGUE = "dialogue"
"""The kind a turn is of unless its payload says another."""


def turn_id(sequence: int) -> str:
    """Public id of the turn at `sequence` in the raw log."""
    return f"{TURN_PREFIX}{sequence}"


def turn_sequence(identifier: str) -> int | None:
    """Sequence number inside a turn id; None when it is not one."""
    return _number(identifier, TURN_PREFIX)


def item_id(number: int) -> str:
    """Public id of the structured item with this number."""
    return f"{ITEM_PREFIX}{number}"


def item_number(identifier: str) -> int | None:
    """Number inside an item id; None when it is not one."""
    return _number(identifier, ITEM_PREFIX)


def _number(identifier: str, prefix: str) -> int | None:
    digits = identifier.removeprefix(prefix)
    if digits == identifier or not (digits.isascii() and digits.isdigit()):
        return None
    return int(digits)


def turn_to_payload(draft: TurnDraft) -> bytes:
    """One turn as a msgpack array; its id is the log's sequence number and is not repeated."""
    fields = [draft.at, draft.speaker, draft.text, draft.session, draft.source, draft.kind]
    if draft.kind == DIALOGUE:
        fields.pop()  # nearly every turn is one
    return bytes(msgpack.packb(fields))


def turn_of(sequence: int, draft: TurnDraft) -> Turn:
    """The turn that `draft` became at `sequence` in the raw log."""
    d = draft
    return Turn(turn_id(sequence), d.at, d.speaker, d.text, d.session, d.source, d.kind)


def turn_from_payload(sequence: int, payload: bytes) -> Turn:
    """Inverse of `turn_to_payload`."""
    return Turn(turn_id(sequence), *msgpack.unpackb(payload))


def item_to_fields(item: Item) -> list[Any]:
    """One item as a list that msgpack can write; field order is the format."""
    return [
        item.id,
        item.kind.value,
        item.text,
        item.created,
        item.updated,
        list(item.turns),
        item.subject,
        item.action,
        item.object,
        item.place,
        list(item.people),
        item.starts,
        item.ends,
        item.time_text,
        item.sentiment,
        item.confidence,
        item.state.value,
        item.replaced_by,
        item.accesses,
        item.last_access,
        item.detail,
    ]


def item_from_fields(fields: list[Any]) -> Item:
    """Inverse of `item_to_fields`."""
    values = list(fields)
    values[1] = ItemKind(values[1])
    values[5] = tuple(values[5])
    values[10] = tuple(values[10])
    values[16] = EventState(values[16])
    return Item(*values)
