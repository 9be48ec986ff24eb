"""Counts and updates: two worlds told apart through the real gate, wire bytes and servers.

The noise of a report is what both servers' halves give together, less what went in. Every
coordinate is one independent sample. By linearity the second world is the worst-case neighbour's
noise moved by t·C for a whole group of devices; the clip, which linearity cannot see, is tested
by itself with vectors that are far too long.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from privacy.accounting import gdp_epsilon
from privacy.audit.mechanisms.fleet import AuditRound, PocketFleet
from privacy.audit.mechanisms.samplers import expect_gaussian
from privacy.audit.mechanisms.statistics import ALPHA, correlation_p, fit_p, normal_quantile
from privacy.audit.mechanisms.verdict import Context, Findings
from privacy.audit.mechanisms.worlds import GROUP_SHIFT, epsilon_lower_bound, mu_lower_bound
from privacy.budget import BUDGETS, LARGEST_HEAD, Budget
from privacy.gate import PrivateReport
from privacy.streams import USAGE_DIMENSION

__all__ = ["check_counts", "check_updates", "claimed_mu", "exact_units"]

_COUNT_REPORTS = 1_000
"""Reports a world and budget: 32 coordinates each."""

_UPDATE_REPORTS = 220
"""Reports a world and budget: 2,000 coordinates each."""

_TESTS = 10
"""Statistical tests a budget, for Bonferroni."""

_TOO_LONG = 10.0
"""Length of the vectors that must be clipped, in clips."""

_RHO_UNIT = 1 << 40

_RESIDUES = 8
"""A noise share is at least 16 lattice units wide: its residues mod 8 are equally likely."""

Lattice = npt.NDArray[np.int64]
Vector = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _World:
    """Reports of one input: what was sent, the noise found in it, what the ledger charged."""

    reports: list[PrivateReport]
    noise: Lattice
    charged: set[int]


def check_counts(context: Context, findings: Findings) -> None:
    """The weekly usage report, proof included."""
    reports = context.size(_COUNT_REPORTS, 30)
    for budget in BUDGETS.values():
        _check(findings, PocketFleet(context, budget, "usage", USAGE_DIMENSION), reports)


def check_updates(context: Context, findings: Findings) -> None:
    """A model update of the largest federated head."""
    reports = context.size(_UPDATE_REPORTS, 4)
    for budget in BUDGETS.values():
        _check(findings, PocketFleet(context, budget, "router", LARGEST_HEAD), reports)


def claimed_mu(units: int) -> float:
    """mu of a charge: rho = mu²/2, one unit = 2^-40 of rho."""
    return math.sqrt(2.0 * units / _RHO_UNIT)


def exact_units(round_: AuditRound) -> int:
    """What a report costs: clip²/(2·sigma²), zero-out of one device, rounded up."""
    ratio = Fraction(round_.clip) / Fraction(round_.sigma)
    return math.ceil(ratio**2 / 2 * _RHO_UNIT)


def _check(findings: Findings, fleet: PocketFleet, reports: int) -> None:
    zeros = _world(fleet, [np.zeros(fleet.round.dimension)] * reports)
    axis, even = _directions(fleet.round)
    worst = _world(fleet, [axis if number % 2 else even for number in range(reports)])
    _check_charge(findings, fleet, zeros.charged | worst.charged)
    _check_noise(findings, fleet, zeros, worst)
    _check_independence(findings, fleet.budget, zeros)
    _check_wire(findings, fleet.budget, [*zeros.reports, *worst.reports])
    _check_clip(findings, fleet, (axis, even))
    _check_worlds(findings, fleet, zeros, worst)


def _directions(round_: AuditRound) -> tuple[Vector, Vector]:
    """The two extreme neighbours of zeros: all of the clip on one coordinate, or on all."""
    axis = np.zeros(round_.dimension)
    axis[round_.dimension // 2] = round_.clip
    return axis, np.full(round_.dimension, round_.clip / math.sqrt(round_.dimension))


def _world(fleet: PocketFleet, vectors: Sequence[Vector]) -> _World:
    reports, noise, charged = [], [], set()
    for vector in vectors:
        report, units = fleet.report(vector)
        reports.append(report)
        noise.append(fleet.open(report) - np.rint(vector * fleet.round.scale).astype(np.int64))
        charged.add(units)
    return _World(reports, np.array(noise), charged)


def _check_charge(findings: Findings, fleet: PocketFleet, charged: set[int]) -> None:
    needed = exact_units(fleet.round)
    findings.expect(
        min(charged) >= needed,
        f"{fleet.budget.name}: the ledger charged {min(charged) / needed:.4g} of what a report "
        "costs",
    )


def _share_variance(round_: AuditRound) -> Fraction:
    """Variance of one phone's noise in squared lattice units, from the descriptor alone."""
    return (Fraction(round_.sigma) * round_.scale) ** 2 / round_.n_min


def _check_noise(findings: Findings, fleet: PocketFleet, zeros: _World, worst: _World) -> None:
    """Law and pooled variance of the phone's share, in both worlds; no coarser grid."""
    variance = _share_variance(fleet.round)
    for world, name in ((zeros, "zeros"), (worst, "worst case")):
        noise = world.noise.ravel()
        label = f"{fleet.budget.name}, {name}: the phone's share"
        expect_gaussian(findings, noise, variance, ALPHA / _TESTS, label)
    residues = np.bincount(zeros.noise.ravel() % _RESIDUES, minlength=_RESIDUES)
    even = np.full(_RESIDUES, zeros.noise.size / _RESIDUES)
    findings.expect(
        fit_p(residues, even).p >= ALPHA / _TESTS,
        f"{fleet.budget.name}: the noise keeps to a grid coarser than the lattice",
    )
    findings.method("goodness of fit and pooled variance of the noise in the wire bytes")


def _check_independence(findings: Findings, budget: Budget, zeros: _World) -> None:
    noise = zeros.noise.astype(np.float64)
    findings.expect(
        len({row.tobytes() for row in zeros.noise}) == len(zeros.noise),
        f"{budget.name}: two reports carry the same noise",
    )
    pairs = ((noise[:-1], noise[1:], "reports"), (noise[:, :-1], noise[:, 1:], "coordinates"))
    for left, right, what in pairs:
        findings.expect(
            correlation_p(left.ravel(), right.ravel()) >= ALPHA / _TESTS,
            f"{budget.name}: noise of neighbouring {what} is correlated",
        )
    findings.method("independence between reports and coordinates")


def _check_wire(findings: Findings, budget: Budget, reports: Sequence[PrivateReport]) -> None:
    """The leader's half alone is uniform, and nothing on the wire repeats."""
    for name in ("report_id", "share", "sealed_seed", "sha256"):
        values = {getattr(report, name) for report in reports}
        findings.expect(len(values) == len(reports), f"{budget.name}: two reports share one {name}")
    raw = np.frombuffer(b"".join(report.share for report in reports), dtype=np.uint8)
    observed = np.bincount(raw, minlength=256)
    findings.expect(
        fit_p(observed, np.full(256, len(raw) / 256)).p >= ALPHA / _TESTS,
        f"{budget.name}: the leader's half of a report is not uniform",
    )


def _check_clip(findings: Findings, fleet: PocketFleet, directions: Sequence[Vector]) -> None:
    """Ten clips along a direction move a report by one clip; a broken vector by none."""
    round_ = fleet.round
    room = normal_quantile(1.0 - ALPHA / _TESTS) * math.sqrt(_share_variance(round_))
    for direction in directions:
        unit = direction / round_.clip
        report, _ = fleet.report(direction * _TOO_LONG)
        moved = float(fleet.open(report) @ unit)
        findings.expect(
            moved <= round_.clip * round_.scale + room,
            f"{fleet.budget.name}: a vector that is too long moved a report by "
            f"{moved / (round_.clip * round_.scale):.3g} clips",
        )
        broken = direction * _TOO_LONG
        broken[0] = math.nan
        report, _ = fleet.report(broken)
        findings.expect(
            abs(float(fleet.open(report) @ unit)) <= room,
            f"{fleet.budget.name}: a vector with NaN is not released as zeros",
        )
    findings.method("clip by vectors that are too long")


def _check_worlds(findings: Findings, fleet: PocketFleet, zeros: _World, worst: _World) -> None:
    """mu by the two-world test against what the ledger charged.

    The charge is for n_min shares together. Their sum is the same law, sqrt(n_min) times as wide
    (each share's law is tested cell by cell), so distances shrink by as much instead.
    """
    round_, budget = fleet.round, fleet.budget
    mu = claimed_mu(min(zeros.charged | worst.charged))
    claimed_share = round_.clip * round_.scale / mu / math.sqrt(round_.n_min)
    first, second = (world.noise.ravel().astype(np.float64) for world in (zeros, worst))
    found = mu_lower_bound(first, second + GROUP_SHIFT * claimed_share, ALPHA / _TESTS)
    lower = found / GROUP_SHIFT * mu
    findings.expect(
        lower <= mu, f"{budget.name}: mu {mu:.4f} was charged, at least {lower:.4f} was measured"
    )
    claimed, bound = gdp_epsilon(mu, budget.delta), gdp_epsilon(lower, budget.delta)
    one = second + mu * claimed_share
    free = epsilon_lower_bound(first, one, budget.delta, ALPHA / _TESTS)
    findings.expect(
        free <= claimed,
        f"{budget.name}: epsilon {claimed:.3f} was charged, at least {free:.3f} was measured",
    )
    findings.bound(claimed, bound)
    findings.method(
        f"two-world f-DP test through the wire bytes, group shift {GROUP_SHIFT}, alpha {ALPHA:g}"
    )
    findings.remark(
        f"{budget.name}: epsilon of a report {claimed:.3f} charged, at least {bound:.3f} "
        f"on the Gaussian curve, {free:.3f} on any curve ({len(first):,} samples a world)"
    )
