"""The VCDIFF decoder: xdelta3's output, xdelta3's decoder as oracle, deltas meant to harm."""

from __future__ import annotations

import os
import random
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cloud.documents.xdelta import DeltaFailed, EncoderMissing, Xdelta, find_library
from protocol.errors import DeltaInvalid
from protocol.vcdiff import Limits, decode_delta
from tests.protocol.deltas import TARGET, delta, integer, window

FUZZED = int(os.environ.get("REVERIE_FUZZED_DELTAS", "150000"))
"""Mutated deltas put to both decoders: about 16 µs each."""
RUN, ADD, ADD_5, COPY, COPY_4 = b"\x00", b"\x01", b"\x06", b"\x13", b"\x14"
COPY_HERE_4, COPY_NEAR_4, COPY_SAME_4 = b"\x24", b"\x34", b"\x74"
ADD_1_COPY_4, COPY_4_ADD_1 = b"\xa3", b"\xf7"
BASE = b"0123456789abcdefghij"


@pytest.fixture(scope="module")
def xdelta() -> Xdelta:
    """xdelta3's encoder and decoder."""
    try:
        return Xdelta(find_library())
    except EncoderMissing as missing:
        pytest.skip(str(missing))


def _decode(data: bytes, size: int, base: bytes = BASE) -> bytes:
    return decode_delta(data, base, Limits(size))


def _snapshot(rng: random.Random, records: int) -> bytes:
    words = [f"word{number:x}" for number in range(60)]
    lines = [
        f'{{"id":"{number:05d}","name":"{rng.choice(words)}","text":"{rng.choice(words)} '
        f'{rng.choice(words)} {rng.choice(words)}","seen":{rng.randrange(10**6)}}}'
        for number in range(records)
    ]
    return "\n".join(lines).encode()


def _edited(rng: random.Random, content: bytes, edits: int) -> bytes:
    lines = content.split(b"\n")
    for _ in range(edits):
        place = rng.randrange(len(lines) + 1)
        kind = rng.randrange(4)
        if kind == 0:
            lines.insert(place, b"new " + rng.randbytes(rng.randrange(60)))
        elif kind == 1:
            del lines[place : place + rng.randrange(1, 4)]
        elif kind == 2:
            lines[place : place + 1] = [b"=" * rng.randrange(400)]
        else:
            lines.append(rng.choice(lines or [b""]))
    return b"\n".join(lines) + b"."


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 80), st.integers(0, 30))
def test_what_xdelta3_writes_is_read(xdelta: Xdelta, seed: int, records: int, edits: int) -> None:
    rng = random.Random(seed)
    base = _snapshot(rng, records)
    target = _edited(rng, base, edits)
    written = xdelta.encode(base, target, 2 * len(target) + 1024)
    assert decode_delta(written, base, Limits(len(target))) == target


@settings(max_examples=100, deadline=None)
@given(st.binary(min_size=1, max_size=300), st.binary(min_size=1, max_size=300))
def test_unlike_contents_too(xdelta: Xdelta, base: bytes, target: bytes) -> None:
    written = xdelta.encode(base, target, 2 * len(target) + 1024)
    assert decode_delta(written, base, Limits(len(target))) == target


def test_a_target_of_several_windows(xdelta: Xdelta) -> None:
    base = _snapshot(random.Random(1), 9_000) * 11
    target = base[: 5 << 20] + b"between" + base[1 << 20 :]
    assert len(target) > 8 << 20, "xdelta3's windows hold 8 MiB"
    written = xdelta.encode(base, target, len(target))
    assert decode_delta(written, base, Limits(len(target))) == target
    with pytest.raises(DeltaInvalid, match="more than 1 windows"):
        decode_delta(written, base, Limits(len(target), windows=1))


def _every_kind() -> tuple[bytes, bytes]:
    """A delta of ADD, RUN, COPY in all kinds of address, pairs, self-overlap, a checksum and an
    application's header, and its target; worked out by hand after RFC 3284."""
    target = b"helloXXX" + b"2345" + b"XXX2" + b"2345" + b"2345" + b"!6789" + b"6789?" + b"abababa"
    codes = ADD_5 + RUN + integer(3) + COPY_4 + COPY_HERE_4 + COPY_NEAR_4 + COPY_SAME_4
    codes += ADD_1_COPY_4 + COPY_4_ADD_1 + ADD + integer(2) + COPY + integer(5)
    # Addresses 2; 7 back from here; 2 again, 0 above the 1st near one; 2 by its place in the same
    # cache; 6; 6 again; and 2 back, reading on into what the copy itself writes.
    addresses = integer(2) + integer(7) + integer(0) + bytes([2]) + integer(6) + integer(6)
    addresses += integer(len(BASE) + len(target) - 7)
    whole = window(
        *(len(target), codes, b"helloX!?ab", addresses), segment=(len(BASE), 0), checked=target
    )
    return delta(whole, header=b"\x04\x03app"), target


def test_every_kind_of_instruction() -> None:
    written, target = _every_kind()
    assert _decode(written, len(target)) == target
    broken = bytearray(written)
    broken[broken.index(b"hello")] ^= 1
    with pytest.raises(DeltaInvalid, match="checksum"):
        _decode(bytes(broken), len(target))


def test_xdelta3_reads_that_alike(xdelta: Xdelta) -> None:
    written, target = _every_kind()
    assert xdelta.decode(written, BASE, len(target)) == target


_FINE = window(5, ADD_5, b"hello")


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "not a VCDIFF"),
        (b"\xd6\xc3\xc4\x01\x00" + _FINE, "not a VCDIFF"),
        (delta()[:4], "cut short"),
        (delta(_FINE)[:-1], "cut short"),
        (delta(header=b"\x01\x02") + _FINE, "secondary"),
        (delta(header=b"\x02\x05") + _FINE, "code table"),
        (delta(header=b"\x08") + _FINE, "header flags"),
        (delta(header=b"\x04\x7f") + _FINE, "cut short"),
        (delta(window(5, ADD_5, b"hello", flags=TARGET)), "earlier target"),
        (delta(window(5, ADD_5, b"hello", flags=8)), "window flags"),
        (delta(window(5, ADD_5, b"hello", compressed=1)), "compressed"),
        (delta(window(4, COPY_4, addresses=b"\x00", segment=(20, 1))), "beyond the base"),
        (delta(window(4, COPY_4, addresses=b"\x00", segment=(1 << 34, 0))), "beyond the base"),
        (delta(window(6, ADD_5, b"hello")), "not what its header says"),
        (delta(window(5, ADD_5, b"hello!")), "not what its header says"),
        (delta(window(5, ADD_5, b"hello", b"\x00")), "not what its header says"),
        (delta(window(4, ADD_5, b"hello")), "overruns"),
        (delta(window(1, b"\x02", b"h"), window(4, ADD_5, b"hello")), "overruns"),
        (delta(window(5, ADD_5, b"hell")), "data is cut short"),
        (delta(window(5, RUN + integer(5))), "cut short"),
        (delta(window(5, RUN, b"x")), "cut short"),
        (delta(window(5, RUN + integer(1 << 34), b"x")), "overruns"),
        (delta(window(4, COPY_4, addresses=integer(20), segment=(20, 0))), "nothing is yet"),
        (delta(window(4, COPY_HERE_4, addresses=integer(21), segment=(20, 0))), "nothing is yet"),
        (delta(window(4, COPY_4, addresses=integer(0))), "nothing is yet"),
        (delta(window(4, COPY_4, addresses=integer(17), segment=(20, 0))), "crosses"),
        (delta(window(4, COPY_4, addresses=b"", segment=(20, 0))), "cut short"),
        (delta(window(4, COPY_4, addresses=b"\x80\x02", segment=(20, 0))), "zero digit"),
        (delta(window(4, COPY_4, addresses=b"\xff" * 9, segment=(20, 0))), "too long"),
        (delta(b"\x00" + integer(len(_FINE) - 1) + _FINE[2:] + b"\x00"), "bytes follow"),
    ],
)
def test_what_is_wrong_is_said(data: bytes, why: str) -> None:
    with pytest.raises(DeltaInvalid, match=why):
        _decode(data, 6)


def test_the_target_has_exactly_the_size_the_manifest_says() -> None:
    assert _decode(delta(_FINE), 5) == b"hello"
    with pytest.raises(DeltaInvalid, match="larger than what is left"):
        _decode(delta(_FINE), 4)
    with pytest.raises(DeltaInvalid, match="5 bytes instead of 6"):
        _decode(delta(_FINE), 6)
    with pytest.raises(DeltaInvalid, match="larger than what is left"):
        _decode(delta(_FINE, _FINE), 9)


def test_limits_count_every_window_and_instruction() -> None:
    limits = Limits(10, delta=len(delta(_FINE, _FINE)), windows=2, instructions=2)
    assert decode_delta(delta(_FINE, _FINE), b"", limits) == b"hello" * 2
    for tighter, why in (
        (Limits(10, delta=limits.delta - 1), "at most"),
        (Limits(10, windows=1), "windows"),
        (Limits(10, instructions=1), "instructions"),
    ):
        with pytest.raises(DeltaInvalid, match=why):
            decode_delta(delta(_FINE, _FINE), b"", tighter)


def test_empty_instructions_and_windows_are_bounded_too() -> None:
    idle = window(5, ADD_5 + (ADD + b"\x00") * 5000, b"hello")
    with pytest.raises(DeltaInvalid, match="instructions"):
        decode_delta(delta(idle), b"", Limits(5, instructions=5000))
    with pytest.raises(DeltaInvalid, match="windows"):
        _decode(delta(*[window(0)] * 65, _FINE), 5)


_HUGE = 64 << 20


@pytest.mark.parametrize(
    "bomb",
    [
        delta(window(_HUGE, RUN + integer(_HUGE), b"x")),
        delta(*[window(1000, RUN + integer(1000), b"x")] * 16),
        delta(window(2**34, RUN + integer(2**34), b"x")),
        delta(b"\x00" + integer(2**34) + integer(4)),
        delta(b"\x01" + integer(2**34) + integer(2**34) + _FINE[1:]),
        delta(window(1000, ADD + integer(2**34), b"x")),
        delta(window(1000, ADD + b"\x01" + COPY + integer(2**34), b"x", integer(0))),
    ],
)
def test_bombs_are_refused_before_memory_is_taken(bomb: bytes) -> None:
    assert len(bomb) < 400
    tracemalloc.start()
    try:
        with pytest.raises(DeltaInvalid):
            _decode(bomb, 1500)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 32 * 1024


def _mutated(rng: random.Random, data: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        place = rng.randrange(len(changed))
        kind = rng.randrange(6)
        if kind == 0:
            changed[place] = rng.randrange(256)
        elif kind == 1:
            changed[place] ^= 1 << rng.randrange(8)
        elif kind == 2:
            changed[place] = (changed[place] + rng.choice((-1, 1))) % 256
        elif kind == 3:
            del changed[place : place + rng.randrange(1, 4)]
        elif kind == 4:
            changed[place:place] = rng.randbytes(rng.randrange(1, 4))
        else:
            changed[place : place + 1] = rng.choice((b"\x00", b"\x7f", b"\xff", b"\x80\x01"))
        if not changed:
            return b"\x00"
    return bytes(changed)


_STRICTER = ("reaches beyond the base", "zero digit", "too long", "bytes instead of")
"""Where this decoder refuses what xdelta3's does not mind: it sees a segment beyond the base only
when a copy goes there, takes integers of any length, and knows no size to arrive at."""


def _attempt(data: bytes, base: bytes, size: int) -> tuple[bytes | None, str]:
    try:
        return decode_delta(data, base, Limits(size)), ""
    except DeltaInvalid as error:
        return None, str(error)


def test_mutated_deltas_never_decode_to_what_xdelta3_does_not(xdelta: Xdelta) -> None:
    """No crash, no other exception, and agreement with the C decoder on each."""
    rng = random.Random(20)
    base = _snapshot(rng, 12)
    pairs = []
    for edits in (1, 3, 6, 10, 0):
        target = _edited(rng, base, edits)
        pairs.append((xdelta.encode(base, target, 4096), len(target)))
    decoded = refused = 0
    for number in range(FUZZED):
        original, size = pairs[number % len(pairs)]
        data = _mutated(rng, original)
        try:
            theirs: bytes | None = xdelta.decode(data, base, size)
        except DeltaFailed:
            theirs = None
        ours, why = _attempt(data, base, size)
        if ours is None:
            refused += 1
            assert theirs is None or any(reason in why for reason in _STRICTER), why
        else:
            decoded += 1
            assert ours == theirs
    assert decoded > FUZZED // 50, "most mutations change nothing but letters"
    assert refused > FUZZED // 4
