"""The gateway without a socket: frames of one device in, frames for it out.

The aiohttp handler (app.py) and the simulator's virtual network both drive this class, so a phone
meets the same cloud in both. What a phone sees (the plan) is a snapshot that only a tick replaces.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter, itemgetter
from typing import Final, TypeAlias, cast

from cloud.actors.intake import COMMITTED, Outcome, UploadRow
from cloud.actors.mailbox import MailRefused
from cloud.actors.partials import Offer, Piece
from cloud.actors.registry import Device, EnrolmentRefused, Wanted
from cloud.actors.runtime import Ref
from cloud.gateway.batcher import Batcher, Sharded, Sleep
from cloud.gateway.connection import Connection
from cloud.gateway.limits import Door, Limits, Rations, spread
from cloud.gateway.metrics import Metrics
from cloud.releases.showing import Showing
from protocol.errors import RefusalCode
from protocol.messages import Plan
from protocol.publication import KNOWLEDGE
from protocol.session import ProofOffered, ServerSession

__all__ = ["Connection", "GatewayCore", "Sleep", "Snapshot"]

NONCE_BYTES: Final = 32
CHANCE_BYTES: Final = 4
CACHED_BLOBS: Final = 64
MAIL: Final = "mail"
"""What a phone's newest collected letter is called among the versions it has."""
MAIL_CODES: Final[Mapping[str, RefusalCode]] = {
    "full": "mailbox_full",
    "not_member": "not_a_member",
    "in_account": "not_a_member",
    "number": "duplicate_report",
}
"""Refusals of the mailbox as the wire calls them; any other letter is a bad message."""

Letters: TypeAlias = tuple[list[tuple[int, bytes]], int]
"""(sequence, letter) in order, and how many wait behind the last."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Open rounds (signed descriptors), releases and role files by who may see them, and published
    documents (name on the wire, version, signed description)."""

    rounds: tuple[bytes, ...]
    showing: Showing
    documents: tuple[tuple[str, int, bytes], ...] = ()

    @property
    def releases(self) -> tuple[tuple[str, int, bytes], ...]:
        """(model, version, signed manifest) that every phone may take."""
        return self.showing.newest


Blobs: TypeAlias = OrderedDict[tuple[str, int, int], bytes]
"""(model, version, base) → blob, the one asked for longest ago first."""


def _stopped() -> float:
    return 0.0


class GatewayCore:
    """Shared by every connection of one gateway.

    Args:
        registry, rounds, publisher: the actors it asks.
        intake: the inbox, or its shards: a device's reports all go to one of them.
        bits: n -> n random bytes, for the session nonces and the spread of waits.
        sign: signs with the cloud key that phones pin; without it this gateway cannot prove
            itself, and phones of protocol version 2 leave.
        partials: keeps uploads that broke off; None lets each begin anew.
        mailbox: account letters; None carries none.
        library: published documents; None has none.
        binding: SHA-256 of the TLS certificate phones see, b"" without TLS.
        sleep: how the group commit waits; a virtual clock's in simulation.
        metrics: the counters to keep; fresh ones by default.
        revisit: seconds after which a phone is asked to come back.
        timer: seconds from anywhere, for how long things take; a stopped one times nothing.
        blobs: the published blobs it remembers; gateways of one process may share theirs.
    """

    def __init__(
        self,
        registry: Ref,
        intake: Ref | Sequence[Ref],
        rounds: Ref,
        publisher: Ref,
        bits: Callable[[int], bytes],
        *,
        sign: Callable[[bytes], bytes] | None = None,
        partials: Ref | None = None,
        mailbox: Ref | None = None,
        library: Ref | None = None,
        binding: bytes = b"",
        sleep: Sleep = asyncio.sleep,
        metrics: Metrics | None = None,
        revisit: float = 0.0,
        limits: Limits | None = None,
        timer: Callable[[], float] = _stopped,
        blobs: Blobs | None = None,
    ) -> None:
        self.metrics = metrics or Metrics()
        self.timer = timer
        self.publisher = publisher
        self.binding = binding
        self._rounds, self._library = rounds, library
        self._bits, self._sign, self._revisit = bits, sign, revisit
        self.snapshot = Snapshot((), Showing())
        limits = limits or Limits()
        self.door = Door(limits, self._chance)
        self.rations = Rations(limits)
        self._live: dict[str, Connection] = {}
        """By device. Not weak: whether a session is superseded must not be up to the garbage
        collector, for its hint draws from the bits that a seed replays."""
        self.enrolments: Batcher[Wanted, str | EnrolmentRefused] = Batcher(
            registry, "enrolments", sleep
        )
        self.lookups: Batcher[str, Device | None] = Batcher(registry, "lookups", sleep)
        shards = intake if isinstance(intake, Sequence) else [intake]
        self.known: Sharded[tuple[str, bytes], bytes | None] = Sharded(
            shards, "known", itemgetter(0), sleep
        )
        self._receipts: Sharded[str, list[bytes]] = Sharded(shards, "newest", str, sleep)
        self.commits: Sharded[UploadRow, Outcome] = Sharded(
            shards, "commit", attrgetter("device_id"), sleep, self.metrics.batches.observe
        )
        self._held: Batcher[Offer, bytes] | None = None
        self._pieces: Batcher[Piece, bool] | None = None
        self._drops: Batcher[Offer, None] | None = None
        if partials is not None:
            self._held = Batcher(partials, "held", sleep)
            self._pieces = Batcher(partials, "append", sleep)
            self._drops = Batcher(partials, "drop", sleep)
        self.mailbox = mailbox
        self._letters_waiting: Batcher[tuple[str, int], int] | None = None
        if mailbox is not None:
            self._letters_waiting = Batcher(mailbox, "letters_waiting", sleep)
        self._blobs: Blobs = OrderedDict() if blobs is None else blobs

    async def refresh(self, now: float | None = None) -> None:
        """Take a new snapshot of what is open and newest; with a time (unix seconds), without the
        rounds that are about to close."""
        descriptors = tuple(await self._rounds.ask("descriptors", now))
        showing: Showing = await self.publisher.ask("showing")
        documents: tuple[tuple[str, int, bytes], ...] = ()
        if self._library is not None:
            documents = tuple(await self._library.ask("newest"))
        self.snapshot = Snapshot(descriptors, showing, documents)

    async def plan_for(self, proof: ProofOffered) -> Plan:
        """What a phone is shown that has proven itself and says what it has: a manifest it already
        follows would be bytes for nothing.

        A phone of protocol version 1 knows neither the sharing of counts nor the sign of today's
        shares: it may fetch, and there is no round it could join.
        """
        shown, device = self.snapshot, proof.device_id
        releases = shown.showing.releases_for(device, proof.have, proof.version)
        if proof.version == 1:
            return Plan(rounds=(), releases=releases, retry_after=self._revisit)
        receipts = self._receipts.submit(device)
        mail = self._waiting(device, proof.have.get(MAIL, 0))
        return Plan(
            rounds=shown.rounds,
            releases=releases,
            retry_after=self._revisit,
            receipts=tuple(await receipts),
            metadata=shown.showing.metadata_for(proof.metadata),
            documents=tuple(
                blob for name, version, blob in shown.documents if proof.have.get(name) != version
            ),
            mail=0 if mail is None else await mail,
        )

    def open_session(self, now: float) -> Connection:
        """A connection at `now` (unix seconds); feed it the device's frames in order."""
        self.metrics.sessions.inc()
        session = ServerSession(
            server_nonce=self._bits(NONCE_BYTES), now=now, sign=self._sign, binding=self.binding
        )
        return Connection(self, session, now)

    def entered(self, device_id: str, connection: Connection) -> None:
        """A device has proven itself on `connection`; an older session of it ends."""
        older = self._live.get(device_id)
        self._live[device_id] = connection
        if older is not None:
            older.supersede()

    def left(self, device_id: str, connection: Connection) -> None:
        """A device's connection is gone; a newer one of it stays."""
        if self._live.get(device_id) is connection:
            del self._live[device_id]

    def spread(self, seconds: float) -> float:
        """A wait, a little longer for some than for others."""
        return spread(seconds, self._chance())

    async def blob(self, model: str, version: int, base: int) -> bytes | None:
        """A published blob, cached because its content never changes; None when there is none."""
        key = (model, version, base)
        if key in self._blobs:
            self._blobs.move_to_end(key)
            return self._blobs[key]
        if not model.isprintable():  # no name of ours; PostgreSQL takes no NUL in a text
            return None
        owner = self._library if model.startswith(KNOWLEDGE) else self.publisher
        blob = None if owner is None else cast("bytes | None", await owner.ask("blob", *key))
        if blob is not None:
            self._blobs[key] = blob
            while len(self._blobs) > CACHED_BLOBS:
                self._blobs.popitem(last=False)
        return blob

    async def letters(self, device_id: str, after: int, now: float) -> Letters:
        """Account letters of a device above `after`: some, and how many wait behind them."""
        if self.mailbox is None:
            return [], 0
        letters: list[tuple[int, bytes]] = await self.mailbox.ask("collect", device_id, after, now)
        left = self._waiting(device_id, letters[-1][0]) if letters else None
        return letters, 0 if left is None else await left

    async def post(self, row: UploadRow) -> Outcome:
        """Put a letter into its account's mailbox; durable when the outcome is "committed"."""
        if self.mailbox is None:
            return Outcome("not_a_member", "this cloud carries no mail")
        try:
            await self.mailbox.ask("post", row.device_id, row.body, row.received)
        except MailRefused as refusal:
            return Outcome(MAIL_CODES.get(refusal.code, "bad_message"), refusal.code)
        return Outcome(COMMITTED)

    async def held_of(self, offer: Offer) -> bytes:
        """What is kept of an upload that broke off; b"" for nothing."""
        return b"" if self._held is None else await self._held.submit(offer)

    async def keep(self, piece: Piece) -> bool:
        """Keep a piece of an upload; durable when True."""
        return False if self._pieces is None else await self._pieces.submit(piece)

    async def forget(self, offer: Offer) -> None:
        """Let go of what is kept of an upload."""
        if self._drops is not None:
            await self._drops.submit(offer)

    async def close(self) -> None:
        """See the reports already taken through their commit."""
        for batcher in (
            self.enrolments,
            self.lookups,
            self.known,
            self._receipts,
            self.commits,
            self._held,
            self._pieces,
            self._drops,
            self._letters_waiting,
        ):
            if batcher is not None:
                await batcher.close()

    def _waiting(self, device_id: str, after: int) -> asyncio.Future[int] | None:
        batcher = self._letters_waiting
        return None if batcher is None else batcher.submit((device_id, after))

    def _chance(self) -> float:
        return int.from_bytes(self._bits(CHANCE_BYTES), "big") / 256**CHANCE_BYTES
