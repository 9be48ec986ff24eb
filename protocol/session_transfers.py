"""What a phone asks for and hands in during an open session: one upload and one request at a time.

Each queue sends for its first item only; the next begins when the first has its answer.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from protocol.errors import SessionError
from protocol.messages import (
    MAX_CHUNK,
    MAX_UPLOAD,
    Collect,
    Fetch,
    Mail,
    Message,
    Refusal,
    ReleaseBlob,
    UploadAccept,
    UploadAck,
    UploadBegin,
    UploadChunk,
    UploadKind,
)
from protocol.session_events import (
    CollectRefused,
    Event,
    FetchRefused,
    MailReceived,
    ReleaseReceived,
    UploadCommitted,
    UploadRefused,
)

__all__ = ["MAX_RELEASE", "MAX_UNACKNOWLEDGED", "Requests", "Uploads"]

MAX_UNACKNOWLEDGED: Final = 4
"""Chunks in flight: enough to fill a slow link, few enough not to delay a ping."""
MAX_RELEASE: Final = 1024 * 1024
"""Bytes of the largest release blob a phone takes."""

Send: TypeAlias = Callable[[Message], None]


@dataclass(slots=True)
class _Upload:
    upload_id: bytes
    body: bytes
    kind: UploadKind
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


@dataclass(slots=True)
class _Collecting:
    after: int
    last: int = 0
    """The newest letter that came; any may be the first, for a mailbox may be put back."""
    sequence: int = 0
    """Number of the letter in progress; 0 between letters."""
    total: int = 0
    parts: bytearray = field(default_factory=bytearray)


class Uploads:
    """Bodies on their way to the server."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._queue: deque[_Upload] = deque()

    def add(self, upload_id: bytes, body: bytes, kind: UploadKind) -> None:
        """Queue a body of 1 byte to 1 MiB; SessionError for another size."""
        if not 1 <= len(body) <= MAX_UPLOAD:
            raise SessionError("too_large", f"an upload has 1 to {MAX_UPLOAD} bytes")
        self._queue.append(_Upload(upload_id, body, kind))
        if len(self._queue) == 1:
            self._begin()

    def accepted(self, message: UploadAccept) -> list[Event]:
        """Send from where the server stands, or learn that it has it all."""
        upload = self._current(message.upload_id)
        if upload.accepted or message.offset > len(upload.body):
            raise SessionError("bad_message", "an upload was accepted twice or out of range")
        if message.committed:
            return self._committed(message.receipt)
        self._refuse_early(message.receipt)
        upload.accepted = True
        # The receiver's offset wins: it alone knows what it holds.
        upload.sent = upload.held = message.offset
        self._send_chunks(upload)
        return []

    def acknowledged(self, message: UploadAck) -> list[Event]:
        """The server holds more, or has it durably."""
        upload = self._current(message.upload_id)
        if not upload.accepted or not upload.held <= message.offset <= upload.sent:
            raise SessionError("bad_message", "an acknowledgement is out of range")
        if message.committed:
            if message.offset != len(upload.body):
                raise SessionError("bad_message", "an upload was committed before it was whole")
            return self._committed(message.receipt)
        self._refuse_early(message.receipt)
        upload.held = message.offset
        self._send_chunks(upload)
        return []

    def held(self, upload_id: bytes) -> int:
        """Bytes of a queued upload that the server says it holds."""
        return next((item.held for item in self._queue if item.upload_id == upload_id), 0)

    def refused(self, message: Refusal) -> list[Event]:
        """The server does not take the current upload."""
        upload = self._current(message.upload_id)
        self._next()
        return [UploadRefused(upload.upload_id, message.code, message.detail, message.retry_after)]

    def _committed(self, receipt: bytes) -> list[Event]:
        upload = self._queue[0]
        self._next()
        return [UploadCommitted(upload.upload_id, receipt)]

    def _current(self, upload_id: bytes) -> _Upload:
        if not self._queue or self._queue[0].upload_id != upload_id:
            raise SessionError("bad_message", "an answer to an upload nobody offered")
        return self._queue[0]

    def _next(self) -> None:
        self._queue.popleft()
        if self._queue:
            self._begin()

    def _begin(self) -> None:
        upload = self._queue[0]
        self._send(
            UploadBegin(
                upload_id=upload.upload_id,
                kind=upload.kind,
                size=len(upload.body),
                sha256=hashlib.sha256(upload.body).digest(),
            )
        )

    def _send_chunks(self, upload: _Upload) -> None:
        window = upload.held + MAX_UNACKNOWLEDGED * MAX_CHUNK
        while upload.sent < len(upload.body) and upload.sent < window:
            data = upload.body[upload.sent : upload.sent + MAX_CHUNK]
            self._send(UploadChunk(upload_id=upload.upload_id, offset=upload.sent, data=data))
            upload.sent += len(data)

    @staticmethod
    def _refuse_early(receipt: bytes) -> None:
        if receipt:
            raise SessionError("bad_message", "a receipt for an upload that is not committed")


class Requests:
    """Fetches and collects, in the order they were made."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._queue: deque[_Fetching | _Collecting] = deque()

    def fetch(self, model: str, version: int, base: int, expected_size: int) -> None:
        """Queue a fetch of exactly ``expected_size`` bytes; SessionError over 1 MiB."""
        if not 1 <= expected_size <= MAX_RELEASE:
            raise SessionError("too_large", f"a release has 1 to {MAX_RELEASE} bytes")
        self._add(_Fetching(model, version, base, expected_size))

    def collect(self, after: int) -> None:
        """Queue a collect of the letters numbered above ``after``."""
        self._add(_Collecting(after))

    def blob(self, message: ReleaseBlob) -> list[Event]:
        """Bytes of the release in progress."""
        fetching = self._queue[0] if self._queue else None
        named = (message.model, message.version, message.base)
        if not isinstance(fetching, _Fetching) or named != (
            fetching.model,
            fetching.version,
            fetching.base,
        ):
            raise SessionError("bad_message", "a release nobody asked for")
        if message.total != fetching.expected_size or message.offset != len(fetching.parts):
            raise SessionError("bad_message", "a release of another size or out of order")
        if not message.data or len(fetching.parts) + len(message.data) > message.total:
            raise SessionError("bad_message", "a release part is empty or too long")
        fetching.parts += message.data
        if len(fetching.parts) < message.total:
            return []
        self._next()
        return [ReleaseReceived(*named, bytes(fetching.parts))]

    def mail(self, message: Mail) -> list[Event]:
        """Bytes of the letter in progress, or of the next one."""
        collecting = self._queue[0] if self._queue else None
        if not isinstance(collecting, _Collecting):
            raise SessionError("bad_message", "a letter nobody asked for")
        if message.total == 0:
            return self._no_mail(collecting, message)
        self._check_place(collecting, message)
        collecting.parts += message.data
        if len(collecting.parts) < message.total:
            return []
        letter = bytes(collecting.parts)
        collecting.last, collecting.sequence = message.sequence, 0
        collecting.parts = bytearray()
        if message.last:
            self._next()
        return [MailReceived(message.sequence, letter, message.last, message.left)]

    def refused(self, message: Refusal) -> list[Event]:
        """The server does not have what was asked for."""
        if not self._queue:
            raise SessionError("bad_message", "a refusal of nothing")
        first = self._queue[0]
        self._next()
        if isinstance(first, _Collecting):
            return [CollectRefused(first.after, message.code, message.detail)]
        named = (first.model, first.version, first.base)
        return [FetchRefused(*named, message.code, message.detail)]

    def _no_mail(self, collecting: _Collecting, message: Mail) -> list[Event]:
        if collecting.sequence or message.data or not message.last or message.left:
            raise SessionError("bad_message", "an empty letter that ends nothing")
        if message.sequence != collecting.after or collecting.last:
            raise SessionError("bad_message", "an answer to another collect")
        self._next()
        return [MailReceived(message.sequence, b"", last=True, left=0)]

    @staticmethod
    def _check_place(collecting: _Collecting, message: Mail) -> None:
        if not collecting.sequence:
            if message.sequence <= collecting.last:
                raise SessionError("bad_message", "a letter that is not newer")
            collecting.sequence, collecting.total = message.sequence, message.total
        if (message.sequence, message.total) != (collecting.sequence, collecting.total):
            raise SessionError("bad_message", "a letter before the one in progress was whole")
        if message.offset != len(collecting.parts) or not message.data:
            raise SessionError("bad_message", "a letter part is empty or out of order")
        if len(collecting.parts) + len(message.data) > message.total:
            raise SessionError("bad_message", "a letter longer than it announced")

    def _add(self, request: _Fetching | _Collecting) -> None:
        self._queue.append(request)
        if len(self._queue) == 1:
            self._begin()

    def _next(self) -> None:
        self._queue.popleft()
        if self._queue:
            self._begin()

    def _begin(self) -> None:
        first = self._queue[0]
        if isinstance(first, _Collecting):
            self._send(Collect(after=first.after))
        else:
            self._send(Fetch(model=first.model, version=first.version, base=first.base))
