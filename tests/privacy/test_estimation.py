"""The estimators: unbiased, and their 95 % intervals cover in 95 % of simulated fleets."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privacy.estimation import (
    estimate_histograms,
    estimate_local,
    local_error,
    mean_update,
    total_noise,
)
from privacy.lattice import share_variance, total_variance
from privacy.mechanisms import SubsetSelection, clip_to_lattice, gaussian_table
from privacy.streams import USAGE_CLIP, USAGE_DIMENSION, USAGE_HISTOGRAMS
from tests.privacy.sampling import SIGMAS, hashed_bits

Reals = npt.NDArray[np.float64]


def _coverage(low: Reals, true: Reals, high: Reals) -> float:
    return float(np.mean((low <= true) & (true <= high)))


def _counts_of(masks: list[int], bins: int) -> npt.NDArray[np.int64]:
    return np.array([sum(mask >> i & 1 for mask in masks) for i in range(bins)], dtype=np.int64)


@pytest.mark.parametrize("bins", range(2, 8))
@pytest.mark.parametrize("epsilon", [0.117, 1.0, 4.0])
def test_local_shares_are_exactly_unbiased(bins: int, epsilon: float) -> None:
    """One phone, every set it may report: the expectation of the estimate is its answer."""
    randomiser = SubsetSelection(bins, epsilon)
    masks = [mask for mask in range(1 << bins) if mask.bit_count() == randomiser.size]
    for answer in range(bins):
        expected = np.zeros(bins)
        for mask in masks:
            estimates = estimate_local(_counts_of([mask], bins), 1, randomiser)
            shares = np.array([estimate.share for estimate in estimates])
            expected += float(randomiser.probability(mask, answer)) * shares
        assert expected == pytest.approx(np.eye(bins)[answer], abs=1e-9)


@settings(max_examples=200, deadline=None)
@given(st.integers(2, 32), st.floats(0.05, 8.0), st.integers(1, 5_000), st.data())
def test_local_intervals_hold_their_estimate(
    bins: int, epsilon: float, n: int, data: st.DataObject
) -> None:
    """Any counts that n reports can give: low ≤ high within [0, 1], around the cut estimate."""
    randomiser = SubsetSelection(bins, epsilon)
    counts = np.zeros(bins, dtype=np.int64)
    start = data.draw(st.integers(0, bins - 1))
    for i in range(randomiser.size):  # w answers named by all reports, then some moved on
        counts[(start + i) % bins] = n
    if randomiser.size < bins:
        moved = data.draw(st.integers(0, n))
        counts[start] -= moved
        counts[(start + randomiser.size) % bins] += moved
    estimates = estimate_local(counts, n, randomiser)
    assert sum(estimate.share for estimate in estimates) == pytest.approx(1.0, abs=1e-6)
    for share, low, high in estimates:
        assert 0 <= low <= min(max(share, 0.0), 1.0) + 1e-12
        assert min(max(share, 0.0), 1.0) - 1e-12 <= high <= 1


@pytest.mark.parametrize(("bins", "epsilon", "size"), [(5, 0.117, 2), (8, 1.0, 2), (20, 2.0, 2)])
def test_subset_selection_is_covered_through_real_reports(
    bins: int, epsilon: float, size: int
) -> None:
    seed, fleets, n = 71, 40, 400
    randomiser, bits = SubsetSelection(bins, epsilon), hashed_bits(seed)
    assert randomiser.size == size
    answers = [0] * 250 + [1] * 120 + [2] * 30
    truth = np.zeros(bins)
    truth[:3] = (250 / n, 120 / n, 30 / n)
    found = np.array(
        [
            estimate_local(
                _counts_of([randomiser.randomise(a, bits) for a in answers], bins), n, randomiser
            )
            for _ in range(fleets)
        ]
    )
    error = np.array([local_error(randomiser, n, share) for share in truth])
    bias = np.abs(found[:, :, 0].mean(axis=0) - truth)
    assert np.all(bias < SIGMAS * error / math.sqrt(fleets)), f"seed {seed}"
    spread = np.sqrt(np.mean((found[:, :, 0] - truth) ** 2 / error**2))
    assert 0.85 < spread < 1.15, f"seed {seed}"
    assert _coverage(found[:, :, 1], truth, found[:, :, 2]) > 0.92, f"seed {seed}"


@pytest.mark.parametrize("epsilon", [1.0, 4.0, 8.0])
@pytest.mark.parametrize("n", [300, 3_000, 100_000])
def test_k_rr_is_covered_bin_by_bin(epsilon: float, n: int) -> None:
    """Multinomial fleets, the distribution of k-RR reports; rare and absent answers included."""
    seed, fleets = 72, 2_000
    randomiser = SubsetSelection(5, epsilon)
    assert randomiser.size == 1
    answers = [n - n // 4 - n // 10 - n // 100, n // 4, n // 10, n // 100, 0]
    true, other = (float(chance) for chance in randomiser.inclusion())
    rng = np.random.Generator(np.random.Philox(key=seed))
    counts = sum(
        rng.multinomial(phones, np.full(5, other) + np.eye(5)[answer] * (true - other), fleets)
        for answer, phones in enumerate(answers)
    )
    found = np.array([estimate_local(row, n, randomiser) for row in np.asarray(counts)])
    truth = np.array(answers) / n
    for i, share in enumerate(truth):
        error = local_error(randomiser, n, share)
        assert np.std(found[:, i, 0]) == pytest.approx(error, rel=0.08), f"seed {seed}"
        covered = _coverage(found[:, i, 1], share, found[:, i, 2])
        assert 0.93 < covered <= 1.0, f"seed {seed}, bin {i}"
        if share > 0.05 and n > 300 and epsilon < 8.0:
            assert covered < 0.97, f"seed {seed}, bin {i}"


def test_the_local_error_is_the_textbook_one() -> None:
    """k-RR: (k-2+e^ε)/(e^ε-1)²/n for an answer nobody gives; 1.22 % at ε = 4, k = 20, n = 1,000."""
    randomiser = SubsetSelection(5, 4.0)
    odds = math.exp(4.0)
    expected = math.sqrt((5 - 2 + odds) / (odds - 1) ** 2 / 1_000)
    assert local_error(randomiser, 1_000) == pytest.approx(expected, rel=1e-9)
    # the binomial term: f·(1-p-q)/(p-q)/n on top
    true, other = (float(chance) for chance in randomiser.inclusion())
    more = local_error(randomiser, 1_000, 0.3) ** 2 - expected**2
    assert more == pytest.approx(0.3 * (1 - true - other) / (true - other) / 1_000, rel=1e-9)


def test_local_counts_that_no_reports_give_are_refused() -> None:
    randomiser = SubsetSelection(5, 0.117)
    good = np.array([4, 4, 4, 4, 4], dtype=np.int64)
    assert len(estimate_local(good, 10, randomiser)) == 5
    for counts, n in (
        (good[:4], 10),
        (good, 0),
        (good, 9),
        (np.array([-1, 9, 4, 4, 4], dtype=np.int64), 10),
        (np.array([11, 3, 2, 2, 2], dtype=np.int64), 10),
    ):
        with pytest.raises(ValueError, match="local"):
            estimate_local(counts, n, randomiser)


def test_histogram_intervals_cover_and_are_unbiased() -> None:
    """Whole reports: phone shares of noise, then the helper's, as the servers sum them."""
    seed, fleets, n, n_min, scale, sigma = 73, 150, 60, 45, 256, 6.0
    bits = hashed_bits(seed)
    rng = np.random.Generator(np.random.Philox(key=seed))
    phones = gaussian_table(share_variance(sigma, scale, n_min))
    helper = gaussian_table(total_variance(sigma, scale))
    noise = total_noise(sigma, n, n_min)
    picks = np.stack([rng.integers(0, len(h.bins), n) for h in USAGE_HISTOGRAMS], axis=1)
    starts = np.cumsum([0, *[len(h.bins) for h in USAGE_HISTOGRAMS]])[:-1]
    true = np.bincount((picks + starts).ravel(), minlength=USAGE_DIMENSION)
    hits, errors = 0, []
    for _ in range(fleets):
        total = true * scale + helper.sample(USAGE_DIMENSION, bits)
        total = total + phones.sample(n * USAGE_DIMENSION, bits).reshape(n, -1).sum(axis=0)
        for estimate, count in zip(estimate_histograms(total, n, scale, noise), true, strict=True):
            hits += estimate.low <= count / n <= estimate.high
            errors.append(estimate.estimate - count / n)
    assert 0.935 < hits / len(errors) < 0.975, f"seed {seed}"
    assert abs(np.mean(errors)) < SIGMAS * noise / n / math.sqrt(len(errors)), f"seed {seed}"
    assert np.std(errors) == pytest.approx(noise / n, rel=0.05), f"seed {seed}"


def test_the_mean_update_is_unbiased_with_the_noise_it_states() -> None:
    """Clipped, stochastically rounded and noised vectors; the vector is finer than the lattice."""
    seed, fleets, n, n_min, scale, sigma, dimension = 74, 30, 40, 30, 256, 0.7, 60
    bits = hashed_bits(seed)
    vector = np.linspace(-0.001, 0.09, dimension)
    assert np.linalg.norm(vector) < 0.9
    phones = gaussian_table(share_variance(sigma, scale, n_min))
    helper = gaussian_table(total_variance(sigma, scale))
    deviations = []
    for _ in range(fleets):
        total = helper.sample(dimension, bits)
        for _ in range(n):
            total = total + clip_to_lattice(vector, 1.0, scale, bits)
            total = total + phones.sample(dimension, bits)
        update = mean_update(total, n, scale, total_noise(sigma, n, n_min))
        deviations.append((update.mean - vector) / update.noise)
    scores = np.array(deviations)
    assert np.mean(np.abs(scores) <= 1.96) == pytest.approx(0.95, abs=0.025), f"seed {seed}"
    assert np.std(scores) == pytest.approx(1.0, rel=0.08), f"seed {seed}"
    assert abs(np.mean(scores)) < SIGMAS / math.sqrt(scores.size), f"seed {seed}"


def test_noise_totals_add_up_in_variance() -> None:
    assert total_noise(3.0, 150, 150) == pytest.approx(3.0 * math.sqrt(2))
    assert total_noise(3.0, 200, 50, helper=False) == pytest.approx(6.0)
    lattice = Fraction(150 * share_variance(3.0, 256, 150) + total_variance(3.0, 256), 256**2)
    assert math.sqrt(lattice) == pytest.approx(total_noise(3.0, 150, 150), rel=1e-4)
    assert pytest.approx(math.sqrt(8)) == USAGE_CLIP


def test_sums_of_the_wrong_shape_are_refused() -> None:
    with pytest.raises(ValueError, match="a usage sum has"):
        estimate_histograms(np.zeros(USAGE_DIMENSION + 1, dtype=np.int64), 5, 256, 1.0)
    with pytest.raises(ValueError, match="at least one"):
        estimate_histograms(np.zeros(USAGE_DIMENSION, dtype=np.int64), 0, 256, 1.0)
    with pytest.raises(ValueError, match="at least one report"):
        mean_update(np.zeros(4, dtype=np.int64), 0, 256)
