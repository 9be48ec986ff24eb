"""The tests behind the verdicts, from `math` alone: exact tails, no library to trust.

Every p-value is compared with ALPHA divided by the number of tests of a check (Bonferroni), so a
sound product fails a check with probability under ALPHA for a random seed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = [
    "ALPHA",
    "Fit",
    "beta_tail",
    "chi_square_tail",
    "correlation_p",
    "fit_p",
    "gamma_tail",
    "normal_quantile",
    "proportion_bounds",
    "variance_p",
]

ALPHA = 1e-3
"""Level of every statistical check: the chance of a false alarm."""

_SMALLEST_CELL = 20.0
"""Expected draws below which neighbouring cells of a chi-square test are pooled."""

_STEPS = 100_000
"""Most terms of a series or a continued fraction: enough for a billion degrees of freedom."""

_PRECISION = 1e-15
_TINY = 1e-300
_HALVINGS = 100

_NORMAL = NormalDist()


class Fit(NamedTuple):
    """One goodness-of-fit test: its p-value, and the cells it had after pooling."""

    p: float
    cells: int


def normal_quantile(probability: float) -> float:
    """Phi^-1, for 0 < probability < 1."""
    return _NORMAL.inv_cdf(probability)


def gamma_tail(shape: float, x: float) -> float:
    """Q(shape, x): the upper regularised incomplete gamma function (series or Lentz)."""
    if x <= 0.0:
        return 1.0
    front = math.exp(shape * math.log(x) - x - math.lgamma(shape))
    if x < shape + 1.0:
        term = total = 1.0 / shape
        for n in range(1, _STEPS):
            term *= x / (shape + n)
            total += term
            if term < total * _PRECISION:
                break
        return max(0.0, 1.0 - total * front)
    b = x + 1.0 - shape
    c, d = 1.0 / _TINY, 1.0 / b
    fraction = d
    for n in range(1, _STEPS):
        a = -n * (n - shape)
        b += 2.0
        d = 1.0 / _away_from_zero(a * d + b)
        c = _away_from_zero(b + a / c)
        fraction *= c * d
        if abs(c * d - 1.0) < _PRECISION:
            break
    return min(1.0, front * fraction)


def chi_square_tail(statistic: float, freedom: int) -> float:
    """P(chi-square with ``freedom`` degrees ≥ statistic)."""
    return gamma_tail(freedom / 2.0, statistic / 2.0)


def beta_tail(a: float, b: float, x: float) -> float:
    """I_x(a, b): the regularised incomplete beta function (Lentz's continued fraction)."""
    if x <= 0.0 or x >= 1.0:
        return float(x >= 1.0)
    if x > (a + 1.0) / (a + b + 2.0):
        return 1.0 - beta_tail(b, a, 1.0 - x)
    log_front = a * math.log(x) + b * math.log1p(-x)
    log_front += math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    c, d = 1.0, 1.0 / _away_from_zero(1.0 - (a + b) * x / (a + 1.0))
    fraction = d
    for m in range(1, _STEPS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        before = fraction
        for step in (even, odd):
            d = 1.0 / _away_from_zero(1.0 + step * d)
            c = _away_from_zero(1.0 + step / c)
            fraction *= c * d
        if abs(fraction - before) < _PRECISION * abs(fraction):
            break
    return math.exp(log_front) * fraction / a


def proportion_bounds(successes: int, trials: int, alpha: float) -> tuple[float, float]:
    """Clopper-Pearson: the one-sided lower and upper bounds, each at level ``alpha``."""
    low, high = 0.0, 1.0
    if successes > 0:
        low = _solve(lambda p: beta_tail(successes, trials - successes + 1, p), alpha)
    if successes < trials:
        high = _solve(lambda p: beta_tail(successes + 1, trials - successes, p), 1.0 - alpha)
    return low, high


def fit_p(observed: npt.NDArray[np.int64], expected: npt.NDArray[np.float64]) -> Fit:
    """Chi-square goodness of fit of counts to expected counts of the same total.

    Neighbouring cells are pooled until each expects 20. A count where nothing is expected is a
    p-value of 0: an impossible value was drawn.
    """
    if np.any((expected <= 0.0) & (observed > 0)):
        return Fit(0.0, len(expected))
    cells: list[tuple[float, int]] = []
    mass, seen = 0.0, 0
    for want, got in zip(expected.tolist(), observed.tolist(), strict=True):
        mass += want
        seen += got
        if mass >= _SMALLEST_CELL:
            cells.append((mass, seen))
            mass, seen = 0.0, 0
    if cells and (mass > 0.0 or seen):
        last_mass, last_seen = cells.pop()
        cells.append((last_mass + mass, last_seen + seen))
    if len(cells) < 2:
        raise ValueError("too few draws for a goodness-of-fit test")
    statistic = math.fsum((got - want) ** 2 / want for want, got in cells)
    return Fit(chi_square_tail(statistic, len(cells) - 1), len(cells))


def variance_p(squares: float, variance: float, draws: int) -> float:
    """Two-sided p-value of a sum of squares of ``draws`` centred Gaussian values.

    The discrete Gaussian of variance ≥ 16 has the Gaussian's kurtosis to 1e-60, so the sum over
    ``variance`` is chi-square.
    """
    upper = chi_square_tail(squares / variance, draws)
    return min(1.0, 2.0 * min(upper, 1.0 - upper))


def correlation_p(left: npt.NDArray[np.float64], right: npt.NDArray[np.float64]) -> float:
    """Two-sided p-value of the correlation of two centred samples under independence."""
    power = math.sqrt(float(np.dot(left, left)) * float(np.dot(right, right)))
    if power == 0.0:
        return 0.0
    z = float(np.dot(left, right)) / power * math.sqrt(len(left))
    return math.erfc(abs(z) / math.sqrt(2.0))


def _solve(tail: Callable[[float], float], target: float) -> float:
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        low, high = (middle, high) if tail(middle) < target else (low, middle)
    return (low + high) / 2.0


def _away_from_zero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY
