"""What uploads a session's frames hold, as somebody reads them who saw all of them."""

from __future__ import annotations

from collections.abc import Sequence

from protocol.errors import ProtocolError
from protocol.messages import UploadBegin, UploadChunk
from protocol.wire import decode

__all__ = ["uploads_of"]


def uploads_of(frames: Sequence[bytes]) -> dict[bytes, bytes]:
    """Bodies by upload id, of those that a session's frames hold whole."""
    bodies: dict[bytes, bytearray] = {}
    sizes: dict[bytes, int] = {}
    for frame in frames:
        try:
            message = decode(frame)
        except ProtocolError:
            continue
        if isinstance(message, UploadBegin):
            sizes[message.upload_id], bodies[message.upload_id] = message.size, bytearray()
        elif isinstance(message, UploadChunk) and message.upload_id in bodies:
            bodies[message.upload_id] += message.data
    return {name: bytes(body) for name, body in bodies.items() if len(body) == sizes[name]}
