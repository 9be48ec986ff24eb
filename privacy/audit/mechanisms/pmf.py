"""The auditor's own discrete Gaussian and Laplace: every weight by itself, in long decimals.

The product builds its tables by a recurrence in fixed point; here each weight is one correctly
rounded exponential, so a fault of the recurrence cannot hide in the comparison.
"""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import numpy.typing as npt

__all__ = ["DIGITS", "exp_below", "gaussian_pmf", "gaussian_weights", "laplace_pmf"]

DIGITS = 60
"""Decimal digits of every weight: 199 bits."""

_SERIES_TERMS = 150


def gaussian_weights(sigma2: Fraction, reach: int) -> list[Decimal]:
    """exp(-x²/(2·sigma2)) for x = 0 … reach."""
    with localcontext() as context:
        context.prec = DIGITS
        twice = Decimal(2 * sigma2.numerator)
        return [(Decimal(-x * x * sigma2.denominator) / twice).exp() for x in range(reach + 1)]


def gaussian_pmf(sigma2: Fraction | int, reach: int) -> npt.NDArray[np.float64]:
    """P(X = x) for x = -reach … reach as float64[2·reach + 1]; correct to 1e-15 each."""
    return _two_sided(np.arange(reach + 1, dtype=float) ** 2 / (2.0 * float(sigma2)))


def laplace_pmf(scale: Fraction | int, reach: int) -> npt.NDArray[np.float64]:
    """P(X = x) ∝ exp(-|x|/scale) for x = -reach … reach."""
    return _two_sided(np.arange(reach + 1, dtype=float) / float(scale))


def exp_below(exponent: Fraction) -> Fraction:
    """A rational lower bound on e^exponent, for exponent ≥ 0: the truncated power series.

    Off by a factor under 1 + 2^-200 for exponents up to 16.
    """
    term = total = Fraction(1)
    for n in range(1, _SERIES_TERMS):
        term = term * exponent / n
        total += term
    return total


def _two_sided(exponents: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    half = np.exp(-exponents)
    weights = np.concatenate((half[:0:-1], half))
    probabilities: npt.NDArray[np.float64] = weights / weights.sum()
    return probabilities
