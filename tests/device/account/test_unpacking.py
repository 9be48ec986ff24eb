"""A letter from another of the owner's devices costs no more memory than it should."""

from __future__ import annotations

import tracemalloc

import msgpack
import pytest

from device.account.unpacking import MOST_ITEMS, unpack


def test_what_devices_send_is_read() -> None:
    value = [1, b"x", ["a", None, [True]], list(range(MOST_ITEMS))]
    assert unpack(msgpack.packb(value)) == (1, b"x", ("a", None, (True,)), tuple(range(MOST_ITEMS)))


@pytest.mark.parametrize(
    "data",
    [
        msgpack.packb(list(range(MOST_ITEMS + 1))),
        msgpack.packb({"a": 1}),
        msgpack.packb(msgpack.ExtType(1, b"x")),
        b"\xc1",
        b"",
    ],
)
def test_anything_else_is_an_error(data: bytes) -> None:
    with pytest.raises((ValueError, msgpack.UnpackException)):
        unpack(data)


def test_nested_promises_allocate_little() -> None:
    """Each level's header promises as many places as a letter has bytes."""
    hostile = (b"\xdc" + MOST_ITEMS.to_bytes(2, "big")) * 20_000
    tracemalloc.start()
    try:
        with pytest.raises((ValueError, msgpack.UnpackException)):
            unpack(hostile)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 24 << 20
