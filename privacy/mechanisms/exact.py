"""The exact discrete Gaussian, in integer arithmetic only.

Canonne, Kamath & Steinke, "The Discrete Gaussian for Differential Privacy" (arXiv 2004.00010),
Algorithms 1-3. No float touches a probability, so there is nothing to attack in low-order bits.
Run time depends on the values drawn: draw a whole vector in a background job, never inside a
request somebody can time.
"""

from __future__ import annotations

import math
from fractions import Fraction

from privacy.bits import BitSource, draw

__all__ = ["discrete_gaussian"]

_BUFFER = 512
"""Random bytes fetched at a time: a system call per byte would cost more than the sampling."""


class _Uniform:
    """Uniform integers below a bound by rejection, from buffered random bytes."""

    def __init__(self, bits: BitSource) -> None:
        self._bits = bits
        self._pool = 0
        self._left = 0

    def below(self, bound: int) -> int:
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


def discrete_gaussian(sigma2: Fraction | int, n: int, bits: BitSource) -> list[int]:
    """``n`` exact draws from P(x) ∝ exp(-x²/(2·sigma2)) over all integers.

    ``sigma2`` is the variance parameter in squared lattice units, rational and positive
    (ValueError). About 20 µs a draw: use `GaussianTable` for long vectors.
    """
    variance = Fraction(sigma2)
    if variance <= 0:
        raise ValueError("sigma2 must be positive")
    uniform = _Uniform(bits)
    return [_gaussian(variance, uniform) for _ in range(n)]


def _gaussian(variance: Fraction, uniform: _Uniform) -> int:
    """Algorithm 3: discrete Laplace proposals, thinned to a Gaussian."""
    top, bottom = variance.numerator, variance.denominator
    scale = math.isqrt(top // bottom) + 1
    # exponent = (|y| - variance/scale)² / (2 variance), kept as one integer fraction
    denominator = 2 * top * bottom * scale * scale
    while True:
        proposal = _laplace(scale, uniform)
        numerator = (abs(proposal) * scale * bottom - top) ** 2
        if _bernoulli_exp(numerator, denominator, uniform):
            return proposal


def _laplace(scale: int, uniform: _Uniform) -> int:
    """Algorithm 2: P(x) ∝ exp(-|x|/scale)."""
    while True:
        remainder = uniform.below(scale)
        if not _bernoulli_exp_below_one(remainder, scale, uniform):
            continue
        quotient = 0
        while _bernoulli_exp_below_one(1, 1, uniform):
            quotient += 1
        magnitude = remainder + scale * quotient
        negative = uniform.below(2) == 1
        if negative and magnitude == 0:
            continue  # else zero would be twice as likely
        return -magnitude if negative else magnitude


def _bernoulli_exp(numerator: int, denominator: int, uniform: _Uniform) -> bool:
    """True with probability exp(-numerator/denominator), for any non-negative exponent."""
    whole, rest = divmod(numerator, denominator)
    for _ in range(whole):
        if not _bernoulli_exp_below_one(1, 1, uniform):
            return False
    return _bernoulli_exp_below_one(rest, denominator, uniform)


def _bernoulli_exp_below_one(numerator: int, denominator: int, uniform: _Uniform) -> bool:
    """Algorithm 1: von Neumann's alternating series, exponent in [0, 1]."""
    k = 1
    while uniform.below(denominator * k) < numerator:
        k += 1
    return k % 2 == 1
