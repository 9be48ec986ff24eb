"""Uniform integers from random bytes: the only way a mechanism turns bits into a decision."""

from __future__ import annotations

from typing import Protocol

from privacy.bits import BitSource, draw

__all__ = ["Integers", "Uniform"]

_BUFFER = 512
"""Random bytes fetched at a time: a system call per byte would cost more than the sampling."""


class Integers(Protocol):
    """A source of uniform integers; tests put one here that walks through every outcome."""

    def below(self, bound: int) -> int:
        """Uniform on 0 … bound-1."""
        ...


class Uniform:
    """Uniform integers below a bound by rejection, from buffered random bytes."""

    def __init__(self, bits: BitSource) -> None:
        self._bits = bits
        self._pool = 0
        self._left = 0

    def below(self, bound: int) -> int:
        """Uniform on 0 … bound-1, exactly: values at or over the bound are drawn again."""
        width = (bound - 1).bit_length()
        while True:
            value = self._take(width)
            if value < bound:
                return value

    def _take(self, width: int) -> int:
        while self._left < width:
            self._pool |= int.from_bytes(draw(self._bits, _BUFFER), "little") << self._left
            self._left += 8 * _BUFFER
        value = self._pool & ((1 << width) - 1)
        self._pool >>= width
        self._left -= width
        return value
