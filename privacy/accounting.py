"""Privacy loss in integers: zero-concentrated DP counted in units of 2^-40.

Floats lose small charges ("0.1 + 0.9 = 1.0000000000000002 > 1.0" and its silent opposite), so
the ledger's currency is the integer ``rho_units``: rho = rho_units · 2^-40, rounded up when
spent. Epsilon is for people and is computed on display only. A local report that is ε-DP by itself
is charged the rho of the Gaussian release that reveals at least as much, so one sum, and one
epsilon of it, holds for every mixture.

Neighbouring data sets differ in one device whose report is replaced by zeros (zero-out; the same
numbers as add/remove). Releases of one device compose by adding rho (Bun & Steinke 2016,
arXiv 1605.02065, Lemma 1.7).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

__all__ = [
    "RHO_UNIT_BITS",
    "Guarantee",
    "epsilon",
    "gdp_epsilon",
    "guarantee_at",
    "guarantee_of",
    "mu_of",
    "pure_units",
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


_DIGITS = 60
"""Decimal digits of the bound behind `pure_units`."""

_ROUNDING = Decimal("1e-50")
"""Far more than all rounding errors behind `pure_units` together: under 2,000 operations, each off
by 1e-60 relatively, without cancellation, towards numbers below 1; exp of up to 128 in magnitude
makes the worst of them 1e-57."""

_PI_ABOVE = Decimal("3.14159265358979323846264338327950288419716939937510583")
"""Pi, rounded up in the 53rd decimal."""

_MU_BITS = 60
"""Resolution of mu in `pure_units`."""

_LARGEST_PURE = 32.0
"""Largest epsilon of one local report."""

MONTH = 30 * 86_400.0
"""Seconds."""

YEAR = 365 * 86_400.0
"""Seconds."""


class Guarantee(NamedTuple):
    """Epsilons at one ``delta``: of the costliest report, and of the worst 30 days, 365 days and
    all time."""

    per_report: float
    month: float
    year: float
    lifetime: float
    delta: float


def guarantee_of(charges: Iterable[tuple[float, int]], delta: float) -> Guarantee:
    """What charges (seconds UTC, rho units) add up to."""
    dated = sorted(charges)
    units = [cost for _, cost in dated]
    totals = (max(units, default=0), _worst(dated, MONTH), _worst(dated, YEAR), sum(units))
    return guarantee_at(totals, delta)


def guarantee_at(units: tuple[int, int, int, int], delta: float) -> Guarantee:
    """Rho units of a report, 30 days, 365 days and all time, as epsilons."""
    report, month, year, lifetime = (gdp_epsilon(mu_of(total), delta) for total in units)
    return Guarantee(report, month, year, lifetime, delta)


def _worst(dated: list[tuple[float, int]], length: float) -> int:
    """Most units within any ``length`` seconds."""
    worst = total = start = 0
    for at, cost in dated:
        total += cost
        while dated[start][0] <= at - length:
            total -= dated[start][1]
            start += 1
        worst = max(worst, total)
    return worst


@lru_cache(maxsize=64)
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


@lru_cache(maxsize=64)
def pure_units(pure_epsilon: float) -> int:
    """Cost of one release that is ε-DP whatever the other answers, rounded up, in units of 2^-40.

    ``pure_epsilon``: 0 (excluded) to 32 (ValueError). The trade-off function f of ε-DP is two
    lines that meet at (c, c), c = 1/(1 + e^ε); that of a mu-Gaussian release is convex, from
    (0, 1) to (1, 0). So it lies below f everywhere exactly when it does so at c: for
    Phi(mu/2) ≥ 1 - c. The smallest such mu on a grid of 2^-60 is found by halving, Phi bounded
    from below in decimals, so every machine gets the same and never too small a cost: mu²/2.
    Source: Dong, Roth & Su 2019 (arXiv 1905.02383), Propositions 2.4 and 2.12.
    """
    if not 0 < pure_epsilon <= _LARGEST_PURE:
        raise ValueError(f"a local report has an epsilon above 0, at most {_LARGEST_PURE:g}")
    context = Context(prec=_DIGITS)
    corner = context.divide(1, context.add(1, context.exp(Decimal(pure_epsilon))))
    wanted = context.add(context.subtract(1, corner), _ROUNDING)
    low, high = 0, 32 << _MU_BITS  # Phi(16) is above the largest wanted
    while high - low > 1:
        middle = (low + high) // 2
        enough = _normal_below(Fraction(middle, 2 << _MU_BITS)) >= wanted
        low, high = (low, middle) if enough else (middle, high)
    mu = Fraction(high, 1 << _MU_BITS)
    return math.ceil(mu * mu * (1 << RHO_UNIT_BITS) / 2)


def _normal_below(x: Fraction) -> Decimal:
    """A lower bound on Phi(x), x ≥ 0, but for rounding: 1/2 + phi(x)·Σ x^(2k+1)/(1·3·…·(2k+1)),
    a series of positive terms cut off."""
    context = Context(prec=_DIGITS)
    point = context.divide(x.numerator, x.denominator)
    square = context.multiply(point, point)
    term, total, odd = point, Decimal(0), 1
    while term > _ROUNDING:
        total = context.add(total, term)
        odd += 2
        term = context.divide(context.multiply(term, square), odd)
    density = context.divide(
        context.exp(context.divide(square.copy_negate(), 2)),
        context.sqrt(context.multiply(2, _PI_ABOVE)),
    )
    return context.add(Decimal("0.5"), context.multiply(density, total))


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


@lru_cache(maxsize=64)
def gdp_epsilon(mu: float, delta: float) -> float:
    """Epsilon of a mu-GDP release at ``delta``: exact for the Gaussian mechanism.

    Solves delta = Phi(-eps/mu + mu/2) - e^eps Phi(-eps/mu - mu/2), rounding up to the end of the
    bracket. Source: Balle & Wang 2018 (arXiv 1805.06530), Theorem 8; Dong, Roth & Su 2019,
    Corollary 2.13. The discrete Gaussian on our lattice (sigma ≥ 8 units a phone, times
    sqrt(n_min) a sum) differs from it by less than 0.1 %, which the tests check against
    dp-accounting.
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
