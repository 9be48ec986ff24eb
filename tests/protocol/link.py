"""Both ends of a session joined in memory, with a link that can be cut at any frame."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from protocol.errors import RefusalCode, SignatureInvalid
from protocol.identity import DeviceKey, verify
from protocol.messages import Plan
from protocol.session import (
    ClientSession,
    Enrolled,
    EnrolRequest,
    EnrolRequested,
    Event,
    FetchRefused,
    FetchRequested,
    PlanReceived,
    ProofOffered,
    ReleaseReceived,
    ServerSession,
    UploadCommitted,
    UploadOffered,
    UploadReceived,
    UploadRefused,
)
from tests.protocol.samples import bits

KEY = DeviceKey.generate(bits(11))
TOKEN = "a-token"
NOW = 1_000.0
PLAN = Plan(rounds=(b"r1", b"r2"), releases=(b"m1",), retry_after=60.0, receipts=(b"c1",))


def receipt_for(upload_id: bytes) -> bytes:
    """What this cloud signs about an upload: opaque to the session."""
    return b"receipt of " + upload_id


@dataclass
class Cloud:
    """What the server's owner keeps: durable over sessions."""

    devices: dict[str, bytes] = field(default_factory=dict)
    committed: dict[bytes, bytes] = field(default_factory=dict)
    commits: list[bytes] = field(default_factory=list)
    releases: dict[tuple[str, int, int], bytes] = field(default_factory=dict)
    refuses: Mapping[bytes, RefusalCode] = field(default_factory=dict)
    plan: Plan = PLAN

    def answer(self, session: ServerSession, event: Event) -> None:
        match event:
            case EnrolRequested(token=token, public_key=public):
                if token != TOKEN:
                    session.refuse("bad_token", "unknown token")
                    return
                self.devices["device-1"] = public
                session.accept_enrol("device-1")
            case ProofOffered(device_id=device_id, transcript=transcript, signature=signature):
                public = self.devices.get(device_id, b"")
                if not public:
                    session.refuse("unknown_device", retry_after=5.0)
                    return
                try:
                    verify(public, signature, transcript)
                except SignatureInvalid:
                    session.refuse("bad_proof")
                    return
                session.admit(self.plan)
            case UploadOffered(upload_id=upload_id, size=size):
                if upload_id in self.refuses:
                    session.refuse_upload(upload_id, self.refuses[upload_id], "no")
                elif upload_id in self.committed:
                    session.accept_upload(upload_id, size, True, receipt=receipt_for(upload_id))
                else:
                    session.accept_upload(upload_id, 0, False)
            case UploadReceived(upload_id=upload_id, body=body):
                self.committed[upload_id] = body
                self.commits.append(upload_id)
                session.acknowledge(upload_id, receipt_for(upload_id))
            case FetchRequested(model=model, version=version, base=base):
                blob = self.releases.get((model, version, base))
                if blob is None:
                    session.refuse("unknown_release", fatal=False)
                else:
                    session.send_release(model, version, base, blob)


@dataclass
class Device:
    """What the client's owner keeps: durable over sessions."""

    device_id: str = "device-1"
    key: DeviceKey = KEY
    token: str = TOKEN
    outbox: dict[bytes, bytes] = field(default_factory=dict)
    wanted: dict[tuple[str, int, int], int] = field(default_factory=dict)
    received: dict[tuple[str, int, int], bytes] = field(default_factory=dict)
    refused: list[UploadRefused | FetchRefused] = field(default_factory=list)
    plans: list[PlanReceived] = field(default_factory=list)
    receipts: dict[bytes, bytes] = field(default_factory=dict)

    def session(self, seed: int = 1) -> ClientSession:
        return ClientSession(
            device_id=self.device_id,
            sign=self.key.sign,
            client_nonce=bits(seed)(32),
            have={"router": 1},
            enrol=None if self.device_id else EnrolRequest(self.token, self.key.public),
        )

    def answer(self, session: ClientSession, event: Event) -> None:
        match event:
            case Enrolled(device_id=device_id):
                self.device_id = device_id
            case PlanReceived():
                self.plans.append(event)
                for upload_id, body in self.outbox.items():
                    session.upload(upload_id, body)
                for (model, version, base), size in self.wanted.items():
                    session.fetch(model, version, base, size)
            case UploadCommitted(upload_id=upload_id, receipt=receipt):
                self.receipts[upload_id] = receipt
                del self.outbox[upload_id]
            case ReleaseReceived(model=model, version=version, base=base, blob=blob):
                self.received[model, version, base] = blob
                del self.wanted[model, version, base]
            case UploadRefused(upload_id=upload_id):
                self.refused.append(event)
                del self.outbox[upload_id]
            case FetchRefused(model=model, version=version, base=base):
                self.refused.append(event)
                del self.wanted[model, version, base]


@dataclass
class Exchange:
    """One connection; ``cut`` is how many frames are delivered before the link breaks."""

    device: Device
    cloud: Cloud
    cut: int | None = None
    seed: int = 1
    client: ClientSession = field(init=False)
    server: ServerSession = field(init=False)
    delivered: int = 0
    client_events: list[Event] = field(default_factory=list)
    server_events: list[Event] = field(default_factory=list)
    most_in_flight: int = 0

    def __post_init__(self) -> None:
        self.client = self.device.session(self.seed)
        self.server = ServerSession(server_nonce=bits(self.seed + 100)(32), now=NOW)

    def run(self) -> Exchange:
        self.client.start()
        while not self._broken():
            upward = self.client.frames_to_send()
            self.most_in_flight = max(self.most_in_flight, len(upward))
            for frame in upward:
                if self._broken():
                    return self
                self.delivered += 1
                for event in self.server.receive(frame):
                    self.server_events.append(event)
                    self.cloud.answer(self.server, event)
            downward = self.server.frames_to_send()
            for frame in downward:
                if self._broken():
                    return self
                self.delivered += 1
                for event in self.client.receive(frame):
                    self.client_events.append(event)
                    self.device.answer(self.client, event)
            if not upward and not downward:
                if self.client.closed or self.server.closed:
                    return self
                self.client.finish("done")
        return self

    def _broken(self) -> bool:
        return self.cut is not None and self.delivered >= self.cut
