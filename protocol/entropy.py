"""Entropy coding of small integers with nothing but zlib.

Differences on a frozen int8 grid are mostly 0, +1 and −1. Packed four to a byte, deflate's Huffman
stage codes them as 4-grams, which comes under the order-0 Shannon bound of single symbols whenever
neighbours are alike, and no package beyond the standard library is needed to read it. Wider
differences use wider symbols. The encoder tries every form and keeps the shortest.
"""

from __future__ import annotations

import zlib
from typing import Final

import numpy as np
from numpy.typing import NDArray

from protocol.errors import DifferenceInvalid

__all__ = ["deflate", "inflate", "pack_symbols", "unpack_symbols"]

_RAW: Final = -15
"""zlib window bits for a bare deflate stream: hashes are checked elsewhere."""
_STRATEGIES: Final = (
    zlib.Z_DEFAULT_STRATEGY,
    zlib.Z_FILTERED,
    zlib.Z_RLE,
    zlib.Z_HUFFMAN_ONLY,
)
_MEMORY_LEVELS: Final = (8, 9)
"""They set how many symbols share one Huffman table."""
_BEST: Final = 9
_WIDTHS: Final = (2, 4, 8)
"""Bits of a symbol; at 8 every value fits and nothing escapes."""


def deflate(data: bytes) -> bytes:
    """The shortest deflate stream among zlib's strategies."""
    streams = []
    for strategy in _STRATEGIES:
        for memory in _MEMORY_LEVELS:
            coder = zlib.compressobj(_BEST, zlib.DEFLATED, _RAW, memory, strategy)
            streams.append(coder.compress(data) + coder.flush())
    return min(streams, key=len)


def inflate(data: bytes, size: int) -> tuple[bytes, bytes]:
    """``size`` bytes of the deflate stream at the start of ``data``, and what follows it.

    Never holds more than ``size`` + 1 bytes of output; DifferenceInvalid when the stream is
    broken, cut short, or of another length.
    """
    decoder = zlib.decompressobj(_RAW)
    try:
        output = decoder.decompress(data, size + 1)
    except zlib.error:
        raise DifferenceInvalid("a deflate stream is broken") from None
    if len(output) != size or not decoder.eof:
        raise DifferenceInvalid("a deflate stream has another length than the model needs")
    return output, decoder.unused_data


def pack_symbols(values: NDArray[np.int8]) -> bytes:
    """``values`` int8[n] as width byte | deflated symbols | deflated escapes, shortest width."""
    folded = _fold(values)
    return min((_packed(folded, width) for width in _WIDTHS), key=len)


def unpack_symbols(data: bytes, count: int) -> NDArray[np.int8]:
    """The int8[count] that ``pack_symbols`` coded; DifferenceInvalid for anything else."""
    if not data or data[0] not in _WIDTHS:
        raise DifferenceInvalid("unknown symbol width")
    width = data[0]
    per_byte = 8 // width
    stream, rest = inflate(data[1:], -(-count // per_byte))
    packed = np.frombuffer(stream, dtype=np.uint8)
    symbols = (packed[:, None] >> _shifts(width) & (2**width - 1)).reshape(-1)
    if symbols[count:].any():
        raise DifferenceInvalid("padding is not zero")
    folded = symbols[:count].astype(np.uint8)
    if width < 8:
        escaped = folded == 2**width - 1
        escapes, rest = inflate(rest, int(np.count_nonzero(escaped)))
        folded[escaped] = np.frombuffer(escapes, dtype=np.uint8)
    if rest:
        raise DifferenceInvalid("bytes follow the end")
    return _unfold(folded)


def _packed(folded: NDArray[np.uint8], width: int) -> bytes:
    escape = 2**width - 1
    per_byte = 8 // width
    if width == 8:
        return bytes([width]) + deflate(folded.tobytes())
    symbols = np.zeros(-(-folded.size // per_byte) * per_byte, dtype=np.uint8)
    symbols[: folded.size] = np.minimum(folded, escape)
    bytes_ = np.bitwise_or.reduce(symbols.reshape(-1, per_byte) << _shifts(width), axis=1)
    escapes = folded[folded >= escape]
    return (
        bytes([width])
        + deflate(bytes_.astype(np.uint8).tobytes())
        + deflate(escapes.astype(np.uint8).tobytes())
    )


def _shifts(width: int) -> NDArray[np.uint8]:
    return np.arange(0, 8, width, dtype=np.uint8)


def _fold(values: NDArray[np.int8]) -> NDArray[np.uint8]:
    """0, −1, 1, −2, … → 0, 1, 2, 3, … (zigzag), so that small values are small symbols."""
    wide = values.astype(np.int16)
    return ((wide << 1) ^ (wide >> 15)).astype(np.uint8)


def _unfold(folded: NDArray[np.uint8]) -> NDArray[np.int8]:
    wide = folded.astype(np.int16)
    return ((wide >> 1) ^ -(wide & 1)).astype(np.int8)
