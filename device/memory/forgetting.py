"""What fades: the retention of 002 with its two breaks mended.

retention = base^days × (1 + ln(1 + accesses)) × 1/(1 + days) × (1 + |sentiment|), clamped to
0 … 1. As printed, ln(accesses) is 0 or −∞ for memories read once or never, and 1/days divides by
zero on the first day.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from device.memory.confidence import VOLUNTEERED
from device.memory.lifecycle import Transition
from device.memory.records import AGENT_KINDS, EventState, Item, ItemKind

__all__ = ["Fate", "ForgettingPolicy", "faded", "fate", "retention"]

DAY_SECONDS = 86_400.0


@dataclass(frozen=True, slots=True)
class ForgettingPolicy:
    """Thresholds on retention (0 … 1) and the decay a day."""

    base_decay: float = 0.98
    archive_below: float = 0.03
    """An unread, unemotional memory falls below it after about three weeks."""
    delete_below: float = 0.0003
    """… and below this after about twenty-two weeks."""


class Fate(StrEnum):
    """What to do with an item."""

    KEEP = "keep"
    ARCHIVE = "archive"
    DELETE = "delete"


def retention(item: Item, now: float, policy: ForgettingPolicy) -> float:
    """Retention of an item at `now`, 0 … 1: falls with days unread, rises with use and emotion."""
    last = max(item.last_access, item.updated)
    days = max(now - last, 0.0) / DAY_SECONDS
    decay: float = policy.base_decay**days
    frequency = 1.0 + math.log1p(item.accesses)
    recency = 1.0 / (1.0 + days)
    emotion = 1.0 + abs(item.sentiment)
    return min(max(decay * frequency * recency * emotion, 0.0), 1.0)


def fate(item: Item, now: float, policy: ForgettingPolicy) -> Fate:
    """Keep, archive or delete one item.

    Never faded: what the user is (entities), a preference sure enough to volunteer, and an event
    still to come; nor the note that a merge was undone, or the next dream would do it again. What
    an agent learnt has rules of its own.
    """
    if item.kind in AGENT_KINDS or item.action == Transition.PARTED:
        return Fate.KEEP
    if item.kind is ItemKind.ENTITY and not item.replaced_by:
        return Fate.KEEP
    if item.kind is ItemKind.PREFERENCE and item.confidence >= VOLUNTEERED and not item.replaced_by:
        return Fate.KEEP
    if item.state is EventState.ACTIVE and item.ends is not None and item.ends > now:
        return Fate.KEEP
    kept = retention(item, now, policy)
    if kept < policy.delete_below:
        return Fate.DELETE
    return Fate.ARCHIVE if kept < policy.archive_below else Fate.KEEP


def faded(
    items: Iterable[Item], now: float, policy: ForgettingPolicy
) -> tuple[list[str], list[str]]:
    """(ids to archive, ids to delete) among `items` at `now`."""
    fates = [(item.id, fate(item, now, policy)) for item in items]
    archive = [identifier for identifier, what in fates if what is Fate.ARCHIVE]
    delete = [identifier for identifier, what in fates if what is Fate.DELETE]
    return archive, delete
