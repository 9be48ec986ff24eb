"""What a session tells its owner. Times are unix seconds UTC, durations seconds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from tests.protocol.v1.errors import RefusalCode

__all__ = [
    "Closed",
    "EnrolRequest",
    "EnrolRequested",
    "Enrolled",
    "Event",
    "FetchRefused",
    "FetchRequested",
    "PlanReceived",
    "ProofOffered",
    "ReleaseReceived",
    "SessionFailed",
    "UploadCommitted",
    "UploadOffered",
    "UploadReceived",
    "UploadRefused",
]


@dataclass(frozen=True, slots=True)
class EnrolRequest:
    """What a phone without an id offers: a single-use token and its public key."""

    token: str
    public_key: bytes


@dataclass(frozen=True, slots=True)
class Enrolled:
    """Client: the cloud gave this phone an id; store it durably."""

    device_id: str


@dataclass(frozen=True, slots=True)
class PlanReceived:
    """Client: the session is open. Descriptors and manifests are signed and not yet checked."""

    rounds: tuple[bytes, ...]
    releases: tuple[bytes, ...]
    retry_after: float
    server_time: float


@dataclass(frozen=True, slots=True)
class ReleaseReceived:
    """Client: a whole release blob, its hash not yet checked."""

    model: str
    version: int
    base: int
    blob: bytes


@dataclass(frozen=True, slots=True)
class FetchRefused:
    """Client: the cloud does not have this release; the session goes on."""

    model: str
    version: int
    base: int
    code: RefusalCode
    detail: str


@dataclass(frozen=True, slots=True)
class UploadCommitted:
    """Client: the cloud holds the upload durably; the outbox may drop it."""

    upload_id: bytes


@dataclass(frozen=True, slots=True)
class UploadRefused:
    """Client: the cloud will never take this upload; the session goes on."""

    upload_id: bytes
    code: RefusalCode
    detail: str


@dataclass(frozen=True, slots=True)
class EnrolRequested:
    """Server: answer with accept_enrol or refuse."""

    token: str
    public_key: bytes


@dataclass(frozen=True, slots=True)
class ProofOffered:
    """Server: verify ``signature`` over ``transcript``, then admit or refuse."""

    device_id: str
    transcript: bytes
    signature: bytes
    have: dict[str, int]


@dataclass(frozen=True, slots=True)
class UploadOffered:
    """Server: answer with accept_upload or refuse_upload."""

    upload_id: bytes
    kind: str
    size: int
    sha256: bytes


@dataclass(frozen=True, slots=True)
class UploadReceived:
    """Server: all bytes are here and match their hash; commit, then acknowledge."""

    upload_id: bytes
    body: bytes


@dataclass(frozen=True, slots=True)
class FetchRequested:
    """Server: answer with send_release, or refuse(fatal=False)."""

    model: str
    version: int
    base: int


@dataclass(frozen=True, slots=True)
class Closed:
    """The peer ended the session; ``reason`` is a refusal's code when it was one."""

    reason: str
    retry_after: float = 0.0


@dataclass(frozen=True, slots=True)
class SessionFailed:
    """The peer broke the protocol; the session is closed on this side."""

    code: RefusalCode
    detail: str


Event: TypeAlias = (
    Enrolled
    | PlanReceived
    | ReleaseReceived
    | FetchRefused
    | UploadCommitted
    | UploadRefused
    | EnrolRequested
    | ProofOffered
    | UploadOffered
    | UploadReceived
    | FetchRequested
    | Closed
    | SessionFailed
)
