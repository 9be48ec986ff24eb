"""Integer accounting against closed forms and google/dp-accounting."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privacy.accounting import epsilon, gdp_epsilon, mu_of, rho_of, rho_units
from privacy.budget import DEMO, PRODUCTION, Budget

_positive = st.floats(1e-3, 1e4)


@given(_positive, _positive)
def test_a_charge_is_never_rounded_down(clip: float, sigma: float) -> None:
    exact = Fraction(clip) ** 2 / (2 * Fraction(sigma) ** 2) * (1 << 40)
    assert exact <= rho_units(clip, sigma) < exact + 1


def test_a_vanishing_charge_still_costs_a_unit() -> None:
    assert rho_units(1.0, 1e12) == 1


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf])
def test_nonsense_costs_are_refused(bad: float) -> None:
    with pytest.raises(ValueError):
        rho_units(bad, 1.0)
    with pytest.raises(ValueError):
        rho_units(1.0, bad)


@pytest.mark.parametrize(("sigma", "wanted"), [(4.225, 1.0), (1.194, 4.0), (0.653, 8.0)])
def test_published_sigmas_of_the_analytic_gaussian(sigma: float, wanted: float) -> None:
    assert gdp_epsilon(1 / sigma, 1e-6) == pytest.approx(wanted, rel=2e-3)


@pytest.mark.parametrize("mu", [0.01, 0.15, 1.0, 1.53, 7.0, 40.0, 100.0])
def test_zcdp_bounds_gdp_from_above_and_not_by_much(mu: float) -> None:
    units = rho_units(mu, 1.0)
    assert mu_of(units) == pytest.approx(mu, rel=1e-6)
    tight, bound = gdp_epsilon(mu, 1e-6), epsilon(units, 1e-6)
    assert tight <= bound * (1 + 1e-9)
    if mu >= 0.15:
        assert bound <= 1.25 * tight


def test_nothing_spent_is_epsilon_zero() -> None:
    assert epsilon(0, 1e-6) == 0.0 == gdp_epsilon(0.0, 1e-6)
    for bad in (0.0, 1.0, math.nan):
        with pytest.raises(ValueError):
            epsilon(1, bad)


@pytest.mark.parametrize(
    ("budget", "share"),
    [(PRODUCTION, 1.0), (DEMO, 0.2)],  # a year to the cap; three demo days
    ids=["production", "demo"],
)
def test_dp_accounting_agrees(budget: Budget, share: float) -> None:
    dp = pytest.importorskip("dp_accounting")
    pld = pytest.importorskip("dp_accounting.pld")
    relation = dp.NeighboringRelation.REPLACE_SPECIAL
    accountant = pld.PLDAccountant(neighboring_relation=relation)
    units = 0
    for stream in budget.streams:
        count = int(share * stream.yearly)
        accountant.compose(dp.GaussianDpEvent(stream.noise), count)
        units += count * rho_units(stream.clip, stream.sigma)
    ours = gdp_epsilon(mu_of(units), 1e-6)
    assert ours == pytest.approx(accountant.get_epsilon(1e-6), rel=0.01)


def test_the_discrete_gaussian_on_our_lattice_costs_the_same() -> None:
    """A sum over the coarsest share we allow: its PLD within 0.5 % of the continuous one."""
    pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    n_min, share = 20, 16.0
    sigma = share * math.sqrt(n_min)
    loss = pld.from_discrete_gaussian_mechanism(sigma, sensitivity=64)
    assert gdp_epsilon(64 / sigma, 1e-6) == pytest.approx(
        loss.get_epsilon_for_delta(1e-6), rel=5e-3
    )


def test_production_is_epsilon_eight_a_year() -> None:
    assert PRODUCTION.yearly_epsilon == pytest.approx(8.0, abs=0.01)
    halves = [rho_of(stream.yearly_cap) for stream in PRODUCTION.streams]
    assert halves[0] == pytest.approx(halves[1], rel=0.01)
