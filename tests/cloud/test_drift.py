"""What is drift and what is noise, over many simulated years at once."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from cloud.actors.drift import (
    FALSE_ALARMS_A_YEAR,
    Told,
    chance_of,
    compared,
    threshold,
)
from cloud.actors.findings import PAST_ROUNDS, WATCHED
from privacy import BUDGETS
from privacy.accounting import YEAR
from privacy.estimation import local_error, total_noise
from privacy.mechanisms.local import SubsetSelection

WEEKS = 52
PRODUCTION = BUDGETS["production"]
TESTS_A_YEAR = len(WATCHED) * YEAR / PRODUCTION.terms("usage").cadence
TRUTH = {
    "decided_by": (0.62, 0.22, 0.06, 0.10),
    "top_layer": (0.25, 0.4, 0.25, 0.1),
    "language": (0.7, 0.2, 0.04, 0.06),
    "queries": (0.1, 0.3, 0.4, 0.15, 0.05),
    "records": (0.2, 0.3, 0.35, 0.15),
    "usefulness": (0.5, 0.05, 0.1, 0.15, 0.2),
}
Array = NDArray[np.float64]


def bound(freedom: int) -> float:
    return threshold(freedom, FALSE_ALARMS_A_YEAR / TESTS_A_YEAR)


def noise_at(phones: int) -> float:
    """Std of a share's noise in a production round of the whole fleet."""
    terms = PRODUCTION.terms("usage", phones)
    return total_noise(terms.sigma, phones, terms.n_min) / phones


def weekly(truth: Array, phones: int, weeks: int, rng: np.random.Generator, noise: float) -> Array:
    """float64[weeks, k]: shares of other phones every week, with noise."""
    drawn = rng.multinomial(phones, truth, size=weeks) / phones
    return drawn + rng.normal(0.0, noise, drawn.shape)


def windows(shares: Array) -> Array:
    """float64[weeks', rounds, k]: every week with those before it, newest first."""
    length = PAST_ROUNDS + 1
    sliding = np.lib.stride_tricks.sliding_window_view(shares, length, axis=0)
    return np.moveaxis(sliding, -1, 1)[:, ::-1]


def distances(shares: Array, noise: float, phones: int, *, local: bool = False) -> Array:
    rounds = windows(shares)
    same = np.ones(rounds.shape[:2])
    told = Told(rounds, noise**2 * same, phones * same, local)
    found = compared(told)
    assert found.freedom == shares.shape[1] - local
    return found.distance


def test_every_watched_histogram_is_simulated() -> None:
    assert {one.name: len(one.bins) for one in WATCHED} == {
        name: len(truth) for name, truth in TRUTH.items()
    }


@pytest.mark.parametrize("phones", [500, 3_000, 100_000])
def test_a_stable_fleet_alarms_less_than_once_a_year(phones: int) -> None:
    """2,000 years of six histograms a week, from fleets that are all noise to some with hardly
    any."""
    years, rng = 2_000, np.random.Generator(np.random.Philox(key=phones))
    noise, alarms = noise_at(phones), 0
    for truth in TRUTH.values():
        shares = weekly(np.array(truth), phones, years * WEEKS + PAST_ROUNDS, rng, noise)
        alarms += int((distances(shares, noise, phones) > bound(len(truth))).sum())
    a_year = alarms / years
    assert a_year < 1.0
    if phones == 500:
        # As derived, where noise rules: not one part of what is no news is missing, or too much.
        assert 0.6 < a_year / FALSE_ALARMS_A_YEAR < 1.1


def test_local_rounds_alarm_no_oftener() -> None:
    """One histogram a round: eight times fewer tests, of shares that sum to one exactly."""
    phones, years = 5_000, 2_000
    rng, truth = np.random.Generator(np.random.Philox(key=9)), np.array(TRUTH["queries"])
    randomiser = SubsetSelection(len(truth), PRODUCTION.local.epsilon)
    p, q = (float(chance) for chance in randomiser.inclusion())
    weeks = years * WEEKS // 8 + PAST_ROUNDS
    shares = np.empty((weeks, len(truth)))
    each = rng.multinomial(phones, truth, size=weeks)
    shares = _answers(each, randomiser.size, p, q, rng)
    assert np.allclose(shares.sum(axis=1), 1.0)
    noise = local_error(randomiser, phones, 1 / len(truth))
    alarms = (distances(shares, noise, phones, local=True) > bound(len(truth) - 1)).sum()
    assert 0 < alarms / years < 0.2


def _answers(
    each: NDArray[np.int64], size: int, p: float, q: float, rng: np.random.Generator
) -> Array:
    """Estimated shares of phones that answer by subset selection, drawn group by group: their
    covariance is exact to the second moment, which is what the test's statistic looks at."""
    k = each.shape[1]
    n = each.sum(axis=1)
    mean = each * p + (n[:, None] - each) * q
    # Sets of `size` out of k: the counts' covariance is that of n draws without replacement.
    variance = n * (size / k) * (1 - size / k)
    noise = rng.normal(size=each.shape)
    noise -= noise.mean(axis=1, keepdims=True)
    noise *= np.sqrt(variance * k / (k - 1))[:, None]
    found: Array = ((mean + noise) / n[:, None] - q) / (p - q)
    return found


def test_a_shift_of_ten_points_is_seen_in_the_same_week() -> None:
    """At 10,000 phones under the production budget, in any bin that has ten points to give."""
    phones, trials = 10_000, 2_000
    rng, noise = np.random.Generator(np.random.Philox(key=10)), noise_at(phones)
    missed = 0
    for truth in TRUTH.values():
        k = len(truth)
        before = np.array(truth)
        after = before.copy()
        after[before.argmax()] -= 0.1
        after[before.argmin()] += 0.1
        shares = np.stack(
            [weekly(before, phones, trials, rng, noise) for _ in range(PAST_ROUNDS)], axis=1
        )
        newest = weekly(after, phones, trials, rng, noise)[:, None]
        rounds = np.concatenate([newest, shares], axis=1)
        same = np.ones(rounds.shape[:2])
        found = compared(Told(rounds, noise**2 * same, phones * same, local=False))
        missed += int((found.distance <= bound(k)).sum())
    assert missed == 0


def test_what_noise_hides_is_no_alarm() -> None:
    """The same ten points at 300 phones: most weeks they cannot be told from noise."""
    phones, noise = 300, noise_at(300)
    rounds = np.tile(np.array(TRUTH["top_layer"]), (PAST_ROUNDS + 1, 1))
    rounds[0] += (0.1, -0.1, 0.0, 0.0)
    same = np.ones(len(rounds))
    told = Told(rounds, noise**2 * same, phones * same, local=False)
    assert compared(told).distance < bound(4)
    surer = told._replace(variances=told.variances / 1_000.0, phones=told.phones * 1_000.0)
    assert compared(surer).distance > bound(4)


def test_the_past_is_averaged_by_what_each_round_knows() -> None:
    rounds = np.array([[0.5, 0.5], [0.5, 0.5], [0.9, 0.1]])
    variances = np.array([1e-6, 1e-6, 1.0])
    usual = compared(Told(rounds, variances, np.full(3, 1e9), local=False)).usual
    assert usual == pytest.approx([0.5, 0.5], abs=1e-5)


@pytest.mark.parametrize(
    ("freedom", "chance", "value"),
    [(2, 0.05, 5.991), (3, 0.05, 7.815), (4, 0.001, 18.467), (5, 0.01, 15.086)],
)
def test_thresholds_are_those_of_the_tables(freedom: int, chance: float, value: float) -> None:
    assert threshold(freedom, chance) == pytest.approx(value, abs=1e-3)
    assert chance_of(value, freedom) == pytest.approx(chance, rel=1e-3)
    assert chance_of(0.0, freedom) == 1.0
    assert math.isclose(threshold(1, 0.05) ** 0.5, 1.959964, rel_tol=1e-5)
