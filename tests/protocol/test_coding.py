"""The coders under parameter differences: exact, within their bound, deaf to harmful bytes."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray

from protocol.entropy import pack_symbols, unpack_symbols
from protocol.errors import DifferenceInvalid
from protocol.modelling import pack_modelled, unpack_modelled
from protocol.rans import Table, decode, encode, settled
from tests.protocol.samples import generator

Int8s = NDArray[np.int8]

KEPT = (
    "12312ffff834205f076ea1fffffffffffffffffffc00f602062a2cc12074894fa72a5500b6d1623aad591a6a"
    "35f0d8185e3c5c583b6b47ef37da1b3c9ba14d5a619b146d2ca5"
)
KEPT_VALUES = "a1ed8d97b3a4408e401ad2a4be640d1cb5e37d888f6dafd4f3e43100fa63fe9a"

_int8s = arrays.arrays(np.int8, st.integers(0, 300))
_seeds = st.integers(0, 2**32)
_spreads = st.sampled_from([0.05, 0.3, 1.0, 4.0, 60.0])


def _pair(seed: int, size: int, spread: float, pull: float = 0.0) -> tuple[Int8s, Int8s]:
    """Differences and the base they are from; ``pull`` is the share of the base that they take
    away."""
    rng = generator(seed)
    base = np.clip(np.rint(rng.normal(0, 6, size)), -128, 127)
    values = np.clip(np.rint(rng.normal(-pull * base, spread)), -128, 127)
    return values.astype(np.int8), base.astype(np.int8)


def _bound(values: Int8s) -> float:
    """Order-0 Shannon bytes."""
    share = np.unique(values, return_counts=True)[1] / values.size
    return float(-(share * np.log2(share)).sum() * values.size / 8)


@given(_int8s, _seeds)
def test_symbols_survive_packing(values: Int8s, seed: int) -> None:
    base = generator(seed).integers(-128, 128, values.size, dtype=np.int8)
    assert unpack_symbols(pack_symbols(values, base), base).tolist() == values.tolist()


@settings(max_examples=60, deadline=None)
@given(_seeds, st.integers(0, 3000), _spreads, st.sampled_from([0.0, 0.5, 1.5]))
def test_modelled_differences_are_exact(seed: int, size: int, spread: float, pull: float) -> None:
    values, base = _pair(seed, size, spread, pull)
    assert np.array_equal(unpack_modelled(*pack_modelled(values, base), base), values)


def test_the_ends_of_the_grid_are_exact() -> None:
    ends = np.array([-128, -127, -1, 0, 1, 127], dtype=np.int8)
    values, base = (grid.ravel() for grid in np.meshgrid(ends, ends))
    assert np.array_equal(unpack_modelled(*pack_modelled(values, base), base), values)


@pytest.mark.parametrize("spread", [0.4, 0.7, 1.0, 2.0, 8.0])
def test_dense_differences_are_within_two_percent_of_the_bound(spread: float) -> None:
    values, base = _pair(3, 20_000, spread)
    assert len(pack_modelled(values, base)[1]) <= 1.02 * _bound(values)


def test_what_the_base_says_is_used() -> None:
    """Weights pulled towards zero cost less than differences of the same histogram."""
    values, base = _pair(4, 20_000, 0.7, pull=0.1)
    assert len(pack_modelled(values, base)[1]) < 0.9 * _bound(values)


def test_even_and_sparse_changes_pick_their_form() -> None:
    rng = generator(5)
    patches = np.zeros((200, 100), dtype=np.int8)
    patches[:20] = rng.integers(-1, 2, (20, 100))
    base = rng.integers(-20, 20, 20_000, dtype=np.int8)
    packed = pack_symbols(patches.ravel(), base)
    assert packed[0] in (2, 4)
    with pytest.raises(DifferenceInvalid, match="follow the end"):
        unpack_symbols(packed + b"\x00", base)
    assert pack_symbols(rng.permutation(patches.ravel()), base)[0] >= 16


def test_one_stream_on_every_machine() -> None:
    """Integers alone decide what a blob means: a blob kept from elsewhere reads the same."""
    kept = bytes.fromhex(KEPT)
    base = (np.arange(400) * 7919 % 31 - 15).astype(np.int8)
    values = unpack_symbols(kept, base)
    assert kept[0] == 18, "all classes of the base are told apart"
    assert hashlib.sha256(values.tobytes()).hexdigest() == KEPT_VALUES
    assert pack_symbols(values, base) == kept


def test_the_first_of_equals_gives_and_takes() -> None:
    equal = np.full(100, 10, dtype=np.int64)
    assert settled(equal, 10).tolist() == [34] + [10] * 99
    assert settled(equal + 1, 10).tolist() == [1, 1, 1, 1, 1, 1, 1, 5] + [11] * 92
    mixed = np.array([10, 11] * 50, dtype=np.int64)
    assert settled(mixed, 10).tolist() == [10, 1, 10, 1, 10, 5] + [10, 11] * 47


@given(st.lists(st.integers(1, 1000), min_size=1, max_size=256), st.integers(8, 16))
def test_frequencies_add_up(parts: list[int], bits: int) -> None:
    frequencies = settled(np.array(parts, dtype=np.int64), bits)
    assert frequencies.sum() == 1 << bits
    assert frequencies.min() >= 1


@settings(max_examples=60, deadline=None)
@given(_seeds, st.lists(st.tuples(st.integers(1, 256), st.integers(0, 200)), max_size=4))
def test_segments_share_a_stream(seed: int, shapes: list[tuple[int, int]]) -> None:
    rng = generator(seed)
    segments = []
    for alphabet, count in shapes:
        frequencies = settled(rng.integers(1, 50, alphabet), 12)
        table = Table(12, tuple(frequencies.tolist()))
        segments.append((table, rng.integers(0, alphabet, count).astype(np.uint8)))
    stream = encode(segments)
    read = decode(stream, [(table, symbols.size) for table, symbols in segments])
    for (_, symbols), again in zip(segments, read, strict=True):
        assert np.array_equal(symbols, again)


@pytest.mark.parametrize(
    ("precision", "frequencies"),
    [(3, (4, 4)), (13, (8191, 1)), (4, (16, 0)), (4, (17, -1)), (4, (8, 7)), (4, ())],
)
def test_a_table_that_does_not_add_up(precision: int, frequencies: tuple[int, ...]) -> None:
    with pytest.raises(DifferenceInvalid):
        Table(precision, frequencies)


_TABLE = Table(4, (10, 3, 3))


@pytest.mark.parametrize("cut", [b"", b"\x00" * 5, b"\x00" * 4, b"\xff" * 5, b"\xff" * 6])
def test_a_stream_that_is_none(cut: bytes) -> None:
    with pytest.raises(DifferenceInvalid):
        decode(cut, [(_TABLE, 500)])


def test_a_stream_ends_where_its_symbols_do() -> None:
    symbols = generator(6).integers(0, 3, 500).astype(np.uint8)
    symbols[-1] = 1
    stream = encode([(_TABLE, symbols)])
    assert np.array_equal(decode(stream, [(_TABLE, 500)])[0], symbols)
    changed = bytes([stream[0] ^ 1]) + stream[1:]
    last = stream[:-1] + bytes([stream[-1] ^ 1])
    for wrong in (stream[:-2], stream + bytes(2), stream[:-1], stream + bytes(1), changed, last):
        with pytest.raises(DifferenceInvalid):
            decode(wrong, [(_TABLE, 500)])
    with pytest.raises(DifferenceInvalid):
        decode(stream, [(_TABLE, 480)])
    # 499 symbols fill as many groups of five, but the last of the padding must be a zero.
    with pytest.raises(DifferenceInvalid, match="padding"):
        decode(stream, [(_TABLE, 499)])


def test_padding_is_zero() -> None:
    nothing = np.zeros(9, dtype=np.int8)
    partition, data = pack_modelled(nothing, nothing)
    assert (partition, data[:2]) == (0, b"\x00\x00"), "a table of 12 bits"
    with pytest.raises(DifferenceInvalid, match="padding"):
        unpack_modelled(partition, data[:1] + b"\x01" + data[2:], nothing)


_VALUES, _BASE = _pair(7, 300, 1.0)
_FORM, _GOOD = pack_modelled(_VALUES, _BASE)


@settings(max_examples=400, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 255), st.integers(-3, 3))
def test_mutated_streams_keep_their_size_or_are_refused(place: int, change: int, cut: int) -> None:
    data = bytearray(_GOOD)
    data[place % len(data)] ^= change
    data = data[:cut] if cut < 0 else data + bytes(cut)
    try:
        values = unpack_modelled(_FORM, bytes(data), _BASE)
    except DifferenceInvalid:
        return
    assert values.shape == _VALUES.shape


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=300), st.integers(0, 40))
def test_garbage_is_no_stream(data: bytes, size: int) -> None:
    base = _BASE[:size]
    for stream in (data, *(bytes([form]) + data for form in (16, 17, 18, 19, 255))):
        try:
            assert unpack_symbols(stream, base).size == size
        except DifferenceInvalid:
            continue
