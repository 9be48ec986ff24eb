"""Reading msgpack that another of the owner's devices made, in bounded memory."""

from __future__ import annotations

import msgpack

__all__ = ["unpack"]

MOST_ITEMS = 2_048
"""Of one array: a letter of 64 KiB holds some 1,100 items, a receipt of it 2,048 runs. msgpack
allocates what a header promises, on each of up to 1,024 levels: 16 MiB here, not gigabytes."""


def unpack(data: bytes) -> object:
    """The value in ``data``, arrays as tuples, no maps.

    Raises ValueError or msgpack.UnpackException for anything else; its shape is the caller's.
    """
    return msgpack.unpackb(
        data, use_list=False, max_array_len=MOST_ITEMS, max_map_len=0, max_ext_len=0
    )
