"""What one device keeps of its account: keys, members, and every shared item as it stands.

The only owner of the sealed log it is given. Contents stay in the log and are read a batch at a
time; in memory is an index. A record that was superseded is erased with the next `tidy`, one that
holds what the owner erased at once: its segment's key is gone when `replace` returns.

| record  | holds                                                                    |
|---------|--------------------------------------------------------------------------|
| profile | keys, roster, numbers: everything that is not an item's                  |
| item    | an item's state, the digest of what the structured layer was given of it |
| waiting | a letter on its way: sent again as it is until the cloud has it          |
| done    | the cloud has it: which items went out in it                             |
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgpack

from device.account.payload import pack_replica, unpack_replica
from device.account.profile import Profile, pack_profile, unpack_profile
from device.account.replica import ItemRef, Replica
from device.vault import SealedLog

__all__ = ["AccountStore", "Entry", "Kept", "Waiting"]

PROFILE, ITEM, WAITING, DONE = range(4)
TIDY_FLOOR = 64
"""Superseded records below which the log is left alone."""
UNSENT = 0


@dataclass(frozen=True, slots=True)
class Kept:
    """An item to be kept: its state and what it is like on this device."""

    replica: Replica
    digest: bytes = b""
    """Of the content and status the structured layer was given; empty: it holds none."""
    dirty: bool = True
    """Whether the others have still to hear of it."""
    versions: tuple[str, ...] = ()
    """Local ids of the other versions beside it."""
    faded: bool = False
    """It faded here, which is nobody else's business: only an erase concerns it any more."""


@dataclass(slots=True)
class Entry:
    """What is known of a kept item without reading it."""

    sequence: int
    digest: bytes
    dirty: bool
    erased: bool
    faded: bool
    versions: tuple[str, ...]
    context: Mapping[str, int]
    sent_in: int = UNSENT
    """The number of the newest letter it went out in."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """A letter on its way."""

    counter: int
    letter: bytes
    items: tuple[ItemRef, ...]


@dataclass(slots=True)
class _State:
    profile: Profile | None = None
    entries: dict[ItemRef, Entry] = field(default_factory=dict)
    waiting: Waiting | None = None
    done_at: dict[int, int] = field(default_factory=dict)
    """Number of a letter the cloud has → the record that says so."""
    profile_at: int = -1
    waiting_at: int = -1


class AccountStore:
    """The account as this device knows it."""

    def __init__(self, log: SealedLog) -> None:
        self._log = log
        self._state = _State()
        for sequence, payload in log.read():
            self._replay(sequence, msgpack.unpackb(payload, use_list=False))
        if any(entry.erased for entry in self._state.entries.values()):
            self.shred_old()  # an erase that a crash cut short

    # --- reading ---

    @property
    def profile(self) -> Profile | None:
        """Keys, roster and numbers; None: this phone is in no account."""
        return self._state.profile

    @property
    def waiting(self) -> Waiting | None:
        """The letter on its way, if any."""
        return self._state.waiting

    @property
    def entries(self) -> Mapping[ItemRef, Entry]:
        """Everything kept, tombstones included."""
        return self._state.entries

    def dirty(self) -> list[ItemRef]:
        """What the others have still to hear of, oldest record first."""
        entries = self._state.entries.items()
        found = [(e.sequence, ref) for ref, e in entries if e.dirty and not e.faded]
        return [ref for _, ref in sorted(found)]

    def read(self, refs: Iterable[ItemRef]) -> dict[ItemRef, Replica]:
        """The states of these items; those not kept are left out."""
        entries = self._state.entries
        wanted = {entries[ref].sequence for ref in refs if ref in entries}
        found: dict[ItemRef, Replica] = {}
        if wanted:
            last = max(wanted)
            for sequence, payload in self._log.read(min(wanted) - 1):
                if sequence in wanted:
                    ref, replica = unpack_replica(msgpack.unpackb(payload)[1])
                    found[ref] = replica
                if sequence >= last:
                    break
        return found

    # --- writing: durable on return ---

    def save(self, profile: Profile, items: Mapping[ItemRef, Kept] | None = None) -> None:
        """Keep the profile and these items."""
        records = [self._item_row(ref, kept) for ref, kept in (items or {}).items()]
        self._append([*records, [PROFILE, pack_profile(profile)]])

    def replace(self, items: Mapping[ItemRef, Kept]) -> None:
        """Keep these items and shred what was kept of them, and any letter that may hold it."""
        doomed = [self._state.entries[ref].sequence for ref in items if ref in self._state.entries]
        waiting = self._state.waiting
        if waiting is not None and not set(waiting.items).isdisjoint(items):
            doomed.append(self._state.waiting_at)
            self.call_back()
        self._append([self._item_row(ref, kept) for ref, kept in items.items()])
        self._log.erase([*doomed, *self._stale()])

    def send(self, profile: Profile, waiting: Waiting) -> None:
        """A letter is on its way."""
        row = [WAITING, waiting.counter, waiting.letter, [list(ref) for ref in waiting.items]]
        self._append([row, [PROFILE, pack_profile(profile)]])

    def sent(self) -> None:
        """The cloud has the letter that was on its way."""
        waiting = self._state.waiting
        if waiting is not None:
            self._done(waiting.counter, waiting.items)

    def call_back(self) -> None:
        """The letter on its way will not go out: its items have still to be sent."""
        if self._state.waiting is not None:
            self._done(self._state.waiting.counter, ())

    def mark_dirty(self, refs: Collection[ItemRef]) -> None:
        """The others have to hear of these once more."""
        entries = self._state.entries
        told = [r for r in refs if not (entries[r].dirty or entries[r].faded)]
        states = self.read(told)
        kept = {ref: self._kept(ref, state, dirty=True) for ref, state in states.items()}
        if kept:
            self._append([self._item_row(ref, one) for ref, one in kept.items()])

    def tidy(self) -> None:
        """Erase superseded records once they outnumber the others."""
        stale = self._stale()
        if len(stale) > max(TIDY_FLOOR, len(self._state.entries)):
            self._log.erase(stale)

    def shred_old(self) -> None:
        """Erase every superseded record now: old keys go with them."""
        self._log.erase(self._stale())

    def clear(self) -> None:
        """Forget the account whole."""
        self._log.snapshot([])
        self._state = _State()

    # --- the log ---

    def _kept(self, ref: ItemRef, replica: Replica, *, dirty: bool) -> Kept:
        entry = self._state.entries[ref]
        return Kept(replica, entry.digest, dirty, entry.versions, entry.faded)

    def _item_row(self, ref: ItemRef, kept: Kept) -> list[object]:
        held = self._state.entries.get(ref)
        sent_in = held.sent_in if held else UNSENT
        packed = pack_replica(ref, kept.replica)
        return [ITEM, packed, kept.digest, kept.dirty, list(kept.versions), kept.faded, sent_in]

    def _done(self, counter: int, items: Sequence[ItemRef]) -> None:
        self._append([[DONE, counter, [list(ref) for ref in items], self._state.waiting_at]])

    def _append(self, rows: Sequence[Sequence[object]]) -> None:
        packed = [bytes(msgpack.packb(row)) for row in rows]
        for sequence, payload in zip(self._log.append_many(packed), packed, strict=True):
            self._replay(sequence, msgpack.unpackb(payload, use_list=False))

    def _replay(self, sequence: int, row: Sequence[Any]) -> None:
        state = self._state
        kind, *rest = row
        if kind == PROFILE:
            state.profile, state.profile_at = unpack_profile(rest[0]), sequence
        elif kind == ITEM:
            packed, digest, dirty, versions, faded, sent_in = rest
            ref, replica = unpack_replica(packed)
            state.entries[ref] = Entry(
                sequence, digest, dirty, replica.erased, faded, versions, replica.context, sent_in
            )
        elif kind == WAITING:
            counter, letter, items = rest
            state.waiting = Waiting(counter, letter, tuple(ItemRef(*pair) for pair in items))
            state.waiting_at = sequence
        elif kind == DONE:
            counter, items, waited_since = rest
            state.waiting, state.waiting_at = None, -1
            if items:
                state.done_at[counter] = sequence
            self._went_out(counter, waited_since, [ItemRef(*pair) for pair in items])

    def _went_out(self, counter: int, since: int, refs: Sequence[ItemRef]) -> None:
        for ref in refs:
            entry = self._state.entries.get(ref)
            # What was changed while the letter waited is not in it.
            if entry is not None and entry.sequence < since:
                entry.dirty, entry.sent_in = False, counter

    def _stale(self) -> list[int]:
        state = self._state
        live = {entry.sequence for entry in state.entries.values()}
        live |= {state.profile_at, state.waiting_at}
        live |= {
            state.done_at[entry.sent_in]
            for entry in state.entries.values()
            if entry.sequence < state.done_at.get(entry.sent_in, UNSENT)
        }
        return [sequence for sequence, _ in self._log.read() if sequence not in live]
