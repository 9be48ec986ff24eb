"""Subset selection and k-RR: every output's probability as an exact rational."""

from __future__ import annotations

import dataclasses
import itertools
import math
import os
from fractions import Fraction

import pytest

from privacy.mechanisms import SubsetSelection
from privacy.mechanisms.local import exp_lower_bound
from tests.privacy.sampling import (
    SIGMAS,
    Options,
    every_value,
    exact_exp,
    hashed_bits,
    misfit,
    outcomes,
)

_EPSILONS = [0.01, 0.117, 1.0, 2.5, 4.0, 8.0]
_CASES = list(itertools.product(range(2, 9), _EPSILONS))


def _walked(randomiser: SubsetSelection, answer: int) -> dict[int, Fraction]:
    """Probability of every mask, by running the shipped code through all its choices."""

    def split(bound: int) -> Options:
        if bound != 1 << 64:
            return every_value(bound)
        truthful = Fraction(randomiser.include, bound)  # T words below T, the rest at or over it
        return [(randomiser.include - 1, truthful), (randomiser.include, 1 - truthful)]

    return outcomes(lambda walk: randomiser._draw(answer, walk), split)


@pytest.mark.parametrize(("bins", "epsilon"), _CASES)
def test_every_output_keeps_epsilon_exactly(bins: int, epsilon: float) -> None:
    randomiser = SubsetSelection(bins, epsilon)
    worlds = [_walked(randomiser, answer) for answer in range(bins)]
    bound = exact_exp(Fraction(epsilon)) * (1 - Fraction(1, 10**70))  # safely under e^ε
    masks = [mask for mask in range(1 << bins) if mask.bit_count() == randomiser.size]
    worst = Fraction(0)
    for answer, world in enumerate(worlds):
        assert sum(world.values()) == 1
        assert sorted(world) == masks
        for mask in masks:
            assert world[mask] == randomiser.probability(mask, answer)
    for mask in masks:
        chances = [world[mask] for world in worlds]
        worst = max(worst, max(chances) / min(chances))
    assert worst == randomiser.ratio() <= bound
    assert worst > bound * (1 - Fraction(1, 1 << 40))  # nothing given away either


@pytest.mark.parametrize(("bins", "epsilon"), _CASES)
def test_inclusion_is_what_the_outputs_add_up_to(bins: int, epsilon: float) -> None:
    randomiser = SubsetSelection(bins, epsilon)
    world = _walked(randomiser, bins - 1)
    seen = [sum(c for mask, c in world.items() if mask >> i & 1) for i in range(bins)]
    true, other = randomiser.inclusion()
    assert seen == [other] * (bins - 1) + [true]
    assert true > other


@pytest.mark.parametrize("bins", [2, 3, 5, 8, 20, 32])
@pytest.mark.parametrize("epsilon", [1e-6, 0.117, 1.0, 4.0, 16.0, 32.0])
def test_one_more_unit_of_truth_would_break_epsilon(bins: int, epsilon: float) -> None:
    """The threshold is the largest one allowed: its successor's ratio is over e^ε."""
    randomiser = SubsetSelection(bins, epsilon)
    bound = exact_exp(Fraction(epsilon))
    assert randomiser.ratio() <= bound
    object.__setattr__(randomiser, "include", randomiser.include + 1)
    assert randomiser.ratio() > bound


@pytest.mark.parametrize(
    ("bins", "epsilon"), [(b, e) for b in (2, 5, 8, 20, 32) for e in _EPSILONS]
)
def test_the_set_size_is_the_best_one(bins: int, epsilon: float) -> None:
    randomiser = SubsetSelection(bins, epsilon)
    odds = math.exp(epsilon)

    def variance(size: int) -> float:
        p = odds * size / (odds * size + bins - size)
        q = (p * (size - 1) + (1 - p) * size) / (bins - 1)
        return q * (1 - q) / (p - q) ** 2

    best = min(variance(size) for size in range(1, bins))
    assert variance(randomiser.size) <= best * (1 + 1e-9)
    if bins < odds + 1:
        assert (randomiser.size, randomiser.name) == (1, "k-rr")
    assert randomiser.name == ("k-rr" if randomiser.size == 1 else "subset-selection")


@pytest.mark.parametrize(("bins", "epsilon"), [(5, 1.0), (8, 0.117), (20, 1.0), (32, 4.0)])
def test_reports_through_real_bits_follow_their_probabilities(bins: int, epsilon: float) -> None:
    seed, n, answer = 61, 20_000, 1
    randomiser = SubsetSelection(bins, epsilon)
    bits = hashed_bits(seed)
    masks = [randomiser.randomise(answer, bits) for _ in range(n)]
    assert {mask.bit_count() for mask in masks} == {randomiser.size}
    assert max(masks) < 1 << bins
    true, other = (float(chance) for chance in randomiser.inclusion())
    for i in range(bins):
        chance = true if i == answer else other
        seen = sum(mask >> i & 1 for mask in masks)
        error = math.sqrt(n * chance * (1 - chance))
        assert abs(seen - n * chance) < SIGMAS * error, f"seed {seed}"
    if math.comb(bins, randomiser.size) < 1_000:
        sets = itertools.combinations(range(bins), randomiser.size)
        allowed = [sum(1 << i for i in chosen) for chosen in sets]
        weights = {mask: float(randomiser.probability(mask, answer)) for mask in allowed}
        assert misfit(masks, weights) < SIGMAS, f"seed {seed}"


def test_randomised_response_agrees_with_opendp() -> None:
    opendp = pytest.importorskip("opendp.prelude")
    opendp.enable_features("contrib")
    for bins, epsilon in ((3, 1.0), (5, 2.0), (8, 4.0)):
        randomiser = SubsetSelection(bins, epsilon)
        assert randomiser.size == 1
        true = float(randomiser.inclusion()[0])
        peer = opendp.m.make_randomized_response([str(i) for i in range(bins)], prob=true)
        assert peer.map(1) == pytest.approx(epsilon, rel=1e-12)


@pytest.mark.parametrize("exponent", [0.0, 1e-6, 0.117, 1.0, 8.0, 32.0])
def test_the_series_is_a_tight_lower_bound(exponent: float) -> None:
    exact = exact_exp(Fraction(exponent))
    bound = exp_lower_bound(exponent)
    assert exact * (1 - Fraction(1, 1 << 180)) < bound <= exact * (1 + Fraction(1, 10**70))


def test_the_randomiser_is_a_value() -> None:
    randomiser = SubsetSelection(8, 1.0)
    assert randomiser == SubsetSelection(8, 1.0)
    assert randomiser.size == 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        randomiser.include = 1 << 63  # type: ignore[misc]
    assert randomiser.probability(0b111, 0) == 0
    assert randomiser.probability(0b1_1000_0000, 0) == 0


def test_arguments_out_of_range_are_refused() -> None:
    for bins in (-1, 0, 1, 33):
        with pytest.raises(ValueError, match="2 to 32 answers"):
            SubsetSelection(bins, 1.0)
    for epsilon in (0.0, -1.0, 1e-9, 33.0, math.inf, math.nan):
        with pytest.raises(ValueError, match="local epsilon"):
            SubsetSelection(5, epsilon)
    for answer in (-1, 5):
        with pytest.raises(ValueError, match="not one of") as refusal:
            SubsetSelection(5, 1.0).randomise(answer, os.urandom)
        assert str(answer) not in str(refusal.value)  # no user value in a message
    with pytest.raises(ValueError, match="wrong number"):
        SubsetSelection(5, 1.0).randomise(0, lambda n: b"")
