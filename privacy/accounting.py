"""Privacy loss in integers: zero-concentrated DP counted in units of 2^-40.

Floats lose small charges ("0.1 + 0.9 = 1.0000000000000002 > 1.0" and its silent opposite), so
the ledger's currency is the integer ``rho_units``: rho = rho_units · 2^-40, rounded up when
spent. Epsilon is for people and is computed on display only.

Neighbouring data sets differ in one device whose report is replaced by zeros (zero-out; the same
numbers as add/remove). Releases of one device compose by adding rho (Bun & Steinke 2016,
arXiv 1605.02065, Lemma 1.7).
"""

from __future__ import annotations

import math
from fractions import Fraction

__all__ = [
    "RHO_UNIT_BITS",
    "epsilon",
    "gdp_epsilon",
    "mu_of",
    "rho_of",
    "rho_units",
]

RHO_UNIT_BITS = 40
"""One unit of rho is 2^-RHO_UNIT_BITS."""

_SEARCH_STEPS = 200
"""Halvings of a bracket: more than a double can tell apart."""

_LARGEST_ORDER = 1e9
"""Upper end of the Rényi order search; larger orders only matter for rho < 1e-16."""

_FAR_TAIL = 30.0
"""Standard deviations beyond which erfc nears underflow and the asymptotic series is exact."""


def rho_units(sensitivity: float, sigma: float) -> int:
    """Cost of one Gaussian release, rounded up: sensitivity² / (2 sigma²) in units of 2^-40.

    Both arguments in the same real units; both must be finite and positive (ValueError).
    Exact rational arithmetic on the doubles given. Source: Canonne, Kamath & Steinke 2020
    (arXiv 2004.00010), Theorem 14, for the discrete Gaussian.
    """
    if not (math.isfinite(sensitivity) and math.isfinite(sigma) and sensitivity > 0 and sigma > 0):
        raise ValueError("sensitivity and sigma must be finite and positive")
    ratio = Fraction(sensitivity) / Fraction(sigma)
    return math.ceil(ratio * ratio * (1 << RHO_UNIT_BITS) / 2)


def rho_of(units: int) -> float:
    """Rho as a float, for display."""
    return units / (1 << RHO_UNIT_BITS)


def mu_of(units: int) -> float:
    """The Gaussian-DP parameter mu of composed Gaussian releases: rho = mu²/2."""
    return math.sqrt(2.0 * rho_of(units))


def epsilon(units: int, delta: float) -> float:
    """Upper bound on epsilon at ``delta`` for a total of ``units`` of rho, whatever was released.

    Minimises alpha·rho + log(1/(alpha·delta))/(alpha-1) + log(1-1/alpha) over alpha > 1; every
    alpha gives a valid bound, so a coarse minimum errs on the safe side. Source: Canonne, Kamath
    & Steinke 2020, Corollary 13.
    """
    _check_delta(delta)
    if units == 0:
        return 0.0
    rho = rho_of(units)

    def bound(log_excess: float) -> float:
        alpha = 1.0 + math.exp(log_excess)
        tail = (math.log(1.0 / delta) - math.log(alpha)) / (alpha - 1.0)
        return alpha * rho + tail + math.log1p(-1.0 / alpha)

    low, high = math.log(1e-9), math.log(_LARGEST_ORDER)
    for _ in range(_SEARCH_STEPS):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, right) if bound(left) < bound(right) else (left, high)
    return max(0.0, bound(low))


def gdp_epsilon(mu: float, delta: float) -> float:
    """Epsilon of a mu-GDP release at ``delta``: exact for the Gaussian mechanism.

    Solves delta = Phi(-eps/mu + mu/2) - e^eps Phi(-eps/mu - mu/2), rounding up to the end of the
    bracket. Source: Balle & Wang 2018 (arXiv 1805.06530), Theorem 8; Dong, Roth & Su 2019,
    Corollary 2.13. The discrete Gaussian on our lattice (sigma ≥ 16 units) differs from it by
    less than 0.1 %, which the tests check against dp-accounting.
    """
    _check_delta(delta)
    if mu == 0:
        return 0.0
    if not (math.isfinite(mu) and mu > 0):
        raise ValueError("mu must be finite and not negative")
    low, high = 0.0, 1.0
    while _gdp_delta(high, mu) > delta:
        high *= 2.0
    if _gdp_delta(0.0, mu) <= delta:
        return 0.0
    for _ in range(_SEARCH_STEPS):
        middle = (low + high) / 2.0
        low, high = (middle, high) if _gdp_delta(middle, mu) > delta else (low, middle)
    return high


def _gdp_delta(eps: float, mu: float) -> float:
    first = math.exp(_log_normal_tail(eps / mu - mu / 2.0))
    return first - math.exp(eps + _log_normal_tail(eps / mu + mu / 2.0))


def _log_normal_tail(x: float) -> float:
    """log Phi(-x), finite far beyond the point where erfc underflows."""
    if x < _FAR_TAIL:
        return math.log(math.erfc(x / math.sqrt(2.0)) / 2.0)
    return -x * x / 2.0 - math.log(x * math.sqrt(2.0 * math.pi)) + math.log1p(-1.0 / (x * x))


def _check_delta(delta: float) -> None:
    if not 0.0 < delta < 1.0:
        raise ValueError("delta must lie strictly between 0 and 1")
