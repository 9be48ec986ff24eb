"""Transforms against their definition, in Python integers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privacy.secagg.field import GENERATOR, MODULUS, Elements
from privacy.secagg.transform import Transform, evaluation, interpolation

SIZES = [1, 2, 8, 64, 128, 256, 1024]


def evaluated(coefficients: list[int], shift: int) -> list[int]:
    """Values at shift·ω^0, shift·ω^1, …, by Horner's rule."""
    size = len(coefficients)
    root = pow(GENERATOR, (MODULUS - 1) // size, MODULUS)
    values = []
    for place in range(size):
        point, value = shift * pow(root, place, MODULUS) % MODULUS, 0
        for coefficient in reversed(coefficients):
            value = (value * point + coefficient) % MODULUS
        values.append(value)
    return values


def elements(size: int, seed: int) -> Elements:
    rng = np.random.Generator(np.random.Philox(seed))
    return rng.integers(0, MODULUS, size, dtype=np.uint64)


@pytest.mark.parametrize("shift", [1, GENERATOR])
@pytest.mark.parametrize("size", SIZES)
def test_coefficients_become_values_and_come_back(size: int, shift: int) -> None:
    coefficients = elements(size, seed=size)
    values = evaluation(size, shift)(coefficients)
    assert values.tolist() == evaluated(coefficients.tolist(), shift)
    assert interpolation(size, shift)(values).tolist() == coefficients.tolist()


@pytest.mark.parametrize("size", [64, 1024, 8192])
def test_the_largest_elements_keep_every_bit(size: int) -> None:
    """All words p - 1: no sum of limbs is ever larger."""
    values = evaluation(size)(np.full(size, MODULUS - 1, dtype=np.uint64))
    assert values.tolist() == [-size % MODULUS, *[0] * (size - 1)]
    assert interpolation(size)(values).tolist() == [MODULUS - 1] * size


@given(st.sampled_from(SIZES), st.integers(1, MODULUS - 1), st.integers(0, 2**32))
@settings(max_examples=30, deadline=None)
def test_a_factor_and_many_at_once(size: int, factor: int, seed: int) -> None:
    values = elements(6 * size, seed).reshape(2, 3, size)
    together = interpolation(size, GENERATOR, factor)(values)
    assert together.shape == values.shape
    alone = interpolation(size, GENERATOR)(values[1, 2]).tolist()
    assert together[1, 2].tolist() == [factor * each % MODULUS for each in alone]


@pytest.mark.parametrize("size", [0, 3, 96, -4])
def test_a_length_is_a_power_of_two(size: int) -> None:
    with pytest.raises(ValueError, match="power of two"):
        Transform(size, 1)
