"""The auditor's own tools against scipy, against formulas, and against themselves."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from privacy.accounting import gdp_epsilon
from privacy.audit.mechanisms import NAMES, audit
from privacy.audit.mechanisms.canaries import one_run_bound
from privacy.audit.mechanisms.pmf import exp_below, gaussian_pmf, laplace_pmf
from privacy.audit.mechanisms.randomness import foreign_randomness
from privacy.audit.mechanisms.statistics import (
    chi_square_tail,
    correlation_p,
    fit_p,
    proportion_bounds,
    variance_p,
)
from privacy.audit.mechanisms.verdict import Context
from privacy.audit.mechanisms.worlds import epsilon_lower_bound, mu_lower_bound

stats = pytest.importorskip("scipy.stats")

SEED = 5


@pytest.mark.parametrize(
    ("statistic", "freedom"), [(10.0, 5), (0.1, 4), (500.0, 1_000), (1_004_500.0, 1_000_000)]
)
def test_chi_square_tail_is_scipys(statistic: float, freedom: int) -> None:
    assert math.isclose(
        chi_square_tail(statistic, freedom), stats.chi2.sf(statistic, freedom), rel_tol=1e-6
    )


@pytest.mark.parametrize(
    ("successes", "trials"), [(0, 10), (3, 10), (10, 10), (5_000, 100_000), (99_990, 100_000)]
)
def test_proportion_bounds_are_clopper_and_pearsons(successes: int, trials: int) -> None:
    low, high = proportion_bounds(successes, trials, 1e-3)
    exact = stats.binomtest(successes, trials).proportion_ci(1 - 2e-3, method="exact")
    assert math.isclose(low, exact.low, rel_tol=1e-7, abs_tol=1e-12)
    assert math.isclose(high, exact.high, rel_tol=1e-7)


def test_fit_sees_an_impossible_value_and_a_crooked_coin() -> None:
    expected = np.array([500.0, 500.0, 0.0])
    assert fit_p(np.array([500, 500, 0]), expected).p > 0.99
    assert fit_p(np.array([600, 400, 0]), expected).p < 1e-9
    assert fit_p(np.array([500, 499, 1]), expected).p == 0.0


def test_variance_and_correlation_tests_are_calibrated() -> None:
    values = Context(SEED).normals(50_000, "calibration")
    assert variance_p(float(values @ values), 1.0, len(values)) > 1e-3
    assert variance_p(float(values @ values), 1.05, len(values)) < 1e-6
    assert correlation_p(values[::2], values[1::2]) > 1e-3
    assert correlation_p(values[1:], values[1:] + values[:-1]) < 1e-9


def test_two_world_bound_stays_below_and_comes_close() -> None:
    context = Context(SEED)
    for mu in (0.5, 1.75, 3.0):
        zeros, shifted = (context.normals(100_000, mu, world) for world in range(2))
        found = mu_lower_bound(zeros, shifted + mu, 1e-3)
        assert 0.9 * mu < found <= mu
    assert mu_lower_bound(zeros, shifted, 1e-3) == 0.0


def test_bound_without_a_curve_stays_below_the_gaussians() -> None:
    context = Context(SEED)
    zeros, shifted = (context.normals(100_000, "free", world) for world in range(2))
    found = epsilon_lower_bound(zeros, shifted + 1.0, 1e-6, 1e-3)
    assert 1.5 < found < gdp_epsilon(1.0, 1e-6)
    assert epsilon_lower_bound(zeros, shifted, 1e-6, 1e-3) < 0.1


def test_one_run_bound_is_randomised_responses() -> None:
    # 400 canaries through 2-DP randomised response: 88 % of the guesses are right
    right = round(400 * math.exp(2) / (1 + math.exp(2)))
    assert 1.5 < one_run_bound(400, 400, right, 0.0, 1e-3) < 2.0
    assert one_run_bound(400, 400, 200, 0.0, 1e-3) == 0.0
    assert one_run_bound(400, 400, right, 1e-2, 1e-3) < one_run_bound(400, 400, right, 0.0, 1e-3)


def test_own_probabilities() -> None:
    narrow = gaussian_pmf(Fraction(1, 3), 9)
    assert math.isclose(narrow[10] / narrow[9], math.exp(-1.5))
    two_sided = laplace_pmf(Fraction(2), 50)
    assert math.isclose(two_sided[52] / two_sided[50], math.exp(-1))
    for exponent in (Fraction(1, 10), Fraction(4), Fraction(8)):
        assert exp_below(exponent) < Fraction(math.nextafter(math.exp(exponent), math.inf))
        assert math.isclose(exp_below(exponent), math.exp(exponent), rel_tol=1e-15)


@pytest.mark.parametrize(
    "source",
    [
        "import random",
        "from random import gauss",
        "import secrets",
        "from time import time",
        "import numpy as np\nnp.random.normal()",
        "from numpy.random import default_rng",
        "import os\nos.urandom(8)",
        "key = X25519PrivateKey.generate()",
    ],
)
def test_randomness_of_its_own_is_found(source: str) -> None:
    assert foreign_randomness(source)


def test_given_randomness_is_fine() -> None:
    assert not foreign_randomness("from privacy.bits import draw\nnoise = draw(bits, 8)\n")


def test_an_audit_repeats_itself_for_a_seed_and_says_what_it_did() -> None:
    heard: list[str] = []
    names = ["clip", "gate", "updates"]
    first = audit(names, seed=SEED, samples=0.02, progress=heard.append)
    assert heard == names == [verdict.name for verdict in first]
    assert first == audit(names, seed=SEED, samples=0.02)
    assert all(verdict.ok and verdict.method for verdict in first)
    updates = first[-1]
    assert updates.epsilon_claimed is not None
    assert updates.epsilon_lower_bound is not None
    assert 0.0 < updates.epsilon_lower_bound <= updates.epsilon_claimed
    assert first != audit(names, seed=SEED + 1, samples=0.02)


def test_the_accountants_agree_on_the_budgets_plans() -> None:
    verdict = audit(["accounting"], seed=SEED)[0]
    assert verdict.ok, verdict.detail
    assert "pld (dp-accounting)" in verdict.method
    assert "not installed" not in verdict.detail


def test_unknown_names_and_empty_samples_are_refused() -> None:
    with pytest.raises(ValueError, match="no such mechanism: laplace"):
        audit(["laplace"], seed=SEED)
    with pytest.raises(ValueError, match="sample size"):
        audit(NAMES[:1], seed=SEED, samples=0.0)
