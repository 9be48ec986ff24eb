"""Frames: one message, one msgpack map, at most 64 KiB.

``decode`` gives a message or a WireError, never another exception, whatever the bytes. Both ends
say which version the session speaks: what came later is neither written nor read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from protocol.errors import FrameTooLarge, MalformedFrame, RefusalCode, UnknownMessage
from protocol.messages import (
    ADDED_IN_2,
    VERSIONS,
    Bye,
    Challenge,
    ClientMessage,
    Collect,
    Enrol,
    Enrolled,
    Fetch,
    Hello,
    Mail,
    Message,
    Metadata,
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
from protocol.packing import KIB, pack, unpack_map, validated

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
        Collect,
        Challenge,
        Enrolled,
        Plan,
        Metadata,
        UploadAccept,
        UploadAck,
        ReleaseBlob,
        Mail,
        Refusal,
        Bye,
    )
}
_CODES_OF_2: Final[frozenset[RefusalCode]] = frozenset({"limit", "mailbox_full", "not_a_member"})
_NEWEST: Final = VERSIONS[-1]
_NOTHING: Final[frozenset[str]] = frozenset()


def encode(message: Message, version: int = _NEWEST) -> bytes:
    """The frame of a message as ``version`` knows it.

    Raises FrameTooLarge when its parts do not fit one frame together, UnknownMessage when that
    version has no such message.
    """
    fields = message.model_dump()
    if version < _NEWEST:
        for name in _added(type(message)):
            del fields[name]
        if fields.get("code") in _CODES_OF_2:
            fields["code"] = "busy"
        if fields.get("kind", "report") != "report":
            raise UnknownMessage("an upload of a kind this version does not know")
    frame = pack(fields)
    if len(frame) > MAX_FRAME:
        raise FrameTooLarge(f"{message.type} takes {len(frame)} bytes, at most {MAX_FRAME} fit")
    return frame


def decode(frame: bytes, version: int = _NEWEST) -> Message:
    """The message of a frame of a session of ``version``.

    Raises FrameTooLarge, MalformedFrame or UnknownMessage.
    """
    fields = unpack_map(frame, max_size=MAX_FRAME)
    kind = fields.get("type")
    if not isinstance(kind, str):
        raise MalformedFrame("the frame has no type")
    model = _TYPES.get(kind)
    if model is None:
        raise UnknownMessage("a message of a type this version does not know")
    if version < _NEWEST:
        _refuse_newer(model, fields)
    message: Message = validated(model, fields)
    return message


def _added(model: type[ClientMessage] | type[ServerMessage]) -> frozenset[str]:
    added = ADDED_IN_2.get(model, _NOTHING)
    if "type" in added:
        raise UnknownMessage("a message of a type this version does not know")
    return added


def _refuse_newer(
    model: type[ClientMessage] | type[ServerMessage], fields: Mapping[str, object]
) -> None:
    later = model is UploadBegin and fields.get("kind") == "mail"
    code = fields.get("code")
    # Not yet validated: a code may be of any type, also of one that has no hash.
    later = later or (model is Refusal and isinstance(code, str) and code in _CODES_OF_2)
    if later or _added(model) & fields.keys():
        raise MalformedFrame(f"{model.__name__}: a field this version does not know")
