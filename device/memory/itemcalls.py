"""What can be asked of the structured layer: its requests and their answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from device.actors import DomainError, Request
from device.memory.changes import Change
from device.memory.records import Item, ItemKind

__all__ = [
    "Apply",
    "Archive",
    "Browse",
    "ChangesAbout",
    "Consolidated",
    "Covered",
    "DrawnFrom",
    "ForgetItems",
    "ForgottenItems",
    "ItemPage",
    "ItemTrace",
    "ItemsAfter",
    "ItemsBetween",
    "ItemsByIds",
    "ListArchived",
    "ListItems",
    "Overdue",
    "Reached",
    "Restore",
    "StaleBatch",
    "Stock",
    "StructuredSize",
    "StructuredStats",
    "TakeStock",
    "Together",
    "Touch",
    "Trace",
]

DEFAULT_LIMIT = 1000


class StaleBatch(DomainError):
    """A memory was forgotten while the batch was computed; its words may be in the batch."""

    def __init__(self) -> None:
        super().__init__("a memory was forgotten meanwhile; compute the batch again")


@dataclass(frozen=True)
class Apply(Request[int]):
    """Apply a batch; answers how many items changed.

    `through` is the raw sequence consolidated so far; a batch at or below the one already applied
    is a repeat and does nothing. −1 marks a batch that moves no checkpoint (forgetting, expiry).
    `basis` is the revision the batch was computed from (−1: unchecked). `covered` names single
    turns above `through` that need no consolidation any more. An update of an archived item brings
    it back into the working set.

    Raises:
        StaleBatch: something was forgotten after `basis`; compute the batch again.
    """

    changes: Sequence[Change]
    through: int = -1
    basis: int = -1
    covered: Sequence[int] = ()


@dataclass(frozen=True)
class ListItems(Request[list[Item]]):
    """Every item of the working set, of one kind or all, least recently changed first."""

    kind: ItemKind | None = None


@dataclass(frozen=True)
class ItemPage:
    """Some items of a longer list; ``total`` counts the whole list."""

    items: tuple[Item, ...]
    total: int


@dataclass(frozen=True)
class Browse(Request[ItemPage]):
    """A page of the working set or of the archive, most recently changed first."""

    kind: ItemKind | None = None
    archived: bool = False
    offset: int = 0
    limit: int = DEFAULT_LIMIT


@dataclass(frozen=True)
class ItemsByIds(Request[list[Item]]):
    """The items with these ids, in the order asked; unknown ids are left out."""

    ids: tuple[str, ...] | list[str]


@dataclass(frozen=True)
class ItemsAfter(Request[tuple[list[Item], list[str], int]]):
    """What changed after a revision: (items, ids gone, revision reached).

    Ask again with the revision reached until it equals the one in `StructuredStats`.
    """

    revision: int = 0
    limit: int = DEFAULT_LIMIT


@dataclass(frozen=True)
class ItemsBetween(Request[list[Item]]):
    """Items whose named time (or, with none, the time they were said) meets [start, end)."""

    start: float
    end: float
    limit: int = DEFAULT_LIMIT


@dataclass(frozen=True)
class Overdue(Request[list[Item]]):
    """The `overdue` of the working set, least recently changed first: what every dream asks, and
    so no more than may have to be changed."""

    now: float


@dataclass(frozen=True)
class ForgetItems(Request[int]):
    """Forget these items and the changes recorded about them, for good; answers how many went."""

    ids: tuple[str, ...] | list[str]


@dataclass(frozen=True)
class ForgottenItems(Request[frozenset[str]]):
    """Ids of items that were forgotten one by one and may not be used again."""


@dataclass(frozen=True)
class Archive(Request[int]):
    """Move these items to the cold archive: kept in the log, out of RAM and recall."""

    ids: tuple[str, ...] | list[str]


@dataclass(frozen=True)
class Restore(Request[tuple[str, ...]]):
    """Bring archived items back into the working set, as used at `at`; answers which came.

    Those with these ids, and those drawn from these turns that nothing newer replaced.
    """

    ids: tuple[str, ...] | list[str] = ()
    turns: tuple[str, ...] | list[str] = ()
    at: float = 0.0


@dataclass(frozen=True)
class ListArchived(Request[list[Item]]):
    """Everything in the cold archive, read from the log."""


@dataclass(frozen=True)
class Touch(Request[int]):
    """These items helped an answer at `at`; written with the next batch, so costs no I/O.

    `turns` touches what was drawn from them: a turn that helped is a use of its memories.
    """

    ids: tuple[str, ...] | list[str]
    at: float
    turns: tuple[str, ...] | list[str] = ()


@dataclass(frozen=True)
class ItemTrace:
    """One item with all that hangs together with it."""

    item: Item
    archived: bool
    older: tuple[Item, ...]
    """What it was before, nearest first."""
    changes: tuple[Item, ...]
    """The records of how it changed, oldest first."""


@dataclass(frozen=True)
class Trace(Request[ItemTrace | None]):
    """One item, archived or not, with its history; None when it is not known."""

    id: str


@dataclass(frozen=True)
class Together(Request[tuple[Item, ...]]):
    """These items with all their older forms and change records, archived ones included: what
    forgetting them takes along. By id; unknown ids are left out."""

    ids: tuple[str, ...] | list[str]


@dataclass(frozen=True)
class DrawnFrom(Request[tuple[Item, ...]]):
    """Items that forgetting these turns takes along, archived ones included. By id."""

    turns: tuple[str, ...] | list[str]


@dataclass(frozen=True)
class ChangesAbout(Request[list[Item]]):
    """Records of how these items came to be what they are, newest first: context of an answer."""

    ids: tuple[str, ...] | list[str]
    limit: int = DEFAULT_LIMIT


@dataclass(frozen=True)
class Consolidated(Request[int]):
    """Raw sequence consolidated so far; −1 when none."""


@dataclass(frozen=True)
class Covered(Request[frozenset[int]]):
    """Turns above the sequence consolidated so far that need no consolidation any more."""


@dataclass(frozen=True, slots=True)
class Stock:
    """All that consolidation builds on, at one revision."""

    revision: int
    items: list[Item]
    """The archive, then the working set."""


@dataclass(frozen=True)
class TakeStock(Request[Stock]):
    """What a batch is to be computed from; `Stock.revision` is its basis."""


@dataclass(frozen=True)
class Reached(Request[tuple[int, int]]):
    """The revision, and the raw sequence consolidated so far: what an index asks at every recall,
    and so without anything that must be counted."""


@dataclass(frozen=True)
class StructuredSize:
    """Sizes of the structured layer; ``revision`` grows with every change and never falls."""

    items: int
    archived: int
    revision: int
    through: int
    log_records: int
    forgotten_turns: int = 0
    """Turns this layer knows to be forgotten."""


@dataclass(frozen=True)
class StructuredStats(Request[StructuredSize]):
    """How much the structured layer holds."""
