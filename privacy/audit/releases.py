"""Recomputes the guarantee that a fleet claims for each release's central training."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from privacy.audit.accountants import Accountants
from privacy.audit.evidence import ReleaseEvidence
from privacy.audit.findings import Findings, finite

__all__ = ["ReleaseRow", "check_releases"]

_UNDERCLAIM = 0.02
"""A claimed epsilon may lie this far below the recomputed one: two accountants' rounding."""

_LEAST_NOISE = 0.05
"""Noise over clip below which a release is noise-free for every purpose."""

_MOST_STEPS = 10_000_000
"""Training steps no release has; beyond, an accountant would only waste time."""


@dataclass(frozen=True, slots=True)
class ReleaseRow:
    """A release's claim beside the recomputed value (0.0 where it cannot be recomputed)."""

    model: str
    version: int
    claimed: float
    recomputed: float
    delta: float
    sound: bool


def check_releases(releases: Sequence[ReleaseEvidence], found: Findings) -> tuple[ReleaseRow, ...]:
    """Each claim beside its recomputed value; LedgerUnavailable without dp-accounting."""
    if not releases:
        return ()
    books = Accountants.load()
    versions: dict[str, set[int]] = {}
    rows = []
    for each in releases:
        where = f"{each.model} version {each.version}"
        if each.version in versions.setdefault(each.model, set()):
            found.report("release", where, "the version is published twice")
        versions[each.model].add(each.version)
        value = _recompute(each, books, where, found)
        rows.append(
            ReleaseRow(
                each.model,
                each.version,
                finite(each.epsilon),
                value,
                finite(each.delta),
                not found.at(where),
            )
        )
    return tuple(rows)


def _recompute(each: ReleaseEvidence, books: Accountants, where: str, found: Findings) -> float:
    """Epsilon of a release's central training, which must not exceed the claim."""
    plausible = (
        0.0 < each.delta < 1.0
        and 0 <= each.steps <= _MOST_STEPS
        and math.isfinite(each.epsilon)
        and each.epsilon >= 0.0
    )
    noisy = math.isfinite(each.noise_multiplier) and each.noise_multiplier >= _LEAST_NOISE
    sampled = 0.0 < each.sample_rate <= 1.0
    if not plausible or (each.steps and not (noisy and sampled)):
        found.report("release", where, "its guarantee has parameters that mean nothing")
        return 0.0
    if each.steps == 0:
        return 0.0
    value = books.sampled_pld(each.noise_multiplier, each.sample_rate, each.steps, each.delta)
    if each.epsilon < value * (1.0 - _UNDERCLAIM):
        found.report(
            "release",
            where,
            f"claims epsilon {each.epsilon:.4g} at delta {each.delta:g}, "
            f"independent accounting gives {value:.4g}",
        )
    return value
