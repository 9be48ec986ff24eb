"""What changed on this device since the last exchange, written down as writes of its own.

The structured layer knows nothing of the account: an item is compared with the digest of what was
shared of it. What is gone without the owner's word has faded, and that stays local; but what named
a turn that was forgotten here was erased with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from device.account.content import SHARED_KINDS, Names, digest_of, pack_item, status_of, unpack_item
from device.account.hlc import Hlc, HybridClock
from device.account.profile import Profile
from device.account.replica import Dot, ItemRef, Replica
from device.account.store import AccountStore, Kept
from device.actors import ActorRef, checkpoint
from device.memory import ForgottenTurns, ListArchived, ListItems
from device.memory.provenance import numbers_of
from device.memory.records import Item

__all__ = ["BATCH", "Writer", "notice_changes"]

BATCH = 200
"""Items written together: well under a second's work."""


class Writer:
    """Makes this device's writes, each with a fresh dot and timestamp."""

    def __init__(self, profile: Profile, now: Callable[[], float]) -> None:
        """`now` gives unix seconds."""
        self.names = Names(profile.device, list(profile.met))
        self._profile = profile
        self._clock = HybridClock(now, profile.clock)
        self._dots = profile.dots

    @property
    def profile(self) -> Profile:
        """The profile with what the writes used up; keep it with them."""
        return replace(
            self._profile, met=tuple(self.names.met), clock=self._clock.last, dots=self._dots
        )

    def digest(self, item: Item) -> bytes:
        """What tells whether the item has changed since."""
        return digest_of(pack_item(item, self.names), status_of(item, self.names))

    def written(self, replica: Replica, item: Item) -> Replica:
        """The state after the item became what it is here; the same when it says the same.

        It is dated when the item changed: two devices may notice their changes in any order.
        """
        content, status = pack_item(item, self.names), status_of(item, self.names)
        if replica.versions[:1] != [content]:
            replica = replica.written(self._dot(replica), self._clock.tick(item.updated), content)
        if replica.standing != status:
            replica = replica.turned(self._dot(replica), self._clock.tick(item.updated), status)
        return replica

    def settled(self, replica: Replica) -> Replica:
        """The state once its shown version alone is left."""
        return replica.written(self._dot(replica), self._clock.tick(), replica.versions[0])

    def follow(self, replica: Replica) -> bool:
        """Keep up with what another device wrote; False when its clock is too far ahead."""
        self._dots = max(self._dots, replica.context.get(self._profile.device, 0))
        return self._clock.follow(Hlc(*replica.newest))

    def _dot(self, replica: Replica) -> Dot:
        own = self._profile.device
        self._dots = max(self._dots, replica.context.get(own, 0)) + 1
        return Dot(own, self._dots)


async def notice_changes(
    store: AccountStore, structured: ActorRef, raw: ActorRef, now: Callable[[], float]
) -> None:
    """Write down what was made, changed and let go here."""
    assert store.profile is not None
    writer = Writer(store.profile, now)
    held = await _shared_items(structured, writer.names)
    gone = [
        ref
        for ref, entry in store.entries.items()
        if entry.digest and ref not in held and not (entry.erased or entry.faded)
    ]
    changed = [ref for ref, item in held.items() if _differs(store, ref, writer.digest(item))]
    changed.sort(key=lambda ref: held[ref].updated)  # a clock cannot go back from one to the next
    for batch in _batches(changed):
        states = store.read(batch)
        kept = {ref: _kept(store, writer, ref, states, held[ref]) for ref in batch}
        store.save(writer.profile, kept)
        await checkpoint()
    if gone:
        forgotten = numbers_of(await raw.ask(ForgottenTurns()))
        for batch in _batches(gone):
            states = store.read(batch)
            store.replace({ref: _let_go(ref, states[ref], writer, forgotten) for ref in batch})
            await checkpoint()


async def _shared_items(structured: ActorRef, names: Names) -> dict[ItemRef, Item]:
    items = [*await structured.ask(ListItems()), *await structured.ask(ListArchived())]
    named = ((names.ref(item.id), item) for item in items if item.kind in SHARED_KINDS)
    return {ref: item for ref, item in named if ref is not None}


def _differs(store: AccountStore, ref: ItemRef, digest: bytes) -> bool:
    entry = store.entries.get(ref)
    return entry is None or not (entry.erased or entry.faded or entry.digest == digest)


def _kept(
    store: AccountStore,
    writer: Writer,
    ref: ItemRef,
    states: Mapping[ItemRef, Replica],
    item: Item,
) -> Kept:
    replica = writer.written(states.get(ref, Replica()), item)
    entry = store.entries.get(ref)
    return Kept(replica, writer.digest(item), versions=entry.versions if entry else ())


def _let_go(ref: ItemRef, replica: Replica, writer: Writer, forgotten: set[int]) -> Kept:
    """A tombstone for what went with its turns; for what faded, only that it did."""
    shown = unpack_item(replica.versions[0], ref, replica.standing, writer.names)
    if not numbers_of(shown.turns).isdisjoint(forgotten):
        return Kept(replica.buried())
    return Kept(Replica(context=replica.context), dirty=False, faded=True)


def _batches(refs: Sequence[ItemRef]) -> Iterator[Sequence[ItemRef]]:
    for start in range(0, len(refs), BATCH):
        yield refs[start : start + BATCH]
