"""Canaries: one federated sum, many planted vectors, and how many of them can be told.

Privacy auditing in one run (Steinke, Nasr & Jagielski 2023, arXiv 2305.08846): each of m
independent canaries joins the sum by a fair coin; an attacker who sees the sum guesses who did.
An (epsilon, delta)-DP release bounds how many of the surest r guesses can be right (Theorem 5.2).
The bound is far weaker than the two-world test's, but it goes through the whole federated path,
every report, batch and both servers, so it shows what is wired wrongly: a canary is ten clips
long, so a missing clip lets it shine; and the included ones must stand out by exactly one clip.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from privacy.accounting import gdp_epsilon
from privacy.audit.mechanisms.fleet import PocketFleet
from privacy.audit.mechanisms.release import claimed_mu, exact_units
from privacy.audit.mechanisms.statistics import ALPHA, normal_quantile
from privacy.audit.mechanisms.verdict import Context, Findings
from privacy.budget import BUDGETS, LARGEST_HEAD

__all__ = ["check_canaries", "one_run_bound"]

_CANARIES = 1_000
"""Devices that hold a canary, or zeros, by a fair coin."""

_LENGTH = 10.0
"""Length of a canary before the clip, in clips."""

_GUESSES = (0.05, 0.1, 0.25, 0.5, 1.0)
"""Shares of the canaries that are guessed, surest first; each is one test."""

_TESTS = 8
"""Two-sided tests of the sum, over both budgets, for Bonferroni."""

_HALVINGS = 60

Vector = npt.NDArray[np.float64]


def check_canaries(context: Context, findings: Findings) -> None:
    """A model round of each budget, planned for as many devices as hold canaries."""
    for budget in BUDGETS.values():
        planted = context.size(_CANARIES, 2 * budget.terms("router").n_min)
        _check_sum(context, findings, PocketFleet(context, budget, "router", LARGEST_HEAD, planted))


def _check_sum(context: Context, findings: Findings, fleet: PocketFleet) -> None:
    planted = fleet.planned
    directions = _directions(context, planted, fleet.round.dimension)
    joins = context.uniforms(planted, "coins") < 0.5
    zeros = np.zeros(fleet.round.dimension)
    reports = [
        fleet.report(direction * _LENGTH * fleet.round.clip if joined else zeros)[0]
        for direction, joined in zip(directions, joins, strict=True)
    ]
    answer = fleet.helper.sum_masks(fleet.batch(reports))
    total = fleet.join(reports, answer) / (fleet.round.scale * fleet.round.clip)
    scores = directions @ total
    _check_signal(findings, fleet, scores, joins)
    _check_bound(findings, fleet, scores, joins)


def _directions(context: Context, count: int, dimension: int) -> Vector:
    """Unit vectors, uniform on the sphere."""
    vectors = context.normals(count * dimension, "canaries").reshape(count, dimension)
    directions: Vector = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return directions


def _check_signal(
    findings: Findings, fleet: PocketFleet, scores: Vector, joins: npt.NDArray[np.bool_]
) -> None:
    """Every report once, one clip long, under the noise of both places.

    Canaries are only nearly orthogonal. With m of them in d dimensions, half in the sum, the
    others' directions add 3/d to the variance of the difference of means, m/2d to that of a score,
    and leave as little freedom as m/(1 + m/d)² independent scores.
    """
    round_, name = fleet.round, fleet.budget.name
    reports, joined = len(scores), int(np.count_nonzero(joins))
    noise = round_.sigma / round_.clip * math.sqrt(reports / round_.n_min + 1.0)
    error = math.sqrt(noise**2 * (1 / joined + 1 / (reports - joined)) + 3 / round_.dimension)
    found = float(np.mean(scores[joins]) - np.mean(scores[~joins]))
    quantile = normal_quantile(1.0 - ALPHA / _TESTS)
    findings.expect(
        abs(found - 1.0) <= quantile * error,
        f"{name}: a device moves the sum by {found:.2f} clips, not by 1 (± {quantile * error:.2f})",
    )
    spread = math.hypot(noise, math.sqrt(joined / round_.dimension))
    ratio = float(np.std(scores - joins)) / spread
    freedom = reports / (1.0 + reports / round_.dimension) ** 2
    findings.expect(
        abs(ratio - 1.0) <= quantile * math.sqrt(0.5 / freedom),
        f"{name}: the sum carries {ratio:.2f} of the noise it should",
    )
    findings.method("one federated sum of real gates, leader and helper")
    findings.remark(f"{name}: {reports:,} reports; a canary moves the sum by {found:.2f} clips")


def _check_bound(
    findings: Findings, fleet: PocketFleet, scores: Vector, joins: npt.NDArray[np.bool_]
) -> None:
    delta = fleet.budget.delta
    claimed = gdp_epsilon(claimed_mu(exact_units(fleet.round)), delta)
    guesses = scores > np.median(scores)
    surest = np.argsort(-np.abs(scores - np.median(scores)))
    lower = 0.0
    for share in _GUESSES:
        chosen = surest[: max(1, round(share * len(scores)))]
        right = int(np.count_nonzero(guesses[chosen] == joins[chosen]))
        lower = max(
            lower,
            one_run_bound(len(scores), len(chosen), right, delta, ALPHA / len(_GUESSES)),
        )
    findings.expect(
        lower <= claimed,
        f"{fleet.budget.name}: epsilon {claimed:.3f} claimed, canaries show at least {lower:.3f}",
    )
    findings.bound(claimed, lower)
    findings.remark(f"epsilon {claimed:.3f} claimed, at least {lower:.3f} by canaries")
    findings.method("one-run canary bound (Steinke et al. 2023)")


def one_run_bound(canaries: int, guesses: int, right: int, delta: float, alpha: float) -> float:
    """Epsilon that ``right`` of ``guesses`` rule out with confidence 1 - ``alpha``; 0 for none."""
    low, high = 0.0, 50.0
    if _chance(canaries, guesses, right, low, delta) > alpha:
        return 0.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        fits = _chance(canaries, guesses, right, middle, delta) > alpha
        low, high = (low, middle) if fits else (middle, high)
    return low


def _chance(canaries: int, guesses: int, right: int, epsilon: float, delta: float) -> float:
    """Bound on P(at least ``right`` of ``guesses`` correct) under (epsilon, delta): Theorem 5.2.

    beta + 2·m·delta·max over i of (P(right > W ≥ right - i))/i, where W is the number of right
    guesses if each were right by itself with probability e^eps/(1 + e^eps).
    """
    success = 1.0 / (1.0 + math.exp(-epsilon))
    pmf = [_binomial(guesses, success, count) for count in range(guesses + 1)]
    beta = math.fsum(pmf[right:])
    running, worst = 0.0, 0.0
    for step in range(1, right + 1):
        running += pmf[right - step]
        worst = max(worst, running / step)
    return min(1.0, beta + 2.0 * canaries * delta * worst)


def _binomial(trials: int, success: float, count: int) -> float:
    ways = math.lgamma(trials + 1) - math.lgamma(count + 1) - math.lgamma(trials - count + 1)
    failure = (trials - count) * math.log1p(-success) if success < 1.0 else 0.0
    if success >= 1.0 and count < trials:
        return 0.0
    return math.exp(ways + count * math.log(success) + failure)
