"""The cloud's end of a session; its states are the second table of protocol/session.py."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from enum import Enum, auto

from tests.protocol.v1 import messages as wire_messages
from tests.protocol.v1.errors import RefusalCode, SessionError, UnsupportedVersion
from tests.protocol.v1.identity import proof_transcript
from tests.protocol.v1.messages import (
    MAX_CHUNK,
    VERSIONS,
    Bye,
    Challenge,
    Enrol,
    Fetch,
    Hello,
    Message,
    Plan,
    Prove,
    Refusal,
    ReleaseBlob,
    UploadAccept,
    UploadAck,
    UploadBegin,
    UploadChunk,
)
from tests.protocol.v1.session_core import MAX_DETAIL, Event, SessionCore
from tests.protocol.v1.session_events import (
    Closed,
    EnrolRequested,
    FetchRequested,
    ProofOffered,
    UploadOffered,
    UploadReceived,
)

__all__ = ["ServerSession"]


class _State(Enum):
    GREETING = auto()
    ENROLLING = auto()
    ADMITTING_ENROL = auto()
    PROVING = auto()
    ADMITTING_PROOF = auto()
    OPEN = auto()


@dataclass(slots=True)
class _Upload:
    upload_id: bytes
    size: int
    sha256: bytes
    accepted: bool = False
    body: bytearray = field(default_factory=bytearray)


class ServerSession(SessionCore):
    """One session of the cloud; ``server_nonce`` is 32 fresh random bytes, ``now`` unix seconds."""

    def __init__(self, *, server_nonce: bytes, now: float) -> None:
        super().__init__()
        self._server_nonce = server_nonce
        self._now = now
        self._state = _State.GREETING
        self._version = 0
        self._device_id = ""
        self._client_nonce = b""
        self._upload: _Upload | None = None
        self._dropped: bytes = b""
        self._fetch: Fetch | None = None

    # Answers.

    def accept_enrol(self, device_id: str) -> None:
        """After EnrolRequested: the phone's new id, stored durably before this call."""
        self._require(self._state is _State.ADMITTING_ENROL, "no enrolment to accept")
        self._device_id = device_id
        self._send(wire_messages.Enrolled(device_id=device_id))
        self._challenge()

    def admit(self, plan: Plan) -> None:
        """After ProofOffered, once the signature holds: what is open."""
        self._require(self._state is _State.ADMITTING_PROOF, "no proof to answer")
        self._send(plan)
        self._state = _State.OPEN

    def accept_upload(
        self, upload_id: bytes, offset: int = 0, committed: bool = False, *, held: bytes = b""
    ) -> None:
        """After UploadOffered: ``committed`` when it is already durable, else send from ``offset``.

        An offset over 0 needs the ``held`` bytes before it, from wherever the owner kept them.
        """
        upload = self._offered(upload_id)
        if committed:
            self._send(UploadAccept(upload_id=upload_id, offset=upload.size, committed=True))
            self._upload = None
            return
        self._require(offset == len(held) < upload.size, "the offset is not what is held")
        upload.accepted = True
        upload.body += held
        self._send(UploadAccept(upload_id=upload_id, offset=offset, committed=False))

    def acknowledge(self, upload_id: bytes) -> None:
        """After UploadReceived and its durable commit: the phone may forget the upload."""
        upload = self._offered(upload_id)
        self._require(len(upload.body) == upload.size, "the upload is not whole")
        self._send(UploadAck(upload_id=upload_id, offset=upload.size, committed=True))
        self._upload = None

    def refuse_upload(self, upload_id: bytes, code: RefusalCode, detail: str = "") -> None:
        """This upload will never be taken; the session goes on."""
        self._offered(upload_id)
        self._upload = None
        # Chunks already on their way are not the client's fault.
        self._dropped = upload_id
        self._send(
            Refusal(
                code=code,
                detail=detail[:MAX_DETAIL],
                retry_after=0.0,
                upload_id=upload_id,
                fatal=False,
            )
        )

    def send_release(self, model: str, version: int, base: int, blob: bytes) -> None:
        """After FetchRequested: the blob, cut into chunks."""
        fetch = self._fetch
        named = (model, version, base)
        self._require(
            fetch is not None and named == (fetch.model, fetch.version, fetch.base),
            "nobody fetched this release",
        )
        self._require(len(blob) > 0, "the release is empty")
        self._fetch = None
        for offset in range(0, len(blob), MAX_CHUNK):
            self._send(
                ReleaseBlob(
                    model=model,
                    version=version,
                    base=base,
                    offset=offset,
                    total=len(blob),
                    data=blob[offset : offset + MAX_CHUNK],
                )
            )

    def refuse(
        self, code: RefusalCode, detail: str = "", retry_after: float = 0.0, fatal: bool = True
    ) -> None:
        """Refuse the session, or with ``fatal=False`` the fetch in progress."""
        if self._closed:
            return
        if not fatal:
            self._require(self._fetch is not None, "no fetch to refuse")
            self._fetch = None
        self._send(
            Refusal(code=code, detail=detail[:MAX_DETAIL], retry_after=retry_after, fatal=fatal)
        )
        self._closed = fatal

    # Messages.

    def _handle(self, message: Message) -> list[Event]:
        match self._state, message:
            case _, Bye(reason=reason):
                self._closed = True
                return [Closed(reason)]
            case _State.GREETING, Hello():
                return self._hello(message)
            case _State.ENROLLING, Enrol(token=token, public_key=public_key):
                self._state = _State.ADMITTING_ENROL
                return [EnrolRequested(token, public_key)]
            case _State.PROVING, Prove():
                return self._prove(message)
            case _State.OPEN, UploadBegin():
                return self._begin(message)
            case _State.OPEN, UploadChunk():
                return self._chunk(message)
            case _State.OPEN, Fetch():
                return self._fetched(message)
        raise SessionError("bad_message", f"unexpected {message.type}")

    def _hello(self, message: Hello) -> list[Event]:
        common = [version for version in message.versions if version in VERSIONS]
        if not common:
            raise UnsupportedVersion(f"this server speaks versions {VERSIONS}")
        self._version = max(common)
        self._device_id = message.device_id
        self._client_nonce = message.client_nonce
        if self._device_id:
            self._challenge()
        else:
            self._state = _State.ENROLLING
        return []

    def _challenge(self) -> None:
        self._send(
            Challenge(version=self._version, server_nonce=self._server_nonce, server_time=self._now)
        )
        self._state = _State.PROVING

    def _prove(self, message: Prove) -> list[Event]:
        self._state = _State.ADMITTING_PROOF
        transcript = proof_transcript(
            self._version, self._device_id, self._client_nonce, self._server_nonce
        )
        have = dict(message.have)
        return [ProofOffered(self._device_id, transcript, message.signature, have)]

    def _begin(self, message: UploadBegin) -> list[Event]:
        if self._upload is not None:
            raise SessionError("bad_message", "an upload is already in progress")
        self._upload = _Upload(message.upload_id, message.size, message.sha256)
        self._dropped = b""
        return [UploadOffered(message.upload_id, message.kind, message.size, message.sha256)]

    def _chunk(self, message: UploadChunk) -> list[Event]:
        if message.upload_id == self._dropped:
            return []
        upload = self._upload
        if upload is None or upload.upload_id != message.upload_id or not upload.accepted:
            raise SessionError("bad_message", "a chunk of no accepted upload")
        if message.offset != len(upload.body):
            raise SessionError("bad_message", "a chunk out of order")
        if len(upload.body) + len(message.data) > upload.size:
            raise SessionError("too_large", "an upload longer than it announced")
        upload.body += message.data
        if len(upload.body) == upload.size and (
            hashlib.sha256(upload.body).digest() != upload.sha256
        ):
            raise SessionError("bad_message", "an upload that does not match its hash")
        self._send(UploadAck(upload_id=upload.upload_id, offset=len(upload.body), committed=False))
        if len(upload.body) < upload.size:
            return []
        return [UploadReceived(upload.upload_id, bytes(upload.body))]

    def _fetched(self, message: Fetch) -> list[Event]:
        if self._fetch is not None:
            raise SessionError("bad_message", "a fetch is already in progress")
        self._fetch = message
        return [FetchRequested(message.model, message.version, message.base)]

    def _say_failure(self, code: RefusalCode, detail: str) -> None:
        self._send(Refusal(code=code, detail=detail, retry_after=0.0))

    def _offered(self, upload_id: bytes) -> _Upload:
        upload = self._upload
        if upload is None or upload.upload_id != upload_id:
            raise SessionError("bad_message", "no such upload in progress")
        return upload

    @staticmethod
    def _require(condition: bool, detail: str) -> None:
        if not condition:
            raise SessionError("bad_message", detail)
