"""Arithmetic modulo p = 2^64 - 2^32 + 1, vectorised in numpy uint64.

p is prime, fits a machine word, and p - 1 = 2^32·(2^32 - 1): it has roots of unity of every
order 2^k ≤ 2^32, so polynomials multiply by number-theoretic transforms. Reduction needs no
division: 2^64 ≡ 2^32 - 1 and 2^96 ≡ -1 (mod p).

Every array here is canonical, each word < p, in and out, and has at least one axis (numpy warns
of scalars that wrap, and wrapping is how this works); shapes broadcast as in numpy.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

__all__ = [
    "MODULUS",
    "WORD_BYTES",
    "Elements",
    "add",
    "canonical",
    "dot",
    "element",
    "generator_powers",
    "join_limbs",
    "mul",
    "ntt",
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

_CACHED_SIZES = 32
"""Transform sizes kept: a process uses a handful."""


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
    rest = (low - top) - _WRAP * (low < top)
    total = rest + (high & _WRAP) * _WRAP
    total += _WRAP * (total < rest)
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


@lru_cache(maxsize=_CACHED_SIZES)
def generator_powers(count: int, *, inverse: bool = False) -> Elements:
    """g^0 … g^(count-1), or of 1/g; g generates the group, so g·(roots of unity) is a coset."""
    base = pow(GENERATOR, -1 if inverse else 1, MODULUS)
    return _frozen(powers(element(base), count)[0])


@lru_cache(maxsize=_CACHED_SIZES)
def _roots(size: int, inverse: bool) -> Elements:
    """ω^0 … ω^(size/2 - 1) for ω of order ``size``, or of 1/ω."""
    root = pow(GENERATOR, (MODULUS - 1) // size, MODULUS)
    base = pow(root, -1, MODULUS) if inverse else root
    return _frozen(powers(element(base), max(1, size // 2))[0])


def _frozen(elements: Elements) -> Elements:
    elements.flags.writeable = False
    return elements


def ntt(values: Elements, *, inverse: bool = False) -> Elements:
    """The transform over the last axis, whose length is a power of two ≤ 2^32.

    Coefficients → values at 1, ω, ω², …; with ``inverse``, values → coefficients. Stockham's
    form (radix 2, self-sorting): log2(n) passes over whole arrays, natural order in and out.
    """
    size = values.shape[-1]
    if size & (size - 1) or not size:
        raise ValueError("a transform's length is a power of two")
    roots = _roots(size, inverse)
    lead = values.shape[:-1]
    current = values.reshape(*lead, size, 1)
    length, stride = size, 1
    while length > 1:
        half = length // 2
        upper, lower = current[..., :half, :], current[..., half:, :]
        twiddles = roots[:: size // length][:, None]
        folded = np.empty((*lead, half, 2, stride), dtype=np.uint64)
        folded[..., 0, :] = add(upper, lower)
        folded[..., 1, :] = mul(sub(upper, lower), twiddles)
        length, stride = half, 2 * stride
        current = folded.reshape(*lead, length, stride)
    result = current.reshape(*lead, size)
    if inverse:
        result = mul(result, element(pow(size, -1, MODULUS)))
    return result
