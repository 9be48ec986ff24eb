"""Faults of samplers, clip and local randomisers."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

from privacy.bits import BitSource
from privacy.lattice import share_variance
from privacy.mechanisms import clip, exact, table
from privacy.mechanisms.clip import clip_to_lattice
from privacy.mechanisms.local import SubsetSelection
from privacy.mechanisms.table import GaussianTable
from tests.privacy.mutants.surgery import Mutant, edit, rebind

__all__ = ["MECHANISM_MUTANTS"]

Lattice = Any

_FAR = 1e9
"""Keeps unclipped values inside an int64."""


def sigma_five_per_cent_short(patch: pytest.MonkeyPatch) -> None:
    rebind(
        patch,
        share_variance,
        lambda sigma, scale, n_min: int(share_variance(sigma, scale, n_min) * 0.95**2),
    )


def float_rounding_leak(patch: pytest.MonkeyPatch) -> None:
    """Noise of a float with too few bits: it moves in steps, and what is between shows through."""
    sample = GaussianTable.sample

    def rounded(self: GaussianTable, n: int, bits: BitSource) -> Lattice:
        return 4 * np.rint(sample(self, n, bits) / 4.0).astype(np.int64)

    patch.setattr(GaussianTable, "sample", rounded)


def noise_reused_across_reports(patch: pytest.MonkeyPatch) -> None:
    sample = GaussianTable.sample
    drawn: dict[object, Lattice] = {}

    def reused(self: GaussianTable, n: int, bits: BitSource) -> Lattice:
        return drawn.setdefault((self.sigma2, n), sample(self, n, bits))

    patch.setattr(GaussianTable, "sample", reused)


def one_draw_for_two_coordinates(patch: pytest.MonkeyPatch) -> None:
    sample = GaussianTable.sample

    def doubled(self: GaussianTable, n: int, bits: BitSource) -> Lattice:
        return np.repeat(sample(self, (n + 1) // 2, bits), 2)[:n]

    patch.setattr(GaussianTable, "sample", doubled)


def no_noise_at_all(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(GaussianTable, "sample", lambda self, n, bits: np.zeros(n, dtype=np.int64))


def table_cut_at_three_sigma(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(table, "_REACH", 3)


def table_of_short_thresholds(patch: pytest.MonkeyPatch) -> None:
    """Thresholds of 64 bits under a distance that is stated for 128."""
    edit(
        patch,
        table,
        "_thresholds",
        "(cumulative << _WORD) // total",
        "((cumulative << _LIMB) // total) << _LIMB",
    )


def zero_twice_as_likely(patch: pytest.MonkeyPatch) -> None:
    edit(patch, exact, "_laplace", "negative and magnitude == 0", "False")


def exact_sampler_too_narrow(patch: pytest.MonkeyPatch) -> None:
    edit(patch, exact, "_gaussian", "2 * top * bottom", "19 * top * bottom // 10")


def clip_skipped(patch: pytest.MonkeyPatch) -> None:
    def rounded(vector: Any, clip: float, scale: int, bits: BitSource) -> Lattice:
        bounded = np.clip(np.nan_to_num(vector, posinf=0.0, neginf=0.0), -_FAR, _FAR)
        return np.rint(bounded * scale).astype(np.int64)

    rebind(patch, clip_to_lattice, rounded)


def clip_of_each_coordinate(patch: pytest.MonkeyPatch) -> None:
    def bounded(vector: Any, clip: float, scale: int, bits: BitSource) -> Lattice:
        inside = np.clip(np.nan_to_num(vector, posinf=0.0, neginf=0.0), -clip, clip)
        return np.trunc(inside * scale).astype(np.int64)

    rebind(patch, clip_to_lattice, bounded)


def clip_before_rounding_only(patch: pytest.MonkeyPatch) -> None:
    """The classic: clip in reals, round, and never look at the norm again."""
    edit(patch, clip, "clip_to_lattice", "_norm_squared(lattice) <= limit", "True")


def rounding_always_up(patch: pytest.MonkeyPatch) -> None:
    edit(patch, clip, "_round", "(words < threshold)", "(threshold > 0)")


def broken_vector_passes(patch: pytest.MonkeyPatch) -> None:
    """NaN is patched up value by value, so that the rest of the vector goes out."""
    edit(
        patch,
        clip,
        "clip_to_lattice",
        "values = np.asarray(vector, dtype=np.float64)",
        "values = np.nan_to_num(np.asarray(vector, dtype=np.float64), posinf=0.0, neginf=0.0)",
    )


def truth_one_per_cent_up(patch: pytest.MonkeyPatch) -> None:
    finish = SubsetSelection.__post_init__

    def generous(self: SubsetSelection) -> None:
        finish(self)
        object.__setattr__(self, "include", min(self.include * 101 // 100, (1 << 64) - 1))

    patch.setattr(SubsetSelection, "__post_init__", generous)


def truth_up_behind_a_right_threshold(patch: pytest.MonkeyPatch) -> None:
    """What is stated is right; what is drawn is not."""
    randomise = SubsetSelection.randomise

    def generous(self: SubsetSelection, answer: int, bits: BitSource) -> int:
        other = copy.copy(self)
        object.__setattr__(other, "include", min(self.include * 103 // 100, (1 << 64) - 1))
        return randomise(other, answer, bits)

    patch.setattr(SubsetSelection, "randomise", generous)


def neighbours_of_the_truth_preferred(patch: pytest.MonkeyPatch) -> None:
    """The other answers are not uniform: the first ones come more often."""
    edit(
        patch,
        SubsetSelection,
        "_draw",
        "others.pop(uniform.below(len(others)))",
        "others.pop(min(uniform.below(len(others)), uniform.below(len(others))))",
    )


MECHANISM_MUTANTS = (
    Mutant("sigma x 0.95", sigma_five_per_cent_short, ("updates",), "variance is 0.9", 0.1),
    Mutant("float rounding leak", float_rounding_leak, ("updates",), "grid coarser"),
    Mutant("noise reused across reports", noise_reused_across_reports, ("updates",), "same noise"),
    Mutant(
        "one draw for two coordinates", one_draw_for_two_coordinates, ("updates",), "correlated"
    ),
    Mutant("no noise at all", no_noise_at_all, ("canaries",), "canaries show at least", 0.2),
    Mutant("table cut at 3 sigma", table_cut_at_three_sigma, ("discrete-gaussian",), "from exact"),
    Mutant(
        "thresholds of 64 bits", table_of_short_thresholds, ("discrete-gaussian",), "from exact"
    ),
    Mutant("zero twice as likely", zero_twice_as_likely, ("discrete-laplace",), "follow the law"),
    Mutant(
        "exact sampler too narrow",
        exact_sampler_too_narrow,
        ("discrete-gaussian-exact",),
        "noise variance is",
        0.2,
    ),
    Mutant("clip skipped", clip_skipped, ("updates", "clip"), "too long"),
    Mutant("clip skipped, in a federated sum", clip_skipped, ("canaries",), "moves the sum", 0.2),
    Mutant("clip of each coordinate", clip_of_each_coordinate, ("clip",), "times too long"),
    Mutant("clip before rounding only", clip_before_rounding_only, ("clip",), "times too long"),
    Mutant("rounding always up", rounding_always_up, ("clip",), "rounding shifts"),
    Mutant("broken vector passes", broken_vector_passes, ("clip", "updates"), "NaN"),
    Mutant(
        "truth probability + 1 %",
        truth_one_per_cent_up,
        ("k-rr", "subset-selection"),
        "exceeds e^epsilon",
        0.02,
    ),
    Mutant(
        "truth up behind a right threshold",
        truth_up_behind_a_right_threshold,
        ("k-rr",),
        "sampled answers do not follow",
        0.1,
    ),
    Mutant(
        "first answers preferred",
        neighbours_of_the_truth_preferred,
        ("subset-selection",),
        "sampled answers do not follow",
    ),
)
