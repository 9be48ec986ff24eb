"""What both ends of a session share: the outgoing queue, limits and the way to fail."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Final

from tests.protocol.v1.errors import RefusalCode, SessionError, WireError
from tests.protocol.v1.messages import MAX_UPLOAD, Message
from tests.protocol.v1.packing import KIB
from tests.protocol.v1.session_events import Event, SessionFailed
from tests.protocol.v1.wire import decode, encode

__all__ = ["MAX_DETAIL", "MAX_SESSION_BYTES", "MAX_UPLOAD", "Event", "SessionCore"]

MAX_SESSION_BYTES: Final = 8 * 1024 * KIB
"""Bytes one end accepts in one session; a phone with more comes back in the next window."""
FRAME_COST: Final = 64
"""Least a frame counts for, in bytes, so that many tiny frames reach the limit too."""
MAX_DETAIL: Final = 200


class SessionCore(ABC):
    """One end of a session; subclasses hold the states."""

    def __init__(self) -> None:
        self._outgoing: list[bytes] = []
        self._received = 0
        self._closed = False

    @property
    def closed(self) -> bool:
        """True once nothing more will be accepted; queued frames may still be sent."""
        return self._closed

    def frames_to_send(self) -> list[bytes]:
        """Frames queued since the last call, in order."""
        frames, self._outgoing = self._outgoing, []
        return frames

    def receive(self, frame: bytes) -> list[Event]:
        """Take one frame from the peer. Never raises: a bad frame closes the session."""
        if self._closed:
            return []
        self._received += max(len(frame), FRAME_COST)
        try:
            if self._received > MAX_SESSION_BYTES:
                raise SessionError("too_large", "the session has reached its byte limit")
            return self._handle(decode(frame))
        except WireError as error:
            return self._fail(error.code, str(error))
        except SessionError as error:
            return self._fail(error.code, error.detail)

    def _send(self, message: Message) -> None:
        self._outgoing.append(encode(message))

    def _fail(self, code: RefusalCode, detail: str) -> list[Event]:
        detail = detail[:MAX_DETAIL]
        self._say_failure(code, detail)
        self._closed = True
        return [SessionFailed(code, detail)]

    @abstractmethod
    def _handle(self, message: Message) -> list[Event]:
        """Act on one decoded message; SessionError when the state does not allow it."""

    @abstractmethod
    def _say_failure(self, code: RefusalCode, detail: str) -> None:
        """Queue the message that tells the peer why the session ends."""
