"""A bounded decoder of VCDIFF (RFC 3284), the format xdelta3 writes.

A delta is a row of windows; each gives the next piece of the target from a segment of the base,
bytes of its own, and what the window itself has already produced. Everything a window declares is
checked against the limits before a byte of it is produced, and the target's size is known
beforehand from a signed manifest: a small delta can never grow past it.

Taken in: the default code table, plain sections, xdelta3's Adler-32 window checksum. Refused, as
xdelta3's own decoder refuses them: custom code tables, secondary compressors, windows over earlier
target, copies that cross from the base's segment into the target.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Final

from protocol.errors import DeltaInvalid

__all__ = ["Limits", "decode_delta"]

_MAGIC: Final = b"\xd6\xc3\xc4\x00"
_HEADER_APPLICATION: Final = 0x04
"""The header carries bytes for the application; xdelta3's tool puts file names there."""
_HEADER_SECONDARY, _HEADER_CODE_TABLE = 0x01, 0x02
_WINDOW_SOURCE, _WINDOW_TARGET, _WINDOW_ADLER = 0x01, 0x02, 0x04
_CHECKSUM_BYTES: Final = 4
_INTEGER_BYTES: Final = 5
"""Longest integer: 35 bits are beyond every limit below."""
_NEAR: Final = 4
_SAME: Final = 3
_ADD, _RUN, _COPY = 0, 1, 2
_SELF, _HERE, _FIRST_NEAR, _FIRST_SAME = 0, 1, 2, 2 + _NEAR

_Half = tuple[int, int, int]
"""Type, size (0: it follows in the instructions), address mode."""


@dataclass(frozen=True)
class Limits:
    """What a delta may ask for, whatever it says of itself.

    ``delta`` is its size in bytes, ``target`` the size in bytes it must decode to, exactly.
    """

    target: int
    delta: int = 8 << 20
    windows: int = 64
    instructions: int = 1 << 20
    """Instructions of all windows together; each costs about a microsecond."""


def decode_delta(delta: bytes, base: bytes, limits: Limits) -> bytes:
    """The target of ``delta`` over ``base``, ``limits.target`` bytes.

    Raises:
        DeltaInvalid: over a limit, malformed, of an unsupported kind, or of another target size.
            A wrong base is not always noticed: check the result's hash.
    """
    if len(delta) > limits.delta:
        raise DeltaInvalid(f"a delta of {len(delta)} bytes, at most {limits.delta} are allowed")
    reader = _Reader(delta, 0, len(delta))
    _skip_header(reader)
    target = bytearray()
    instructions = limits.instructions
    windows = 0
    while reader.left:
        windows += 1
        if windows > limits.windows:
            raise DeltaInvalid(f"more than {limits.windows} windows")
        window = _Window.read(reader, len(base), limits.target - len(target))
        instructions = _decode_window(window, base, target, instructions)
    if len(target) != limits.target:
        raise DeltaInvalid(f"the target has {len(target)} bytes instead of {limits.target}")
    return bytes(target)


class _Reader:
    """Bytes and integers of ``data[place:end]``."""

    __slots__ = ("data", "end", "place")

    def __init__(self, data: bytes, place: int, end: int) -> None:
        self.data = data
        self.place = place
        self.end = end

    @property
    def left(self) -> int:
        return self.end - self.place

    def byte(self) -> int:
        if self.place >= self.end:
            raise DeltaInvalid("cut short")
        value = self.data[self.place]
        self.place += 1
        return value

    def integer(self) -> int:
        """Big-endian base 128, the high bit of a byte says that another follows."""
        value = self.byte()
        if value < 0x80:
            return value
        if value == 0x80:
            raise DeltaInvalid("an integer begins with a zero digit")
        value &= 0x7F
        for _ in range(_INTEGER_BYTES - 1):
            digit = self.byte()
            value = value << 7 | digit & 0x7F
            if digit < 0x80:
                return value
        raise DeltaInvalid("an integer is too long")

    def section(self, size: int) -> _Reader:
        """A reader of the next ``size`` bytes, which this one passes over."""
        if size > self.left:
            raise DeltaInvalid("a section is cut short")
        section = _Reader(self.data, self.place, self.place + size)
        self.place += size
        return section

    def take(self, size: int) -> bytes:
        if size > self.left:
            raise DeltaInvalid("the data is cut short")
        self.place += size
        return self.data[self.place - size : self.place]


@dataclass(frozen=True, slots=True)
class _Window:
    """A window's header, checked: ``base_start`` … ``base_start + base_size`` lies in the base."""

    base_start: int
    base_size: int
    size: int
    checksum: int | None
    data: _Reader
    instructions: _Reader
    addresses: _Reader

    @classmethod
    def read(cls, reader: _Reader, base_size: int, allowed: int) -> _Window:
        """The next window, which may produce ``allowed`` bytes at most."""
        indicator = reader.byte()
        if indicator & _WINDOW_TARGET:
            raise DeltaInvalid("windows over earlier target are not supported")
        if indicator & ~(_WINDOW_SOURCE | _WINDOW_ADLER):
            raise DeltaInvalid("unknown window flags")
        segment, start = 0, 0
        if indicator & _WINDOW_SOURCE:
            segment, start = reader.integer(), reader.integer()
            if start + segment > base_size:
                raise DeltaInvalid("a window reaches beyond the base")
        body = reader.section(reader.integer())
        size = body.integer()
        if size > allowed:
            raise DeltaInvalid("a window is larger than what is left of the target")
        if body.byte():
            raise DeltaInvalid("compressed sections are not supported")
        lengths = body.integer(), body.integer(), body.integer()
        checksum = None
        if indicator & _WINDOW_ADLER:
            checksum = int.from_bytes(body.take(_CHECKSUM_BYTES), "big")
        data, instructions, addresses = (body.section(length) for length in lengths)
        if body.left:
            raise DeltaInvalid("bytes follow a window's sections")
        return cls(start, segment, size, checksum, data, instructions, addresses)


class _Addresses:
    """The address caches of one window (RFC 3284, section 5)."""

    __slots__ = ("_near", "_next", "_reader", "_same")

    def __init__(self, reader: _Reader) -> None:
        self._reader = reader
        self._near = [0] * _NEAR
        self._next = 0
        self._same = [0] * (_SAME * 256)

    def read(self, mode: int, here: int) -> int:
        """The next address, 0 … here − 1."""
        if mode >= _FIRST_SAME:
            address = self._same[(mode - _FIRST_SAME) * 256 + self._reader.byte()]
        else:
            address = self._reader.integer()
            if mode == _HERE:
                address = here - address
            elif mode >= _FIRST_NEAR:
                address += self._near[mode - _FIRST_NEAR]
        if not 0 <= address < here:
            raise DeltaInvalid("a copy from where nothing is yet")
        self._near[self._next] = address
        self._next = (self._next + 1) % _NEAR
        self._same[address % (_SAME * 256)] = address
        return address


def _decode_window(window: _Window, base: bytes, target: bytearray, instructions: int) -> int:
    """Append the window's bytes to ``target``; returns how many instructions are left."""
    begin = len(target)
    end = begin + window.size
    codes, data = window.instructions, window.data
    addresses = _Addresses(window.addresses)
    segment = window.base_size
    while codes.left:
        for kind, size, mode in _CODE_TABLE[codes.byte()]:
            size = size or codes.integer()
            instructions -= 1
            if instructions < 0:
                raise DeltaInvalid("too many instructions")
            if size > end - len(target):
                raise DeltaInvalid("an instruction overruns its window")
            if kind == _ADD:
                target += data.take(size)
            elif kind == _RUN:
                target += bytes((data.byte(),)) * size
            else:
                address = addresses.read(mode, segment + len(target) - begin)
                if address >= segment:
                    _copy_within(target, begin + address - segment, size)
                elif address + size > segment:
                    raise DeltaInvalid("a copy crosses from the base into the target")
                else:
                    place = window.base_start + address
                    target += base[place : place + size]
    if len(target) != end or data.left or window.addresses.left:
        raise DeltaInvalid("a window is not what its header says")
    if window.checksum is not None and zlib.adler32(target[begin:]) != window.checksum:
        raise DeltaInvalid("a window's checksum is wrong")
    return instructions


def _copy_within(target: bytearray, start: int, size: int) -> None:
    """Append ``size`` bytes from ``start`` on; what is being appended may be read again."""
    piece = target[start : start + size]
    if len(piece) < size:
        piece = (piece * (size // len(piece) + 1))[:size]
    target += piece


def _skip_header(reader: _Reader) -> None:
    if reader.take(min(len(_MAGIC), reader.left)) != _MAGIC:
        raise DeltaInvalid("not a VCDIFF delta of version 0")
    indicator = reader.byte()
    if indicator & _HEADER_SECONDARY:
        raise DeltaInvalid("secondary compressors are not supported")
    if indicator & _HEADER_CODE_TABLE:
        raise DeltaInvalid("custom code tables are not supported")
    if indicator & ~_HEADER_APPLICATION:
        raise DeltaInvalid("unknown header flags")
    if indicator:
        reader.take(reader.integer())


def _default_code_table() -> tuple[tuple[_Half, ...], ...]:
    """The 256 instruction pairs of RFC 3284, section 5.6."""
    modes = _FIRST_SAME + _SAME
    codes: list[tuple[_Half, ...]] = [((_RUN, 0, 0),)]
    codes += [((_ADD, size, 0),) for size in range(18)]
    for mode in range(modes):
        codes += [((_COPY, size, mode),) for size in (0, *range(4, 19))]
    for mode in range(modes):
        largest = 6 if mode < _FIRST_SAME else 4
        codes += [
            ((_ADD, added, 0), (_COPY, copied, mode))
            for added in range(1, 5)
            for copied in range(4, largest + 1)
        ]
    codes += [((_COPY, 4, mode), (_ADD, 1, 0)) for mode in range(modes)]
    return tuple(codes)


_CODE_TABLE: Final = _default_code_table()
