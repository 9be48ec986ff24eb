"""The table sampler, entry by entry: its stated distance, its inversion, what it draws."""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import Decimal, localcontext
from fractions import Fraction

from privacy.audit.mechanisms.pmf import DIGITS, gaussian_weights
from privacy.audit.mechanisms.samplers import expect_gaussian
from privacy.audit.mechanisms.statistics import ALPHA
from privacy.audit.mechanisms.verdict import Context, Findings
from privacy.budget import BUDGETS
from privacy.lattice import share_variance, total_variance
from privacy.mechanisms.table import GaussianTable, gaussian_table

__all__ = ["check_table"]

_FURTHER = (1, 14, 900)
"""Further variances, all of them narrow enough for a table to show its every entry."""

_DRAWS = 1_000_000
"""Draws a variance: a sigma 0.5 % off is 7 standard errors away."""

_LARGEST_DISTANCE = 2.0**-110
"""What one draw may be worth, so that a lifetime of draws adds under 1e-15 to delta."""

_SMALLEST_SEAM = 8
"""Variance, in steps, that hides the seam of a split table: 4·exp(-2·pi²·8) < 2^-225."""

_PROBES = 64
_WORD = 128
_LIMB = 64


def check_table(context: Context, findings: Findings) -> None:
    """Every table the budgets use: exact distance, reach, inversion; then samples."""
    variances = list(dict.fromkeys([*_FURTHER, *_budget_variances()]))
    for variance in variances:
        for table in _layers(gaussian_table(variance)):
            _check_distance(findings, table)
            _check_inversion(findings, table)
        _check_split(findings, gaussian_table(variance))
    findings.method("every threshold against an independent 60-digit pmf")
    alpha = ALPHA / (2 * len(variances))
    for variance in variances:
        values = gaussian_table(variance).sample(
            context.size(_DRAWS, 5_000), context.bits("table", variance)
        )
        expect_gaussian(findings, values, variance, alpha, f"variance {variance}")
    findings.method("chi-square goodness of fit and pooled variance")
    findings.remark(f"{context.size(_DRAWS, 5_000):,} draws at each of {len(variances)} variances")


def _budget_variances() -> Iterator[int]:
    for budget in BUDGETS.values():
        for stream in budget.streams:
            terms = budget.terms(stream.tasks[0])
            yield share_variance(terms.sigma, terms.scale, terms.n_min)
            yield total_variance(terms.sigma, terms.scale)


def _layers(table: GaussianTable) -> Iterator[GaussianTable]:
    """The table and its coarse parts."""
    layer: GaussianTable | None = table
    while layer is not None:
        yield layer
        layer = layer.coarse


def _check_distance(findings: Findings, table: GaussianTable) -> None:
    """Half the sum of |stated - exact| over the table's own support, and the mass beyond it."""
    label = f"variance {float(table.direct):g}"
    thresholds = table.thresholds
    if not findings.expect(
        len(thresholds) == 2 * table.reach, f"{label}: a threshold is missing"
    ) or not findings.expect(thresholds == sorted(thresholds), f"{label}: thresholds fall"):
        return
    with localcontext() as decimals:
        decimals.prec = DIGITS
        weights = gaussian_weights(table.direct, table.reach)
        total = 2 * sum(weights) - weights[0]
        beyond = _tail(table.direct, table.reach) / total
        word = Decimal(1 << _WORD)
        gap, before = Decimal(0), 0
        for index, threshold in enumerate([*thresholds, 1 << _WORD]):
            exact = weights[abs(index - table.reach)] / total
            gap += abs((threshold - before) / word - exact)
            before = threshold
        distance = float(gap / 2 + beyond)
    findings.expect(
        distance <= table.distance,
        f"{label}: a draw is {distance:.2g} from exact, {table.distance:.2g} is stated",
    )
    findings.expect(
        table.distance <= _LARGEST_DISTANCE,
        f"{label}: delta cannot pay {table.distance:.2g} a draw",
    )


def _tail(sigma2: Fraction, reach: int) -> Decimal:
    """Weight beyond ``reach``: at most twice a geometric series with the last ratio of weights."""
    twice = Decimal(2 * sigma2.numerator)
    first = (Decimal(-((reach + 1) ** 2) * sigma2.denominator) / twice).exp()
    ratio = (Decimal(-(2 * reach + 3) * sigma2.denominator) / twice).exp()
    return 2 * first / (1 - ratio)


def _check_inversion(findings: Findings, table: GaussianTable) -> None:
    """Uniform words at a threshold and one below it give the value above and the value at it."""
    if table.coarse is not None:
        return  # its own layer is seen in the samples; its coarse one comes by itself
    thresholds = table.thresholds
    for index in range(0, len(thresholds), max(1, len(thresholds) // _PROBES)):
        if thresholds[index] == 0 or thresholds[index] == thresholds[index - 1]:
            continue
        at = _invert(table, thresholds[index])
        below = _invert(table, thresholds[index] - 1)
        findings.expect(
            (below, at) == (index - table.reach, index - table.reach + 1),
            f"variance {float(table.sigma2):g}: a draw does not invert its own table",
        )


def _invert(table: GaussianTable, word: int) -> int:
    """The value drawn from this uniform 128-bit word (upper half first, lower half on a tie)."""
    halves = iter([word >> _LIMB, word & ((1 << _LIMB) - 1)])
    return int(table.sample(1, lambda size: next(halves).to_bytes(size, "little"))[0])


def _check_split(findings: Findings, table: GaussianTable) -> None:
    label = f"variance {float(table.sigma2):g}"
    for layer in _layers(table):
        coarse = layer.coarse
        if coarse is None:
            findings.expect(layer.step == 1, f"{label}: a step without a coarse part")
            continue
        findings.expect(
            layer.direct + layer.step**2 * coarse.sigma2 == layer.sigma2,
            f"{label}: the parts of a split table do not add up",
        )
        seam = coarse.sigma2 * layer.direct / layer.sigma2
        findings.expect(seam >= _SMALLEST_SEAM, f"{label}: the seam of a split table shows")
        findings.expect(
            layer.distance >= coarse.distance + 4 * math.exp(-2 * math.pi**2 * float(seam)),
            f"{label}: the seam is not in the stated distance",
        )
