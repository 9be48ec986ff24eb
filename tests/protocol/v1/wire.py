"""Frames: one message, one msgpack map, at most 64 KiB.

``decode`` gives a message or a WireError, never another exception, whatever the bytes.
"""

from __future__ import annotations

from typing import Final

from tests.protocol.v1.errors import FrameTooLarge, MalformedFrame, UnknownMessage
from tests.protocol.v1.messages import (
    Bye,
    Challenge,
    ClientMessage,
    Enrol,
    Enrolled,
    Fetch,
    Hello,
    Message,
    Plan,
    Prove,
    Refusal,
    ReleaseBlob,
    ServerMessage,
    UploadAccept,
    UploadAck,
    UploadBegin,
    UploadChunk,
)
from tests.protocol.v1.packing import KIB, pack, unpack_map, validated

__all__ = ["MAX_FRAME", "decode", "encode"]

MAX_FRAME: Final = 64 * KIB
"""Bytes of one frame, checked before anything is parsed."""

_TYPES: Final[dict[str, type[ClientMessage] | type[ServerMessage]]] = {
    model.model_fields["type"].default: model
    for model in (
        Hello,
        Enrol,
        Prove,
        UploadBegin,
        UploadChunk,
        Fetch,
        Challenge,
        Enrolled,
        Plan,
        UploadAccept,
        UploadAck,
        ReleaseBlob,
        Refusal,
        Bye,
    )
}


def encode(message: Message) -> bytes:
    """The frame of a message; FrameTooLarge when its parts do not fit one frame together."""
    frame = pack(message.model_dump())
    if len(frame) > MAX_FRAME:
        raise FrameTooLarge(f"{message.type} takes {len(frame)} bytes, at most {MAX_FRAME} fit")
    return frame


def decode(frame: bytes) -> Message:
    """The message of a frame; raises FrameTooLarge, MalformedFrame or UnknownMessage."""
    fields = unpack_map(frame, max_size=MAX_FRAME)
    kind = fields.get("type")
    if not isinstance(kind, str):
        raise MalformedFrame("the frame has no type")
    model = _TYPES.get(kind)
    if model is None:
        raise UnknownMessage("a message of a type this version does not know")
    message: Message = validated(model, fields)
    return message
