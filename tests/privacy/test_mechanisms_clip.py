"""The clip: its bound in big integers, its rounding unbiased, its randomness given."""

from __future__ import annotations

import math
import os
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privacy.mechanisms import clip_to_lattice
from privacy.mechanisms.clip import LARGEST_RADIUS, _cut
from privacy.streams import USAGE_CLIP, USAGE_HISTOGRAMS, usage_vector
from tests.privacy.sampling import SIGMAS, hashed_bits

vectors = st.lists(
    st.floats(allow_nan=True, allow_infinity=True, width=64), min_size=1, max_size=60
)
seeds = st.integers(0, 2**32)


@settings(max_examples=300, deadline=None)
@given(vectors, st.floats(1e-3, 1e3), st.sampled_from([1, 7, 256, 4096, 65_536]), seeds)
def test_no_vector_leaves_the_integer_ball(
    values: list[float], clip: float, scale: int, seed: int
) -> None:
    lattice = clip_to_lattice(np.array(values), clip, scale, hashed_bits(seed))
    norm2 = sum(int(x) ** 2 for x in lattice)
    assert lattice.dtype == np.int64
    assert norm2 <= (Fraction(clip) * scale) ** 2
    if not all(math.isfinite(x) for x in values):
        assert not lattice.any()


@settings(max_examples=150, deadline=None)
@given(
    st.integers(1, 3_000),
    seeds,
    st.sampled_from([1e-9, 0.3, 0.999_999, 1.0, 1.000_001, 30.0]),
    st.sampled_from([1, 16, 4_096]),
)
def test_surfaces_of_every_dimension_keep_the_bound_and_the_direction(
    dimension: int, seed: int, length: float, scale: int
) -> None:
    rng = np.random.Generator(np.random.Philox(key=seed))
    vector = rng.standard_normal(dimension)
    vector *= length / np.linalg.norm(vector)
    lattice = clip_to_lattice(vector, 1.0, scale, hashed_bits(seed))
    assert int(np.sum(lattice**2)) <= scale**2
    wanted = vector * min(1.0, 1.0 / length) * scale
    # a rounding moves a value by less than one unit, the smaller ball by at most a few more
    assert np.max(np.abs(lattice - wanted)) < 3.0


@settings(max_examples=150, deadline=None)
@given(st.lists(st.integers(-90, 90), min_size=1, max_size=40), st.sampled_from([1, 3, 10, 256]))
def test_whole_lattice_units_inside_the_ball_stay_as_they_are(units: list[int], scale: int) -> None:
    length = math.sqrt(sum(x * x for x in units))
    clip = math.nextafter(length / scale, math.inf) + 1e-3
    lattice = clip_to_lattice(np.array(units) / scale, clip, scale, _no_bits)
    if scale in (1, 256):  # powers of two: the doubles are exactly these units
        assert lattice.tolist() == units
    assert np.max(np.abs(lattice - np.array(units))) <= 1


def _no_bits(size: int) -> bytes:
    """Whole vectors must not need any randomness; others get the bits that round toward zero."""
    return b"\xff" * size


def test_usage_vectors_are_exact_at_the_very_surface() -> None:
    for pick in (0, -1):
        vector = usage_vector({h.name: h.bins[pick] for h in USAGE_HISTOGRAMS})
        lattice = clip_to_lattice(vector, USAGE_CLIP, 256, _forbidden)
        assert lattice.tolist() == (vector * 256).astype(int).tolist()


def _forbidden(size: int) -> bytes:
    raise AssertionError("no randomness is needed here")


def test_rounding_is_unbiased_inside_the_ball() -> None:
    """The mean of many roundings is the vector, far finer than one lattice unit."""
    seed, repeats = 51, 8_000
    values = np.array([0.1, -0.1, 0.25, -0.75, 2.5, 1e-3, -3.999, 0.0, 7.0])
    bits = hashed_bits(seed)
    drawn = np.array([clip_to_lattice(values, 20.0, 1, bits) for _ in range(repeats)])
    fraction = np.abs(values) % 1
    error = np.sqrt(fraction * (1 - fraction) / repeats)
    assert np.all(np.abs(drawn.mean(axis=0) - values) <= SIGMAS * error), f"seed {seed}"
    assert np.all((drawn == np.floor(values)) | (drawn == np.ceil(values)))


def test_a_value_rounds_up_with_exactly_the_probability_of_its_fraction() -> None:
    """The threshold of 3/8 is 3/8·2^64: the word below it rounds up, the word at it does not."""
    threshold = 3 << 61
    for word, up in ((0, 1), (threshold - 1, 1), (threshold, 0), (2**64 - 1, 0)):
        stream = word.to_bytes(8, "little")
        for sign in (1, -1):
            value = clip_to_lattice(np.array([sign * 2.375]), 9.0, 1, lambda _, s=stream: s)  # type: ignore[misc]
            assert value.tolist() == [sign * (2 + up)]


def test_at_the_surface_the_mean_falls_short_by_no_more_than_stated() -> None:
    """A clipped head: the conditional rounding costs about half a lattice unit of length."""
    seed, repeats, dimension, scale = 52, 400, 500, 1_024
    vector = np.random.Generator(np.random.Philox(key=seed)).standard_normal(dimension)
    vector *= 3.0 / np.linalg.norm(vector)  # three clips long
    bits = hashed_bits(seed)
    drawn = np.array([clip_to_lattice(vector, 1.0, scale, bits) for _ in range(repeats)])
    norms = np.linalg.norm(drawn, axis=1)
    assert np.max(norms) <= scale
    direction = vector / np.linalg.norm(vector)
    stated = 0.5 + dimension / (8 * scale)
    short = scale - float(drawn.mean(axis=0) @ direction)
    assert 0 < short < stated + SIGMAS * 0.5 / math.sqrt(repeats) + 0.5, f"seed {seed}"
    # truncation toward zero, the simple way to keep the bound, loses many times that
    truncated = np.trunc(vector * scale / 3.0)
    assert scale - float(truncated @ direction) > 5 * short


def test_where_no_smaller_ball_is_left_the_bound_still_holds() -> None:
    """More dimensions than the ball has room for: values are cut, never lengthened."""
    lattice = clip_to_lattice(np.full(10_000, 0.01), 1.0, 4, hashed_bits(53))
    assert int(np.sum(lattice**2)) <= 16
    unlucky = clip_to_lattice(np.array([0.9, 0.9]), 1.0, 3, lambda n: bytes(n))  # always up
    assert int(np.sum(unlucky**2)) <= 9


def test_the_last_resort_ends_inside_the_ball_whatever_it_is_given() -> None:
    """Whole values a float norm took for short enough: units go one by one, largest first."""
    assert _cut(np.array([3.0, -4.0]), 25).tolist() == [3, -4]
    assert _cut(np.array([3.0, -4.0]), 24).tolist() == [3, -3]
    assert _cut(np.array([1.0, 1.0]), 0).tolist() == [0, 0]


def test_the_bound_is_not_fooled_by_overflow() -> None:
    """Sixteen whole values of 2^30: their squares add up to 2^64, which an int64 reads as 0."""
    lattice = clip_to_lattice(np.full(16, float(LARGEST_RADIUS)), LARGEST_RADIUS, 1, os.urandom)
    assert sum(int(x) ** 2 for x in lattice) <= LARGEST_RADIUS**2
    assert min(lattice) >= LARGEST_RADIUS // 4 - 2


def test_extreme_vectors() -> None:
    bits = hashed_bits(54)
    assert not clip_to_lattice(np.zeros(5), 1.0, 256, bits).any()
    assert clip_to_lattice(np.zeros(0), 1.0, 256, bits).shape == (0,)
    huge = clip_to_lattice(np.array([1e308, -1e308]), 1.0, 256, bits).tolist()
    assert all(abs(abs(x) - 181) <= 1 for x in huge)
    assert huge[0] > 0 > huge[1]
    assert clip_to_lattice(np.array([5e-324, -5e-324]), 1.0, 256, bits).tolist() == [0, 0]
    for poison in (math.nan, math.inf, -math.inf):
        assert not clip_to_lattice(np.array([0.5, poison]), 1.0, 256, bits).any()


def test_arguments_that_are_no_lattice_are_refused() -> None:
    for clip, scale in ((1.0, 1 << 31), (0.0, 256), (math.inf, 256), (math.nan, 256), (1.0, 0)):
        with pytest.raises(ValueError, match="clip"):
            clip_to_lattice(np.ones(3), clip, scale, os.urandom)
    with pytest.raises(ValueError, match="one dimension"):
        clip_to_lattice(np.ones((3, 3)), 1.0, 256, os.urandom)
    with pytest.raises(ValueError, match="wrong number"):
        clip_to_lattice(np.array([0.3]), 1.0, 256, lambda n: b"")
