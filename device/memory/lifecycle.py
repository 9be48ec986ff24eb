"""State changes of items and the record each one leaves (002: event state machine).

    active ── cancel ──▶ cancelled          active ── move, correct ──▶ cancelled, replaced_by new
    active ── done ────▶ completed          active ── its time passed ──▶ expired

Every transition writes a CHANGE item whose ``subject`` is the id of the item it is about.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from enum import StrEnum

from device.language import language_of
from device.memory.changes import Change, ChangeKind
from device.memory.coding import item_id, item_number
from device.memory.records import EventState, Item, ItemKind

__all__ = ["SLOTS", "Transition", "expire", "is_plan", "overdue", "record_of"]

SLOTS = 64
"""Item numbers one turn may use: 0–31 for what it says, 32–63 for changes by time passing."""
EXPIRY_SLOT = 32
GRACE_SECONDS = 86_400.0
"""How long after its end a plan may still be reported on before it counts as expired."""


class Transition(StrEnum):
    """Why an item changed; the `action` of its change record."""

    CANCELLED = "cancelled"
    MOVED = "moved"
    CORRECTED = "corrected"
    COMPLETED = "completed"
    EXPIRED = "expired"
    REPLACED = "replaced"
    MERGED = "merged"
    PARTED = "parted"
    """A merge undone; its record keeps the two from being merged again."""


_INTENDED = re.compile(
    r"(?<!不)(?:要(?!是|么|求)|打算|准备|计划|得(?=去|把|交|办|写)|还没|记得|别忘)"
    r"|\b(?:will|'ll|going to|plan(?:ning)? to|have to|need to|must|want to|'d like to|remind|"
    r"don't forget|booked|signed up)\b",
    re.IGNORECASE,
)
"""Words of an event that was still to come, for one with no time of its own."""
_CHINESE = {
    Transition.CANCELLED: "已取消", Transition.MOVED: "已改期", Transition.CORRECTED: "已更正",
    Transition.COMPLETED: "已完成", Transition.EXPIRED: "已过期", Transition.REPLACED: "已更新",
    Transition.MERGED: "已合并", Transition.PARTED: "已分开",
}  # fmt: skip


def record_of(
    number: int, old: Item, transition: Transition, at: float, said: str = "", turn: str = ""
) -> Item:
    """The change record: what happened to `old`, in the words (`said`) and turn that did it."""
    chinese = language_of(old.text) == "zh"
    label = _CHINESE[transition] if chinese else transition.value.capitalize()
    colon, reason = ("：", f"（{said}）") if chinese else (": ", f" ({said})")
    turns = (*old.turns, turn) if turn and turn not in old.turns else old.turns
    return Item(
        id=item_id(number),
        kind=ItemKind.CHANGE,
        text=f"{label}{colon}{old.text}{reason if said else ''}",
        created=at,
        updated=at,
        turns=turns,
        subject=old.id,
        action=transition.value,
        object=old.object,
        place=old.place,
        people=old.people,
        starts=old.starts,
        ends=old.ends,
        time_text=old.time_text,
    )


def is_plan(item: Item) -> bool:
    """Whether an event lay ahead when it was said: by its time, else by its words."""
    if item.kind is not ItemKind.EVENT:
        return False
    if item.starts is None:
        return bool(_INTENDED.search(item.text))
    return item.starts > item.created


def overdue(items: Iterable[Item], now: float) -> list[Item]:
    """Those that may be plans whose time has passed: every dream asks it of every item, so only
    what is cheap to ask."""
    return [
        item
        for item in items
        if item.ends is not None
        and item.ends + GRACE_SECONDS < now
        and item.state is EventState.ACTIVE
    ]


def expire(items: Iterable[Item], now: float) -> list[Change]:
    """Plans whose time passed without word of them become expired."""
    changes = []
    for item in overdue(items, now):
        number = item_number(item.id)
        if number is None or not is_plan(item):
            continue
        expired = replace(item, state=EventState.EXPIRED)
        note = record_of(number + EXPIRY_SLOT, item, Transition.EXPIRED, now)
        changes += [Change(ChangeKind.UPDATE, expired), Change(ChangeKind.CREATE, note)]
    return changes
