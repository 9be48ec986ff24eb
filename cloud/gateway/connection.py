"""One phone at the gateway: its session's events turned into questions to the actors."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, cast

import structlog

from cloud.actors.intake import Outcome, UploadRow
from cloud.actors.partials import Offer, Piece
from cloud.actors.registry import EnrolmentRefused, Wanted
from cloud.faults import outage
from protocol.errors import RefusalCode, SignatureInvalid
from protocol.identity import verify
from protocol.mail import MAX_LETTER
from protocol.session import (
    CollectRequested,
    EnrolRequested,
    Event,
    FetchRequested,
    ProofOffered,
    ServerSession,
    SessionFailed,
    UploadOffered,
    UploadProgressed,
    UploadReceived,
)
from protocol.update import MAX_REPORT

if TYPE_CHECKING:
    from cloud.gateway.core import GatewayCore

__all__ = ["Connection"]

log = structlog.get_logger("reverie.cloud.gateway")

BUSY_RETRY_SECONDS: Final = 60.0
SUPERSEDED_RETRY_SECONDS: Final = 60.0
MOST_BEATS: Final = 512
"""Pings and pongs of one session. Both ends ask every twenty seconds or so: in the longest session
fifty times."""
REQUEST_BYTES: Final = 512
"""What asking costs a device of its ration, before any body: the cloud looks something up."""
LEAST_KEPT: Final = 4 * 1024
"""A smaller piece of an upload is not kept: rows cost more than its bytes, and phones send 32 KiB
at a time. The upload goes on, and what follows is not kept either, for it would leave a gap."""
FIRST_REPORTS: Final = b"RVR1"
"""How reports of protocol version 1 begin. Their masks are added where a share of today's is
subtracted, so no round of today can sum them."""


class Connection:
    """One device's session at the gateway."""

    def __init__(self, core: GatewayCore, session: ServerSession, now: float) -> None:
        self._core, self._session, self._now = core, session, now
        self._device_id = ""
        self._offer: Offer | None = None
        """The upload in progress."""
        self._kept = False
        """Whether some of it is kept."""
        self._counted = 0
        """Bytes of it that need not be taken from the ration any more."""
        self._committing = False
        self._beats = 0
        self.on_frames: Callable[[], None] | None = None
        """Called when frames wait that no `receive` will return: send `frames`, and hang up if
        `closed`."""

    @property
    def closed(self) -> bool:
        """True when nothing more will be accepted; send what `receive` returned, then hang up."""
        return self._session.closed

    @property
    def proven(self) -> bool:
        """Whether the device has proven its key."""
        return bool(self._device_id)

    @property
    def uploading(self) -> bool:
        """Whether an upload has begun and is not answered yet."""
        return self._committing or self._offer is not None

    async def receive(self, frame: bytes) -> list[bytes]:
        """Take one frame; gives the frames to send back. Never raises for what the peer sent."""
        for event in self._session.receive(frame):
            try:
                await self._handle(event)
            except Exception as error:
                # Storage or an actor failed: this session ends, the phone keeps its report.
                asked, reason = type(event).__name__, outage(error)
                if reason:
                    log.warning("request_refused", request=asked, reason=reason)
                else:
                    log.error("request_failed", request=asked, exc_info=error)
                hint = self._core.spread(BUSY_RETRY_SECONDS)
                self._refuse("busy", "the cloud cannot answer now", hint)
        return self.frames()

    def frames(self) -> list[bytes]:
        """Frames that wait to be sent."""
        return self._session.frames_to_send()

    def reject(self, code: RefusalCode, detail: str) -> None:
        """End the session over what is no frame; send `frames`, then hang up."""
        if not self.closed:
            self._refuse(code, detail)

    def beats(self) -> bool:
        """Count a ping or a pong; True when they are too many and the session has ended."""
        self._beats += 1
        if self._beats > MOST_BEATS:
            self.reject("limit", "too many pings")
        return self.closed

    def finish(self, reason: str, retry_after: float = 0.0) -> list[bytes]:
        """Close in good order, asking the phone to stay away for at least ``retry_after`` seconds;
        gives the last frames."""
        self._session.finish(reason, self._core.spread(retry_after) if retry_after else 0.0)
        return self.frames()

    def supersede(self) -> None:
        """The same device has opened a newer session: this one ends."""
        if self.closed:
            return
        hint = self._core.spread(SUPERSEDED_RETRY_SECONDS)
        self._session.finish("this phone has opened a newer session", hint)
        self._core.metrics.superseded.inc()
        if self.on_frames is not None:
            self.on_frames()

    def gone(self) -> None:
        """The channel is gone, however that came about: there is nothing left to supersede."""
        self._core.left(self._device_id, self)

    async def _handle(self, event: Event) -> None:
        match event:
            case EnrolRequested():
                await self._enrol(event)
            case ProofOffered():
                await self._prove(event)
            case UploadOffered():
                await self._offered(event)
            case UploadProgressed():
                await self._keep(event)
            case UploadReceived():
                await self._commit(event)
            case FetchRequested():
                await self._fetch(event)
            case CollectRequested():
                await self._collect(event)
            case SessionFailed(code=code):
                # Whatever was kept of its upload may be the very thing that does not fit.
                await self._forget()
                self._core.metrics.refusals.labels(code=code).inc()

    async def _enrol(self, event: EnrolRequested) -> None:
        if wait := self._core.rations.enrolment(self._now):
            self._refuse("limit", "too many enrolments", self._core.spread(wait))
            return
        wanted = Wanted(event.token, event.public_key, self._now)
        outcome = await self._core.enrolments.submit(wanted)
        if isinstance(outcome, EnrolmentRefused):
            self._refuse(cast(RefusalCode, outcome.code))
            return
        self._core.rations.enrolled()
        self._session.accept_enrol(outcome)
        self._core.metrics.enrolments.inc()

    async def _prove(self, event: ProofOffered) -> None:
        device = await self._core.lookups.submit(event.device_id)
        if device is None:
            self._refuse("unknown_device")
            return
        try:
            verify(device.public_key, event.signature, event.transcript)
        except SignatureInvalid:
            self._refuse("bad_proof")
            return
        # Only the key's owner learns that it was revoked.
        if device.revoked is not None:
            self._refuse("revoked")
            return
        # Counted once proven: nobody can use up the ration of another.
        if wait := self._core.rations.start(device.device_id, self._now):
            self._refuse("limit", "too many sessions", self._core.spread(wait))
            return
        self._device_id = device.device_id
        self._core.entered(device.device_id, self)
        self._session.admit(await self._core.plan_for(event))
        self._core.metrics.plans.inc()

    async def _offered(self, event: UploadOffered) -> None:
        if wait := self._ask():
            hint = self._core.spread(wait)
            self._refuse_upload(event.upload_id, "limit", "too many requests", hint)
            return
        most = MAX_REPORT if event.kind == "report" else MAX_LETTER
        if event.size > most:
            self._refuse_upload(event.upload_id, "too_large", f"a {event.kind} has ≤ {most} bytes")
            return
        offer = Offer(self._device_id, event.upload_id, event.size, event.sha256)
        if event.kind == "report":
            receipt = await self._core.known.submit((self._device_id, event.upload_id))
            if receipt is not None:
                # A gateway that died right after the commit left what it had kept of the upload.
                await self._core.forget(offer)
                self._session.accept_upload(event.upload_id, committed=True, receipt=receipt)
                return
        if wait := self._core.rations.wait(self._device_id, event.size, self._now):
            hint = self._core.spread(wait)
            self._refuse_upload(event.upload_id, "limit", "too many bytes", hint)
            return
        held = await self._core.held_of(offer)
        self._offer, self._kept, self._counted = offer, bool(held), len(held)
        if held:
            self._core.metrics.resumed_bytes.inc(len(held))
        self._session.accept_upload(event.upload_id, len(held), held=held)

    async def _keep(self, event: UploadProgressed) -> None:
        assert self._offer is not None
        self._core.rations.spend(self._device_id, len(event.data), self._now)
        self._counted += len(event.data)
        if len(event.data) < LEAST_KEPT:
            return
        piece = Piece(self._offer, event.offset, event.data, self._now)
        self._kept = await self._core.keep(piece) or self._kept

    async def _commit(self, event: UploadReceived) -> None:
        self._committing = True
        began = self._core.timer()
        try:
            await self._commit_whole(event)
        finally:
            self._committing = False
            self._core.metrics.acks.observe(self._core.timer() - began)

    async def _commit_whole(self, event: UploadReceived) -> None:
        left = len(event.body) - self._counted
        self._core.rations.spend(self._device_id, left, self._now)
        outcome = await self._decide(event)
        await self._forget()
        if outcome.committed:
            self._session.acknowledge(event.upload_id, outcome.receipt)
            self._core.metrics.uploaded(event.kind, len(event.body))
        else:
            code = cast(RefusalCode, outcome.code)
            self._refuse_upload(event.upload_id, code, outcome.detail)

    async def _decide(self, event: UploadReceived) -> Outcome:
        row = UploadRow(event.upload_id, self._device_id, event.body, self._now)
        if event.kind == "mail":
            return await self._core.post(row)
        if event.body.startswith(FIRST_REPORTS):
            return Outcome("stale_round", "a report of protocol version 1: update this phone")
        return await self._core.commits.submit(row)

    async def _forget(self) -> None:
        offer, kept = self._offer, self._kept
        self._offer, self._kept = None, False
        if offer is not None and kept:
            await self._core.forget(offer)

    async def _fetch(self, event: FetchRequested) -> None:
        if not self._may_ask():
            return
        blob = await self._core.blob(event.model, event.version, event.base)
        if blob is None:
            self._refuse("unknown_release", fatal=False)
            return
        if not self._spend(len(blob)):
            return
        self._session.send_release(event.model, event.version, event.base, blob)
        self._core.metrics.fetched(event.model)

    async def _collect(self, event: CollectRequested) -> None:
        if not self._may_ask():
            return
        letters, left = await self._core.letters(self._device_id, event.after, self._now)
        if self._spend(sum(len(letter) for _, letter in letters)):
            self._session.send_mail(letters, left)

    def _ask(self) -> float:
        """Take one request from the ration: 0, or seconds until there is one."""
        wait = self._core.rations.wait(self._device_id, REQUEST_BYTES, self._now)
        if not wait:
            self._core.rations.spend(self._device_id, REQUEST_BYTES, self._now)
        return wait

    def _may_ask(self) -> bool:
        """Take one fetch or collect from the ration; else refuse it."""
        if wait := self._ask():
            self._refuse("limit", "too many requests", self._core.spread(wait), fatal=False)
        return not wait

    def _spend(self, size: int) -> bool:
        """Take ``size`` bytes to send from the ration; else refuse the request."""
        rations = self._core.rations
        if wait := rations.wait(self._device_id, size, self._now):
            self._refuse("limit", "too many bytes", self._core.spread(wait), fatal=False)
            return False
        rations.spend(self._device_id, size, self._now)
        return True

    def _refuse(
        self, code: RefusalCode, detail: str = "", retry_after: float = 0.0, *, fatal: bool = True
    ) -> None:
        self._session.refuse(code, detail, retry_after=retry_after, fatal=fatal)
        self._core.metrics.refusals.labels(code=code).inc()

    def _refuse_upload(
        self, upload_id: bytes, code: RefusalCode, detail: str, retry_after: float = 0.0
    ) -> None:
        self._session.refuse_upload(upload_id, code, detail, retry_after)
        self._core.metrics.refusals.labels(code=code).inc()
