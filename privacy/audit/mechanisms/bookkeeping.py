"""Accounting: what the product says a plan costs, against the auditor's formulas and a library.

The plans are the budgets' own, for a report, 30 days, a year and a lifetime. The auditor computes
rho in exact fractions and epsilon by its own closed form; dp-accounting and opacus, where they are
installed, are the second and third opinion.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist

from privacy.accounting import epsilon, gdp_epsilon, mu_of, pure_units, rho_units
from privacy.audit.accountants import Accountants
from privacy.audit.mechanisms.verdict import Context, Findings
from privacy.budget import BUDGETS, DAY, Budget, Stream
from privacy.errors import LedgerUnavailable
from privacy.lattice import share_variance, total_variance
from privacy.mechanisms.table import gaussian_table, sampling_delta

__all__ = ["check_accounting"]

_RHO_UNIT = 1 << 40
_MONTH = 30
_AGREEMENT = 0.02
_BELOW = 1e-6
_SAME = 1e-4
"""Relative difference of two exact formulas that is only arithmetic."""

_LARGEST_SAMPLING_DELTA = 1e-15

_PAIRS = ((1.0, 3.33), (8**0.5, 18.8), (0.1, 0.7), (3.0, 1e5), (1e-3, 1.0), (7.0, 0.9))
"""(sensitivity, sigma) whose cost is recomputed exactly."""

_PURE = (0.01, 0.1, 0.5, 1.0, 2.0, 4.0, 8.0)
_TRADE_OFF_POINTS = 400

_NORMAL = NormalDist()


@dataclass(frozen=True, slots=True)
class _Plan:
    """Reports of each stream that a window may hold."""

    name: str
    budget: Budget
    reports: dict[str, int]

    def units(self) -> int:
        """By the product."""
        return sum(
            count * rho_units(stream.clip, stream.sigma) for stream, count in self._streams()
        )

    def mu(self) -> float:
        """By the auditor: mu² adds up."""
        return math.sqrt(
            sum(count * (stream.clip / stream.sigma) ** 2 for stream, count in self._streams())
        )

    def noises(self) -> dict[float, int]:
        """Noise over sensitivity → how many, for a library."""
        noises: dict[float, int] = {}
        for stream, count in self._streams():
            noise = stream.sigma / stream.clip
            noises[noise] = noises.get(noise, 0) + count
        return noises

    def _streams(self) -> Iterator[tuple[Stream, int]]:
        for stream in self.budget.streams:
            if count := self.reports.get(stream.name, 0):
                yield stream, count


def check_accounting(context: Context, findings: Findings) -> None:
    """Charges, plans, claims, local reports, and what inexact sampling adds to delta."""
    del context  # nothing here is random
    _check_units(findings)
    plans = [plan for budget in BUDGETS.values() for plan in _plans(budget)]
    for plan in plans:
        _check_plan(findings, plan)
    for budget in BUDGETS.values():
        _check_claims(findings, budget)
        _check_sampling_delta(findings, budget)
    _check_pure(findings)
    _check_local(findings)
    findings.method("exact fractions and closed forms")
    _second_opinion(findings, plans)


def own_epsilon(mu: float, delta: float) -> float:
    """The auditor's epsilon of mu-GDP: bisection on Balle & Wang's curve, from above."""
    low, high = 0.0, 1.0
    while _own_delta(high, mu) > delta:
        high *= 2.0
    for _ in range(100):
        middle = (low + high) / 2.0
        low, high = (middle, high) if _own_delta(middle, mu) > delta else (low, middle)
    return high


def _own_delta(value: float, mu: float) -> float:
    first = math.erfc((value / mu - mu / 2) / math.sqrt(2)) / 2
    second = math.erfc((value / mu + mu / 2) / math.sqrt(2)) / 2
    return first - (math.exp(value + math.log(second)) if second > 0 else 0.0)


def _check_units(findings: Findings) -> None:
    for sensitivity, sigma in _PAIRS:
        exact = (Fraction(sensitivity) / Fraction(sigma)) ** 2 / 2 * _RHO_UNIT
        units = rho_units(sensitivity, sigma)
        findings.expect(units >= exact, "a charge is rounded down")
        findings.expect(units <= exact + 1, "a charge is more than its noise costs")
    findings.expect(
        math.isclose(mu_of(_RHO_UNIT // 2), 1.0) and math.isclose(mu_of(2 * _RHO_UNIT), 2.0),
        "mu of a charge is not sqrt(2·rho)",
    )


def _plans(budget: Budget) -> Iterator[_Plan]:
    for stream in budget.streams:
        month = min(stream.yearly, math.ceil(_MONTH * DAY / stream.cadence) * len(stream.tasks))
        label = f"{budget.name} {stream.name}"
        yield _Plan(f"{label}, a report", budget, {stream.name: 1})
        yield _Plan(f"{label}, 30 days", budget, {stream.name: month})
        yield _Plan(f"{label}, a year", budget, {stream.name: stream.yearly})
    year = {stream.name: stream.yearly for stream in budget.streams}
    lifetime = {name: count * budget.lifetime_years for name, count in year.items()}
    yield _Plan(f"{budget.name}, a year", budget, year)
    yield _Plan(f"{budget.name}, a lifetime", budget, lifetime)


def _check_plan(findings: Findings, plan: _Plan) -> None:
    """The product's epsilon is the un-amplified one of exactly this neighbour relation."""
    delta = plan.budget.delta
    own = own_epsilon(plan.mu(), delta)
    claimed = gdp_epsilon(mu_of(plan.units()), delta)
    findings.expect(
        claimed >= own * (1 - _SAME),
        f"{plan.name}: epsilon {claimed:.4g} is claimed, its noise gives {own:.4g}",
    )
    findings.expect(
        claimed <= own * (1 + _SAME),
        f"{plan.name}: epsilon {claimed:.4g} is overstated, its noise gives {own:.4g}",
    )
    findings.expect(
        epsilon(plan.units(), delta) >= own, f"{plan.name}: the zCDP bound is below the exact value"
    )


def _check_claims(findings: Findings, budget: Budget) -> None:
    """What a budget says of a year and a lifetime is at least what its plan costs."""
    year = {stream.name: stream.yearly for stream in budget.streams}
    own = own_epsilon(_Plan("", budget, year).mu(), budget.delta)
    lifetime = own_epsilon(
        _Plan("", budget, year).mu() * math.sqrt(budget.lifetime_years), budget.delta
    )
    findings.bound(budget.yearly_epsilon, own)
    stream = budget.streams[0]
    stream_lifetime = own_epsilon(
        stream.clip / stream.sigma * math.sqrt(stream.yearly * budget.lifetime_years), budget.delta
    )
    for claim, value, window in (
        (budget.yearly_epsilon, own, "a year"),
        (budget.guarantee(budget.tasks[0]).lifetime, stream_lifetime, "a lifetime of one stream"),
        (budget.lifetime_epsilon, lifetime, "a lifetime"),
    ):
        findings.expect(
            abs(claim - value) <= _SAME * value,
            f"the {budget.name} budget claims epsilon {claim:.4g} for {window}, "
            f"its noise gives {value:.4g}",
        )


def _check_sampling_delta(findings: Findings, budget: Budget) -> None:
    """A lifetime of table draws adds next to nothing to delta, even at the lifetime's epsilon."""
    lifetime = own_epsilon(mu_of(budget.lifetime_cap), budget.delta)
    for stream in budget.streams:
        terms = budget.terms(stream.tasks[0])
        variances = (
            share_variance(terms.sigma, terms.scale, terms.n_min),
            total_variance(terms.sigma, terms.scale),
        )
        distance = max(gaussian_table(variance).distance for variance in variances)
        draws = 1 << 31  # 65,536 values, 65 reports a year for five years, a hundredfold
        paid = sampling_delta(draws, distance, lifetime)
        owed = min(1.0, draws * distance * (1.0 + math.exp(min(lifetime, 700.0))))
        findings.expect(
            paid >= owed * (1 - 1e-9), "inexact sampling is paid less than (1 + e^eps) a draw"
        )
        if budget.private:
            findings.expect(
                owed <= _LARGEST_SAMPLING_DELTA, f"{budget.name}: sampling adds {owed:.2g} to delta"
            )


def _check_pure(findings: Findings) -> None:
    """A pure epsilon-DP report is charged a Gaussian that gives away at least as much.

    The trade-off curve of epsilon-DP, max(0, 1 - e^eps·a, e^-eps·(1 - a)), must lie nowhere below
    the Gaussian's (Dong, Roth & Su 2019, Definitions 4 and 6); they touch at the corner.
    """
    for value in _PURE:
        mu = math.sqrt(2.0 * pure_units(value) / _RHO_UNIT)
        corner = 1.0 / (1.0 + math.exp(value))
        grid = [step / _TRADE_OFF_POINTS for step in range(1, _TRADE_OFF_POINTS)]
        worst = min(_pure_curve(a, value) - _gaussian_curve(a, mu) for a in [corner, *grid])
        findings.expect(
            worst >= -1e-9,
            f"a local report of epsilon {value:g} is charged mu {mu:.4f}: too little",
        )
        slack = _pure_curve(corner, value) - _gaussian_curve(corner, mu)
        findings.expect(slack <= 1e-6, f"a local report of epsilon {value:g} is overcharged")


def _pure_curve(a: float, value: float) -> float:
    return max(0.0, 1.0 - math.exp(value) * a, math.exp(-value) * (1.0 - a))


def _gaussian_curve(a: float, mu: float) -> float:
    return _NORMAL.cdf(_NORMAL.inv_cdf(1.0 - a) - mu)


def _check_local(findings: Findings) -> None:
    """A year of local reports fits the year of the stream that pays for them."""
    for budget in BUDGETS.values():
        stream = budget.stream(budget.local.task)
        reports = math.floor(365 * DAY / budget.local.cadence)
        reports = min(reports, stream.yearly)
        findings.expect(
            reports * pure_units(budget.local.epsilon) <= stream.yearly_cap,
            f"a year of local reports overspends the {budget.name} budget",
        )


def _second_opinion(findings: Findings, plans: list[_Plan]) -> None:
    try:
        books = Accountants.load(
            max(own_epsilon(plan.mu(), plan.budget.delta) for plan in plans if plan.budget.private)
        )
    except LedgerUnavailable:
        findings.remark(
            "the independent accountants are not installed: pip install 'reverie[cloud]'"
        )
        return
    for plan in plans:
        delta = plan.budget.delta
        gdp = gdp_epsilon(mu_of(plan.units()), delta)
        zcdp = epsilon(plan.units(), delta)
        if not plan.budget.private:
            books = Accountants.load(gdp)
        pld = books.gaussian_pld(plan.noises(), delta)
        rdp = books.gaussian_rdp(plan.noises(), delta)
        figures = f"gdp {gdp:.5g}, pld {pld:.5g}, rdp {rdp:.5g}, zcdp {zcdp:.5g}"
        findings.expect(
            gdp * (1 - _BELOW) <= pld * (1 + _BELOW) and pld <= zcdp * (1 + _BELOW),
            f"{plan.name}: not gdp ≤ pld ≤ zcdp ({figures})",
        )
        findings.expect(
            abs(pld - gdp) <= _AGREEMENT * gdp, f"{plan.name}: accountants disagree ({figures})"
        )
        findings.expect(pld <= rdp * (1 + 1e-3), f"{plan.name}: pld is above rdp ({figures})")
        if plan.name == f"{plan.budget.name}, a year":
            findings.remark(f"{plan.name}: {figures}")
    findings.method("gdp ≤ pld (dp-accounting) ≤ zcdp within 2 %, rdp (opacus)")
