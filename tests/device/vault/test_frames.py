"""What a block is written as: deflated where it shrinks, and read however it was deflated."""

import os
import zlib

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from device.vault.frames import DEFLATED, PLAIN, pack_block, unpack_block


@given(
    st.lists(
        st.one_of(
            st.binary(max_size=200),
            st.integers(0, 12_000).map(lambda size: b"said again and again. " * (size // 22)),
            st.integers(0, 12_000).map(os.urandom),
        ),
        min_size=1,
        max_size=6,
    ),
    st.integers(0, 1 << 40),
    st.integers(1, 3),
)
def test_a_block_reads_back(payloads: list[bytes], first: int, step: int) -> None:
    records = [(first + step * n, payload) for n, payload in enumerate(payloads)]
    assert unpack_block(pack_block(records)) == records


@pytest.mark.parametrize("size", [400, 4_000, 40_000])
def test_what_shrinks_is_deflated(size: int) -> None:
    block = pack_block([(0, (b"the dentist on friday, " * size)[:size])])
    assert block[:1] == DEFLATED
    assert len(block) < size / 3


@pytest.mark.parametrize("size", [10, 100, 1_000, 10_000])
def test_what_does_not_shrink_is_left_as_it_is(size: int) -> None:
    assert pack_block([(0, os.urandom(size))])[:1] == PLAIN


@pytest.mark.parametrize("level", [1, 9])
def test_a_block_of_an_earlier_version_is_read(level: int) -> None:
    body = msgpack.packb([7, [], [b"a short note, a short note, a short note"]])
    block = DEFLATED + zlib.compress(body, level, -zlib.MAX_WBITS)
    assert unpack_block(block) == [(7, b"a short note, a short note, a short note")]
