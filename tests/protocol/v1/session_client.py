"""The phone's end of a session; its states are the first table of protocol/session.py."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final

from tests.protocol.v1 import messages as wire_messages
from tests.protocol.v1.errors import RefusalCode, SessionError, UnsupportedVersion
from tests.protocol.v1.identity import proof_transcript
from tests.protocol.v1.messages import (
    MAX_CHUNK,
    MAX_TOKEN,
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
from tests.protocol.v1.session_core import MAX_DETAIL, MAX_UPLOAD, Event, SessionCore
from tests.protocol.v1.session_events import (
    Closed,
    Enrolled,
    EnrolRequest,
    FetchRefused,
    PlanReceived,
    ReleaseReceived,
    UploadCommitted,
    UploadRefused,
)

__all__ = ["MAX_RELEASE", "MAX_UNACKNOWLEDGED", "ClientSession"]

MAX_UNACKNOWLEDGED: Final = 4
"""Chunks in flight: enough to fill a slow link, few enough not to delay a ping."""
MAX_RELEASE: Final = 1024 * 1024
"""Bytes of the largest release blob a phone takes."""


class _State(Enum):
    IDLE = auto()
    GREETED = auto()
    PROVING = auto()
    OPEN = auto()


@dataclass(slots=True)
class _Upload:
    upload_id: bytes
    body: bytes
    accepted: bool = False
    sent: int = 0
    """Bytes handed to the outgoing queue."""
    held: int = 0
    """Bytes the server says it holds."""


@dataclass(slots=True)
class _Fetching:
    model: str
    version: int
    base: int
    expected_size: int
    parts: bytearray = field(default_factory=bytearray)


class ClientSession(SessionCore):
    """One session of a phone.

    ``sign`` signs the proof transcript with the device key; ``have`` is model → adopted version
    (0 for none). With an empty ``device_id``, ``enrol`` says how to get one.
    """

    def __init__(
        self,
        *,
        device_id: str,
        sign: Callable[[bytes], bytes],
        client_nonce: bytes,
        have: Mapping[str, int],
        enrol: EnrolRequest | None = None,
    ) -> None:
        super().__init__()
        self._device_id = device_id
        self._sign = sign
        self._client_nonce = client_nonce
        self._have = {model: have[model] for model in sorted(have)}
        self._enrol = enrol
        self._state = _State.IDLE
        self._server_time = 0.0
        self._retry_after = 0.0
        self._uploads: deque[_Upload] = deque()
        self._fetches: deque[_Fetching] = deque()

    # Commands.

    def start(self) -> None:
        """Queue Hello, and Enrol when this phone has no id yet."""
        if self._state is not _State.IDLE:
            raise SessionError("bad_message", "the session has already started")
        if not self._device_id and self._enrol is None:
            raise SessionError("unknown_device", "no device id: enrol with a token first")
        if self._enrol is not None and not 1 <= len(self._enrol.token) <= MAX_TOKEN:
            raise SessionError("bad_token", f"a token has 1 to {MAX_TOKEN} characters")
        self._send(
            Hello(versions=VERSIONS, device_id=self._device_id, client_nonce=self._client_nonce)
        )
        if not self._device_id and self._enrol is not None:
            self._send(Enrol(token=self._enrol.token, public_key=self._enrol.public_key))
        self._state = _State.GREETED

    def upload(self, upload_id: bytes, body: bytes) -> None:
        """Queue an upload; ends in UploadCommitted, UploadRefused, or with the session."""
        self._require_open()
        if not 1 <= len(body) <= MAX_UPLOAD:
            raise SessionError("too_large", f"an upload has 1 to {MAX_UPLOAD} bytes")
        self._uploads.append(_Upload(upload_id, body))
        if len(self._uploads) == 1:
            self._begin_upload()

    def fetch(self, model: str, version: int, base: int, expected_size: int) -> None:
        """Queue the fetch of a release of exactly ``expected_size`` bytes (from its manifest)."""
        self._require_open()
        if not 1 <= expected_size <= MAX_RELEASE:
            raise SessionError("too_large", f"a release has 1 to {MAX_RELEASE} bytes")
        self._fetches.append(_Fetching(model, version, base, expected_size))
        if len(self._fetches) == 1:
            self._begin_fetch()

    def finish(self, reason: str = "done") -> None:
        """Queue Bye and close; what is not committed stays in the owner's outbox."""
        if not self._closed:
            self._send(Bye(reason=reason[:MAX_DETAIL]))
            self._closed = True

    # Messages.

    def _handle(self, message: Message) -> list[Event]:
        match self._state, message:
            case _, Bye(reason=reason):
                self._closed = True
                return [Closed(reason, self._retry_after)]
            case _, Refusal():
                return self._refused(message)
            case _State.GREETED, wire_messages.Enrolled(device_id=device_id):
                return self._enrolled(device_id)
            case _State.GREETED, Challenge() if self._device_id:
                return self._challenged(message)
            case _State.PROVING, Plan():
                return self._planned(message)
            case _State.OPEN, UploadAccept():
                return self._accepted(message)
            case _State.OPEN, UploadAck():
                return self._acknowledged(message)
            case _State.OPEN, ReleaseBlob():
                return self._blob(message)
        raise SessionError("bad_message", f"unexpected {message.type}")

    def _enrolled(self, device_id: str) -> list[Event]:
        if self._device_id:
            raise SessionError("bad_message", "unexpected enrolled")
        self._device_id = device_id
        return [Enrolled(device_id)]

    def _challenged(self, message: Challenge) -> list[Event]:
        if message.version not in VERSIONS:
            raise UnsupportedVersion("the server chose a version that was not offered")
        self._server_time = message.server_time
        transcript = proof_transcript(
            message.version, self._device_id, self._client_nonce, message.server_nonce
        )
        self._send(Prove(signature=self._sign(transcript), have=self._have))
        self._state = _State.PROVING
        return []

    def _planned(self, message: Plan) -> list[Event]:
        self._state = _State.OPEN
        self._retry_after = message.retry_after
        return [
            PlanReceived(message.rounds, message.releases, message.retry_after, self._server_time)
        ]

    def _accepted(self, message: UploadAccept) -> list[Event]:
        upload = self._current_upload(message.upload_id)
        if upload.accepted or message.offset > len(upload.body):
            raise SessionError("bad_message", "an upload was accepted twice or out of range")
        if message.committed:
            return self._committed(upload)
        upload.accepted = True
        # The receiver's offset wins: it alone knows what it holds.
        upload.sent = upload.held = message.offset
        self._send_chunks(upload)
        return []

    def _acknowledged(self, message: UploadAck) -> list[Event]:
        upload = self._current_upload(message.upload_id)
        if not upload.accepted or not upload.held <= message.offset <= upload.sent:
            raise SessionError("bad_message", "an acknowledgement is out of range")
        if message.committed:
            if message.offset != len(upload.body):
                raise SessionError("bad_message", "an upload was committed before it was whole")
            return self._committed(upload)
        upload.held = message.offset
        self._send_chunks(upload)
        return []

    def _committed(self, upload: _Upload) -> list[Event]:
        self._next_upload()
        return [UploadCommitted(upload.upload_id)]

    def _blob(self, message: ReleaseBlob) -> list[Event]:
        fetching = self._fetches[0] if self._fetches else None
        named = (message.model, message.version, message.base)
        if fetching is None or named != (fetching.model, fetching.version, fetching.base):
            raise SessionError("bad_message", "a release nobody asked for")
        if message.total != fetching.expected_size or message.offset != len(fetching.parts):
            raise SessionError("bad_message", "a release of another size or out of order")
        if not message.data or len(fetching.parts) + len(message.data) > message.total:
            raise SessionError("bad_message", "a release part is empty or too long")
        fetching.parts += message.data
        if len(fetching.parts) < message.total:
            return []
        self._next_fetch()
        return [ReleaseReceived(*named, bytes(fetching.parts))]

    def _refused(self, message: Refusal) -> list[Event]:
        self._retry_after = max(self._retry_after, message.retry_after)
        if message.fatal:
            self._closed = True
            return [Closed(message.code, self._retry_after)]
        if self._state is not _State.OPEN:
            raise SessionError("bad_message", "a refusal of nothing")
        if message.upload_id:
            upload = self._current_upload(message.upload_id)
            self._next_upload()
            return [UploadRefused(upload.upload_id, message.code, message.detail)]
        if not self._fetches:
            raise SessionError("bad_message", "a refusal of nothing")
        fetching = self._fetches[0]
        self._next_fetch()
        named = (fetching.model, fetching.version, fetching.base)
        return [FetchRefused(*named, message.code, message.detail)]

    def _say_failure(self, code: RefusalCode, detail: str) -> None:
        self._send(Bye(reason=f"{code}: {detail}"[:MAX_DETAIL]))

    # Queues.

    def _require_open(self) -> None:
        if self._closed or self._state is not _State.OPEN:
            raise SessionError("bad_message", "the session is not open")

    def _current_upload(self, upload_id: bytes) -> _Upload:
        if not self._uploads or self._uploads[0].upload_id != upload_id:
            raise SessionError("bad_message", "an answer to an upload nobody offered")
        return self._uploads[0]

    def _next_upload(self) -> None:
        self._uploads.popleft()
        if self._uploads:
            self._begin_upload()

    def _begin_upload(self) -> None:
        upload = self._uploads[0]
        digest = hashlib.sha256(upload.body).digest()
        self._send(
            UploadBegin(
                upload_id=upload.upload_id, kind="report", size=len(upload.body), sha256=digest
            )
        )

    def _send_chunks(self, upload: _Upload) -> None:
        window = upload.held + MAX_UNACKNOWLEDGED * MAX_CHUNK
        while upload.sent < len(upload.body) and upload.sent < window:
            data = upload.body[upload.sent : upload.sent + MAX_CHUNK]
            self._send(UploadChunk(upload_id=upload.upload_id, offset=upload.sent, data=data))
            upload.sent += len(data)

    def _next_fetch(self) -> None:
        self._fetches.popleft()
        if self._fetches:
            self._begin_fetch()

    def _begin_fetch(self) -> None:
        first = self._fetches[0]
        self._send(Fetch(model=first.model, version=first.version, base=first.base))
