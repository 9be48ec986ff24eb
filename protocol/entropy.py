"""Entropy coding of small differences with nothing but zlib and integers.

Two families of forms; the encoder tries every one and keeps the shortest.

- Modelled (protocol/modelling.py): static frequencies given the base weight. It wins wherever many
  weights move, and on sparse changes spread evenly.
- Packed: symbols of 2, 4 or 8 bits through deflate, whose Huffman stage codes 2-bit symbols as
  4-grams. It wins where changes come in patches, which a static model does not see.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from protocol.errors import DifferenceInvalid
from protocol.modelling import fold, pack_modelled, unfold, unpack_modelled

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
_MODELLED: Final = 16
"""The first byte of a modelled form is this plus its partition; of a packed one it is the width."""
_WIDTHS: Final = (2, 4, 8)
"""Bits of a symbol; at 8 every value fits and nothing escapes."""


def deflate(data: bytes) -> bytes:
    """The shortest deflate stream among zlib's strategies."""
    streams = (
        _deflated(data, strategy, memory) for strategy in _STRATEGIES for memory in _MEMORY_LEVELS
    )
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


def pack_symbols(values: NDArray[np.int8], base: NDArray[np.int8]) -> bytes:
    """``values`` int8[n], the differences from ``base`` int8[n], in the shortest form.

    Forms: 16 + partition | modelled, or width | deflated symbols | deflated escapes.
    """
    folded = fold(values)
    partition, modelled = pack_modelled(values, base)
    # The best width is the best under any one strategy, which spares most of the trying.
    width = min(_WIDTHS, key=lambda width: len(_packed(folded, width, _deflated)))
    packed = bytes([width]) + _packed(folded, width, deflate)
    return min(packed, bytes([_MODELLED + partition]) + modelled, key=len)


def unpack_symbols(data: bytes, base: NDArray[np.int8]) -> NDArray[np.int8]:
    """The int8[n] that ``pack_symbols`` coded; DifferenceInvalid for anything else."""
    if data and data[0] >= _MODELLED:
        return unpack_modelled(data[0] - _MODELLED, data[1:], base)
    return _unpacked(data, base.size)


def _unpacked(data: bytes, count: int) -> NDArray[np.int8]:
    if not data or data[0] not in _WIDTHS:
        raise DifferenceInvalid("unknown form of symbols")
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
    return unfold(folded)


def _packed(folded: NDArray[np.uint8], width: int, squeeze: Callable[[bytes], bytes]) -> bytes:
    escape = 2**width - 1
    per_byte = 8 // width
    if width == 8:
        return squeeze(folded.tobytes())
    symbols = np.zeros(-(-folded.size // per_byte) * per_byte, dtype=np.uint8)
    symbols[: folded.size] = np.minimum(folded, escape)
    bytes_ = np.bitwise_or.reduce(symbols.reshape(-1, per_byte) << _shifts(width), axis=1)
    escapes = folded[folded >= escape]
    return squeeze(bytes_.astype(np.uint8).tobytes()) + squeeze(escapes.astype(np.uint8).tobytes())


def _deflated(data: bytes, strategy: int = zlib.Z_DEFAULT_STRATEGY, memory: int = 9) -> bytes:
    coder = zlib.compressobj(_BEST, zlib.DEFLATED, _RAW, memory, strategy)
    return coder.compress(data) + coder.flush()


def _shifts(width: int) -> NDArray[np.uint8]:
    return np.arange(0, 8, width, dtype=np.uint8)
