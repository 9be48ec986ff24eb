"""Integer accounting against closed forms and google/dp-accounting."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privacy.accounting import (
    epsilon,
    gdp_epsilon,
    guarantee_of,
    mu_of,
    pure_units,
    rho_of,
    rho_units,
)
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


def dominating_mu(pure: float) -> float:
    """2·Phi^-1(e^eps/(1+e^eps)) by scipy, from the tail that keeps its precision."""
    stats = pytest.importorskip("scipy.stats")
    return float(-2 * stats.norm.ppf(1 / (1 + math.exp(pure))))


@pytest.mark.parametrize("pure", [1e-6, 0.01, 0.1198, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0])
def test_a_pure_release_costs_the_gaussian_that_dominates_it(pure: float) -> None:
    exact = dominating_mu(pure) ** 2 / 2 * 2**40
    assert pure_units(pure) == pytest.approx(exact, rel=1e-9, abs=1.0)


@given(st.floats(1e-6, 20.0))
def test_a_pure_cost_is_never_rounded_down(pure: float) -> None:
    """mu of the units charged satisfies Phi(mu/2) ≥ e^eps/(1+e^eps), in 60 digits."""
    mpmath = pytest.importorskip("mpmath")
    with mpmath.workdps(60):
        mu = mpmath.sqrt(2 * mpmath.mpf(pure_units(pure)) / 2**40)
        tail = mpmath.erfc(mu / 2 / mpmath.sqrt(2)) / 2
        assert tail <= 1 / (1 + mpmath.exp(mpmath.mpf(pure)))
        one_less = mpmath.sqrt(2 * mpmath.mpf(max(0, pure_units(pure) - 2)) / 2**40)
        assert mpmath.erfc(one_less / 2 / mpmath.sqrt(2)) / 2 > 1 / (1 + mpmath.exp(pure))


@pytest.mark.parametrize("pure", [0.1, 1.0, 4.0])
def test_the_gaussian_lies_below_the_pure_trade_off_everywhere(pure: float) -> None:
    stats = pytest.importorskip("scipy.stats")
    mu = mu_of(pure_units(pure))
    slack = []
    for step in range(1, 2_000):
        alpha = step / 2_000
        allowed = max(0.0, 1 - math.exp(pure) * alpha, math.exp(-pure) * (1 - alpha))
        slack.append(allowed - stats.norm.cdf(stats.norm.ppf(1 - alpha) - mu))
    corner = 1 / (1 + math.exp(pure))
    touching = corner - stats.norm.cdf(stats.norm.ppf(1 - corner) - mu)
    assert min(slack) >= -1e-12
    assert touching == pytest.approx(0.0, abs=1e-9)  # ... and touches it at the corner


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf, 33.0])
def test_nonsense_pure_epsilons_are_refused(bad: float) -> None:
    with pytest.raises(ValueError):
        pure_units(bad)


def test_the_sum_covers_what_pure_reports_really_compose_to() -> None:
    """52 randomised responses and 13 Gaussians: dp-accounting's PLD is below our one figure."""
    pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    pure = PRODUCTION.local.epsilon
    p = math.exp(pure) / (1 + math.exp(pure))
    one = pld.from_two_probability_mass_functions(
        {0: math.log(p), 1: math.log(1 - p)}, {0: math.log(1 - p), 1: math.log(p)}
    )
    model = PRODUCTION.stream("router")
    gauss = pld.from_gaussian_mechanism(model.noise)
    mixture = one.self_compose(52).compose(gauss.self_compose(13))
    units = 52 * pure_units(pure) + model.yearly_cap
    ours = gdp_epsilon(mu_of(units), 1e-6)
    assert mixture.get_epsilon_for_delta(1e-6) <= ours * 1.001
    assert ours <= PRODUCTION.yearly_epsilon


def test_what_charges_add_up_to_in_every_window() -> None:
    day = 86_400.0
    charges = [(0.0, 100), (29 * day, 50), (31 * day, 70), (364.0 * day, 5), (366 * day, 900)]
    found = guarantee_of(reversed(charges), 1e-6)
    sums = (900, 905, 1025, 1125)  # the first charge is 366 days before the last
    assert found == (*(gdp_epsilon(mu_of(units), 1e-6) for units in sums), 1e-6)
    assert guarantee_of([], 1e-6) == (0.0, 0.0, 0.0, 0.0, 1e-6)
