"""What the base says about a difference, and the coder that uses it.

Weight decay and averaging pull weights towards zero, so a difference is first oriented: its sign
is taken relative to the base weight's. Weights near zero move less than far ones, so the values
are then split by the base's magnitude and each class has its own frequencies. On retrained routers
this comes 4–9 % under the order-0 Shannon bound of the bare differences.

Layout: bits of the classes' frequency tables, padded with zeros | symbols of all classes
(protocol/rans.py). Which partition the classes follow is told beside it. A table is its precision
− 4 (4 bits), the number of symbols − 1 (8 bits) and the Elias gamma codes of all frequencies but
the first, which is what is left.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from protocol.errors import DifferenceInvalid
from protocol.rans import MAX_PRECISION, MIN_PRECISION, Table, decode, encode, settled

__all__ = ["fold", "pack_modelled", "unfold", "unpack_modelled"]

Folded = NDArray[np.uint8]
Int8s = NDArray[np.int8]

_PARTITIONS: Final = ((), (1,), (1, 2, 4, 8))
"""Where the classes of |base| begin, in grid steps: tables cost bytes, so that small or even
differences take few classes."""
_PRECISION_BITS: Final = 4
_COUNT_BITS: Final = 8


def pack_modelled(values: Int8s, base: Int8s) -> tuple[int, bytes]:
    """``values`` int8[n] as differences from ``base`` int8[n]: the cheapest partition, and the
    coded bytes."""
    folded = fold(_oriented(values, base))
    coded = [_packed(folded, base, edges) for edges in _PARTITIONS]
    partition = min(range(len(coded)), key=lambda index: len(coded[index]))
    return partition, coded[partition]


def unpack_modelled(partition: int, data: bytes, base: Int8s) -> Int8s:
    """The int8[n] that ``pack_modelled`` coded; DifferenceInvalid for anything else."""
    if not 0 <= partition < len(_PARTITIONS):
        raise DifferenceInvalid("unknown form of symbols")
    classes = _classes(base, _PARTITIONS[partition])
    reader = _BitReader(data)
    tables = [_read_table(reader) if places.size else _NO_TABLE for places in classes]
    segments = [(table, places.size) for table, places in zip(tables, classes, strict=True)]
    folded = np.zeros(base.size, dtype=np.uint8)
    for places, symbols in zip(classes, decode(reader.rest(), segments), strict=True):
        folded[places] = symbols
    return _oriented(unfold(folded), base)


def fold(values: Int8s) -> Folded:
    """0, −1, 1, −2, … → 0, 1, 2, 3, … (zigzag), so that small values are small symbols."""
    wide = values.astype(np.int16)
    return ((wide << 1) ^ (wide >> 15)).astype(np.uint8)


def unfold(folded: Folded) -> Int8s:
    """The inverse of ``fold``."""
    wide = folded.astype(np.int16)
    return ((wide >> 1) ^ -(wide & 1)).astype(np.int8)


def _oriented(values: Int8s, base: Int8s) -> Int8s:
    """``values`` with the sign turned where the base is negative, mod 256; its own inverse."""
    unsigned = values.view(np.uint8)
    return np.where(base < 0, np.uint8(0) - unsigned, unsigned).view(np.int8)


def _classes(base: Int8s, edges: tuple[int, ...]) -> list[NDArray[np.intp]]:
    """The places of each class of |base|, in order."""
    magnitude = np.abs(base.astype(np.int16))
    classes = np.searchsorted(np.array(edges, dtype=np.int16), magnitude, side="right")
    return [np.flatnonzero(classes == index) for index in range(len(edges) + 1)]


def _packed(folded: Folded, base: Int8s, edges: tuple[int, ...]) -> bytes:
    segments: list[tuple[Table, Folded]] = []
    writer = _BitWriter()
    for places in _classes(base, edges):
        if places.size:
            table = _fitted(np.bincount(folded[places]))
            _write_table(writer, table)
            segments.append((table, folded[places]))
    return writer.padded() + encode(segments)


def _fitted(counts: NDArray[np.int64]) -> Table:
    """The table under which symbols with these counts and the table itself cost least."""
    best: tuple[float, Table] | None = None
    for precision in range(MIN_PRECISION, MAX_PRECISION + 1):
        if counts.size > 1 << precision:
            continue
        rounded = ((counts << (precision + 1)) + counts.sum()) // (2 * counts.sum())
        frequencies = settled(rounded, precision)
        bits = float((counts * (precision - np.log2(frequencies))).sum())
        bits += sum(_gamma_bits(int(frequency)) for frequency in frequencies[1:])
        if best is None or bits < best[0]:
            best = bits, Table(precision, tuple(frequencies.tolist()))
    assert best is not None, "256 symbols fit the highest precision"
    return best[1]


def _write_table(writer: _BitWriter, table: Table) -> None:
    writer.write(table.precision - MIN_PRECISION, _PRECISION_BITS)
    writer.write(len(table.frequencies) - 1, _COUNT_BITS)
    for frequency in table.frequencies[1:]:
        # Elias gamma: the number of bits in unary, then the bits, the first of which is a one.
        writer.write(frequency, _gamma_bits(frequency))


def _read_table(reader: _BitReader) -> Table:
    precision = MIN_PRECISION + reader.read(_PRECISION_BITS)
    others = [_read_gamma(reader) for _ in range(reader.read(_COUNT_BITS))]
    return Table(precision, ((1 << precision) - sum(others), *others))


def _gamma_bits(value: int) -> int:
    return 2 * value.bit_length() - 1


def _read_gamma(reader: _BitReader) -> int:
    zeros = 0
    while not reader.read(1):
        zeros += 1
        if zeros > MAX_PRECISION:
            raise DifferenceInvalid("a frequency is out of range")
    return 1 << zeros | reader.read(zeros)


class _BitWriter:
    """Bits, the first written first in the first byte."""

    def __init__(self) -> None:
        self._value = 0
        self._width = 0

    def write(self, value: int, width: int) -> None:
        self._value = self._value << width | value
        self._width += width

    def padded(self) -> bytes:
        spare = -self._width % 8
        return (self._value << spare).to_bytes((self._width + spare) // 8, "big")


class _BitReader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._place = 0

    def read(self, width: int) -> int:
        end = self._place + width
        if end > 8 * len(self._data):
            raise DifferenceInvalid("a frequency table is cut short")
        first, last = self._place // 8, -(-end // 8)
        value = int.from_bytes(self._data[first:last], "big") >> (8 * last - end)
        self._place = end
        return value & ((1 << width) - 1)

    def rest(self) -> bytes:
        """What follows the padding, which must be zero."""
        if self.read(-self._place % 8):
            raise DifferenceInvalid("padding is not zero")
        return self._data[self._place // 8 :]


_NO_TABLE: Final = Table(MIN_PRECISION, (1 << MIN_PRECISION,))
"""Stands for the table of a class without members."""
