"""The structured layer: what was meant, event-sourced in its sealed log (002, structured layer).

Sole owner of the log. Consolidation hands in changes together with the raw sequence they cover; a
batch applies whole or not at all, and applying the same batch again does nothing.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

import msgpack

from device.actors import Actor, DomainError, Request
from device.memory import itemlog
from device.memory.changes import Change, ChangeKind
from device.memory.coding import item_from_fields, turn_sequence
from device.memory.raw import Forget
from device.memory.records import Item, ItemKind
from device.vault import SealedLog

__all__ = [
    "Apply",
    "Archive",
    "Consolidated",
    "ForgetItems",
    "ItemsAfter",
    "ItemsBetween",
    "ItemsByIds",
    "ListArchived",
    "ListItems",
    "StaleBatch",
    "StructuredMemory",
    "StructuredSize",
    "StructuredStats",
    "Touch",
]

DEFAULT_LIMIT = 1000
STALE_RECORDS_PER_ITEM = 1.0
"""Superseded log records per live item above which a compaction pays for itself."""
COMPACT_FLOOR = 256
"""Superseded records below which the log is left alone."""


class StaleBatch(DomainError):
    """A memory was forgotten while the batch was computed; its words may be in the batch."""

    def __init__(self) -> None:
        super().__init__("a memory was forgotten meanwhile; compute the batch again")


@dataclass(frozen=True)
class Apply(Request[int]):
    """Apply a batch; answers how many items changed.

    `through` is the raw sequence consolidated so far; a batch at or below the one already applied
    is a repeat and does nothing. −1 marks a batch that moves no checkpoint (forgetting, expiry).
    `basis` is the revision the batch was computed from (−1: unchecked).

    Raises:
        StaleBatch: something was forgotten after `basis`; compute the batch again.
    """

    changes: Sequence[Change]
    through: int = -1
    basis: int = -1


@dataclass(frozen=True)
class ListItems(Request[list[Item]]):
    """Every item of the working set, of one kind or all, least recently changed first."""

    kind: ItemKind | None = None


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
class ForgetItems(Request[int]):
    """Forget these items and the changes recorded about them, for good; answers how many went."""

    ids: tuple[str, ...] | list[str]


@dataclass(frozen=True)
class Archive(Request[int]):
    """Move these items to the cold archive: kept in the log, out of RAM and recall."""

    ids: tuple[str, ...] | list[str]


@dataclass(frozen=True)
class ListArchived(Request[list[Item]]):
    """Everything in the cold archive, read from the log."""


@dataclass(frozen=True)
class Touch(Request[int]):
    """These items helped an answer at `at`; written with the next batch, so costs no I/O."""

    ids: tuple[str, ...] | list[str]
    at: float


@dataclass(frozen=True)
class Consolidated(Request[int]):
    """Raw sequence consolidated so far; −1 when none."""


@dataclass(frozen=True)
class StructuredSize:
    """Sizes of the structured layer; ``revision`` grows with every change and never falls."""

    items: int
    archived: int
    revision: int
    through: int
    log_records: int


@dataclass(frozen=True)
class StructuredStats(Request[StructuredSize]):
    """How much the structured layer holds."""


class StructuredMemory(Actor):
    """Owner of the structured log. Answers the requests of this module and `raw.Forget`."""

    def __init__(self, log: SealedLog) -> None:
        self._log = log
        self._state = itemlog.Replay()
        self._touched: set[str] = set()

    async def started(self) -> None:
        """Replay the log; what a crash left uncommitted is erased."""
        self._state = itemlog.replay(self._log.read())
        if self._state.uncommitted:
            self._log.erase(self._state.uncommitted)
            self._state.uncommitted = []

    async def receive(self, message: object) -> object:
        """Serve one request."""
        match message:
            case Apply(changes, through, basis):
                return self._apply(changes, through, basis)
            case ListItems(kind):
                return [i for i in self._state.items.values() if kind is None or i.kind is kind]
            case ItemsByIds(ids):
                return [self._state.items[i] for i in ids if i in self._state.items]
            case ItemsAfter(revision, limit):
                return self._after(revision, limit)
            case ItemsBetween(start, end, limit):
                return self._between(start, end)[:limit]
            case ForgetItems(ids):
                return self._forget(self._with_history(ids), ())
            case Forget(ids):
                return self._forget_turns(ids)
            case Archive(ids):
                return self._archive([i for i in ids if i in self._state.items])
            case ListArchived():
                return self._archived()
            case Touch(ids, at):
                return self._touch(ids, at)
            case Consolidated():
                return self._state.through
            case StructuredStats():
                return self._size()
            case _:
                raise TypeError(f"structured memory cannot answer {type(message).__name__}")

    def _apply(self, changes: Sequence[Change], through: int, basis: int) -> int:
        if 0 <= through <= self._state.through:
            return 0
        if 0 <= basis < self._last_gone:
            raise StaleBatch
        accepted = [change.item for change in changes if self._acceptable(change)]
        changed = {item.id for item in accepted}
        accepted += [self._state.items[i] for i in sorted(self._touched - changed)]
        if accepted or through > self._state.through:
            self._write(accepted, through)
        self._touched.clear()
        self._compact()
        return len(changed)

    @property
    def _last_gone(self) -> int:
        return self._state.gone[-1][0] if self._state.gone else -1

    def _acceptable(self, change: Change) -> bool:
        """A batch is computed beside a live user: what was forgotten meanwhile stays forgotten."""
        item, held = change.item, self._state.items.get(change.item.id)
        if item.id in self._state.forgotten_items:
            return False
        sources = {turn_sequence(identifier) for identifier in item.turns}
        if not sources.isdisjoint(self._state.forgotten_turns):
            return False
        return held != item if change.kind is ChangeKind.CREATE else held not in (None, item)

    def _write(self, items: Sequence[Item], through: int) -> None:
        first = self._state.revision + 1
        records = [itemlog.item_record(first + n, item) for n, item in enumerate(items)]
        last = first + max(len(items) - 1, 0)
        sequences = self._log.append_many([*records, itemlog.commit_record(first, last, through)])
        for n, item in enumerate(items):
            itemlog.keep(self._state, first + n, sequences[n], item)
        self._state.revision = last
        self._state.through = max(self._state.through, through)

    def _after(self, revision: int, limit: int) -> tuple[list[Item], list[str], int]:
        ids = list(self._state.revisions)
        # Newest revisions stand last: `keep` re-inserts, so both lists are sorted by revision.
        start = bisect_right(ids, revision, key=self._state.revisions.__getitem__)
        chosen = ids[start : start + limit]
        more = start + limit < len(ids)
        reached = self._state.revisions[chosen[-1]] if more else self._state.revision
        gone = self._state.gone
        low = bisect_right(gone, revision, key=lambda entry: entry[0])
        high = bisect_right(gone, reached, key=lambda entry: entry[0])
        return (
            [self._state.items[identifier] for identifier in chosen],
            [identifier for _, identifier in gone[low:high]],
            max(reached, revision),
        )

    def _between(self, start: float, end: float) -> list[Item]:
        return [item for item in self._state.items.values() if _meets(item, start, end)]

    def _with_history(self, ids: Iterable[str]) -> list[str]:
        """The items named, their older forms, and every change recorded about any of them."""
        everything = self._everything()
        wanted = set(ids)
        before = -1
        while len(wanted) != before:
            before = len(wanted)
            wanted.update(item.id for item in everything if item.replaced_by in wanted)
        wanted.update(i.id for i in everything if i.kind is ItemKind.CHANGE and i.subject in wanted)
        return sorted(wanted & {item.id for item in everything})

    def _forget_turns(self, ids: Iterable[str]) -> int:
        sequences = {n for n in (turn_sequence(identifier) for identifier in ids) if n is not None}
        drawn = [i.id for i in self._everything() if _drawn_from(i, sequences)]
        return self._forget(self._with_history(drawn), sorted(sequences))

    def _forget(self, ids: list[str], turns: Collection[int]) -> int:
        if not ids and not turns:
            return 0
        erased = sorted(n for i in ids for n in self._state.sequences.get(i, []))
        revision = self._state.revision + 1
        # The mark first: a crash before the erase leaves records that replay already ignores.
        self._log.append(itemlog.forgotten_record(revision, ids, turns))
        if erased:
            self._log.erase(erased)
        itemlog.forget(self._state, revision, ids, list(turns))
        self._state.revision = revision
        self._touched.difference_update(ids)
        return len(ids)

    def _archive(self, ids: list[str]) -> int:
        if ids:
            revision = self._state.revision + 1
            self._log.append(itemlog.archived_record(revision, ids))
            itemlog.archive(self._state, revision, ids)
            self._state.revision = revision
            self._touched.difference_update(ids)
        return len(ids)

    def _everything(self) -> list[Item]:
        return [*self._state.items.values(), *self._archived()]

    def _archived(self) -> list[Item]:
        if not self._state.archived:
            return []
        wanted = {self._state.sequences[i][-1] for i in self._state.archived}
        records = (msgpack.unpackb(p) for n, p in self._log.read() if n in wanted)
        return [item_from_fields(fields) for _, _, fields in records]

    def _touch(self, ids: Iterable[str], at: float) -> int:
        held = [self._state.items[i] for i in ids if i in self._state.items]
        for item in held:
            newest = max(item.last_access, at)
            touched = replace(item, accesses=item.accesses + 1, last_access=newest)
            self._state.items[item.id] = touched
            self._touched.add(item.id)
        return len(held)

    def _compact(self) -> None:
        """Erase superseded records once they outnumber the live ones."""
        stale = [n for ns in self._state.sequences.values() for n in ns[:-1]]
        limit = max(COMPACT_FLOOR, STALE_RECORDS_PER_ITEM * len(self._state.sequences))
        if len(stale) > limit:
            self._log.erase(sorted(stale))
            for sequences in self._state.sequences.values():
                del sequences[:-1]

    def _size(self) -> StructuredSize:
        return StructuredSize(
            items=len(self._state.items),
            archived=len(self._state.archived),
            revision=self._state.revision,
            through=self._state.through,
            log_records=len(self._log),
        )


def _meets(item: Item, start: float, end: float) -> bool:
    if item.starts is None:
        return start <= item.created < end
    finish = item.ends if item.ends is not None else item.starts
    return item.starts < end and (finish > start or item.starts >= start)


def _drawn_from(item: Item, sequences: set[int]) -> bool:
    """Whether an item's words come from one of these turns: any turn of an event or change, the
    newest turn of a preference or entity (its wording is always the newest one's)."""
    turns = [turn_sequence(identifier) for identifier in item.turns]
    if item.kind in (ItemKind.EVENT, ItemKind.CHANGE):
        return any(turn in sequences for turn in turns)
    return bool(turns) and (turns[-1] in sequences or all(turn in sequences for turn in turns))
