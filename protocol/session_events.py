"""What a session tells its owner. Times are unix seconds UTC, durations seconds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from protocol.errors import RefusalCode
from protocol.messages import UploadKind

__all__ = [
    "Closed",
    "CollectRefused",
    "CollectRequested",
    "EnrolRequest",
    "EnrolRequested",
    "Enrolled",
    "Event",
    "FetchRefused",
    "FetchRequested",
    "MailReceived",
    "PlanReceived",
    "ProofOffered",
    "ReleaseReceived",
    "SessionFailed",
    "UploadCommitted",
    "UploadOffered",
    "UploadProgressed",
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
    """Client: the session is open. All blobs are signed and not yet checked.

    ``metadata``: role files newer than the phone's; ``documents``: what is published; ``mail``:
    account letters waiting; ``version``: the protocol version of this session.
    """

    rounds: tuple[bytes, ...]
    releases: tuple[bytes, ...]
    retry_after: float
    server_time: float
    receipts: tuple[bytes, ...] = ()
    metadata: tuple[bytes, ...] = ()
    documents: tuple[bytes, ...] = ()
    mail: int = 0
    version: int = 1


@dataclass(frozen=True, slots=True)
class MailReceived:
    """Client: one account letter, or with ``data`` empty the news that there is none.

    ``last``: it ends the answer to this collect; ``left`` letters then wait behind ``sequence``.
    """

    sequence: int
    data: bytes
    last: bool
    left: int


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
class CollectRefused:
    """Client: the cloud gives no letters now; the session goes on."""

    after: int
    code: RefusalCode
    detail: str


@dataclass(frozen=True, slots=True)
class UploadCommitted:
    """Client: the cloud holds the upload durably; the outbox may drop it.

    ``receipt``: its signed receipt, not yet checked; empty when the cloud gave none.
    """

    upload_id: bytes
    receipt: bytes = b""


@dataclass(frozen=True, slots=True)
class UploadRefused:
    """Client: the cloud does not take this upload; the session goes on.

    With ``retry_after`` over 0 the same bytes may be offered again after so many seconds.
    """

    upload_id: bytes
    code: RefusalCode
    detail: str
    retry_after: float = 0.0


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
    metadata: dict[str, int] = field(default_factory=dict)
    version: int = 1


@dataclass(frozen=True, slots=True)
class UploadOffered:
    """Server: answer with accept_upload or refuse_upload."""

    upload_id: bytes
    kind: UploadKind
    size: int
    sha256: bytes


@dataclass(frozen=True, slots=True)
class UploadProgressed:
    """Server: ``data`` came from ``offset`` on and more is to come; keep it, so that an upload
    broken off resumes there."""

    upload_id: bytes
    offset: int
    data: bytes


@dataclass(frozen=True, slots=True)
class UploadReceived:
    """Server: all bytes are here and match their hash; commit, then acknowledge."""

    upload_id: bytes
    body: bytes
    kind: UploadKind = "report"


@dataclass(frozen=True, slots=True)
class FetchRequested:
    """Server: answer with send_release, or refuse(fatal=False)."""

    model: str
    version: int
    base: int


@dataclass(frozen=True, slots=True)
class CollectRequested:
    """Server: answer with send_mail, or refuse(fatal=False)."""

    after: int


@dataclass(frozen=True, slots=True)
class Closed:
    """The peer ended the session; ``reason`` is a refusal's code when it was one.

    ``retry_after``: seconds it asks us to stay away.
    """

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
    | MailReceived
    | FetchRefused
    | CollectRefused
    | UploadCommitted
    | UploadRefused
    | EnrolRequested
    | ProofOffered
    | UploadOffered
    | UploadProgressed
    | UploadReceived
    | FetchRequested
    | CollectRequested
    | Closed
    | SessionFailed
)
