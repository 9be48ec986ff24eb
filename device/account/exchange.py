"""One exchange with the account's mailbox: what others sent comes in, what changed here goes out.

    notice → collect → merge → rotate if a removed device holds the key → seal → keep → post → sent

A letter is kept sealed before it goes out and goes out again as it is until the cloud has it, so
a number never stands for two letters. Every letter says what its sender has of each other device:
a gap makes that device send what was in the lost letters once more, as it stands now. So loss,
repetition and any order end in the same memory everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from device.account.counting import Received
from device.account.errors import EnvelopeRefused, MailboxFull, NoAccount, NumberSpent
from device.account.intake import Intake
from device.account.noticing import notice_changes
from device.account.payload import Payload, pack_payload, pack_replica, unpack_payload
from device.account.profile import Profile
from device.account.replica import ItemRef
from device.account.sealing import MAX_PAYLOAD, Epoch, open_letter, seal
from device.account.store import AccountStore, Entry, Waiting
from device.actors import ActorRef, checkpoint
from protocol.errors import ProtocolError
from protocol.identity import BitSource, SigningKey
from protocol.mail import Letter, LetterKind, read_letter

__all__ = ["Exchange", "Exchanged", "Mailbox", "touched_by"]

REPLY_SECONDS = 20 * 3600.0
"""How long a device that has nothing to send waits before it confirms or asks again."""
SPENT_NUMBERS = 1 << 20
"""Numbers skipped by a device that was put back from a copy and does not know what it has used."""
READ_AT_ONCE = 200
MAX_ITEM = 32 << 10
"""Bytes of one item's state: what is larger fits no letter beside the list of devices."""
ROW_HEAD = 5
"""Bytes msgpack puts before a row, at most."""


class Mailbox(Protocol):
    """The account's mailbox at the cloud."""

    async def post(self, letter: bytes) -> None:
        """Durable on return; the same letter again is nothing.

        Raises:
            MailboxFull: nothing more fits until others have collected.
            NumberSpent: another letter has its number.
        """
        ...

    async def collect(self, after: int) -> list[tuple[int, bytes]]:
        """Some letters above mailbox sequence `after`, ascending; none: there are no more.

        Asking says that everything up to `after` is safe here.
        """
        ...


@dataclass(slots=True)
class Exchanged:
    """What one exchange did."""

    letters_in: int = 0
    letters_out: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    changed: int = 0
    """Items that others made or changed."""
    erased: int = 0
    """Items that others erased."""
    sent: int = 0
    """Items sent."""
    refused: int = 0
    """Letters and items that were none of the account's, or changed on their way."""
    too_large: int = 0
    """Items that fit no letter and stay here."""
    removed: bool = False
    """Another device took this one out of the account."""
    clocks_off: set[str] = field(default_factory=set)
    """Devices whose clock runs too far ahead."""
    problem: str = ""
    """Why not everything went out, in one line."""
    pairing: list[Letter] = field(default_factory=list)
    """Letters of a pairing under way."""


class Exchange:
    """The exchange of one device; `store` has to hold an account."""

    def __init__(
        self,
        store: AccountStore,
        intake: Intake,
        structured: ActorRef,
        raw: ActorRef,
        signer: SigningKey,
        now: Callable[[], float],
        bits: BitSource,
    ) -> None:
        """`signer` is the device's key, `now` gives unix seconds."""
        self._store = store
        self._intake = intake
        self._structured = structured
        self._raw = raw
        self._signer = signer
        self._now = now
        self._bits = bits

    async def run(self, mailbox: Mailbox) -> Exchanged:
        """Exchange everything there is. Cancelled or failed anywhere, the next run goes on.

        Raises:
            NoAccount: there is none. Whatever the mailbox raises; nothing is lost.
        """
        done = Exchanged()
        await self._intake.bury()
        await self.notice()
        await self._collect(mailbox, done)
        if self._profile.device in self._profile.roster.removed:
            done.removed = True
            return done
        try:
            await self._post(mailbox, done)
        except (MailboxFull, NumberSpent) as stopped:
            done.problem = str(stopped)  # the next exchange goes on from here
        self._store.tidy()
        return done

    async def notice(self) -> None:
        """Write down what changed here."""
        await notice_changes(self._store, self._structured, self._raw, self._now)

    @property
    def _profile(self) -> Profile:
        if self._store.profile is None:
            raise NoAccount
        return self._store.profile

    # --- coming in ---

    async def _collect(self, mailbox: Mailbox, done: Exchanged) -> None:
        while page := await mailbox.collect(self._profile.cursor):
            for sequence, data in page:
                done.letters_in += 1
                done.bytes_in += len(data)
                try:
                    await self._take(data, done)
                except (EnvelopeRefused, ProtocolError):
                    done.refused += 1
                self._store.save(replace(self._profile, cursor=sequence))
                await checkpoint()

    async def _take(self, data: bytes, done: Exchanged) -> None:
        letter, profile = read_letter(data), self._profile
        if letter.kind is LetterKind.PAIRING:
            done.pairing.append(letter)
            return
        sender = letter.sender.hex()
        if sender == profile.device or letter.counter in profile.received.get(sender, Received()):
            return
        opened = open_letter(
            data,
            account=profile.account,
            members=profile.peers,
            epochs=profile.epochs,
            own=profile.device,
            box_key=profile.box_key,
        )
        payload = unpack_payload(opened.payload)
        self._hear(sender, payload, opened.epoch)
        taken = await self._intake.take(payload.items)
        done.changed += taken.changed
        done.erased += taken.erased
        done.refused += taken.refused
        done.clocks_off |= taken.clocks_off & {sender}
        heard = self._profile.received.get(sender, Received()).with_number(letter.counter)
        received = {**self._profile.received, sender: heard.joined(payload.void)}
        self._store.save(replace(self._profile, received=received))

    def _hear(self, sender: str, payload: Payload, epoch: Epoch) -> None:
        """Take in what a letter says of devices, keys and what has come."""
        before = self._profile
        epoch = replace(epoch, holders=epoch.holders | payload.holders)
        profile = before.with_epoch(epoch)
        if epoch.order == profile.epoch.order:
            profile = replace(profile, keyed=profile.keyed | {sender})
        roster = profile.roster.merged(payload.roster)
        mine = payload.received.get(profile.device, Received())
        profile = replace(
            profile,
            roster=roster,
            arrived={**profile.arrived, sender: mine},
            letters=max(profile.letters, mine.top),
            owed=profile.owed or payload.asks or next(mine.gaps(), None) is not None,
            urgent=profile.urgent or roster.removed != before.roster.removed,
        )
        self._store.save(profile)
        if mine.top > before.letters:
            # This phone was put back from a copy: the others know more of it than it does.
            self._store.mark_dirty(self._store.entries)
        entries = self._store.entries
        lost = [ref for ref, entry in entries.items() if mine.misses(entry.sent_in)]
        self._store.mark_dirty(lost)
        fresh = roster.removed - before.roster.removed
        if fresh:
            self._store.mark_dirty(touched_by(entries, fresh))

    # --- going out ---

    async def _post(self, mailbox: Mailbox, done: Exchanged) -> None:
        await self._post_waiting(mailbox, done)
        if not self._profile.peers:
            return
        self._rotate_if_needed()
        skip: set[ItemRef] = set()
        while (batch := self._next_batch(done, skip))[0]:
            await self._send(mailbox, *batch, done)
        if self._has_word():
            await self._send(mailbox, (), (), done)

    def _rotate_if_needed(self) -> None:
        profile = self._profile
        if profile.epoch.holders.isdisjoint(profile.roster.removed):
            return
        fresh = Epoch.fresh(profile.epoch.number + 1, profile.roster.active, self._bits)
        self._store.save(replace(profile.with_epoch(fresh), urgent=True))

    def _has_word(self) -> bool:
        """Whether the others should hear of this device though no item changed."""
        profile = self._profile
        if profile.urgent:
            return True
        seen = (profile.received.get(peer, Received()) for peer in profile.peers)
        gaps = any(next(one.gaps(), None) for one in seen)
        due = self._now() - profile.posted_at >= REPLY_SECONDS
        return due and (profile.owed or gaps or self._unheard())

    def _unheard(self) -> bool:
        """Whether some device has not confirmed the newest letter with items."""
        profile = self._profile
        seen = (profile.arrived.get(peer, Received()) for peer in profile.peers)
        return any(profile.news > one.top for one in seen)

    def _next_batch(self, done: Exchanged, skip: set[ItemRef]) -> tuple[list[ItemRef], list[bytes]]:
        """What goes out next, as much as fits one letter; read anew each time, for the owner may
        erase meanwhile. What fits no letter is added to `skip`."""
        waiting = [ref for ref in self._store.dirty() if ref not in skip][:READ_AT_ONCE]
        states = self._store.read(waiting)
        room = MAX_PAYLOAD - len(pack_payload(self._payload(asks=True), ()))
        refs: list[ItemRef] = []
        rows: list[bytes] = []
        for ref in waiting:
            row = pack_replica(ref, states[ref])
            if len(row) + ROW_HEAD > MAX_ITEM:
                done.too_large += 1
                skip.add(ref)
                continue
            room -= len(row) + ROW_HEAD
            if room < 0:
                break
            refs.append(ref)
            rows.append(row)
        if waiting and not refs:
            return self._next_batch(done, skip)
        return refs, rows

    async def _send(
        self, mailbox: Mailbox, refs: Sequence[ItemRef], rows: Sequence[bytes], done: Exchanged
    ) -> None:
        profile = self._profile
        counter = profile.letters + 1
        letter = seal(
            pack_payload(self._payload(asks=bool(rows) or self._unheard()), rows),
            account=profile.account,
            epoch=profile.epoch,
            counter=counter,
            signer=self._signer,
            sender=profile.device,
            boxes_for=[m for d, m in profile.peers.items() if d not in profile.keyed],
            bits=self._bits,
        )
        profile = replace(
            profile,
            letters=counter,
            news=counter if rows else profile.news,
            posted_at=self._now(),
            owed=False,
            urgent=False,
        )
        self._store.send(profile, Waiting(counter, letter, tuple(refs)))
        await self._post_waiting(mailbox, done)
        await checkpoint()

    async def _post_waiting(self, mailbox: Mailbox, done: Exchanged) -> None:
        waiting = self._store.waiting
        if waiting is None:
            return
        try:
            await mailbox.post(waiting.letter)
        except NumberSpent:
            self._store.call_back()
            spent = self._profile.letters + SPENT_NUMBERS
            self._store.save(replace(self._profile, letters=spent, urgent=True))
            raise
        self._store.sent()
        done.letters_out += 1
        done.bytes_out += len(waiting.letter)
        done.sent += len(waiting.items)

    def _payload(self, *, asks: bool) -> Payload:
        profile = self._profile
        return Payload(
            roster=profile.roster,
            holders=profile.epoch.holders,
            received=_of(profile.received, profile.peers),
            void=_void(profile),
            asks=asks,
        )


def touched_by(entries: Mapping[ItemRef, Entry], devices: frozenset[str]) -> list[ItemRef]:
    """What these devices may have written: before they were removed it may have reached one device
    alone, which has to hand it on. Who erased an item is not kept."""
    return [r for r, e in entries.items() if e.erased or not devices.isdisjoint(e.context)]


def _of(received: Mapping[str, Received], devices: Collection[str]) -> dict[str, Received]:
    return {device: one for device, one in received.items() if device in devices}


def _void(profile: Profile) -> list[tuple[int, int]]:
    """Numbers that others miss: what was in them has been marked to go out once more."""
    gaps = (gap for peer in profile.peers for gap in _gaps(profile, peer))
    missed = Received().joined(gaps)
    return [*([(1, missed.floor)] if missed.floor else []), *missed.runs]


def _gaps(profile: Profile, peer: str) -> Iterator[tuple[int, int]]:
    return profile.arrived.get(peer, Received()).gaps()
