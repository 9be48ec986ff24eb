"""Field arithmetic against Python integers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privacy.secagg import field
from privacy.secagg.field import MODULUS, Elements

EDGES = (0, 1, 2, 2**32 - 1, 2**32, 2**32 + 1, 2**63, MODULUS // 2, MODULUS - 2**32, MODULUS - 1)
WORDS = st.one_of(st.sampled_from(EDGES), st.integers(0, MODULUS - 1))
Operation = tuple[Callable[[Elements, Elements], Elements], Callable[[int, int], int]]
OPERATIONS: list[Operation] = [
    (field.add, lambda a, b: a + b),
    (field.sub, lambda a, b: a - b),
    (field.mul, lambda a, b: a * b),
]


def words(values: list[int]) -> Elements:
    return np.array(values, dtype=np.uint64)


def test_the_modulus_is_prime_and_the_generator_generates() -> None:
    """Pratt's certificate: an element of order p - 1 exists, so p is prime."""
    factors = (2, 3, 5, 17, 257, 65_537)
    rest = MODULUS - 1
    for factor in factors:
        while rest % factor == 0:
            rest //= factor
        assert pow(field.GENERATOR, (MODULUS - 1) // factor, MODULUS) != 1
    assert rest == 1
    assert pow(field.GENERATOR, MODULUS - 1, MODULUS) == 1


@pytest.mark.parametrize("operation", OPERATIONS)
def test_edges_in_all_pairs(operation: Operation) -> None:
    ours, exact = operation
    pairs = [(a, b) for a in EDGES for b in EDGES]
    got = ours(words([a for a, _ in pairs]), words([b for _, b in pairs]))
    assert got.tolist() == [exact(a, b) % MODULUS for a, b in pairs]


@given(st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=40))
@settings(max_examples=150, deadline=None)
def test_operations_agree_with_integers(pairs: list[tuple[int, int]]) -> None:
    left, right = words([a for a, _ in pairs]), words([b for _, b in pairs])
    for ours, exact in OPERATIONS:
        assert ours(left, right).tolist() == [exact(a, b) % MODULUS for a, b in pairs]
    assert int(field.dot(left, right)) == sum(a * b for a, b in pairs) % MODULUS


@given(st.integers(0, 2**63 - 1), st.integers(0, 2**63 - 1))
def test_limbs_join(low: int, high: int) -> None:
    joined = field.join_limbs(words([low]), words([high]))
    assert joined.tolist() == [(low + (high << 32)) % MODULUS]


@given(WORDS, st.integers(1, 40))
@settings(max_examples=50, deadline=None)
def test_powers(base: int, count: int) -> None:
    assert field.powers(words([base]), count)[0].tolist() == [
        pow(base, i, MODULUS) for i in range(count)
    ]


def test_canonical_words_are_below_the_modulus() -> None:
    assert field.canonical(words([0, MODULUS - 1]))
    assert not field.canonical(words([0, MODULUS]))
    assert not field.canonical(words([2**64 - 1]))
