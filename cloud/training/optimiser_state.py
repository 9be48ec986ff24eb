"""The optimiser's state as bytes, for the blob that lies beside a release.

Layout, little-endian: ``RVO1`` | kind u8 | steps u32 | dimension u32 | first_noise f64 |
second_noise f64 | first | second | carry, each f64[dimension]. One state has one encoding, so
the same step has the same blob.
"""

from __future__ import annotations

import struct
from typing import Final, get_args

import numpy as np
from numpy.typing import NDArray

from cloud.training.config import OptimiserName
from cloud.training.optimisers import OptimiserState

__all__ = ["StateInvalid", "decode_state", "encode_state"]

_MAGIC: Final = b"RVO1"
_HEAD: Final = struct.Struct("<4sBIIdd")
_KINDS: Final[tuple[OptimiserName, ...]] = get_args(OptimiserName)
_ARRAYS: Final = 3
_ITEM: Final = 8
_LARGEST: Final = 1e6
"""Weights lie within ±4; a moment beyond this was never written by a step."""


class StateInvalid(Exception):
    """The bytes are no optimiser state of this model; the message says why in one line."""


def encode_state(state: OptimiserState) -> bytes:
    """The bytes of `state`."""
    noises = (state.first_noise, state.second_noise)
    head = _HEAD.pack(_MAGIC, _KINDS.index(state.kind), state.steps, len(state.carry), *noises)
    arrays = (state.first, state.second, state.carry)
    return head + b"".join(np.asarray(array, dtype="<f8").tobytes() for array in arrays)


def decode_state(blob: bytes, dimension: int) -> OptimiserState:
    """The state of a head of `dimension` values; its size is checked before anything is read.

    Raises StateInvalid.
    """
    if len(blob) != _HEAD.size + _ARRAYS * _ITEM * dimension:
        raise StateInvalid(f"an optimiser state of {dimension} values has another size")
    magic, kind, steps, size, *noises = _HEAD.unpack_from(blob)
    if magic != _MAGIC or size != dimension or kind >= len(_KINDS):
        raise StateInvalid("these bytes are not an optimiser state of this version")
    values: NDArray[np.float64] = np.frombuffer(blob, dtype="<f8", offset=_HEAD.size)
    first, second, carry = values.astype(np.float64).reshape(_ARRAYS, dimension)
    # Comparisons with NaN are false, so this refuses it too.
    bounded = (np.abs(values) <= _LARGEST).all() and all(0.0 <= each <= _LARGEST for each in noises)
    if not bounded or (second < 0.0).any():
        raise StateInvalid("an optimiser state holds values no step can write")
    return OptimiserState(_KINDS[kind], steps, first, second, noises[0], noises[1], carry)
