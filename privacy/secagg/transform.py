"""Number-theoretic transforms over the field of field.py, as products with small matrices.

A transform of r·c values is c transforms of r values, a factor each, and r transforms of c values
(Cooley & Tukey 1965). A short one is a matrix product that floats do exactly: elements are cut into
limbs of 22 bits, and 3·64 products of two limbs add up to less than 2^52. That is a few numpy calls
over whole arrays, where log2(r·c) passes of modular additions and products would be hundreds.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from privacy.secagg.field import GENERATOR, MODULUS, Elements, from_words, mul

__all__ = ["Transform", "evaluation", "interpolation"]

_LIMB_BITS = 22
_LIMBS = 3
_MASK = np.uint64((1 << _LIMB_BITS) - 1)
_STEP = np.uint64(_LIMB_BITS)
_TWO_STEPS = np.uint64(2 * _LIMB_BITS)
_OVER = np.uint64(64 - 2 * _LIMB_BITS)
_PLACES = np.array([[_LIMB_BITS * place] for place in range(_LIMBS)], dtype=np.uint64)

_LONGEST_PRODUCT = 64
"""Values of a transform that is one matrix product."""

_CACHED_TRANSFORMS = 32
"""Transforms kept: a process uses a handful."""


class Transform:
    """x → factor·Σ_n before^n·after^k·root^(nk)·x_n for k = 0 … size-1, over the last axis.

    ``size``: a power of two (ValueError), the order of ``root``. Immutable; share it freely.
    """

    __slots__ = ("_first", "_matrix", "_second", "_twiddles", "size")

    def __init__(
        self, size: int, root: int, before: int = 1, after: int = 1, factor: int = 1
    ) -> None:
        if size < 1 or size & (size - 1):
            raise ValueError("a transform's length is a power of two")
        self.size = size
        self._first: Transform | None = None
        self._second: Transform | None = None
        if size <= _LONGEST_PRODUCT:
            self._matrix = _spread(_table(size, size, root, before, after, factor))
            return
        rows = min(_LONGEST_PRODUCT, 1 << size.bit_length() // 2)
        columns = size // rows
        # With n = columns·n1 + n2 and k = k1 + rows·k2: n1 and k1 first, then n2 and k2.
        self._first = Transform(rows, _pow(root, columns), before=_pow(before, columns))
        self._twiddles = _table(columns, rows, root, before, after, factor)
        self._second = Transform(columns, _pow(root, rows), after=_pow(after, rows))

    def __call__(self, values: Elements) -> Elements:
        """The transform of ``values``, uint64[…, size]."""
        if self._first is None or self._second is None:
            return _product(values, self._matrix)
        rows, columns = self._first.size, self._second.size
        grid = values.reshape(*values.shape[:-1], rows, columns)
        halfway = mul(self._first(grid.swapaxes(-1, -2)), self._twiddles)
        return self._second(halfway.swapaxes(-1, -2)).swapaxes(-1, -2).reshape(values.shape)


@lru_cache(maxsize=_CACHED_TRANSFORMS)
def evaluation(size: int, shift: int = 1) -> Transform:
    """Coefficients → values at shift·ω^0 … shift·ω^(size-1), ω the root of unity of that order."""
    return Transform(size, _root(size), before=shift)


@lru_cache(maxsize=_CACHED_TRANSFORMS)
def interpolation(size: int, shift: int = 1, factor: int = 1) -> Transform:
    """Those values → ``factor`` times the coefficients."""
    shrink = factor * _pow(size, -1) % MODULUS
    return Transform(size, _pow(_root(size), -1), after=_pow(shift, -1), factor=shrink)


def _root(size: int) -> int:
    return _pow(GENERATOR, (MODULUS - 1) // size)


def _pow(base: int, exponent: int) -> int:
    return pow(base, exponent, MODULUS)


def _table(
    rows: int, columns: int, root: int, before: int, after: int, factor: int
) -> npt.NDArray[np.uint64]:
    """factor·before^n·after^k·root^(nk), uint64[n, k]."""
    table = np.empty((rows, columns), dtype=np.uint64)
    start, step = factor, after
    for n in range(rows):
        entry = start
        for k in range(columns):
            table[n, k] = entry
            entry = entry * step % MODULUS
        start, step = start * before % MODULUS, step * root % MODULUS
    table.flags.writeable = False
    return table


def _spread(table: npt.NDArray[np.uint64]) -> npt.NDArray[np.float64]:
    """The matrix that does to limbs what ``table`` does to elements: float64[3·n, 3·k]."""
    rows = [mul(table, np.uint64(1) << place) for place in _PLACES]
    return np.concatenate([_limbs(each) for each in rows])


def _product(values: Elements, matrix: npt.NDArray[np.float64]) -> Elements:
    """``values`` times the table that ``matrix`` spreads."""
    size = values.shape[-1]
    sums = (_limbs(values).reshape(-1, _LIMBS * size) @ matrix).astype(np.int64).view(np.uint64)
    low, middle, high = (sums[:, place * size : (place + 1) * size] for place in range(_LIMBS))
    word = low + (middle << _STEP) + (high << _TWO_STEPS)  # what wraps is in `over`
    over = ((((low >> _STEP) + middle) >> _STEP) + high) >> _OVER
    return from_words(word, over).reshape(values.shape)


def _limbs(values: Elements) -> npt.NDArray[np.float64]:
    """Limbs of each element, all lowest ones first: float64[…, 3·n]."""
    *lead, size = values.shape
    limbs = values[..., None, :] >> _PLACES & _MASK
    return limbs.reshape(*lead, _LIMBS * size).astype(np.float64)
