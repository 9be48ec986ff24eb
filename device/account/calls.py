"""The account as its owner handles it: make one, add a device by a code, remove one, exchange."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from typing import TypeAlias

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from device.account.content import Names
from device.account.counting import Received
from device.account.errors import (
    AccountError,
    AlreadyInAccount,
    CodeUnusable,
    NoAccount,
    UnknownDevice,
)
from device.account.exchange import Exchange, Exchanged, Mailbox, touched_by
from device.account.intake import Intake
from device.account.noticing import Writer
from device.account.pairing import CODE_SECONDS, Admission, Code, Offer, Request, Welcome
from device.account.profile import Profile
from device.account.replica import ItemRef
from device.account.roster import MAX_NAME, Member, Roster, device_id_of
from device.account.sealing import KEY_SIZE, MAX_BOXES, Epoch
from device.account.store import AccountStore, Kept
from device.actors import ActorRef, Clock
from device.vault import SealedLog
from protocol.errors import ProtocolError
from protocol.identity import BitSource, SigningKey
from protocol.mail import ADDRESS_SIZE, Letter, LetterKind, pack_roster, read_letter

__all__ = ["AccountCalls", "AccountDevice", "AccountView", "CodeShown", "Joined", "OpenMailbox"]

OpenMailbox: TypeAlias = Callable[[], AbstractAsyncContextManager[Mailbox]]
"""Opens the way to the cloud's mailbox for one piece of work."""


@dataclass(frozen=True, slots=True)
class AccountDevice:
    """One device of the account, as it is shown."""

    device: str
    name: str
    this: bool


@dataclass(frozen=True, slots=True)
class AccountView:
    """What the owner sees of the account."""

    account: str
    devices: tuple[AccountDevice, ...]
    epoch: int
    items: int
    """Items shared, erased ones not counted."""
    unsent: int
    """Items the other devices have still to hear of."""
    letters: int
    """Letters this device ever sent."""


@dataclass(frozen=True, slots=True)
class CodeShown:
    """A code to be typed on the new device."""

    code: str
    expires: float
    """Unix seconds."""


@dataclass(frozen=True, slots=True)
class Joined:
    """Two devices have met; both show the same fingerprint."""

    device: str
    name: str
    fingerprint: str


class AccountCalls:
    """The account of one phone; works on the phone's own log and memory."""

    def __init__(
        self,
        log: SealedLog,
        structured: ActorRef,
        raw: ActorRef,
        forget: Callable[[Sequence[str]], Awaitable[object]],
        signer: SigningKey,
        clock: Clock,
        bits: BitSource,
        reach: OpenMailbox | None = None,
    ) -> None:
        """`forget` erases memories by id as their owner would; `signer` is the device's key;
        `reach` leads to the cloud, None where there is none."""
        self._store = AccountStore(log)
        self._signer = signer
        self._clock = clock
        self._bits = bits
        self._reach = reach
        self._offer: Offer | None = None
        self._asked: tuple[Request, bytes, float] | None = None
        self._busy = asyncio.Lock()
        intake = Intake(self._store, structured, raw, forget, clock.now)
        self._exchange = Exchange(
            self._store, intake, structured, raw, signer, clock.now, bits
        )  # fmt: skip

    # --- seeing ---

    @property
    def exists(self) -> bool:
        """Whether this phone is in an account."""
        return self._store.profile is not None

    @property
    def device(self) -> str:
        """This device's id in any account: it follows from its key."""
        return device_id_of(self._signer.public)

    def view(self) -> AccountView:
        """The account as it stands.

        Raises:
            NoAccount: there is none.
        """
        profile, entries = self._profile, self._store.entries
        devices = tuple(
            AccountDevice(m.device, m.name, m.device == profile.device)
            for m in profile.roster.active.values()
        )
        shared = sum(1 for entry in entries.values() if not (entry.erased or entry.faded))
        unsent = len(self._store.dirty())
        number = profile.epoch.number
        return AccountView(
            profile.account.hex(), devices, number, shared, unsent, profile.letters
        )  # fmt: skip

    def name_of(self, device: str) -> str:
        """What the owner calls a device; the beginning of its id where that is not known."""
        profile = self._store.profile
        names = {m.device: m.name for m in profile.roster} if profile else {}
        return names.get(device) or device[:8]

    # --- members ---

    async def create(self, name: str) -> AccountView:
        """Make an account with this device alone in it.

        Raises:
            AlreadyInAccount: it is in one.
        """
        if self.exists:
            raise AlreadyInAccount
        seed = self._bits(KEY_SIZE)
        member = self._member(name, seed)
        epoch = Epoch.fresh(1, [member.device], self._bits)
        account = self._bits(ADDRESS_SIZE)
        self._store.save(Profile(account, member.device, seed, Roster([member]), (epoch,)))
        return self.view()

    async def offer(self, mailbox: Mailbox) -> CodeShown:
        """A code for one new device, good for ten minutes.

        Raises:
            NoAccount, AccountError: there is none, or it is full.
        """
        async with self._busy:
            if len(self._profile.roster.active) >= MAX_BOXES:
                raise AccountError(f"an account has at most {MAX_BOXES} devices: remove one first")
            await self._announce(mailbox)
            expires = self._clock.now() + CODE_SECONDS
            offer = Offer(Code.fresh(self._bits), self._profile.device, expires, self._bits)
            await mailbox.post(offer.opening())
            self._offer = offer
            return CodeShown(str(offer.code), expires)

    async def look_for_device(self, mailbox: Mailbox) -> Joined | None:
        """Whether the new device has typed the code; then it is let in.

        Raises:
            CodeUnusable: no code is shown, or it has expired.
        """
        offer = self._offer
        if offer is None or self._clock.now() >= offer.expires:
            self._offer = None
            raise CodeUnusable("the code has expired: show a new one (`account code`)")
        async with self._busy:
            done = await self._exchange.run(mailbox)
            for letter in done.pairing:
                admission = offer.admit(letter, self._clock.now())
                if admission is not None:
                    self._offer = None
                    return await self._let_in(mailbox, offer, admission)
        return None

    async def ask_in(self, mailbox: Mailbox, typed: str, name: str) -> None:
        """Ask the device that shows this code to let this one into its account.

        Raises:
            AlreadyInAccount: it is in one. CodeUnusable: mistyped.
        """
        if self.exists:
            raise AlreadyInAccount
        code = Code.read(typed)
        async with self._busy:
            seed = self._bits(KEY_SIZE)
            request = Request(code, self._member(name, seed), self._bits)
            await mailbox.post(request.letter)
            self._asked = (request, seed, self._clock.now() + CODE_SECONDS)

    async def look_for_answer(self, mailbox: Mailbox) -> Joined | None:
        """Whether the other device has let this one in; then it is in.

        Raises:
            CodeUnusable: nothing was asked, it took too long, or the answer does not fit the code.
        """
        if self._asked is None or self._clock.now() >= self._asked[2]:
            self._asked = None
            raise CodeUnusable("no device answered: show a new code there and type that")
        request, seed, _ = self._asked
        async with self._busy:
            answered = await self._answered(mailbox, request)
            if answered is None:
                return None
            self._asked = None
            host, welcome, fingerprint = answered
            joined = self._enter(seed, welcome, fingerprint, host)
            await self._announce(mailbox)
            await self._exchange.run(mailbox)
            return joined

    async def remove(self, device: str) -> None:
        """Take a device out: it gets nothing more, and what follows is under a key it never had.

        Raises:
            UnknownDevice: no other device of the account is called so (a prefix will do).
        """
        async with self._busy:
            profile = self._profile
            found = [one for one in profile.peers if device and one.startswith(device)]
            found += [one for one, m in profile.peers.items() if m.name == device]
            if len(set(found)) != 1:
                raise UnknownDevice
            gone = found[0]
            keyed = profile.keyed - {gone}
            roster = profile.roster.without(gone)
            self._store.save(replace(profile, roster=roster, keyed=keyed, urgent=True))
            self._store.mark_dirty(touched_by(self._store.entries, frozenset([gone])))

    async def leave(self) -> None:
        """Forget the account on this device; what is remembered here stays."""
        async with self._busy:
            self._store.clear()

    # --- exchanging ---

    async def exchange(self, mailbox: Mailbox) -> Exchanged:
        """Exchange with the other devices.

        Raises:
            NoAccount: there is none. Whatever the mailbox raises; nothing is lost.
        """
        async with self._busy:
            await self._announce(mailbox)
            return await self._exchange.run(mailbox)

    # --- the same, through this phone's own cloud ---

    async def show_code(self) -> CodeShown:
        """As `offer`."""
        async with self._way() as mailbox:
            return await self.offer(mailbox)

    async def device_came(self) -> Joined | None:
        """As `look_for_device`."""
        async with self._way() as mailbox:
            return await self.look_for_device(mailbox)

    async def join(self, code: str, name: str) -> None:
        """As `ask_in`."""
        Code.read(code)  # before anybody is called
        async with self._way() as mailbox:
            await self.ask_in(mailbox, code, name)

    async def joined(self) -> Joined | None:
        """As `look_for_answer`."""
        async with self._way() as mailbox:
            return await self.look_for_answer(mailbox)

    async def show(self) -> AccountView:
        """As `view`."""
        return self.view()

    def _way(self) -> AbstractAsyncContextManager[Mailbox]:
        if self._reach is None:
            raise AccountError("this phone has no cloud: run `reverie-device init --cloud URL`")
        return self._reach()

    # --- what the phone tells ---

    @property
    def cursor(self) -> int:
        """Mailbox sequence collected so far; 0 without an account."""
        return self._store.profile.cursor if self._store.profile else 0

    def erased(self, ids: Iterable[str]) -> None:
        """The owner erases these here: they are erased on every device. Durable on return, and the
        words are shredded; call it before the memory itself lets go of them."""
        profile = self._store.profile
        if profile is None:
            return
        writer = Writer(profile, self._clock.now)
        named, whole = set(ids), dict[ItemRef, Kept]()
        entries = self._store.entries
        refs = {writer.names.ref(identifier) for identifier in named}
        doomed = [r for r in entries if r in refs and not entries[r].erased]
        for ref, replica in self._store.read(doomed).items():
            whole[ref] = Kept(replica.buried())
        # Erasing one of two versions leaves the other, everywhere.
        cut = [r for r, e in entries.items() if r not in whole and not named.isdisjoint(e.versions)]
        for ref, replica in self._store.read(cut).items():
            whole[ref] = Kept(writer.settled(replica), entries[ref].digest)
        self._store.save(writer.profile)
        self._store.replace(whole)  # and older forms of what stays: they may hold its words

    def erased_everything(self) -> None:
        """The owner erases everything ever told to this phone: so it is on every device."""
        profile = self._store.profile
        if profile is not None:
            names = Names(profile.device, list(profile.met))
            self.erased([names.local(ref) for ref in self._store.entries])

    # --- within ---

    @property
    def _profile(self) -> Profile:
        if self._store.profile is None:
            raise NoAccount
        return self._store.profile

    def _member(self, name: str, seed: bytes) -> Member:
        box = X25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw()
        return Member(self.device, self._signer.public, box, name.strip()[:MAX_NAME])

    async def _announce(self, mailbox: Mailbox) -> None:
        """Tell the cloud which devices to deliver to; it changes nothing when it knows."""
        profile = self._profile
        rest = pack_roster(profile.roster.entries())
        sender = bytes.fromhex(profile.device)
        await mailbox.post(Letter(LetterKind.ROSTER, profile.account, sender, 1, rest).pack())

    async def _let_in(self, mailbox: Mailbox, offer: Offer, admission: Admission) -> Joined:
        profile = self._profile
        roster = profile.roster.with_member(admission.member)
        holders = profile.epoch.holders | {admission.member.device}
        epoch = replace(profile.epoch, holders=holders)
        profile = profile.with_epoch(epoch)
        keyed = profile.keyed | {admission.member.device}
        self._store.save(replace(profile, roster=roster, keyed=keyed, urgent=True))
        # Before the answer: the cloud keeps for the new device what is posted from here on.
        await self._announce(mailbox)
        own = Received(profile.letters)
        received = {**profile.received, profile.device: own}
        welcome = Welcome(profile.account, epoch, roster, received)
        letter, fingerprint = offer.answer(admission, welcome)
        await mailbox.post(letter)
        self._store.mark_dirty(self._store.entries)
        await self._exchange.run(mailbox)
        return Joined(admission.member.device, admission.member.name, fingerprint)

    async def _answered(
        self, mailbox: Mailbox, request: Request
    ) -> tuple[str, Welcome, str] | None:
        for _, data in await mailbox.collect(0):
            try:
                letter = read_letter(data)
            except ProtocolError:
                continue
            found = request.welcome(letter)
            if found is not None:
                return letter.sender.hex(), *found
        return None

    def _enter(self, seed: bytes, welcome: Welcome, fingerprint: str, host: str) -> Joined:
        received = {d: r for d, r in welcome.received.items() if d != self.device}
        profile = Profile(
            account=welcome.account,
            device=self.device,
            box_seed=seed,
            roster=welcome.roster,
            epochs=(welcome.epoch,),
            received=received,
            urgent=True,
        )
        self._store.save(profile)
        return Joined(host, self.name_of(host), fingerprint)
