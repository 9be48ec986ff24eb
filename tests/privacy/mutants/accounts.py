"""Faults of accounting: what a release is said to cost."""

from __future__ import annotations

import math

import pytest

from privacy.accounting import epsilon, gdp_epsilon, mu_of, pure_units, rho_units
from privacy.mechanisms.table import sampling_delta
from tests.privacy.mutants.surgery import Mutant, rebind

__all__ = ["ACCOUNT_MUTANTS"]

_SAMPLING_RATE = 0.1


def sigma_in_the_wrong_unit(patch: pytest.MonkeyPatch) -> None:
    """Sigma calibrated to a clip of C, charged as if it were calibrated to 2C."""
    rebind(patch, rho_units, lambda clip, sigma: rho_units(clip, 2 * sigma))


def spend_rounded_down(patch: pytest.MonkeyPatch) -> None:
    rebind(patch, rho_units, lambda clip, sigma: rho_units(clip, sigma) - 1)


def wrong_neighbour_relation(patch: pytest.MonkeyPatch) -> None:
    """Half the distance: zero-out charged as one half of replace-one."""
    rebind(patch, mu_of, lambda units: mu_of(units) / 2)


def amplification_claimed(patch: pytest.MonkeyPatch) -> None:
    """A tenth of the phones report, so the cloud claims a tenth of the loss."""
    rebind(patch, gdp_epsilon, lambda mu, delta: gdp_epsilon(_SAMPLING_RATE * mu, delta))


def bound_below_the_truth(patch: pytest.MonkeyPatch) -> None:
    rebind(patch, epsilon, lambda units, delta: 0.9 * epsilon(units, delta))


def local_report_too_cheap(patch: pytest.MonkeyPatch) -> None:
    """epsilon²/8, right for the composition of bounded ranges, is no Gaussian's cost."""
    rebind(patch, pure_units, lambda value: math.ceil(value**2 / 8 * 2**40))


def sampling_paid_once(patch: pytest.MonkeyPatch) -> None:
    """Total variation is taken for delta: the factor 1 + e^epsilon is missing."""
    rebind(patch, sampling_delta, lambda draws, distance, value: draws * distance)


ACCOUNT_MUTANTS = (
    Mutant(
        "sigma in the wrong unit", sigma_in_the_wrong_unit, ("updates",), "charged 0.25 of what"
    ),
    Mutant(
        "sigma in the wrong unit, measured", sigma_in_the_wrong_unit, ("updates",), "was measured"
    ),
    Mutant(
        "sigma in the wrong unit, in the books",
        sigma_in_the_wrong_unit,
        ("ledger",),
        "charged less",
    ),
    Mutant("spend rounded down", spend_rounded_down, ("accounting",), "rounded down"),
    Mutant("wrong neighbour relation", wrong_neighbour_relation, ("accounting",), "is claimed"),
    Mutant("amplification claimed", amplification_claimed, ("accounting",), "is claimed"),
    Mutant("zCDP below the truth", bound_below_the_truth, ("accounting",), "below the exact"),
    Mutant("local report too cheap", local_report_too_cheap, ("accounting",), "too little"),
    Mutant(
        "local charge short at the gate", local_report_too_cheap, ("k-rr",), "of what a local", 0.02
    ),
    Mutant("sampling paid once", sampling_paid_once, ("accounting",), "paid less"),
)
