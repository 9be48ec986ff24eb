"""Randomness is given, never taken: a bit source is any function from n to n random bytes.

On a real phone it is ``os.urandom``; in the simulator a seeded counter-based stream.
"""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["BitSource", "draw"]

BitSource = Callable[[int], bytes]
"""n → n random bytes."""


def draw(bits: BitSource, size: int) -> bytes:
    """``size`` bytes from the source; a short answer would silently weaken noise, so it raises."""
    data = bits(size)
    if len(data) != size:
        raise ValueError("the bit source returned the wrong number of bytes")
    return data
