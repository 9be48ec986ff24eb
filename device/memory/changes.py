"""A change to the structured layer: what consolidation decides and the actor applies."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from device.memory.records import Item

__all__ = ["Change", "ChangeKind"]


class ChangeKind(StrEnum):
    """Whether the item is new or an update; an update of a forgotten item is dropped."""

    CREATE = "create"
    UPDATE = "update"


@dataclass(frozen=True, slots=True)
class Change:
    """The whole item as it should be after the change, so applying it twice changes nothing."""

    kind: ChangeKind
    item: Item
