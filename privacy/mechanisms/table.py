"""The discrete Gaussian for whole vectors: inversion of a 64-bit integer table.

`GaussianTable` is the same distribution as `discrete_gaussian` up to a stated total-variation
distance, drawn with one binary search per value in numpy.

Construction. Weights exp(-x²/(2·sigma2)) are built in 192-bit fixed point from two constants
computed to 60 decimal digits: w(x+1) = w(x)·r(x), r(x+1) = r(x)·exp(-1/sigma2). Every product of
numbers ≤ 1 adds at most one unit of 2^-192, so w(x) is off by at most (x+1)² units and all
weights together by less than 2^48 units: below 2^-140, far under what follows. The cumulative sums
are then floored to multiples of 2^-64, which moves each of the N probabilities by less than
2^-64; values beyond 10 sigma (mass < 2^-75) are dropped.

Wide Gaussians are split, so that a table never has more than a few tens of thousands of entries:
X = m·Y + Z with Y, Z discrete Gaussians, Var Y = (sigma2 - 16m²)/m², Var Z = 16m². Completing the
square, P(X = x) ∝ exp(-x²/(2·sigma2)) · Σ_y exp(-(y-s)²/(2c²)) with c² = Var Y·Var Z/sigma2 ≥ 8,
and by Poisson summation the second factor varies by less than 4·exp(-2π²c²) < 2^-225 with x
(compare Micciancio & Walter, CRYPTO 2017, Theorem 1).
"""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from privacy.bits import BitSource, draw

__all__ = ["GaussianTable", "gaussian_table"]

_PRECISION = 192
"""Fractional bits of the weights while the table is built."""

_DECIMAL_DIGITS = 70
"""Digits of the two starting exponentials: more than _PRECISION bits."""

_WORD = 64
"""Bits of one table threshold, and of the randomness of one draw."""

_REACH = 10
"""Standard deviations kept on either side: the mass beyond is under 2^-75."""

_TAIL_MASS = Fraction(1, 1 << 75)

_WIDEST_DIRECT = 1024
"""Sigma, in lattice units, above which the Gaussian is split into a coarse and a fine part."""

_FINE_SIGMA = 4
"""Sigma of the fine part in steps of the coarse one; 4 makes the seam invisible (see above)."""

_CACHED_TABLES = 32
"""Tables kept: a fleet uses a handful of (sigma, scale, n_min) combinations."""

_SMALLEST_VARIANCE = Fraction(1, 4)


class GaussianTable:
    """Sampler of P(x) ∝ exp(-x²/(2·sigma2)) for one variance, in lattice units.

    ``sigma2``: rational, ≥ 1/4 (ValueError). Immutable after construction; share it freely.
    ``distance``: bound on the total-variation distance of one draw from the exact distribution.
    A vector of n draws is within n·distance, which adds at most that to delta.
    """

    __slots__ = ("_coarse", "_reach", "_step", "_thresholds", "distance", "sigma2")

    def __init__(self, sigma2: Fraction | int) -> None:
        variance = Fraction(sigma2)
        if variance < _SMALLEST_VARIANCE:
            raise ValueError("sigma2 is too small for a table; use discrete_gaussian")
        self.sigma2: Fraction = variance
        self._step = _split_step(variance)
        self._coarse: GaussianTable | None = None
        direct = variance
        if self._step > 1:
            direct = Fraction((_FINE_SIGMA * self._step) ** 2)
            self._coarse = GaussianTable((variance - direct) / self._step**2)
        self._reach = math.isqrt(math.floor(_REACH**2 * direct)) + 1
        self._thresholds = _thresholds(direct, self._reach)
        own = Fraction(len(self._thresholds) + 1, 1 << _WORD) + _TAIL_MASS
        self.distance: float = float(own) + (self._coarse.distance if self._coarse else 0.0)

    def sample(self, n: int, bits: BitSource) -> npt.NDArray[np.int64]:
        """``n`` draws as int64[n], from 8·n random bytes (a further 8·n for each split)."""
        words = np.frombuffer(draw(bits, n * _WORD // 8), dtype="<u8")
        values = np.searchsorted(self._thresholds, words, side="right") - self._reach
        if self._coarse is not None:
            values += self._step * self._coarse.sample(n, bits)
        return values.astype(np.int64, copy=False)


@lru_cache(maxsize=_CACHED_TABLES)
def gaussian_table(sigma2: int) -> GaussianTable:
    """The table of an integer variance, built once per process (a pure function of its input)."""
    return GaussianTable(sigma2)


def _split_step(variance: Fraction) -> int:
    """The coarse step m: a power of two that makes both tables about equally long; 1 = direct."""
    sigma = math.isqrt(math.floor(variance))
    if sigma <= _WIDEST_DIRECT:
        return 1
    return int(1 << ((sigma // _FINE_SIGMA).bit_length() // 2))


def _thresholds(variance: Fraction, reach: int) -> npt.NDArray[np.uint64]:
    """floor(2^64 · P(X ≤ x)) for x = -reach … reach-1."""
    weights = _half_weights(variance, reach)
    total = 2 * sum(weights) - weights[0]
    cumulative = 0
    thresholds = []
    for x in range(-reach, reach):
        cumulative += weights[abs(x)]
        thresholds.append((cumulative << _WORD) // total)
    return np.array(thresholds, dtype=np.uint64)


def _half_weights(variance: Fraction, reach: int) -> list[int]:
    """exp(-x²/(2·variance)) for x = 0 … reach, in fixed point with _PRECISION bits."""
    weight = 1 << _PRECISION
    ratio = _fixed_exp(-1 / (2 * variance))
    shrink = _fixed_exp(-1 / variance)
    weights = [weight]
    for _ in range(reach):
        weight = weight * ratio >> _PRECISION
        ratio = ratio * shrink >> _PRECISION
        weights.append(weight)
    return weights


def _fixed_exp(exponent: Fraction) -> int:
    """floor(exp(exponent) · 2^_PRECISION), by the stdlib's correctly rounded decimal exp."""
    with localcontext() as context:
        context.prec = _DECIMAL_DIGITS
        value = (Decimal(exponent.numerator) / Decimal(exponent.denominator)).exp()
        return int(value * (1 << _PRECISION))
