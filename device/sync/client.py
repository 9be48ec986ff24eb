"""One sync: say who we are, take releases, hand in reports, leave.

    connect → [enrol] → prove → plan → note receipts → fetch and adopt releases → make reports
            → upload, note receipts → bye

The protocol's state machine is `protocol.session.ClientSession`; this is its I/O shell and the
phone's policy. Cancelling it at any await is safe: reports wait in the outbox and releases are
adopted whole or not at all.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from device.actors import Clock, DomainError
from device.observer import Adopted, Kept, Observer, SessionEnded, SessionOpened, UploadAcked
from device.sync.adoption import Examine, Offer, Outcome, Probe, Shelf
from device.sync.bookkeeping import Bookkeeper
from device.sync.channel import Channel, Connect
from device.sync.identity import Identity
from device.sync.outbox import Outbox
from privacy import BitSource
from protocol.errors import ProtocolError
from protocol.rounds import Round, open_descriptor
from protocol.session import (
    ClientSession,
    Closed,
    Enrolled,
    EnrolRequest,
    Event,
    FetchRefused,
    PlanReceived,
    ReleaseReceived,
    SessionFailed,
    UploadCommitted,
    UploadRefused,
)

__all__ = ["SyncClient", "SyncFailed", "SyncReport"]

SETTLED_ELSEWHERE = frozenset({"duplicate_report", "stale_round"})
"""Refusals after which sending the same report again can never succeed."""
NONCE_BYTES = 32
OPEN = "open"
"""Said in place of a token to a cloud that takes every phone."""


class SyncFailed(DomainError):
    """The cloud refused the session, or broke the protocol; nothing was lost."""


@dataclass(slots=True)
class SyncReport:
    """What one sync did."""

    uploads_acked: int = 0
    uploads_refused: int = 0
    outcomes: list[Outcome] = field(default_factory=list)
    rounds_joined: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    """One line each; a problem with one release or round does not stop the others."""
    retry_after: float = 0.0
    """Seconds the cloud asked us to wait before the next sync."""

    def tell(self, problem: str) -> None:
        """Add a line for the owner, once; "" is none."""
        if problem and problem not in self.problems:
            self.problems.append(problem)


MakeReports = Callable[[list[Round], SyncReport], Awaitable[None]]
"""Turns the open rounds into reports in the outbox, through the privacy gate."""


class SyncClient:
    """Syncs one phone with its cloud."""

    def __init__(
        self,
        *,
        identity: Identity,
        cloud_key: bytes,
        token: str,
        connect: Connect,
        outbox: Outbox,
        shelf: Shelf,
        probe: Probe,
        examine: Examine | None = None,
        make_reports: MakeReports,
        books: Bookkeeper,
        on_outcome: Callable[[Outcome], None],
        clock: Clock,
        bits: BitSource,
        observer: Observer,
    ) -> None:
        self._identity = identity
        self._cloud_key = cloud_key
        self._token = token
        self._connect = connect
        self._outbox = outbox
        self._shelf = shelf
        self._probe = probe
        self._examine = examine
        self._make_reports = make_reports
        self._books = books
        self._on_outcome = on_outcome
        self._clock = clock
        self._bits = bits
        self._observer = observer

    async def sync(self) -> SyncReport:
        """Run one session to its end.

        Raises:
            CloudUnreachable, ChannelClosed, SyncFailed: nothing is lost; try again later.
        """
        report = SyncReport()
        async with self._connect() as channel:
            self._observer.on(SessionOpened(self._clock.now()))
            try:
                talk = _Conversation(self._session(), channel)
                await self._converse(talk, report)
            finally:
                self._observer.on(SessionEnded(self._clock.now()))
        return report

    def _session(self) -> ClientSession:
        identity = self._identity
        enrol = None
        if not identity.device_id:
            enrol = EnrolRequest(token=self._token or OPEN, public_key=identity.key.public)
        return ClientSession(
            device_id=identity.device_id,
            sign=identity.key.sign,
            client_nonce=self._bits(NONCE_BYTES),
            have=self._shelf.have(),
            enrol=enrol,
        )

    async def _converse(self, talk: _Conversation, report: SyncReport) -> None:
        talk.session.start()
        plan = await self._plan(talk)
        report.retry_after = plan.retry_after
        # First of all: what the cloud holds may show that the ledger was set back.
        for receipt in plan.receipts:
            report.tell(self._books.note_receipt(receipt))
        await self._take_releases(talk, plan, report)
        rounds = self._open_rounds(plan, report)
        await self._make_reports(rounds, report)
        await self._hand_in(talk, report)
        talk.session.finish("done")
        await talk.flush()

    async def _plan(self, talk: _Conversation) -> PlanReceived:
        event = await talk.expect(Enrolled, PlanReceived)
        if isinstance(event, Enrolled):
            self._identity.enrolled(event.device_id)
            self._books.enrolled(event.device_id)
            event = await talk.expect(PlanReceived)
        assert isinstance(event, PlanReceived)
        return event

    async def _take_releases(
        self, talk: _Conversation, plan: PlanReceived, report: SyncReport
    ) -> None:
        for blob in plan.releases:
            try:
                offer = self._shelf.offer(blob, cloud_key=self._cloud_key, now=self._clock.now())
            except ProtocolError as error:
                report.problems.append(f"a release was refused: {error}")
                continue
            if offer is not None:
                await self._take(talk, offer, report)

    async def _take(self, talk: _Conversation, offer: Offer, report: SyncReport) -> None:
        manifest = offer.manifest
        talk.session.fetch(manifest.model, manifest.version, offer.base, offer.size)
        event = await talk.expect(ReleaseReceived, FetchRefused)
        if not isinstance(event, ReleaseReceived):
            report.problems.append(f"{manifest.model} {manifest.version} is not to be had now")
            return
        outcome = await self._shelf.consider(
            offer, event.blob, probe=self._probe, examine=self._examine
        )
        report.outcomes.append(outcome)
        self._announce(outcome)

    def _announce(self, outcome: Outcome) -> None:
        now = self._clock.now()
        if outcome.adopted:
            self._observer.on(Adopted(now, outcome.model, outcome.version))
        else:
            self._observer.on(Kept(now, outcome.model, outcome.version, outcome.reason))
        self._on_outcome(outcome)

    def _open_rounds(self, plan: PlanReceived, report: SyncReport) -> list[Round]:
        rounds = []
        for blob in plan.rounds:
            try:
                rounds.append(open_descriptor(blob, self._cloud_key))
            except ProtocolError as error:
                report.problems.append(f"a round was refused: {error}")
        return rounds

    async def _hand_in(self, talk: _Conversation, report: SyncReport) -> None:
        for waiting in self._outbox.waiting():
            # Asked for each: the receipt of one report may put the ledger into quarantine.
            if unpaid := self._books.may_send(waiting):
                report.tell(unpaid)
                continue
            talk.session.upload(waiting.report_id, waiting.body)
            event = await talk.expect(UploadCommitted, UploadRefused)
            if isinstance(event, UploadCommitted):
                self._committed(event, report)
            elif isinstance(event, UploadRefused):
                self._refused(event, report)

    def _committed(self, event: UploadCommitted, report: SyncReport) -> None:
        """The receipt goes into the ledger before the outbox lets go: offered again, it is given
        again."""
        if event.receipt:
            report.tell(self._books.note_receipt(event.receipt))
        self._outbox.settle(event.upload_id)
        report.uploads_acked += 1
        self._observer.on(UploadAcked(self._clock.now(), event.upload_id))

    def _refused(self, event: UploadRefused, report: SyncReport) -> None:
        report.uploads_refused += 1
        if event.code in SETTLED_ELSEWHERE:
            self._outbox.settle(event.upload_id)
        report.problems.append(f"a report was refused: {event.code}")


class _Conversation:
    """Pumps frames between a sans-IO session and a channel, one event at a time."""

    def __init__(self, session: ClientSession, channel: Channel) -> None:
        self.session = session
        self._channel = channel
        self._events: list[Event] = []

    async def flush(self) -> None:
        for frame in self.session.frames_to_send():
            await self._channel.send(frame)

    async def expect(self, *kinds: type[Event]) -> Event:
        """The next event, which must be of one of `kinds`."""
        while not self._events:
            await self.flush()
            self._events.extend(self.session.receive(await self._channel.receive()))
        event = self._events.pop(0)
        if isinstance(event, kinds):
            return event
        if isinstance(event, SessionFailed):
            raise SyncFailed(f"the cloud refused the session ({event.code}): {event.detail}")
        if isinstance(event, Closed):
            raise SyncFailed(f"the cloud ended the session early: {event.reason}")
        raise SyncFailed(f"the cloud sent {type(event).__name__} out of turn")
