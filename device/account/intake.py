"""What other devices wrote, merged and put into the structured layer of this one.

An item that comes in fades, is recalled and is found like any other; its provenance names the
turns on the device where they were said. Where two devices edited it at once the newest version is
shown and the others stand beside it as its older forms, until somebody edits it again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace

from device.account.content import Names, alternatives, digest_of, unpack_item
from device.account.errors import EnvelopeRefused
from device.account.noticing import Writer
from device.account.replica import ItemRef, Replica, Status, merge
from device.account.store import AccountStore, Entry, Kept
from device.actors import ActorRef
from device.memory import (
    Apply,
    Change,
    ChangeKind,
    ForgetItems,
    ForgottenTurns,
    StaleBatch,
    StructuredStats,
    Together,
)
from device.memory.provenance import numbers_of, without_turns
from device.memory.records import EventState, Item

__all__ = ["Intake", "Taken"]

ATTEMPTS = 3
"""Times a batch is computed again because the owner forgot something meanwhile."""


@dataclass(slots=True)
class Taken:
    """What became of the items of one letter."""

    changed: int = 0
    erased: int = 0
    refused: int = 0
    """Items that are none; the rest of the letter stands."""
    clocks_off: set[str] = field(default_factory=set)
    """Devices whose clock is too far ahead."""


@dataclass(slots=True)
class _Batch:
    changes: list[Change] = field(default_factory=list)
    kept: dict[ItemRef, Kept] = field(default_factory=dict)
    tombstones: dict[ItemRef, Kept] = field(default_factory=dict)
    dropped: list[str] = field(default_factory=list)
    """Local ids of versions that nobody holds any more."""


@dataclass(frozen=True, slots=True)
class _Known:
    """What this device knows of one item before a letter's word on it."""

    state: Replica
    entry: Entry | None
    item: Item | None
    """As the structured layer holds it."""
    forgotten: set[int]
    """Turns of this device that were forgotten."""


class Intake:
    """Puts items of letters into this device's memory."""

    def __init__(
        self,
        store: AccountStore,
        structured: ActorRef,
        raw: ActorRef,
        forget: Callable[[Sequence[str]], Awaitable[object]],
        now: Callable[[], float],
    ) -> None:
        """`forget` erases memories by id as their owner would; `now` gives unix seconds."""
        self._store = store
        self._structured = structured
        self._raw = raw
        self._forget = forget
        self._now = now

    async def take(self, items: Sequence[tuple[ItemRef, Replica]]) -> Taken:
        """Merge these states. Repeated, late or out of order, the outcome is the same."""
        for attempt in range(ATTEMPTS):
            try:
                return await self._take(items)
            except StaleBatch:
                if attempt == ATTEMPTS - 1:
                    raise
        raise AssertionError("unreachable")

    async def bury(self) -> int:
        """Erase here what is erased in the account and still held: a crash came between."""
        assert self._store.profile is not None
        names = Names(self._store.profile.device, list(self._store.profile.met))
        erased = {names.local(ref) for ref, e in self._store.entries.items() if e.erased}
        return await self._erase(sorted(erased)) if erased else 0

    async def _take(self, items: Sequence[tuple[ItemRef, Replica]]) -> Taken:
        store, taken = self._store, Taken()
        assert store.profile is not None
        basis = (await self._structured.ask(StructuredStats())).revision
        forgotten = numbers_of(await self._raw.ask(ForgottenTurns()))
        writer = Writer(store.profile, self._now)
        arrived = _folded(items)
        ids = {ref: writer.names.local(ref) for ref in arrived}
        held = {item.id: item for item in await self._structured.ask(Together([*ids.values()]))}
        states = store.read(arrived)
        batch = _Batch()
        for ref, incoming in arrived.items():
            if not writer.follow(incoming):
                taken.clocks_off |= set(incoming.context)
            known = _Known(
                states.get(ref, Replica()), store.entries.get(ref), held.get(ids[ref]), forgotten
            )
            try:
                self._merge(batch, writer, ref, known, incoming)
            except EnvelopeRefused:
                taken.refused += 1
        await self._carry_out(batch, writer, basis)
        taken.changed, taken.erased = len(batch.changes), len(batch.tombstones)
        return taken

    def _merge(
        self, batch: _Batch, writer: Writer, ref: ItemRef, known: _Known, incoming: Replica
    ) -> None:
        entry, mine = known.entry, known.state
        if entry is not None and entry.faded and not incoming.erased:
            return  # forgetting is each device's own
        if known.item is not None and not mine.erased:
            mine = writer.written(mine, known.item)  # what was not noticed yet
        merged = merge(mine, incoming)
        if merged == known.state:
            return
        if merged.erased:
            batch.tombstones[ref] = Kept(merged, dirty=False)
            return
        unsent = mine is not known.state or (entry is not None and entry.dirty)
        versions = merged.versions
        if not versions:
            raise EnvelopeRefused("an item without words")
        digest = digest_of(versions[0], merged.standing)
        others = self._show(batch, writer, ref, known, merged)
        kept = Kept(merged, digest, unsent and merged != incoming, others)
        batch.kept[ref] = kept

    def _show(
        self, batch: _Batch, writer: Writer, ref: ItemRef, known: _Known, merged: Replica
    ) -> tuple[str, ...]:
        """Have the structured layer show the newest version; the ids of the others beside it."""
        names, (shown, *_) = writer.names, merged.versions
        item = unpack_item(shown, ref, merged.standing, names)
        beside = {names.version(ref, v): v for v in alternatives(merged.versions)}
        others = [
            replace(
                unpack_item(version, ref, Status(EventState.EXPIRED), names),
                id=identifier,
                replaced_by=item.id,
            )
            for identifier, version in beside.items()
        ]
        before = known.entry.versions if known.entry else ()
        fresh = [other for other in others if other.id not in before]
        held = known.item
        if held is None or writer.digest(held) != digest_of(shown, merged.standing):
            batch.changes.append(_change(self._here(item, known.forgotten), held, self._now()))
        for other in fresh:
            batch.changes.append(_change(self._here(other, known.forgotten), None, self._now()))
        batch.dropped += [identifier for identifier in before if identifier not in beside]
        return tuple(beside)

    @staticmethod
    def _here(item: Item, forgotten: set[int]) -> Item:
        """Without the turns that were forgotten on this device: nothing names them any more."""
        return item if numbers_of(item.turns).isdisjoint(forgotten) else without_turns(
            item, forgotten
        )  # fmt: skip

    async def _carry_out(self, batch: _Batch, writer: Writer, basis: int) -> None:
        store = self._store
        if tuple(writer.names.met) != (store.profile.met if store.profile else ()):
            store.save(writer.profile)  # numbers given to a device's items are never given again
        if batch.tombstones:
            # The tombstone first: a crash before the erase is made good by `bury`.
            store.replace(batch.tombstones)
            await self._erase([writer.names.local(ref) for ref in batch.tombstones])
        if batch.changes:
            await self._structured.ask(Apply(batch.changes, basis=basis))
        store.save(writer.profile, batch.kept)
        if batch.dropped:
            store.shred_old()  # it may be that somebody erased that version
            await self._structured.ask(ForgetItems(batch.dropped))

    async def _erase(self, ids: Sequence[str]) -> int:
        wanted = set(ids)
        held = [i.id for i in await self._structured.ask(Together(list(ids))) if i.id in wanted]
        if held:
            await self._forget(held)
        return len(held)


def _folded(items: Sequence[tuple[ItemRef, Replica]]) -> dict[ItemRef, Replica]:
    """Each item once, whatever the letter repeats."""
    folded: dict[ItemRef, Replica] = {}
    for ref, replica in items:
        folded[ref] = merge(folded[ref], replica) if ref in folded else replica
    return folded


def _change(item: Item, held: Item | None, now: float) -> Change:
    """How an item comes in: use and fading are counted by each device for itself."""
    if held is None:
        return Change(ChangeKind.CREATE, replace(item, last_access=now))
    used = replace(item, accesses=held.accesses, last_access=held.last_access)
    return Change(ChangeKind.UPDATE, used)
