"""Frames: what goes in comes out, and nothing else comes in."""

from __future__ import annotations

from typing import Any

import msgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from protocol.errors import FrameTooLarge, MalformedFrame, UnknownMessage, WireError
from protocol.messages import (
    MAX_CHUNK,
    MAX_RECEIPT,
    Bye,
    Challenge,
    Fetch,
    Hello,
    Message,
    Plan,
    Refusal,
    UploadAccept,
    UploadAck,
    UploadBegin,
    UploadChunk,
)
from protocol.packing import unpack_map
from protocol.wire import MAX_FRAME, decode, encode
from tests.protocol.samples import BIG_CHUNK, MESSAGES

GOLDEN: list[tuple[Message, str]] = [
    (
        Hello(versions=(1,), device_id="d1", client_nonce=bytes(32)),
        "84a474797065a568656c6c6fa876657273696f6e739101a96465766963655f6964a26431ac636c69656e745f"
        "6e6f6e6365c420" + "00" * 32,
    ),
    (
        UploadBegin(upload_id=b"\x01" * 16, kind="report", size=300, sha256=b"\x02" * 32),
        "85a474797065ac75706c6f61645f626567696ea975706c6f61645f6964c410" + "01" * 16 + "a46b696e64"
        "a67265706f7274a473697a65cd012ca6736861323536c420" + "02" * 32,
    ),
    (
        Fetch(model="router", version=3, base=2),
        "84a474797065a56665746368a56d6f64656ca6726f75746572a776657273696f6e03a46261736502",
    ),
]
"""Version 1 as bytes: these never change while version 1 is spoken."""


@given(MESSAGES)
def test_every_message_survives_the_wire(message: Message) -> None:
    assert decode(encode(message)) == message


@pytest.mark.parametrize(("message", "hex_"), GOLDEN)
def test_version_one_keeps_its_bytes(message: Message, hex_: str) -> None:
    assert encode(message).hex() == hex_
    assert decode(bytes.fromhex(hex_)) == message


@settings(max_examples=300)
@given(st.binary(max_size=300))
def test_random_bytes_give_a_wire_error(frame: bytes) -> None:
    with pytest.raises(WireError):
        decode(frame)


@settings(max_examples=400)
@given(MESSAGES, st.data())
def test_a_mutated_frame_gives_a_message_or_a_wire_error(message: Message, data: Any) -> None:
    frame = bytearray(encode(message))
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(frame) - 1))
        kind = data.draw(st.sampled_from(["set", "cut", "insert"]))
        if kind == "set":
            frame[place] = data.draw(st.integers(0, 255))
        elif kind == "cut" and len(frame) > 1:
            del frame[place]
        else:
            frame.insert(place, data.draw(st.integers(0, 255)))
    try:
        decoded = decode(bytes(frame))
    except WireError:
        return
    assert decode(encode(decoded)) == decoded


@settings(max_examples=300)
@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers(-(2**63), 2**64 - 1)
        | st.floats()
        | st.binary()
        | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(0, 9), inner),
        max_leaves=20,
    ),
    st.sampled_from(["hello", "plan", "prove", "release_blob", "refusal", "bye"]),
)
def test_any_other_msgpack_value_gives_a_wire_error(value: Any, kind: str) -> None:
    with pytest.raises(WireError):
        decode(msgpack.packb(value))
    with pytest.raises(WireError):
        decode(msgpack.packb({"type": kind, "rounds": value, "have": value, "data": value}))


def test_size_is_checked_before_parsing() -> None:
    with pytest.raises(FrameTooLarge):
        decode(b"\xc1" * (MAX_FRAME + 1))
    with pytest.raises(MalformedFrame):
        decode(b"\xc1" * MAX_FRAME)


def test_receipts_are_bounded_and_the_fullest_plan_of_them_is_small() -> None:
    receipts = (bytes(MAX_RECEIPT),) * 8
    assert len(encode(Plan(rounds=(), releases=(), retry_after=0.0, receipts=receipts))) < 5_000
    for bad in ((*receipts, b""), (bytes(MAX_RECEIPT + 1),)):
        with pytest.raises(ValidationError):
            Plan(rounds=(), releases=(), retry_after=0.0, receipts=bad)
    for kind in (UploadAck, UploadAccept):
        with pytest.raises(ValidationError):
            kind(upload_id=bytes(16), offset=0, committed=True, receipt=bytes(MAX_RECEIPT + 1))


def test_the_largest_chunk_fits_one_frame() -> None:
    assert len(encode(BIG_CHUNK)) < MAX_FRAME
    with pytest.raises(ValidationError):
        UploadChunk(upload_id=bytes(16), offset=0, data=bytes(MAX_CHUNK + 1))


def test_an_encoded_message_over_the_limit_is_refused() -> None:
    with pytest.raises(FrameTooLarge):
        encode(Plan.model_construct(rounds=(bytes(MAX_FRAME),), releases=(), retry_after=0.0))


def test_duplicate_keys_are_refused() -> None:
    twice = b"\x83" + b"".join(
        msgpack.packb(part) for part in ("type", "bye", "reason", "a", "reason", "b")
    )
    assert msgpack.unpackb(twice) == {"type": "bye", "reason": "b"}  # what a lenient peer reads
    with pytest.raises(MalformedFrame, match="twice"):
        decode(twice)


def test_hostile_shapes_are_refused() -> None:
    deep: Any = 1
    for _ in range(500):
        deep = [deep]
    hostile = [
        b"\x91" * 60_000 + b"\xc0",  # nesting
        b"\xdd\xff\xff\xff\xff",  # an array of 2^32
        b"\xdf\xff\xff\xff\xff",  # a map of 2^32
        b"\xdb\x7f\xff\xff\xff",  # a text of 2 GiB
        msgpack.packb({"type": "plan", "rounds": deep}),
        msgpack.packb({"type": "plan", "rounds": [None] * 1000}),
        msgpack.packb({1: 2}),
        msgpack.packb({b"type": b"bye"}),
        msgpack.packb({"type": 5}),
        msgpack.packb(msgpack.ExtType(4, b"abc")),
        msgpack.packb({"type": "bye", "reason": msgpack.Timestamp(1)}),
        b"",
    ]
    for frame in hostile:
        with pytest.raises(MalformedFrame):
            decode(frame)


def test_unknown_types_and_fields_are_refused() -> None:
    with pytest.raises(UnknownMessage):
        decode(msgpack.packb({"type": "sudo"}))
    secret = "my-secret-field"
    with pytest.raises(MalformedFrame) as caught:
        decode(msgpack.packb({"type": "bye", "reason": "", secret: 1}))
    assert secret not in str(caught.value)


def test_values_are_not_coerced() -> None:
    nonce = bytes(32)
    for wrong in ({"version": "1"}, {"version": True}, {"version": 1.0}, {"server_time": "0"}):
        fields = {"type": "challenge", "version": 1, "server_nonce": nonce, "server_time": 0.0}
        with pytest.raises(MalformedFrame):
            decode(msgpack.packb(fields | wrong))
    for bad in (float("nan"), float("inf")):
        with pytest.raises(ValidationError):
            Challenge(version=1, server_nonce=nonce, server_time=bad)
        with pytest.raises(MalformedFrame):
            decode(
                msgpack.packb({"type": "plan", "rounds": [], "releases": [], "retry_after": bad})
            )


def test_errors_never_quote_the_values() -> None:
    canary = "canary-text"
    for fields in (
        {"type": "bye", "reason": canary * 100},
        {"type": canary},
        {"type": "fetch", "model": 1, "version": canary, "base": 0},
    ):
        with pytest.raises(WireError) as caught:
            decode(msgpack.packb(fields))
        assert canary not in str(caught.value)


def test_messages_are_immutable() -> None:
    with pytest.raises(ValidationError):
        Bye(reason="x").reason = "y"  # type: ignore[misc]
    assert Refusal(code="busy", detail="", retry_after=1.0).fatal


def test_nesting_is_shallow_whatever_the_schema_would_say() -> None:
    assert unpack_map(msgpack.packb({"a": {"b": {"c": 1}}}), max_size=100)
    with pytest.raises(MalformedFrame, match="nested"):
        unpack_map(msgpack.packb({"a": {"b": {"c": {"d": 1}}}}), max_size=100)
