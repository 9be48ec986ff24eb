"""Arithmetic modulo p = 2^64 - 2^32 + 1, vectorised in numpy uint64.

p is prime, fits a machine word, and p - 1 = 2^32·(2^32 - 1): it has roots of unity of every
order 2^k ≤ 2^32, so polynomials multiply by the transforms of transform.py. Reduction needs no
division: 2^64 ≡ 2^32 - 1 and 2^96 ≡ -1 (mod p).

Every array here is canonical, each word < p, in and out, and has at least one axis (numpy warns
of scalars that wrap, and wrapping is how this works); shapes broadcast as in numpy.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = [
    "GENERATOR",
    "MODULUS",
    "WORD_BYTES",
    "Elements",
    "add",
    "canonical",
    "dot",
    "element",
    "from_words",
    "join_limbs",
    "mul",
    "powers",
    "sub",
]

Elements = npt.NDArray[np.uint64]
"""Field elements, each < MODULUS."""

MODULUS = (1 << 64) - (1 << 32) + 1
WORD_BYTES = 8
"""Bytes of an element on the wire, little-endian."""

GENERATOR = 7
"""Generates the whole multiplicative group."""

_P = np.uint64(MODULUS)
_WRAP = np.uint64((1 << 32) - 1)
"""2^64 mod p: what a lost carry is worth; also the mask of the low limb."""
_LIMB = np.uint64(32)


def element(value: int) -> Elements:
    """``value`` mod p as an array of one element, which broadcasts."""
    return np.array([value % MODULUS], dtype=np.uint64)


def canonical(words: Elements) -> bool:
    """Whether every word is a field element in its one encoding."""
    return bool(np.all(words < _P))


def add(a: Elements, b: Elements) -> Elements:
    """a + b mod p."""
    total = a + b
    return total + _WRAP * ((total < a) | (total >= _P))


def sub(a: Elements, b: Elements) -> Elements:
    """a - b mod p."""
    return (a - b) - _WRAP * (a < b)


def mul(a: Elements, b: Elements) -> Elements:
    """a · b mod p."""
    a_low, a_high = a & _WRAP, a >> _LIMB
    b_low, b_high = b & _WRAP, b >> _LIMB
    low = a_low * b_low
    middle = a_high * b_low + (low >> _LIMB)
    cross = a_low * b_high + (middle & _WRAP)
    high = a_high * b_high + (middle >> _LIMB) + (cross >> _LIMB)
    return _reduce((cross << _LIMB) | (low & _WRAP), high)


def _reduce(low: Elements, high: Elements) -> Elements:
    """low + 2^64·high mod p: the high limb of ``high`` counts -1, its low limb 2^32 - 1."""
    top = high >> _LIMB
    return from_words((low - top) - _WRAP * (low < top), high & _WRAP)


def from_words(low: Elements, high: Elements) -> Elements:
    """low + 2^64·high mod p, where ``low`` is any word and ``high`` below 2^32."""
    total = low + high * _WRAP
    total += _WRAP * (total < low)
    return total + _WRAP * (total >= _P)


def dot(a: Elements, b: Elements) -> Elements:
    """Σ a·b mod p over the last axis, for up to 2^31 terms."""
    terms = mul(a, b)
    low = np.add.reduce(terms & _WRAP, axis=-1, keepdims=True)
    high = np.add.reduce(terms >> _LIMB, axis=-1, keepdims=True)
    return join_limbs(low, high)[..., 0]


def join_limbs(low: Elements, high: Elements) -> Elements:
    """low + 2^32·high mod p, where each is a sum of at most 2^31 limbs (below 2^63).

    Adding low and high limbs apart sums many elements without a reduction each.
    """
    carried = high + (low >> _LIMB)
    return _reduce((carried << _LIMB) | (low & _WRAP), carried >> _LIMB)


def powers(base: Elements, count: int) -> Elements:
    """base^0 … base^(count-1) along a new last axis."""
    result = np.ones((*base.shape, count), dtype=np.uint64)
    step, done = base, 1
    while done < count:
        take = min(done, count - done)
        result[..., done : done + take] = mul(result[..., :take], step[..., None])
        step, done = mul(step, step), 2 * done
    return result
