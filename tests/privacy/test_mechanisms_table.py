"""The table: its exact probabilities in rationals, its ties, its draws, what it costs in delta."""

from __future__ import annotations

import itertools
import math
import os
from fractions import Fraction

import numpy as np
import pytest

from privacy.bits import draw
from privacy.mechanisms import GaussianTable, gaussian_table, sampling_delta
from tests.privacy.sampling import SIGMAS, exact_exp, gaussian_weights, hashed_bits, misfit

_WHOLE = 1 << 128
_DIGITS = 60


def _exact_weights(sigma2: Fraction, values: range) -> dict[int, Fraction]:
    """exp(-x²/(2·sigma2)) to 60 digits, each value by itself."""
    return {x: exact_exp(-Fraction(x * x) / (2 * sigma2), _DIGITS) for x in values}


def _normaliser(sigma2: Fraction) -> Fraction:
    """The sum over all integers: what lies beyond 15 sigma is under 2^-160."""
    reach = math.isqrt(math.floor(225 * sigma2)) + 2
    weights = _exact_weights(sigma2, range(1, reach))
    return 1 + 2 * sum(weights.values(), Fraction(0))


def _own_probabilities(table: GaussianTable) -> dict[int, Fraction]:
    edges = [0, *table.thresholds, _WHOLE]
    return {
        x - table.reach: Fraction(high - low, _WHOLE)
        for x, (low, high) in enumerate(itertools.pairwise(edges))
    }


@pytest.mark.parametrize("sigma2", [Fraction(1, 4), Fraction(2), Fraction(50), Fraction(997, 3)])
def test_a_table_is_the_discrete_gaussian_within_its_distance(sigma2: Fraction) -> None:
    table = GaussianTable(sigma2)
    ours = _own_probabilities(table)
    total = _normaliser(sigma2)
    exact = {
        x: weight / total for x, weight in _exact_weights(sigma2, range(table.reach + 1)).items()
    }
    inside = exact[0] + 2 * sum(exact[x] for x in range(1, table.reach + 1))
    gap = 1 - inside
    gap += sum((abs(chance - exact[abs(x)]) for x, chance in ours.items()), Fraction(0))
    assert sum(ours.values()) == 1
    assert gap / 2 < table.distance <= 2**-110
    assert table.distance < 2**10 * max(gap / 2, Fraction(1, 1 << 130))  # a bound, not a fantasy


def test_a_split_table_is_the_discrete_gaussian_within_its_distance() -> None:
    """Coarse and fine part convolved exactly; every value of the middle, then every 101st."""
    sigma2 = 1_025**2
    table = GaussianTable(sigma2)
    assert table.coarse is not None
    assert table.coarse.coarse is None
    fine, coarse = _own_probabilities(table), _own_probabilities(table.coarse)
    total = _normaliser(Fraction(sigma2))
    checked = [*range(64), *range(64, 12 * 1_025, 101)]
    gap = Fraction(0)
    for x in checked:
        first = -((table.reach - x) // table.step)
        last = (table.reach + x) // table.step
        mixed = sum(
            (
                coarse.get(y, Fraction(0)) * fine.get(x - table.step * y, Fraction(0))
                for y in range(first, last + 1)
            ),
            Fraction(0),
        )
        gap += abs(mixed - exact_exp(-Fraction(x * x, 2 * sigma2), _DIGITS) / total)
    assert gap < table.distance <= 2**-110


@pytest.mark.parametrize("exponent", [-1, 0, 3, 8, 9.9, 10.1, 12, 15.5, 20, 26, 33.3, 41, 50])
def test_the_distance_holds_at_every_width(exponent: float) -> None:
    sigma2 = Fraction(2.0**exponent) ** 2
    table = GaussianTable(sigma2)
    assert 0 < table.distance <= 2**-110
    parts, whole, width = [table], table.direct, Fraction(1)
    while parts[-1].coarse is not None:
        width *= parts[-1].step ** 2
        parts.append(parts[-1].coarse)
        whole += width * parts[-1].direct
    assert whole == sigma2  # the parts' variances add up
    assert all(part.reach <= 13 * 1_025 + 1 for part in parts)
    for part in parts[:-1]:  # the seam's condition: c² ≥ 8
        assert 16 * (1 - 16 * part.step**2 / part.sigma2) >= 8


def _scripted(*words: int) -> tuple[list[int], GaussianTable]:
    """A table fed with the words given; the sizes it asked for."""
    stream = b"".join(word.to_bytes(8, "little") for word in words)
    asked: list[int] = []

    def bits(size: int) -> bytes:
        nonlocal stream
        asked.append(size)
        taken, stream = stream[:size], stream[size:]
        return taken

    table = GaussianTable(50)
    table.sample(1, bits)
    return asked, table


def _invert(table: GaussianTable, word: int) -> int:
    """The definition: thresholds at or below a 128-bit word, counted one by one."""
    return sum(threshold <= word for threshold in table.thresholds) - table.reach


def test_only_ties_cost_a_second_word_and_they_are_decided_by_it() -> None:
    table = GaussianTable(50)
    for index in (0, 5, table.reach, table.reach + 1, 2 * table.reach - 1):
        threshold = table.thresholds[index]
        for word in (threshold - 1, threshold, threshold + 1):
            if not 0 <= word < _WHOLE:
                continue
            high, low = divmod(word, 1 << 64)
            tied = any(other >> 64 == high for other in table.thresholds)
            words = [high, low] if tied else [high]
            stream = b"".join(part.to_bytes(8, "little") for part in words)
            served = iter([stream[:8], stream[8:]])
            value = table.sample(1, lambda n, served=served: next(served))  # type: ignore[misc]
            assert value.tolist() == [_invert(table, word)]


def test_draws_off_the_thresholds_cost_one_word() -> None:
    asked, _ = _scripted(0x8000_0000_0000_1234)
    assert asked == [8]
    lowest = GaussianTable(50).thresholds[0]
    asked, _ = _scripted(lowest >> 64, lowest & ((1 << 64) - 1))
    assert asked == [8, 8]


@pytest.mark.parametrize("sigma2", [Fraction(1, 4), Fraction(3), Fraction(320**2)])
def test_every_word_is_inverted_exactly(sigma2: Fraction) -> None:
    """The guide and the search against counting, at, just under and between thresholds."""
    table = GaussianTable(sigma2)
    highs = sorted({threshold >> 64 for threshold in table.thresholds})
    picked = highs[:: max(1, len(highs) // 60)]
    words = [high + step for high in picked for step in (-1, 1) if 0 < high + step < 1 << 64]
    words = [word for word in words if word not in set(highs)]
    stream = np.array(words, dtype="<u8").tobytes()
    values = table.sample(len(words), lambda n: stream[:n])
    assert values.tolist() == [_invert(table, word << 64) for word in words]


@pytest.mark.parametrize("sigma2", [1, 14, 900, 114**2, 700**2])
def test_table_draws_follow_the_pmf(sigma2: int) -> None:
    seed = 12
    draws = GaussianTable(sigma2).sample(200_000, hashed_bits(seed))
    reach = 8 * math.isqrt(sigma2) + 2
    assert draws.dtype == np.int64
    assert misfit(draws.tolist(), gaussian_weights(sigma2, reach)) < SIGMAS, f"seed {seed}"
    if sigma2 > 1:
        assert abs(_variance_excess(draws, sigma2)) < SIGMAS, f"seed {seed}"


@pytest.mark.parametrize("sigma", [1_025, 1_365, 13_640, 100_000, 1_000_000, 1 << 40])
def test_split_draws_have_the_right_shape(sigma: int) -> None:
    seed = 13
    draws = GaussianTable(sigma * sigma).sample(200_000, hashed_bits(seed))
    assert abs(_variance_excess(draws, sigma * sigma)) < SIGMAS, f"seed {seed}"
    # the fine part must hide the coarse step: every residue equally often
    residues = np.bincount(draws % 16, minlength=16)
    expected = len(draws) / 16
    assert np.sum((residues - expected) ** 2 / expected) < 15 + SIGMAS * math.sqrt(30)
    within = np.mean(np.abs(draws) <= sigma)
    assert abs(within - math.erf(1 / math.sqrt(2))) < 0.006


def test_a_table_of_wrong_sigma_is_noticed() -> None:
    """Power: four per cent too little noise goes red by shape, two per cent by variance."""
    draws = GaussianTable(98**2).sample(200_000, hashed_bits(16))
    assert abs(_variance_excess(draws, 100**2)) > SIGMAS
    draws = GaussianTable(96**2).sample(200_000, hashed_bits(17))
    assert misfit(draws.tolist(), gaussian_weights(100**2, 900)) > SIGMAS


def _variance_excess(draws: np.ndarray, sigma2: float) -> float:
    """Standard errors between the sample variance and sigma2 (Gaussian kurtosis)."""
    return float((np.mean(draws.astype(float) ** 2) / sigma2 - 1) / math.sqrt(2 / len(draws)))


def test_tables_are_shared_and_keep_the_integer_type_that_decides() -> None:
    assert gaussian_table(400) is gaussian_table(400)
    table = gaussian_table(400)
    assert table.thresholds == sorted(table.thresholds)
    assert max(table.thresholds) < _WHOLE
    # two limbs are read back as the integers they were: no double could hold them
    assert any(threshold % (1 << 53) for threshold in table.thresholds)
    assert table._high.dtype == np.uint64
    assert table._low.dtype == np.uint64


def test_sampling_is_paid_for() -> None:
    table = gaussian_table(1_364**2)
    lifetime = sampling_delta(10 * (13 * 2_000 + 52 * 32), table.distance, 40.0)
    assert 0 < lifetime < 1e-10
    assert sampling_delta(1_000, 2**-60, 2.0) == 1_000 * 2**-60 * (1 + math.exp(2.0))
    assert sampling_delta(1, 0.5, 3.0) == 1.0
    assert sampling_delta(1, 1e-300, 1e6) == 1.0
    assert sampling_delta(0, 0.5, 1e6) == 0.0
    for bad in ((-1, 0.1, 1.0), (1, -0.1, 1.0), (1, 0.1, -1.0), (1, 0.1, math.nan)):
        with pytest.raises(ValueError, match="not negative"):
            sampling_delta(*bad)


def test_short_randomness_is_refused() -> None:
    with pytest.raises(ValueError, match="wrong number"):
        gaussian_table(400).sample(10, lambda n: os.urandom(n - 1))
    assert draw(os.urandom, 0) == b""
    assert gaussian_table(400).sample(0, os.urandom).shape == (0,)


def test_variances_out_of_range_are_refused() -> None:
    for small in (0, -1, Fraction(1, 5)):
        with pytest.raises(ValueError, match="too small"):
            GaussianTable(small)
    with pytest.raises(ValueError, match="too large"):
        GaussianTable((1 << 100) + 1)
