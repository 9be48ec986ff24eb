"""What is inside a letter: who is in the account, what has come, and items as they stand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Annotated, Any, TypeAlias

import msgpack
from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from device.account.content import Device, Number
from device.account.counting import MAX_RANGES, Received
from device.account.errors import EnvelopeRefused
from device.account.hlc import MAX_LOGICAL, MAX_WALL_MS, Hlc
from device.account.replica import Dot, ItemRef, Replica, Status, Write
from device.account.roster import MAX_NAME, Member, Roster, device_id_of
from device.account.sealing import KEY_SIZE
from device.account.unpacking import unpack
from device.memory.records import EventState
from protocol.mail import MAX_MEMBERS

__all__ = ["Payload", "pack_payload", "pack_replica", "unpack_payload", "unpack_replica"]

VERSION = 1
MAX_COUNTER = (1 << 63) - 1
MAX_WRITES = 64
"""Concurrent writes of one register: no more than devices."""


@dataclass(frozen=True, slots=True)
class Payload:
    """One letter's inside."""

    roster: Roster
    holders: frozenset[str]
    """Devices that were given the key this letter is under."""
    received: Mapping[str, Received]
    """What the sender has of each other device."""
    void: Sequence[tuple[int, int]] = ()
    """Runs of the sender's own numbers in which nothing is missing any more."""
    asks: bool = False
    """Whether the sender waits to hear that its items arrived."""
    items: Sequence[tuple[ItemRef, Replica]] = field(default_factory=tuple)


def pack_payload(payload: Payload, items: Sequence[bytes]) -> bytes:
    """The bytes of a payload whose items are packed already (`pack_replica`)."""
    head = [
        VERSION,
        [_member_row(member) for member in payload.roster],
        sorted(payload.holders),
        [[device, r.floor, list(map(list, r.runs))] for device, r in payload.received.items()],
        list(map(list, payload.void)),
        payload.asks,
        list(items),
    ]
    return bytes(msgpack.packb(head))


def unpack_payload(data: bytes) -> Payload:
    """Inverse of `pack_payload`.

    Raises:
        EnvelopeRefused: not a payload this version reads.
    """
    _, members, holders, received, void, asks, items = _checked(_payload_reader(), data)
    roster = Roster(Member(device_id_of(row[0]), *row) for row in members)
    seen = {device: Received().joined([(1, floor), *runs]) for device, floor, runs in received}
    return Payload(
        roster, frozenset(holders), seen, void, asks, tuple(unpack_replica(item) for item in items)
    )


def pack_replica(ref: ItemRef, replica: Replica) -> bytes:
    """One item as it stands; equal for equal states."""
    row = [
        *ref,
        replica.erased,
        [list(pair) for pair in sorted(replica.context.items())],
        [[*w.dot, *w.at, w.value] for _, w in sorted(replica.content.items())],
        [[*w.dot, *w.at, *_status_row(w.value)] for _, w in sorted(replica.status.items())],
    ]
    return bytes(msgpack.packb(row))


def unpack_replica(data: bytes) -> tuple[ItemRef, Replica]:
    """Inverse of `pack_replica`.

    Raises:
        EnvelopeRefused: not the state of an item.
    """
    row = _checked(_replica_reader(), data)
    device, number, erased, pairs, contents, states = row
    context = dict(pairs)
    content = [Write(Dot(d, c), Hlc(w, n), value) for d, c, w, n, value in contents]
    status = [
        Write(Dot(d, c), Hlc(w, n), Status(EventState(state), ItemRef(*by) if by else None))
        for d, c, w, n, state, by in states
    ]
    if any(w.dot.counter > context.get(w.dot.device, 0) for w in (*content, *status)):
        raise EnvelopeRefused("an item holds a write outside its context")
    if erased and (content or status or context):
        raise EnvelopeRefused("an erased item still holds its words")
    return ItemRef(device, number), Replica(_by_dot(content), _by_dot(status), context, erased)


def _by_dot(writes: Iterable[Write]) -> dict[Dot, Write]:
    return {write.dot: write for write in writes}


def _status_row(value: bytes | Status) -> list[Any]:
    assert isinstance(value, Status)
    return [value.state.value, list(value.replaced_by) if value.replaced_by else None]


def _member_row(member: Member) -> list[Any]:
    return [member.sign_key, member.box_key, member.name, member.generation, member.removed]


_Counter: TypeAlias = Annotated[int, Field(ge=1, le=MAX_COUNTER)]
_Floor: TypeAlias = Annotated[int, Field(ge=0, le=MAX_COUNTER)]
_Run: TypeAlias = tuple[_Counter, _Counter]
_Runs: TypeAlias = Annotated[tuple[_Run, ...], Field(max_length=MAX_RANGES * MAX_MEMBERS)]
_Key: TypeAlias = Annotated[bytes, Field(min_length=KEY_SIZE, max_length=KEY_SIZE)]
_Name: TypeAlias = Annotated[str, Field(max_length=MAX_NAME)]
_Generation: TypeAlias = Annotated[int, Field(ge=1, le=(1 << 32) - 1)]
_Member: TypeAlias = tuple[_Key, _Key, _Name, _Generation, bool]
_Payload: TypeAlias = tuple[
    Annotated[int, Field(ge=VERSION, le=VERSION)],
    Annotated[tuple[_Member, ...], Field(max_length=MAX_MEMBERS)],
    Annotated[tuple[Device, ...], Field(max_length=MAX_MEMBERS)],
    Annotated[tuple[tuple[Device, _Floor, _Runs], ...], Field(max_length=MAX_MEMBERS)],
    _Runs,
    bool,
    tuple[bytes, ...],
]
_Wall: TypeAlias = Annotated[int, Field(ge=0, le=MAX_WALL_MS)]
_Logical: TypeAlias = Annotated[int, Field(ge=0, le=MAX_LOGICAL)]
_State: TypeAlias = Annotated[str, Field(pattern=f"^({'|'.join(EventState)})$")]
_Content: TypeAlias = tuple[Device, _Counter, _Wall, _Logical, bytes]
_Status: TypeAlias = tuple[
    Device, _Counter, _Wall, _Logical, _State, tuple[Device, Number] | None
]  # fmt: skip
_Replica: TypeAlias = tuple[
    Device,
    Number,
    bool,
    Annotated[tuple[tuple[Device, _Counter], ...], Field(max_length=MAX_MEMBERS)],
    Annotated[tuple[_Content, ...], Field(max_length=MAX_WRITES)],
    Annotated[tuple[_Status, ...], Field(max_length=MAX_WRITES)],
]


@cache
def _payload_reader() -> Callable[[object], _Payload]:
    return TypeAdapter(_Payload, config=ConfigDict(strict=True)).validate_python


@cache
def _replica_reader() -> Callable[[object], _Replica]:
    return TypeAdapter(_Replica, config=ConfigDict(strict=True)).validate_python


def _checked(reader: Callable[[object], Any], data: bytes) -> Any:
    try:
        return reader(unpack(data))
    except (ValidationError, ValueError, TypeError, msgpack.UnpackException):
        raise EnvelopeRefused("a letter whose inside this version does not read") from None
