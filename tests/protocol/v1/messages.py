"""The messages of a sync session, as strict pydantic models in one union tagged by ``type``.

Strict means no coercion: a field of the wrong type is an error, an unknown field is an error.
Times are unix seconds, UTC; durations are seconds; sizes and offsets are bytes.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from tests.protocol.v1.errors import RefusalCode
from tests.protocol.v1.packing import KIB

__all__ = [
    "MAX_CHUNK",
    "MAX_INTEGER",
    "MAX_TOKEN",
    "MAX_UPLOAD",
    "UPLOAD_ID_SIZE",
    "VERSIONS",
    "Bye",
    "Challenge",
    "ClientMessage",
    "Enrol",
    "Enrolled",
    "Fetch",
    "Hello",
    "Message",
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
]

VERSIONS: tuple[int, ...] = (1,)
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
Seconds = Annotated[float, Field(ge=0.0)]


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
    """Client's signature over the proof transcript, and the model versions it has adopted."""

    type: Literal["prove"] = "prove"
    signature: Signature
    have: Annotated[dict[Name, Count], Field(max_length=16)]


class UploadBegin(ProtocolModel):
    """Client offers a body it holds durably; offering it again is safe and free."""

    type: Literal["upload_begin"] = "upload_begin"
    upload_id: UploadId
    kind: Literal["report"]
    size: Annotated[int, Field(ge=1, le=MAX_UPLOAD)]
    sha256: Digest


class UploadChunk(ProtocolModel):
    """Bytes of an accepted upload from ``offset`` on."""

    type: Literal["upload_chunk"] = "upload_chunk"
    upload_id: UploadId
    offset: Annotated[int, Field(ge=0, lt=MAX_UPLOAD)]
    data: Annotated[bytes, Field(min_length=1, max_length=MAX_CHUNK)]


class Fetch(ProtocolModel):
    """Client asks for a release; ``base`` 0 means the full blob, else the difference from it."""

    type: Literal["fetch"] = "fetch"
    model: Name
    version: Annotated[int, Field(ge=1, le=MAX_INTEGER)]
    base: Count


class Bye(ProtocolModel):
    """Either end closes."""

    type: Literal["bye"] = "bye"
    reason: Reason


class Challenge(ProtocolModel):
    """Server picks the version and asks for proof of the device key."""

    type: Literal["challenge"] = "challenge"
    version: Count
    server_nonce: Nonce
    server_time: float


class Enrolled(ProtocolModel):
    """Server's answer to Enrol."""

    type: Literal["enrolled"] = "enrolled"
    device_id: Annotated[str, Field(min_length=1, max_length=64)]


class Plan(ProtocolModel):
    """What is open: signed round descriptors, signed manifests, and when to come back."""

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


class UploadAccept(ProtocolModel):
    """Server wants the upload from ``offset``; ``committed`` means it already has all of it."""

    type: Literal["upload_accept"] = "upload_accept"
    upload_id: UploadId
    offset: Count
    committed: bool


class UploadAck(ProtocolModel):
    """Server holds ``offset`` bytes; ``committed`` is True only after the durable commit."""

    type: Literal["upload_ack"] = "upload_ack"
    upload_id: UploadId
    offset: Count
    committed: bool


class ReleaseBlob(ProtocolModel):
    """Bytes of a release from ``offset`` on, of ``total``."""

    type: Literal["release_blob"] = "release_blob"
    model: Name
    version: Count
    base: Count
    offset: Count
    total: Count
    data: Chunk


class Refusal(ProtocolModel):
    """Server says no: to one upload (``upload_id``), to the fetch in progress, or, when
    ``fatal``, to the session."""

    type: Literal["refusal"] = "refusal"
    code: RefusalCode
    detail: Reason
    retry_after: Seconds
    upload_id: Annotated[bytes, Field(max_length=UPLOAD_ID_SIZE)] = b""
    fatal: bool = True


ClientMessage: TypeAlias = Hello | Enrol | Prove | UploadBegin | UploadChunk | Fetch | Bye
ServerMessage: TypeAlias = (
    Challenge | Enrolled | Plan | UploadAccept | UploadAck | ReleaseBlob | Refusal | Bye
)
Message: TypeAlias = Annotated[ClientMessage | ServerMessage, Field(discriminator="type")]
