"""The exact discrete Gaussian and Laplace, in integer arithmetic only.

Canonne, Kamath & Steinke, "The Discrete Gaussian for Differential Privacy" (arXiv 2004.00010),
Algorithms 1-3. No float touches a probability, so there is nothing to attack in low-order bits.
Run time depends on the values drawn: draw a whole vector in a background job, never inside a
request somebody can time.
"""

from __future__ import annotations

import math
from fractions import Fraction

from privacy.bits import BitSource
from privacy.mechanisms.uniform import Integers, Uniform

__all__ = ["discrete_gaussian", "discrete_laplace"]


def discrete_gaussian(sigma2: Fraction | int, n: int, bits: BitSource) -> list[int]:
    """``n`` exact draws from P(x) ∝ exp(-x²/(2·sigma2)) over all integers.

    ``sigma2`` is the variance parameter in squared lattice units, rational and positive
    (ValueError). About 6 µs a draw: use `GaussianTable` for long vectors. Added to a sum of L2
    sensitivity s it is s²/(2·sigma2)-zCDP (Theorem 4).
    """
    variance = Fraction(sigma2)
    if variance <= 0:
        raise ValueError("sigma2 must be positive")
    uniform = Uniform(bits)
    return [_gaussian(variance, uniform) for _ in range(n)]


def discrete_laplace(scale: Fraction | int, n: int, bits: BitSource) -> list[int]:
    """``n`` exact draws from P(x) ∝ exp(-|x|/scale) over all integers.

    ``scale`` in lattice units, rational and positive (ValueError). Added to a sum of L1
    sensitivity s it is (s/scale)-DP.
    """
    width = Fraction(scale)
    if width <= 0:
        raise ValueError("scale must be positive")
    uniform = Uniform(bits)
    return [_laplace(width.numerator, width.denominator, uniform) for _ in range(n)]


def _gaussian(variance: Fraction, uniform: Integers) -> int:
    """Algorithm 3: discrete Laplace proposals, thinned to a Gaussian."""
    top, bottom = variance.numerator, variance.denominator
    scale = math.isqrt(top // bottom) + 1
    # exponent = (|y| - variance/scale)² / (2 variance), kept as one integer fraction
    denominator = 2 * top * bottom * scale * scale
    while True:
        proposal = _laplace(scale, 1, uniform)
        numerator = (abs(proposal) * scale * bottom - top) ** 2
        if _bernoulli_exp(numerator, denominator, uniform):
            return proposal


def _laplace(top: int, bottom: int, uniform: Integers) -> int:
    """Algorithm 2: P(x) ∝ exp(-|x|·bottom/top).

    An exponential over the integers of scale ``top`` is built from its remainder and quotient;
    keeping every ``bottom``-th of its values makes the scale top/bottom.
    """
    while True:
        remainder = uniform.below(top)
        if not _bernoulli_exp_below_one(remainder, top, uniform):
            continue
        quotient = 0
        while _bernoulli_exp_below_one(1, 1, uniform):
            quotient += 1
        magnitude = (remainder + top * quotient) // bottom
        negative = uniform.below(2) == 1
        if negative and magnitude == 0:
            continue  # else zero would be twice as likely
        return -magnitude if negative else magnitude


def _bernoulli_exp(numerator: int, denominator: int, uniform: Integers) -> bool:
    """True with probability exp(-numerator/denominator), for any non-negative exponent."""
    whole, rest = divmod(numerator, denominator)
    for _ in range(whole):
        if not _bernoulli_exp_below_one(1, 1, uniform):
            return False
    return _bernoulli_exp_below_one(rest, denominator, uniform)


def _bernoulli_exp_below_one(numerator: int, denominator: int, uniform: Integers) -> bool:
    """Algorithm 1: von Neumann's alternating series, exponent in [0, 1]."""
    k = 1
    while uniform.below(denominator * k) < numerator:
        k += 1
    return k % 2 == 1
