"""The structured layer: what was meant, event-sourced in its sealed log (002, structured layer).

Sole owner of the log. Consolidation hands in changes together with the raw sequence they cover; a
batch applies whole or not at all, and applying the same batch again does nothing.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgpack

from device.actors import PromptActor
from device.memory import itemlog
from device.memory.changes import Change, ChangeKind
from device.memory.coding import item_from_fields, item_number
from device.memory.itemcalls import (
    Apply,
    Archive,
    Browse,
    ChangesAbout,
    Consolidated,
    Covered,
    DrawnFrom,
    ForgetItems,
    ForgottenItems,
    ItemPage,
    ItemsAfter,
    ItemsBetween,
    ItemsByIds,
    ItemTrace,
    ListArchived,
    ListItems,
    Overdue,
    Reached,
    Restore,
    StaleBatch,
    Stock,
    StructuredSize,
    StructuredStats,
    TakeStock,
    Together,
    Touch,
    Trace,
)
from device.memory.lifecycle import overdue
from device.memory.people import names_told, without_names
from device.memory.provenance import drawn_from, numbers_of, without_turns
from device.memory.raw import Forget, ForgetAll
from device.memory.records import Item, ItemKind
from device.vault import SealedLog

__all__ = ["StructuredMemory"]

STALE_RECORDS_PER_ITEM = 1.0
"""Superseded log records per live item above which a compaction pays for itself."""
COMPACT_FLOOR = 256
"""Superseded records below which the log is left alone."""


class StructuredMemory(PromptActor):
    """Owner of the structured log. Answers `itemcalls`, `raw.Forget` and `raw.ForgetAll`."""

    def __init__(self, log: SealedLog) -> None:
        self._log = log
        self._state = itemlog.Replay()
        self._touched: set[str] = set()

    async def started(self) -> None:
        """Replay the log; what a crash left of batches and of forgotten memories is erased."""
        self._state = itemlog.replay(self._log.read())
        if self._state.leftover:
            self._log.erase(sorted(self._state.leftover))
            self._state.leftover = []
        torn = [item for item in self._state.items.values() if self._names_forgotten(item)]
        if torn:
            self._rewrite(torn)

    def answer(self, message: object) -> object:
        """Serve one request."""
        answer = _ANSWERS.get(type(message))
        if answer is None:
            raise TypeError(f"structured memory cannot answer {type(message).__name__}")
        return answer(self, message)

    # -- batches

    def _apply(
        self, changes: Sequence[Change], through: int, basis: int, covered: Collection[int]
    ) -> int:
        if 0 <= through <= self._state.through:
            return 0
        if 0 <= basis < self._last_gone:
            raise StaleBatch
        accepted = [change.item for change in changes if self._acceptable(change)]
        changed = {item.id for item in accepted}
        accepted += [self._state.items[i] for i in sorted(self._touched - changed)]
        if accepted or covered or through > self._state.through:
            self._write(accepted, through, covered)
        self._touched.clear()
        self._compact()
        return len(changed)

    @property
    def _last_gone(self) -> int:
        archived = self._state.gone[-1][0] if self._state.gone else -1
        return max(archived, self._state.forgot_at)

    def _acceptable(self, change: Change) -> bool:
        """A batch is computed beside a live user: what was forgotten meanwhile stays forgotten."""
        item, held = change.item, self._state.items.get(change.item.id)
        if item.id in self._state.forgotten_items or self._names_forgotten(item):
            return False
        if item.id in self._state.archived:
            return change.kind is ChangeKind.UPDATE
        return held != item if change.kind is ChangeKind.CREATE else held not in (None, item)

    def _names_forgotten(self, item: Item) -> bool:
        return any(number in self._state.barred for number in numbers_of(item.turns))

    def _write(
        self, items: Sequence[Item], through: int = -1, covered: Collection[int] = ()
    ) -> None:
        first = self._state.revision + 1
        records, last = self._batch(items, first, through, covered)
        self._keep(items, first, self._log.append_many(records))
        self._state.revision = last
        itemlog.advance(self._state, through, covered)

    def _batch(
        self, items: Sequence[Item], first: int, through: int, covered: Collection[int]
    ) -> tuple[list[bytes], int]:
        records = [itemlog.item_record(first + n, item) for n, item in enumerate(items)]
        last = first + max(len(items) - 1, 0)
        return [*records, itemlog.commit_record(first, last, through, sorted(covered))], last

    def _keep(self, items: Sequence[Item], first: int, sequences: Sequence[int]) -> None:
        for n, item in enumerate(items):
            itemlog.keep(self._state, first + n, sequences[n], item)

    # -- reading

    def _browse(self, page: Browse) -> ItemPage:
        held = self._read(self._state.archived) if page.archived else self._state.items.values()
        chosen = [item for item in held if page.kind is None or item.kind is page.kind]
        chosen.sort(key=lambda item: (-item.updated, -(item_number(item.id) or 0)))
        return ItemPage(tuple(chosen[page.offset : page.offset + page.limit]), len(chosen))

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

    def _trace(self, identifier: str) -> ItemTrace | None:
        found = self._read([identifier])
        if not found:
            return None
        links = self._state.links
        changes = sorted(self._read(links.notes(identifier)), key=lambda i: (i.created, i.id))
        return ItemTrace(
            item=found[0],
            archived=identifier in self._state.archived,
            older=tuple(self._read(links.older(identifier))),
            changes=tuple(changes),
        )

    def _changes_about(self, ids: Iterable[str]) -> list[Item]:
        notes = dict.fromkeys(note for i in ids for note in self._state.links.notes(i))
        held = [self._state.items[note] for note in notes if note in self._state.items]
        return sorted(held, key=lambda item: (-item.created, item.id))

    def _stock(self) -> Stock:
        cold = self._read(self._state.archived) if self._state.archived else []
        return Stock(self._state.revision, [*cold, *self._state.items.values()])

    def _known(self, ids: Iterable[str]) -> list[str]:
        return sorted(i for i in ids if i in self._state.items or i in self._state.archived)

    def _read(self, ids: Iterable[str]) -> list[Item]:
        """Items by id in the order asked, archived ones read from the log; unknown left out."""
        wanted = list(ids)
        cold = {self._state.sequences[i][-1]: i for i in wanted if i in self._state.archived}
        found: dict[str, Item] = {}
        if cold:
            newest = max(cold)
            for sequence, payload in self._log.read(min(cold) - 1):
                if sequence in cold:
                    found[cold[sequence]] = item_from_fields(msgpack.unpackb(payload)[2])
                if sequence >= newest:
                    break
        held = self._state.items
        return [held[i] if i in held else found[i] for i in wanted if i in held or i in found]

    # -- forgetting

    def _drawn(self, turns: Collection[int]) -> list[str]:
        """Ids of the items whose words come from these turns, with all that belongs to them."""
        cold = [i for i, drawn in self._state.archived.items() if not turns_apart(drawn, turns)]
        items = [*self._state.items.values(), *self._read(cold)]
        drawn = [item.id for item in items if drawn_from(item, turns)]
        return self._known(self._state.links.together(drawn))

    def _forget_turns(self, turns: Collection[int]) -> int:
        fresh = sorted(number for number in turns if number not in self._state.barred)
        return self._forget(self._drawn(set(fresh)), fresh) if fresh else 0

    def _forget(self, ids: list[str], turns: Collection[int]) -> int:
        """Forget items and bar turns. Items that outlive a turn of theirs stop naming it, and no
        superseded record stays: it might hold the words of what was forgotten."""
        if not ids and not turns:
            return 0
        survivors = self._survivors(set(ids), set(turns))
        cold = [item.id for item in survivors if item.id in self._state.archived]
        mark = self._state.revision + 1
        # The mark first: a crash before the erase leaves records that replay drops.
        records = [itemlog.forgotten_record(mark, ids, turns)]
        batch, last = self._batch(survivors, mark + 1, -1, ())
        records += batch if survivors else []
        records += [itemlog.archived_record(last + 1, cold)] if cold else []
        sequences = self._log.append_many(records)
        erased = itemlog.forget(self._state, mark, ids, list(turns))
        self._keep(survivors, mark + 1, sequences[1:])
        self._state.revision = last if survivors else mark
        if cold:
            itemlog.archive(self._state, last + 1, cold)
            self._state.revision = last + 1
        self._touched.difference_update(ids)
        self._erase(erased)
        return len(ids)

    def _survivors(self, ids: set[str], turns: set[int]) -> list[Item]:
        """New forms of the items that stay but named a forgotten turn or a forgotten name."""
        names = names_told(self._read(sorted(ids)))
        cold = [
            i for i, drawn in self._state.archived.items() if names or not turns_apart(drawn, turns)
        ]
        changed = []
        for item in (*self._state.items.values(), *self._read(cold)):
            if item.id not in ids:
                apart = turns_apart(numbers_of(item.turns), turns)
                left = item if apart else without_turns(item, turns)
                left = without_names(left, names)
                changed += [left] if left is not item else []
        return changed

    def _forget_all(self, last: int) -> int:
        revision = self._state.revision + 1
        gone = len(self._state.items) + len(self._state.archived)
        mark = self._log.append(itemlog.emptied_record(revision, last))
        self._log.erase([n for n, _ in self._log.read() if n != mark])
        itemlog.empty(self._state, revision, last)
        self._state.revision = revision
        self._touched.clear()
        return gone

    def _rewrite(self, items: Sequence[Item]) -> None:
        """A crash came between the mark of a forgetting and the survivors' new form."""
        above, floor = self._state.barred.above, self._state.barred.floor
        barred = above | {n for item in items for n in numbers_of(item.turns) if n <= floor}
        doomed = [item.id for item in items if drawn_from(item, barred)]
        self._forget(self._known(self._state.links.together(doomed)), sorted(barred))

    # -- the archive

    def _archive(self, ids: list[str]) -> int:
        if ids:
            revision = self._state.revision + 1
            self._log.append(itemlog.archived_record(revision, ids))
            itemlog.archive(self._state, revision, ids)
            self._state.revision = revision
            self._touched.difference_update(ids)
        return len(ids)

    def _restore(self, ids: Iterable[str], turns: set[int], at: float) -> tuple[str, ...]:
        archived = self._state.archived
        named = {i for i in ids if i in archived}
        drawn = {i for i, numbers in archived.items() if not turns_apart(numbers, turns)}
        items = [
            replace(item, accesses=item.accesses + 1, last_access=max(item.last_access, at))
            for item in self._read(sorted(named | drawn))
            if item.id in named or not (item.replaced_by or item.kind is ItemKind.CHANGE)
        ]
        if items:
            self._write(items)
        return tuple(item.id for item in items)

    def _touch(self, ids: Collection[str], turns: set[str], at: float) -> int:
        held = {i: self._state.items[i] for i in ids if i in self._state.items}
        if turns:
            for item in self._state.items.values():
                if not (item.replaced_by or turns.isdisjoint(item.turns)):
                    held[item.id] = item
        for item in held.values():
            newest = max(item.last_access, at)
            touched = replace(item, accesses=item.accesses + 1, last_access=newest)
            self._state.items[item.id] = touched
            self._touched.add(item.id)
        return len(held)

    # -- the log

    def _erase(self, sequences: Iterable[int]) -> None:
        """Erase these records and every superseded one."""
        stale = [n for held in self._state.sequences.values() for n in held[:-1]]
        doomed = sorted({*sequences, *stale})
        if doomed:
            self._log.erase(doomed)
            for identifier, held in self._state.sequences.items():
                self._state.sequences[identifier] = held[-1:]

    def _compact(self) -> None:
        """Erase superseded records once they outnumber the live ones."""
        stale = sum(len(held) - 1 for held in self._state.sequences.values())
        limit = max(COMPACT_FLOOR, STALE_RECORDS_PER_ITEM * len(self._state.sequences))
        if stale > limit:
            self._erase(())

    def _size(self) -> StructuredSize:
        return StructuredSize(
            items=len(self._state.items),
            archived=len(self._state.archived),
            revision=self._state.revision,
            through=self._state.through,
            log_records=len(self._log),
            forgotten_turns=len(self._state.barred),
        )


def turns_apart(drawn: Collection[int], turns: Collection[int]) -> bool:
    """Whether an item's turns and these have none in common."""
    return not any(number in turns for number in drawn)


def _meets(item: Item, start: float, end: float) -> bool:
    if item.starts is None:
        return start <= item.created < end
    finish = item.ends if item.ends is not None else item.starts
    return item.starts < end and (finish > start or item.starts >= start)


_ANSWERS: Mapping[type, Callable[[StructuredMemory, Any], object]] = {
    Apply: lambda s, m: s._apply(m.changes, m.through, m.basis, m.covered),
    ListItems: lambda s, m: [
        i for i in s._state.items.values() if m.kind is None or i.kind is m.kind
    ],
    Browse: lambda s, m: s._browse(m),
    ItemsByIds: lambda s, m: [s._state.items[i] for i in m.ids if i in s._state.items],
    ItemsAfter: lambda s, m: s._after(m.revision, m.limit),
    Overdue: lambda s, m: overdue(s._state.items.values(), m.now),
    ItemsBetween: lambda s, m: s._between(m.start, m.end)[: m.limit],
    ForgetItems: lambda s, m: s._forget(s._known(s._state.links.together(m.ids)), ()),
    Forget: lambda s, m: s._forget_turns(numbers_of(m.ids)),
    ForgetAll: lambda s, m: s._forget_all(m.last),
    Archive: lambda s, m: s._archive([i for i in m.ids if i in s._state.items]),
    Restore: lambda s, m: s._restore(m.ids, numbers_of(m.turns), m.at),
    ListArchived: lambda s, _: s._read(s._state.archived),
    Touch: lambda s, m: s._touch(m.ids, set(m.turns), m.at),
    Trace: lambda s, m: s._trace(m.id),
    Together: lambda s, m: tuple(s._read(s._known(s._state.links.together(s._known(m.ids))))),
    DrawnFrom: lambda s, m: tuple(s._read(s._drawn(numbers_of(m.turns)))),
    ChangesAbout: lambda s, m: s._changes_about(m.ids)[: m.limit],
    Consolidated: lambda s, _: s._state.through,
    ForgottenItems: lambda s, _: frozenset(s._state.forgotten_items),
    Covered: lambda s, _: frozenset(s._state.covered),
    StructuredStats: lambda s, _: s._size(),
    TakeStock: lambda s, _: s._stock(),
    Reached: lambda s, _: (s._state.revision, s._state.through),
}
"""How each request is served. Of the class and not of the instance: a fleet has thousands."""
