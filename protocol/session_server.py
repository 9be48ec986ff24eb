"""The cloud's end of a session; its states are the second table of protocol/session.py."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from itertools import pairwise

from protocol import messages as wire_messages
from protocol.errors import RefusalCode, SessionError, UnsupportedVersion
from protocol.identity import proof_transcript, server_transcript
from protocol.messages import (
    MAX_CHUNK,
    MAX_MAIL,
    VERSIONS,
    Bye,
    Challenge,
    Collect,
    Enrol,
    Fetch,
    Hello,
    Mail,
    Message,
    Plan,
    Prove,
    Refusal,
    ReleaseBlob,
    UploadAccept,
    UploadAck,
    UploadBegin,
    UploadChunk,
    UploadKind,
)
from protocol.session_core import MAX_DETAIL, Event, SessionCore
from protocol.session_events import (
    Closed,
    CollectRequested,
    EnrolRequested,
    FetchRequested,
    ProofOffered,
    UploadOffered,
    UploadProgressed,
    UploadReceived,
)
from protocol.session_plan import split_plan

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
    kind: UploadKind
    accepted: bool = False
    body: bytearray = field(default_factory=bytearray)


class ServerSession(SessionCore):
    """One session of the cloud; ``server_nonce`` is 32 fresh random bytes, ``now`` unix seconds.

    ``sign`` signs the server transcript with the cloud key that phones pin; without it the server
    has no identity to prove, and a phone that pins one leaves. ``binding`` is the SHA-256 of the
    TLS certificate this channel is served with, b"" without TLS. ``versions``: those spoken.
    """

    def __init__(
        self,
        *,
        server_nonce: bytes,
        now: float,
        sign: Callable[[bytes], bytes] | None = None,
        binding: bytes = b"",
        versions: Sequence[int] = VERSIONS,
    ) -> None:
        super().__init__()
        self._sign = sign
        self._binding = binding
        self._versions = versions
        self._spoken: tuple[int, ...] = ()
        self._server_nonce = server_nonce
        self._now = now
        self._state = _State.GREETING
        self._device_id = ""
        self._client_nonce = b""
        self._upload: _Upload | None = None
        self._dropped: bytes = b""
        self._request: Fetch | Collect | None = None

    # Answers.

    def accept_enrol(self, device_id: str) -> None:
        """After EnrolRequested: the phone's new id, stored durably before this call."""
        self._require(self._state is _State.ADMITTING_ENROL, "no enrolment to accept")
        self._device_id = device_id
        self._send(wire_messages.Enrolled(device_id=device_id))
        self._challenge()

    def admit(self, plan: Plan) -> None:
        """After ProofOffered, once the signature holds: what is open.

        A plan over one frame travels in parts; version 1 is not shown what it does not know.
        """
        self._require(self._state is _State.ADMITTING_PROOF, "no proof to answer")
        for part in split_plan(plan, self._version):
            self._send(part)
        self._state = _State.OPEN

    def accept_upload(
        self,
        upload_id: bytes,
        offset: int = 0,
        committed: bool = False,
        *,
        held: bytes = b"",
        receipt: bytes = b"",
    ) -> None:
        """After UploadOffered: ``committed`` when it is already durable, else send from ``offset``.

        An offset over 0 needs the ``held`` bytes before it, from wherever the owner kept them. A
        ``receipt`` goes with ``committed`` only.
        """
        upload = self._offered(upload_id)
        self._require(committed or not receipt, "a receipt is for what is committed")
        if committed:
            self._send(
                UploadAccept(
                    upload_id=upload_id, offset=upload.size, committed=True, receipt=receipt
                )
            )
            self._upload = None
            return
        self._require(offset == len(held) < upload.size, "the offset is not what is held")
        upload.accepted = True
        upload.body += held
        self._send(UploadAccept(upload_id=upload_id, offset=offset, committed=False))

    def acknowledge(self, upload_id: bytes, receipt: bytes = b"") -> None:
        """After UploadReceived and its durable commit: the phone may forget the upload.

        ``receipt``: what the cloud signed about it, at most 512 bytes.
        """
        upload = self._offered(upload_id)
        self._require(len(upload.body) == upload.size, "the upload is not whole")
        self._send(
            UploadAck(upload_id=upload_id, offset=upload.size, committed=True, receipt=receipt)
        )
        self._upload = None

    def refuse_upload(
        self, upload_id: bytes, code: RefusalCode, detail: str = "", retry_after: float = 0.0
    ) -> None:
        """This upload is not taken; the session goes on. ``retry_after`` 0 means never."""
        self._offered(upload_id)
        self._upload = None
        # Chunks already on their way are not the client's fault.
        self._dropped = upload_id
        self._send(
            Refusal(
                code=code,
                detail=detail[:MAX_DETAIL],
                retry_after=retry_after,
                upload_id=upload_id,
                fatal=False,
            )
        )

    def send_release(self, model: str, version: int, base: int, blob: bytes) -> None:
        """After FetchRequested: the blob, cut into chunks."""
        fetch = self._request
        named = (model, version, base)
        self._require(
            isinstance(fetch, Fetch) and named == (fetch.model, fetch.version, fetch.base),
            "nobody fetched this release",
        )
        self._require(len(blob) > 0, "the release is empty")
        self._request = None
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

    def send_mail(self, letters: Sequence[tuple[int, bytes]], left: int = 0) -> None:
        """After CollectRequested: (sequence, letter) in ascending order, each of 1 byte to 64 KiB.

        ``left`` letters wait behind the last of these; with none at all the mailbox is empty. A
        mailbox put back from a copy may begin below what was asked for.
        """
        collect = self._request
        if not isinstance(collect, Collect):
            raise SessionError("bad_message", "nobody collects")
        sequences = [sequence for sequence, _ in letters]
        rising = all(a < b for a, b in pairwise([0, *sequences]))
        sized = all(0 < len(letter) <= MAX_MAIL for _, letter in letters)
        self._require(rising and sized, "letters out of order, empty or too large")
        self._request = None
        if not letters:
            empty = (collect.after, 0, 0, b"")
            self._mail(*empty, last=True, left=0)
        for number, (sequence, letter) in enumerate(letters, 1):
            for offset in range(0, len(letter), MAX_CHUNK):
                data = letter[offset : offset + MAX_CHUNK]
                last = number == len(letters)
                self._mail(sequence, offset, len(letter), data, last=last, left=left)

    def finish(self, reason: str, retry_after: float = 0.0) -> None:
        """Close in good order: queue Bye, and how many seconds to stay away (version 2)."""
        self._send(Bye(reason=reason[:MAX_DETAIL], retry_after=retry_after))
        self._closed = True

    def refuse(
        self, code: RefusalCode, detail: str = "", retry_after: float = 0.0, fatal: bool = True
    ) -> None:
        """Refuse the session, or with ``fatal=False`` the fetch or collect in progress."""
        if self._closed:
            return
        if not fatal:
            self._require(self._request is not None, "no fetch or collect to refuse")
            self._request = None
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
            case _State.OPEN, Fetch() | Collect():
                return self._requested(message)
        raise SessionError("bad_message", f"unexpected {message.type}")

    def _hello(self, message: Hello) -> list[Event]:
        common = [version for version in message.versions if version in self._versions]
        if not common:
            raise UnsupportedVersion(f"this server speaks versions {tuple(self._versions)}")
        self._version = max(common)
        self._spoken = message.versions
        self._device_id = message.device_id
        self._client_nonce = message.client_nonce
        if self._device_id:
            self._challenge()
        else:
            self._state = _State.ENROLLING
        return []

    def _challenge(self) -> None:
        self._send(
            Challenge(
                version=self._version,
                server_nonce=self._server_nonce,
                server_time=self._now,
                identity=self._identity(),
            )
        )
        self._state = _State.PROVING

    def _identity(self) -> bytes:
        if self._sign is None or self._version == 1:
            return b""
        transcript = server_transcript(
            self._spoken,
            self._version,
            self._device_id,
            self._client_nonce,
            self._server_nonce,
            self._now,
            self._binding,
        )
        return self._sign(transcript)

    def _prove(self, message: Prove) -> list[Event]:
        self._state = _State.ADMITTING_PROOF
        transcript = proof_transcript(
            self._version, self._device_id, self._client_nonce, self._server_nonce, self._binding
        )
        return [
            ProofOffered(
                self._device_id,
                transcript,
                message.signature,
                dict(message.have),
                dict(message.metadata),
                self._version,
            )
        ]

    def _begin(self, message: UploadBegin) -> list[Event]:
        if self._upload is not None:
            raise SessionError("bad_message", "an upload is already in progress")
        self._upload = _Upload(message.upload_id, message.size, message.sha256, message.kind)
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
            return [UploadProgressed(upload.upload_id, message.offset, message.data)]
        return [UploadReceived(upload.upload_id, bytes(upload.body), upload.kind)]

    def _requested(self, message: Fetch | Collect) -> list[Event]:
        if self._request is not None:
            raise SessionError("bad_message", "a fetch or collect is already in progress")
        self._request = message
        if isinstance(message, Collect):
            return [CollectRequested(message.after)]
        return [FetchRequested(message.model, message.version, message.base)]

    def _say_failure(self, code: RefusalCode, detail: str) -> None:
        self._send(Refusal(code=code, detail=detail, retry_after=0.0))

    def _mail(
        self, sequence: int, offset: int, total: int, data: bytes, *, last: bool, left: int
    ) -> None:
        self._send(
            Mail(sequence=sequence, offset=offset, total=total, data=data, last=last, left=left)
        )

    def _offered(self, upload_id: bytes) -> _Upload:
        upload = self._upload
        if upload is None or upload.upload_id != upload_id:
            raise SessionError("bad_message", "no such upload in progress")
        return upload

    @staticmethod
    def _require(condition: bool, detail: str) -> None:
        if not condition:
            raise SessionError("bad_message", detail)
