"""The gateway without a socket: frames of one device in, frames for it out.

The aiohttp handler (app.py) and the simulator's virtual network both drive this class, so a phone
meets the same cloud in both. What a phone sees (the plan) is a snapshot that only a tick replaces.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import structlog

from cloud.actors.intake import Outcome, UploadRow
from cloud.actors.registry import Device, EnrolmentRefused
from cloud.actors.runtime import Ref
from cloud.gateway.batcher import Batcher
from cloud.gateway.metrics import Metrics
from protocol.errors import RefusalCode, SignatureInvalid
from protocol.identity import verify
from protocol.messages import Plan
from protocol.session import (
    Closed,
    EnrolRequested,
    Event,
    FetchRequested,
    ProofOffered,
    ServerSession,
    SessionFailed,
    UploadOffered,
    UploadReceived,
)
from protocol.update import MAX_REPORT

__all__ = ["Connection", "GatewayCore", "Snapshot"]

log = structlog.get_logger("reverie.cloud.gateway")

NONCE_BYTES = 32
BUSY_RETRY_SECONDS = 60.0
CACHED_BLOBS = 64

Sleep = Callable[[float], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Open rounds (signed descriptors) and newest releases (model, version, signed manifest)."""

    rounds: tuple[bytes, ...]
    releases: tuple[tuple[str, int, bytes], ...]


class GatewayCore:
    """Shared by every connection of one gateway.

    Args:
        registry, intake, rounds, publisher: the actors it asks.
        bits: n -> n random bytes, for the session nonces.
        sleep: how the group commit waits; a virtual clock's in simulation.
        metrics: the counters to keep; fresh ones by default.
        revisit: seconds after which a phone is asked to come back.
    """

    def __init__(
        self,
        registry: Ref,
        intake: Ref,
        rounds: Ref,
        publisher: Ref,
        bits: Callable[[int], bytes],
        *,
        sleep: Sleep = asyncio.sleep,
        metrics: Metrics | None = None,
        revisit: float = 0.0,
    ) -> None:
        self.metrics = metrics or Metrics()
        self.registry, self.publisher = registry, publisher
        self._rounds, self._bits, self._revisit = rounds, bits, revisit
        self.snapshot = Snapshot((), ())
        self.known: Batcher[tuple[str, bytes], bytes | None] = Batcher(intake, "known", sleep)
        self.receipts: Batcher[str, list[bytes]] = Batcher(intake, "newest", sleep)
        self.commits: Batcher[UploadRow, Outcome] = Batcher(
            intake, "commit", sleep, self.metrics.batches.observe
        )
        self._blobs: OrderedDict[tuple[str, int, int], bytes] = OrderedDict()

    async def refresh(self) -> None:
        """Take a new snapshot of open rounds and newest releases; called by the tick alone."""
        descriptors = tuple(await self._rounds.ask("descriptors"))
        releases = tuple(await self.publisher.ask("newest"))
        self.snapshot = Snapshot(descriptors, releases)

    def plan_for(self, have: Mapping[str, int], receipts: Sequence[bytes] = ()) -> Plan:
        """What a phone with these versions (model → version) is shown: a manifest it already
        follows would be bytes for nothing. `receipts`: of its newest reports."""
        shown = self.snapshot
        releases = tuple(
            manifest for model, version, manifest in shown.releases if have.get(model) != version
        )
        return Plan(
            rounds=shown.rounds,
            releases=releases,
            retry_after=self._revisit,
            receipts=tuple(receipts),
        )

    def open_session(self, now: float) -> Connection:
        """A connection at `now` (unix seconds); feed it the device's frames in order."""
        self.metrics.sessions.inc()
        session = ServerSession(server_nonce=self._bits(NONCE_BYTES), now=now)
        return Connection(self, session, now)

    async def blob(self, model: str, version: int, base: int) -> bytes | None:
        """A published blob, cached because its content never changes; None when there is none."""
        key = (model, version, base)
        if key in self._blobs:
            self._blobs.move_to_end(key)
            return self._blobs[key]
        blob = cast("bytes | None", await self.publisher.ask("blob", *key))
        if blob is not None:
            self._blobs[key] = blob
            while len(self._blobs) > CACHED_BLOBS:
                self._blobs.popitem(last=False)
        return blob

    async def close(self) -> None:
        """See the reports already taken through their commit."""
        await self.known.close()
        await self.receipts.close()
        await self.commits.close()


class Connection:
    """One device's session at the gateway."""

    def __init__(self, core: GatewayCore, session: ServerSession, now: float) -> None:
        self._core, self._session, self._now = core, session, now
        self._device_id = ""

    @property
    def closed(self) -> bool:
        """True when nothing more will be accepted; send what `receive` returned, then hang up."""
        return self._session.closed

    async def receive(self, frame: bytes) -> list[bytes]:
        """Take one frame; gives the frames to send back. Never raises for what the peer sent."""
        for event in self._session.receive(frame):
            try:
                await self._handle(event)
            except Exception as error:
                # Storage or an actor failed: this session ends, the phone keeps its report.
                log.error("request_failed", request=type(event).__name__, exc_info=error)
                self._refuse("busy", "the cloud cannot answer now", BUSY_RETRY_SECONDS)
        return self._session.frames_to_send()

    async def _handle(self, event: Event) -> None:
        match event:
            case EnrolRequested():
                await self._enrol(event)
            case ProofOffered():
                await self._prove(event)
            case UploadOffered():
                await self._offer(event)
            case UploadReceived():
                await self._commit(event)
            case FetchRequested():
                await self._fetch(event)
            case SessionFailed(code=code):
                self._core.metrics.refusals.labels(code=code).inc()
            case Closed():
                pass

    async def _enrol(self, event: EnrolRequested) -> None:
        try:
            device_id: str = await self._core.registry.ask(
                "enrol", event.token, event.public_key, self._now
            )
        except EnrolmentRefused as refusal:
            self._refuse(cast(RefusalCode, refusal.code))
            return
        self._session.accept_enrol(device_id)
        self._core.metrics.enrolments.inc()

    async def _prove(self, event: ProofOffered) -> None:
        device: Device | None = await self._core.registry.ask("lookup", event.device_id)
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
        self._device_id = device.device_id
        receipts = await self._core.receipts.submit(device.device_id)
        self._session.admit(self._core.plan_for(event.have, receipts))
        self._core.metrics.plans.inc()

    async def _offer(self, event: UploadOffered) -> None:
        if event.size > MAX_REPORT:
            self._refuse_upload(event.upload_id, "too_large", f"a report has ≤ {MAX_REPORT} bytes")
            return
        receipt = await self._core.known.submit((self._device_id, event.upload_id))
        if receipt is None:
            self._session.accept_upload(event.upload_id)
        else:
            self._session.accept_upload(event.upload_id, committed=True, receipt=receipt)

    async def _commit(self, event: UploadReceived) -> None:
        row = UploadRow(event.upload_id, self._device_id, event.body, self._now)
        outcome = await self._core.commits.submit(row)
        if outcome.committed:
            self._session.acknowledge(event.upload_id, outcome.receipt)
            self._core.metrics.reports.inc()
            self._core.metrics.report_bytes.inc(len(event.body))
        else:
            code = cast(RefusalCode, outcome.code)
            self._refuse_upload(event.upload_id, code, outcome.detail)

    async def _fetch(self, event: FetchRequested) -> None:
        blob = await self._core.blob(event.model, event.version, event.base)
        if blob is None:
            self._refuse("unknown_release", fatal=False)
            return
        self._session.send_release(event.model, event.version, event.base, blob)
        self._core.metrics.fetches.labels(model=event.model).inc()

    def _refuse(
        self, code: RefusalCode, detail: str = "", retry_after: float = 0.0, *, fatal: bool = True
    ) -> None:
        self._session.refuse(code, detail, retry_after=retry_after, fatal=fatal)
        self._core.metrics.refusals.labels(code=code).inc()

    def _refuse_upload(self, upload_id: bytes, code: RefusalCode, detail: str) -> None:
        self._session.refuse_upload(upload_id, code, detail)
        self._core.metrics.refusals.labels(code=code).inc()
