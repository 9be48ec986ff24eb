"""The samplers against the exact pmf and against OpenDP; the clip against big integers."""

from __future__ import annotations

import itertools
import math
import os
from collections import Counter
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privacy.bits import draw
from privacy.mechanisms import GaussianTable, clip_to_lattice, discrete_gaussian, gaussian_table
from tests.privacy.parts import seeded_bits

# Chi-square statistics are compared with mean + 5 sigma of their distribution: a false alarm in
# about one run of a million, and the bits are seeded anyway.
_SIGMAS = 5.0

Integers = npt.NDArray[np.int64]


def pmf(sigma2: Fraction | float, reach: int) -> dict[int, float]:
    weights = {x: math.exp(-x * x / (2 * float(sigma2))) for x in range(-reach, reach + 1)}
    total = math.fsum(weights.values())
    return {x: weight / total for x, weight in weights.items()}


def chi_square_excess(draws: list[int], sigma2: Fraction | float) -> float:
    """Standard deviations by which the chi-square statistic exceeds its mean."""
    reach = int(8 * math.sqrt(float(sigma2))) + 2
    expected = pmf(sigma2, reach)
    observed = Counter(draws)
    cells: list[tuple[float, float]] = []
    mass, seen = 0.0, 0
    for x in range(-reach, reach + 1):  # pool neighbours until a cell expects 20 draws
        mass += expected[x] * len(draws)
        seen += observed[x]
        if mass >= 20:
            cells.append((mass, seen))
            mass, seen = 0.0, 0
    statistic = sum((s - m) ** 2 / m for m, s in cells)
    freedom = len(cells) - 1
    return (statistic - freedom) / math.sqrt(2 * freedom)


def variance_excess(draws: np.ndarray, sigma2: float) -> float:
    """Standard errors between the sample variance and sigma2 (Gaussian kurtosis)."""
    return float((np.mean(draws.astype(float) ** 2) / sigma2 - 1) / math.sqrt(2 / len(draws)))


@pytest.mark.parametrize("sigma2", [Fraction(1, 3), Fraction(2), Fraction(31, 2), Fraction(900)])
def test_exact_sampler_follows_the_exact_pmf(sigma2: Fraction) -> None:
    draws = discrete_gaussian(sigma2, 20_000, seeded_bits(11))
    assert chi_square_excess(draws, sigma2) < _SIGMAS


@pytest.mark.parametrize("sigma2", [1, 14, 900, 114**2, 700**2])
def test_table_follows_the_exact_pmf(sigma2: int) -> None:
    draws = GaussianTable(sigma2).sample(200_000, seeded_bits(12))
    assert chi_square_excess(draws.tolist(), sigma2) < _SIGMAS
    if sigma2 > 1:
        assert abs(variance_excess(draws, sigma2)) < _SIGMAS


@pytest.mark.parametrize("sigma", [1_025, 1_365, 13_640, 100_000, 1_000_000])
def test_split_table_has_the_right_shape(sigma: int) -> None:
    draws = GaussianTable(sigma * sigma).sample(200_000, seeded_bits(13))
    assert abs(variance_excess(draws, sigma * sigma)) < _SIGMAS
    # the fine part must hide the coarse step: every residue equally often
    residues = np.bincount(draws % 16, minlength=16)
    expected = len(draws) / 16
    assert np.sum((residues - expected) ** 2 / expected) < 15 + _SIGMAS * math.sqrt(30)
    within = np.mean(np.abs(draws) <= sigma)
    assert abs(within - math.erf(1 / math.sqrt(2))) < 0.006


def test_table_thresholds_are_the_cdf_to_the_last_bits() -> None:
    """The probabilities implied by the 64-bit table, against the pmf in rational arithmetic."""
    sigma2 = 50
    table = GaussianTable(sigma2)
    edges = [0, *(int(t) for t in table._thresholds), 1 << 64]
    probabilities = [Fraction(high - low, 1 << 64) for low, high in itertools.pairwise(edges)]
    exact = pmf(sigma2, table._reach)
    distance = sum(abs(float(p) - exact[x - table._reach]) for x, p in enumerate(probabilities))
    assert distance < 1e-14  # the float pmf itself is no better
    assert table.distance < 1e-16
    # symmetric to within the flooring of two thresholds
    for left, right in zip(probabilities, reversed(probabilities), strict=True):
        assert abs(left - right) <= Fraction(2, 1 << 64)


def cdf(draws: Integers, grid: Integers) -> npt.NDArray[np.float64]:
    return np.searchsorted(np.sort(draws), grid, side="right") / len(draws)


def test_table_agrees_with_the_exact_sampler_and_with_opendp() -> None:
    opendp = pytest.importorskip("opendp.prelude")
    opendp.enable_features("contrib")
    sigma, n = 60, 20_000
    space = opendp.atom_domain(T=int), opendp.absolute_distance(T=int)
    theirs_of = opendp.m.make_gaussian(*space, scale=float(sigma))
    theirs = np.array([theirs_of(0) for _ in range(n)])
    ours = GaussianTable(sigma * sigma).sample(n, seeded_bits(14))
    exact = np.array(discrete_gaussian(Fraction(sigma * sigma), n, seeded_bits(15)))
    limit = 2.0 * math.sqrt(2 / n)  # Kolmogorov-Smirnov, alpha about 7e-4
    grid = np.arange(-5 * sigma, 5 * sigma)
    assert np.max(np.abs(cdf(ours, grid) - cdf(theirs, grid))) < limit
    assert np.max(np.abs(cdf(ours, grid) - cdf(exact, grid))) < limit


def test_a_table_of_wrong_sigma_is_noticed() -> None:
    """The shape test has power: five per cent too little noise goes red."""
    draws = GaussianTable(95**2).sample(200_000, seeded_bits(16))
    assert abs(variance_excess(draws, 100**2)) > _SIGMAS
    assert chi_square_excess(draws.tolist(), 100**2) > _SIGMAS


def test_short_randomness_is_refused() -> None:
    with pytest.raises(ValueError, match="wrong number"):
        gaussian_table(400).sample(10, lambda n: os.urandom(n - 1))
    assert draw(os.urandom, 0) == b""


def test_variances_that_are_no_gaussian_are_refused() -> None:
    for bad in (0, -1):
        with pytest.raises(ValueError):
            discrete_gaussian(bad, 1, os.urandom)
        with pytest.raises(ValueError):
            GaussianTable(bad)


vectors = st.lists(
    st.floats(allow_nan=True, allow_infinity=True, width=64), min_size=1, max_size=60
)


@settings(max_examples=400, deadline=None)
@given(vectors, st.floats(1e-3, 1e3), st.sampled_from([1, 7, 256, 4096, 65_536]))
def test_no_vector_leaves_the_integer_ball(values: list[float], clip: float, scale: int) -> None:
    lattice = clip_to_lattice(np.array(values), clip, scale)
    norm2 = sum(int(x) ** 2 for x in lattice)
    assert lattice.dtype == np.int64
    assert norm2 <= (Fraction(clip) * scale) ** 2
    if not all(math.isfinite(x) for x in values):
        assert not lattice.any()


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 3000), st.integers(0, 2**32), st.floats(0.5, 50))
def test_clipping_keeps_the_direction(dimension: int, seed: int, length: float) -> None:
    rng = np.random.Generator(np.random.Philox(key=seed))
    vector = rng.standard_normal(dimension)
    vector *= length / np.linalg.norm(vector)
    lattice = clip_to_lattice(vector, 1.0, 65_536)
    wanted = vector * min(1.0, 1.0 / length) * 65_536
    assert np.max(np.abs(lattice - wanted)) <= 1.0


def test_extreme_vectors() -> None:
    assert not clip_to_lattice(np.zeros(5), 1.0, 256).any()
    assert clip_to_lattice(np.array([1e308, 1e308]), 1.0, 256).tolist() == [181, 181]
    assert clip_to_lattice(np.array([5e-324]), 1.0, 256).tolist() == [0]
    with pytest.raises(ValueError):
        clip_to_lattice(np.ones(3), 1.0, 1 << 31)
    with pytest.raises(ValueError):
        clip_to_lattice(np.ones((3, 3)), 1.0, 256)
