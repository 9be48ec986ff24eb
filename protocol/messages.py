"""The messages of a sync session, as strict pydantic models in one union tagged by ``type``.

Strict means no coercion: a field of the wrong type is an error, an unknown field is an error.
Times are unix seconds, UTC; durations are seconds; sizes and offsets are bytes.

Version 2 adds what `ADDED_IN_2` lists. A session of version 1 neither sends nor takes any of it:
its peer's models are closed too.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from protocol.errors import RefusalCode
from protocol.packing import KIB

__all__ = [
    "ADDED_IN_2",
    "MAX_CHUNK",
    "MAX_DOCUMENT",
    "MAX_DOCUMENTS",
    "MAX_INTEGER",
    "MAX_MAIL",
    "MAX_METADATA",
    "MAX_METADATA_FILES",
    "MAX_RECEIPT",
    "MAX_TOKEN",
    "MAX_UPLOAD",
    "UPLOAD_ID_SIZE",
    "VERSIONS",
    "Bye",
    "Challenge",
    "ClientMessage",
    "Collect",
    "Enrol",
    "Enrolled",
    "Fetch",
    "Hello",
    "Mail",
    "Message",
    "Metadata",
    "Plan",
    "ProtocolModel",
    "Prove",
    "Refusal",
    "ReleaseBlob",
    "ServerMessage",
    "UploadAccept",
    "UploadAck",
    "UploadBegin",
    "UploadChunk",
    "UploadKind",
]

VERSIONS: tuple[int, ...] = (1, 2)
"""Protocol versions this code speaks, oldest first."""

MAX_CHUNK = 32 * KIB
"""Payload bytes of one upload or release chunk: small enough to interleave with pings."""
MAX_UPLOAD = 1024 * KIB
MAX_INTEGER = 2**53
"""Counters stay exact as a float64, which is what JSON readers make of them."""
MAX_ROUNDS = 16
MAX_RELEASES = 8
MAX_DESCRIPTOR = 1 * KIB
MAX_MANIFEST = 4 * KIB
MAX_RECEIPTS = 8
MAX_RECEIPT = 512
"""Bytes of a signed receipt; what it says is the privacy room's affair."""
MAX_METADATA = 16 * KIB
"""Bytes of one signed role file of the trusted metadata."""
MAX_METADATA_FILES = 16
MAX_DOCUMENT = 4 * KIB
"""Bytes of one signed description of a published document."""
MAX_DOCUMENTS = 8
MAX_MAIL = 64 * KIB
"""Bytes of one account letter; it travels in chunks, as a release does."""
MAX_ROLES = 16
MAX_TOKEN = 128
UPLOAD_ID_SIZE = 16
NONCE_SIZE = 32
DIGEST_SIZE = 32
SIGNATURE_SIZE = 64
KEY_SIZE = 32


class ProtocolModel(BaseModel):
    """Base of all wire models: immutable, strict, closed."""

    # Built at first use: a phone that does not sync just now pays no memory for validators.
    model_config = ConfigDict(
        frozen=True, strict=True, extra="forbid", allow_inf_nan=False, defer_build=True
    )


Count = Annotated[int, Field(ge=0, le=MAX_INTEGER)]
Name = Annotated[str, Field(min_length=1, max_length=64)]
DeviceId = Annotated[str, Field(max_length=64)]
Reason = Annotated[str, Field(max_length=200)]
UploadId = Annotated[bytes, Field(min_length=UPLOAD_ID_SIZE, max_length=UPLOAD_ID_SIZE)]
Nonce = Annotated[bytes, Field(min_length=NONCE_SIZE, max_length=NONCE_SIZE)]
Digest = Annotated[bytes, Field(min_length=DIGEST_SIZE, max_length=DIGEST_SIZE)]
Key = Annotated[bytes, Field(min_length=KEY_SIZE, max_length=KEY_SIZE)]
Signature = Annotated[bytes, Field(min_length=SIGNATURE_SIZE, max_length=SIGNATURE_SIZE)]
Chunk = Annotated[bytes, Field(max_length=MAX_CHUNK)]
Receipt = Annotated[bytes, Field(max_length=MAX_RECEIPT)]
Seconds = Annotated[float, Field(ge=0.0)]
MetadataFile = Annotated[bytes, Field(max_length=MAX_METADATA)]
DocumentBlob = Annotated[bytes, Field(max_length=MAX_DOCUMENT)]
UploadKind: TypeAlias = Literal["report", "mail"]
"""What an upload is: a report of the privacy gate, or a sealed letter to the account."""


class Hello(ProtocolModel):
    """Client's first message; ``device_id`` is empty when enrolling."""

    type: Literal["hello"] = "hello"
    versions: Annotated[tuple[Count, ...], Field(min_length=1, max_length=16)]
    device_id: DeviceId
    client_nonce: Nonce


class Enrol(ProtocolModel):
    """Client asks for a device id: a single-use token and its Ed25519 public key."""

    type: Literal["enrol"] = "enrol"
    token: Annotated[str, Field(min_length=1, max_length=MAX_TOKEN)]
    public_key: Key


class Prove(ProtocolModel):
    """Client's signature over the proof transcript, and the model versions it has adopted.

    ``metadata``: role -> version of the trusted metadata it holds.
    """

    type: Literal["prove"] = "prove"
    signature: Signature
    have: Annotated[dict[Name, Count], Field(max_length=16)]
    metadata: Annotated[dict[Name, Count], Field(max_length=MAX_ROLES)] = {}


class UploadBegin(ProtocolModel):
    """Client offers a body it holds durably; offering it again is safe and free."""

    type: Literal["upload_begin"] = "upload_begin"
    upload_id: UploadId
    kind: UploadKind
    size: Annotated[int, Field(ge=1, le=MAX_UPLOAD)]
    sha256: Digest


class UploadChunk(ProtocolModel):
    """Bytes of an accepted upload from ``offset`` on."""

    type: Literal["upload_chunk"] = "upload_chunk"
    upload_id: UploadId
    offset: Annotated[int, Field(ge=0, lt=MAX_UPLOAD)]
    data: Annotated[bytes, Field(min_length=1, max_length=MAX_CHUNK)]


class Fetch(ProtocolModel):
    """Client asks for a release; ``base`` 0 means the full blob, else the difference from it.

    ``model`` names a model, or "knowledge/<name>" a document.
    """

    type: Literal["fetch"] = "fetch"
    model: Name
    version: Annotated[int, Field(ge=1, le=MAX_INTEGER)]
    base: Count


class Collect(ProtocolModel):
    """Client asks for the account letters numbered above ``after``."""

    type: Literal["collect"] = "collect"
    after: Count


class Bye(ProtocolModel):
    """Either end closes; a server may say how long to stay away."""

    type: Literal["bye"] = "bye"
    reason: Reason
    retry_after: Seconds = 0.0


class Challenge(ProtocolModel):
    """Server picks the version and asks for proof of the device key.

    ``identity``: its own proof, the pinned cloud key's signature over the server transcript.
    """

    type: Literal["challenge"] = "challenge"
    version: Count
    server_nonce: Nonce
    server_time: float
    identity: Annotated[bytes, Field(max_length=SIGNATURE_SIZE)] = b""


class Enrolled(ProtocolModel):
    """Server's answer to Enrol."""

    type: Literal["enrolled"] = "enrolled"
    device_id: Annotated[str, Field(min_length=1, max_length=64)]


class Plan(ProtocolModel):
    """What is open: signed round descriptors, signed manifests, and when to come back.

    ``receipts``: the newest receipt of each task this phone has reported for, so that a phone
    restored from an old copy learns of reports its ledger no longer knows. ``metadata``: signed
    role files newer than the phone's, in the order to take them. ``documents``: signed
    descriptions of published documents. ``mail``: account letters waiting. ``more``: what did not
    fit this frame follows in `Metadata` messages.
    """

    type: Literal["plan"] = "plan"
    rounds: Annotated[
        tuple[Annotated[bytes, Field(max_length=MAX_DESCRIPTOR)], ...],
        Field(max_length=MAX_ROUNDS),
    ]
    releases: Annotated[
        tuple[Annotated[bytes, Field(max_length=MAX_MANIFEST)], ...],
        Field(max_length=MAX_RELEASES),
    ]
    retry_after: Seconds
    receipts: Annotated[tuple[Receipt, ...], Field(max_length=MAX_RECEIPTS)] = ()
    metadata: Annotated[tuple[MetadataFile, ...], Field(max_length=MAX_METADATA_FILES)] = ()
    documents: Annotated[tuple[DocumentBlob, ...], Field(max_length=MAX_DOCUMENTS)] = ()
    mail: Count = 0
    more: bool = False


class Metadata(ProtocolModel):
    """The rest of a plan that did not fit one frame; ``more`` when this is not all either."""

    type: Literal["metadata"] = "metadata"
    metadata: Annotated[tuple[MetadataFile, ...], Field(max_length=MAX_METADATA_FILES)] = ()
    documents: Annotated[tuple[DocumentBlob, ...], Field(max_length=MAX_DOCUMENTS)] = ()
    more: bool = False


class UploadAccept(ProtocolModel):
    """Server wants the upload from ``offset``; ``committed`` means it already has all of it, and
    ``receipt`` then says so under its signature."""

    type: Literal["upload_accept"] = "upload_accept"
    upload_id: UploadId
    offset: Count
    committed: bool
    receipt: Receipt = b""


class UploadAck(ProtocolModel):
    """Server holds ``offset`` bytes; ``committed`` is True only after the durable commit, and
    ``receipt`` then says so under its signature."""

    type: Literal["upload_ack"] = "upload_ack"
    upload_id: UploadId
    offset: Count
    committed: bool
    receipt: Receipt = b""


class ReleaseBlob(ProtocolModel):
    """Bytes of a release from ``offset`` on, of ``total``."""

    type: Literal["release_blob"] = "release_blob"
    model: Name
    version: Count
    base: Count
    offset: Count
    total: Count
    data: Chunk


class Mail(ProtocolModel):
    """Bytes of one account letter from ``offset`` on, of ``total``.

    ``last``: this letter ends the answer to the Collect; ``left`` letters then wait behind it.
    An answer without a letter is one Mail of ``total`` 0 with the ``sequence`` asked after.
    """

    type: Literal["mail"] = "mail"
    sequence: Count
    offset: Annotated[int, Field(ge=0, lt=MAX_MAIL)]
    total: Annotated[int, Field(ge=0, le=MAX_MAIL)]
    data: Chunk
    last: bool
    left: Count


class Refusal(ProtocolModel):
    """Server says no: to one upload (``upload_id``), to the fetch in progress, or, when
    ``fatal``, to the session."""

    type: Literal["refusal"] = "refusal"
    code: RefusalCode
    detail: Reason
    retry_after: Seconds
    upload_id: Annotated[bytes, Field(max_length=UPLOAD_ID_SIZE)] = b""
    fatal: bool = True


ClientMessage: TypeAlias = Hello | Enrol | Prove | UploadBegin | UploadChunk | Fetch | Collect | Bye
ServerMessage: TypeAlias = (
    Challenge
    | Enrolled
    | Plan
    | Metadata
    | UploadAccept
    | UploadAck
    | ReleaseBlob
    | Mail
    | Refusal
    | Bye
)
Message: TypeAlias = Annotated[ClientMessage | ServerMessage, Field(discriminator="type")]

ADDED_IN_2: dict[type[ClientMessage] | type[ServerMessage], frozenset[str]] = {
    Challenge: frozenset({"identity"}),
    Prove: frozenset({"metadata"}),
    Plan: frozenset({"receipts", "metadata", "documents", "mail", "more"}),
    UploadAccept: frozenset({"receipt"}),
    UploadAck: frozenset({"receipt"}),
    Bye: frozenset({"retry_after"}),
    Collect: frozenset({"type"}),
    Mail: frozenset({"type"}),
    Metadata: frozenset({"type"}),
}
"""Fields that version 1 does not know; with ``type`` among them, the whole message."""
