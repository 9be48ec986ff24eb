"""One sync: say who we are, take releases, hand in reports, leave.

    connect → [enrol] → the cloud proves itself, prove → plan → note receipts
            → trust → fetch and adopt releases → documents
            → make reports → upload, note receipts → errands → bye

The protocol's state machine is `protocol.session.ClientSession`, its I/O shell `conversation.py`;
this is the phone's policy. Cancelling it at any await is safe: reports wait in the outbox, the
cloud keeps what it has of one half sent, and releases are adopted whole or not at all.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from device.actors import Clock
from device.observer import Adopted, Kept, Observer, SessionEnded, SessionOpened, UploadAcked
from device.sync.adoption import Examine, Offer, Outcome, Probe, Shelf
from device.sync.bookkeeping import Bookkeeper
from device.sync.channel import Channel, Connect, binding_of
from device.sync.conversation import Conversation, SyncFailed
from device.sync.documents import DocumentOutcome, Documents, take_documents
from device.sync.identity import Identity
from device.sync.outbox import Outbox
from privacy import BitSource
from protocol.errors import ProtocolError
from protocol.rounds import Round, open_descriptor
from protocol.session import (
    ClientSession,
    EnrolRequest,
    PlanReceived,
    UploadCommitted,
    UploadRefused,
)

__all__ = ["Errand", "MakeReports", "SyncClient", "SyncFailed", "SyncReport"]

SETTLED_ELSEWHERE = frozenset({"duplicate_report", "stale_round"})
"""Refusals after which sending the same report again can never succeed."""
NONCE_BYTES = 32
OPEN = "open"
"""Said in place of a token to a cloud that takes every phone."""
REPORTS_SINCE = 2
"""The protocol version of today's reports: an older cloud cannot sum them."""
TOO_OLD = "the cloud speaks an older protocol: reports wait here until it is updated"


@dataclass(slots=True)
class SyncReport:
    """What one sync did."""

    uploads_acked: int = 0
    uploads_refused: int = 0
    outcomes: list[Outcome] = field(default_factory=list)
    documents: list[DocumentOutcome] = field(default_factory=list)
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
Errand = Callable[[Conversation, PlanReceived, SyncReport], Awaitable[None]]
"""Something else to do while the session is open, such as to carry the account's mail."""


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
        documents: Documents | None = None,
        probe: Probe,
        examine: Examine | None = None,
        make_reports: MakeReports,
        books: Bookkeeper,
        on_outcome: Callable[[Outcome], None],
        clock: Clock,
        bits: BitSource,
        observer: Observer,
        errands: Sequence[Errand] = (),
        mail: Callable[[], int] | None = None,
    ) -> None:
        """`mail`: number of the newest account letter collected, where there is an account."""
        self._identity = identity
        self._cloud_key = cloud_key
        self._token = token
        self._connect = connect
        self._outbox = outbox
        self._shelf = shelf
        self._documents = documents
        self._probe = probe
        self._examine = examine
        self._make_reports = make_reports
        self._books = books
        self._on_outcome = on_outcome
        self._clock = clock
        self._bits = bits
        self._observer = observer
        self._errands = errands
        self._mail = mail

    async def sync(self) -> SyncReport:
        """Run one session to its end.

        Raises:
            CloudUnreachable, ChannelClosed, SyncFailed: nothing is lost; try again later.
        """
        report = SyncReport()
        async with self._connect() as channel:
            self._observer.on(SessionOpened(self._clock.now()))
            try:
                await self._converse(Conversation(self._session(channel), channel), report)
            finally:
                self._observer.on(SessionEnded(self._clock.now()))
        return report

    def _session(self, channel: Channel) -> ClientSession:
        identity = self._identity
        enrol = None
        if not identity.device_id:
            enrol = EnrolRequest(token=self._token or OPEN, public_key=identity.key.public)
        return ClientSession(
            device_id=identity.device_id,
            sign=identity.key.sign,
            client_nonce=self._bits(NONCE_BYTES),
            have=self._have(),
            metadata=self._shelf.trusted(),
            enrol=enrol,
            cloud_key=self._cloud_key,
            binding=binding_of(channel),
            least_version=identity.least_version,
        )

    def _have(self) -> dict[str, int]:
        have = self._shelf.have()
        if self._documents is not None:
            have |= self._documents.have()
        if self._mail is not None:
            have["mail"] = self._mail()
        return have

    async def _converse(self, talk: Conversation, report: SyncReport) -> None:
        plan = await self._begin(talk)
        report.retry_after = plan.retry_after
        # First of all: what the cloud holds may show that the ledger was set back.
        for receipt in plan.receipts:
            report.tell(self._books.note_receipt(receipt))
        if self._trust(plan, report):
            await self._take_releases(talk, plan, report)
            await self._take_documents(talk, plan, report)
        if plan.version >= REPORTS_SINCE:
            await self._make_reports(self._open_rounds(plan, report), report)
            await self._hand_in(talk, report)
            for errand in self._errands:
                await errand(talk, plan, report)
        else:
            report.tell(TOO_OLD)
        await talk.end()

    async def _begin(self, talk: Conversation) -> PlanReceived:
        device_id, plan = await talk.begin()
        if device_id:
            self._identity.enrolled(device_id)
            self._books.enrolled(device_id)
        if self._proven(plan):
            self._identity.spoke(plan.version)
        return plan

    def _proven(self, plan: PlanReceived) -> bool:
        """Whether the server has proven to be the pinned cloud."""
        return plan.version >= 2 and bool(self._cloud_key)

    def _trust(self, plan: PlanReceived, report: SyncReport) -> bool:
        """Take the newer role files; False when nothing may be taken from this cloud now."""
        try:
            left = self._shelf.trust(
                plan.metadata, now=self._clock.now(), proven=self._proven(plan)
            )
        except ProtocolError as error:
            report.tell(f"no release is taken: {error}")
            return False
        for outcome in left:
            report.outcomes.append(outcome)
            self._announce(outcome)
        return True

    async def _take_releases(
        self, talk: Conversation, plan: PlanReceived, report: SyncReport
    ) -> None:
        for blob in plan.releases:
            try:
                offer = self._shelf.offer(
                    blob,
                    cloud_key=self._cloud_key,
                    now=self._clock.now(),
                    device_id=self._identity.device_id,
                )
            except ProtocolError as error:
                report.problems.append(f"a release was refused: {error}")
                continue
            if offer is not None:
                await self._take(talk, offer, report)

    async def _take(self, talk: Conversation, offer: Offer, report: SyncReport) -> None:
        manifest = offer.manifest
        blob = await talk.fetch(manifest.model, manifest.version, offer.base, offer.size)
        if blob is None:
            report.problems.append(f"{manifest.model} {manifest.version} is not to be had now")
            return
        outcome = await self._shelf.consider(offer, blob, probe=self._probe, examine=self._examine)
        report.outcomes.append(outcome)
        self._announce(outcome)

    async def _take_documents(
        self, talk: Conversation, plan: PlanReceived, report: SyncReport
    ) -> None:
        """What is published to everyone: after the releases, before anything is charged."""
        if self._documents is None:
            return
        report.documents = await take_documents(
            plan.documents,
            talk.fetch,
            self._documents,
            cloud_key=self._cloud_key,
            allows=self._shelf.allows,
        )
        for document in report.documents:
            if not document.taken:
                report.tell(f"{document.name or 'a document'} was not taken: {document.reason}")

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

    async def _hand_in(self, talk: Conversation, report: SyncReport) -> None:
        """The outbox lets go of all at once, as every erasing writes what is left anew: a phone
        that dies before offers a report again, and gets the same receipt."""
        acked: list[bytes] = []
        over: list[bytes] = []
        try:
            for waiting in self._outbox.waiting():
                # Asked for each: the receipt of one report may put the ledger into quarantine.
                if unpaid := self._books.may_send(waiting):
                    report.tell(unpaid)
                    continue
                event = await talk.deliver(waiting.report_id, waiting.body)
                if isinstance(event, UploadCommitted):
                    self._committed(event, report)
                    acked.append(event.upload_id)
                elif self._refused(event, report):
                    over.append(event.upload_id)
        finally:
            self._settle(acked, over, report)

    def _committed(self, event: UploadCommitted, report: SyncReport) -> None:
        """The receipt goes into the ledger before the outbox lets go: offered again, it is given
        again."""
        if event.receipt:
            report.tell(self._books.note_receipt(event.receipt))

    def _refused(self, event: UploadRefused, report: SyncReport) -> bool:
        """Whether sending the same report again can never succeed."""
        report.uploads_refused += 1
        report.retry_after = max(report.retry_after, event.retry_after)
        report.problems.append(f"a report was refused: {event.code}")
        return event.code in SETTLED_ELSEWHERE

    def _settle(self, acked: list[bytes], over: list[bytes], report: SyncReport) -> None:
        self._outbox.settle(*acked, *over)
        report.uploads_acked += len(acked)
        for upload_id in acked:
            self._observer.on(UploadAcked(self._clock.now(), upload_id))
