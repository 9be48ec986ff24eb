"""The learning benchmark's own parts: its phones are the real ones, its noise the round's."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from device.learning import local_update
from privacy.budget import PRODUCTION
from privacy.estimation import total_noise
from protocol.models import SPECS, flatten_head, initial_weights
from tests.benchmarks.learning_data import RealSet, split_owners
from tests.benchmarks.learning_fleet import Fleet, Rows, clipped, fleet_of, noisy_sum, updates
from tests.benchmarks.learning_noise import model_terms, noise_factor, usage_estimates
from tests.benchmarks.learning_poison import Attack, poisoned, shift_bound

PHONES = 12
ROWS = 240
EPOCHS, RATE = 3, 0.5
OWNERS = 9


def stand_in(model: str) -> RealSet:
    """Made-up features of persons of two sources, each in one language."""
    spec, rng = SPECS[model], np.random.default_rng(11)
    people = np.arange(ROWS) % OWNERS
    languages = np.where(people % 2 == 0, "zh", "en")
    x = rng.normal(0.0, 0.3, (ROWS, spec.layers[0])).astype(np.float32)
    y = np.eye(spec.layers[-1], dtype=np.float32)[rng.integers(spec.layers[-1], size=ROWS)]
    owners = np.array([f"person {number}" for number in people])
    kinds = np.array([f"kind {number % 3}" for number in rng.integers(9, size=ROWS)])
    return RealSet(x, y, owners, languages, kinds, tuple(languages.tolist()), personal=True)


def own_orders(fleet: Fleet) -> Callable[[int], Rows]:
    """Every phone's epochs in the order that its own generator gives."""
    generators = [np.random.default_rng([3, phone]) for phone in range(len(fleet))]

    def order(_: int) -> Rows:
        orders = np.tile(np.arange(fleet.rows.shape[1]), (len(fleet), 1))
        for phone, rng in enumerate(generators):
            orders[phone, : fleet.counts[phone]] = rng.permutation(fleet.counts[phone])
        return orders

    return order


@pytest.mark.parametrize("model", sorted(SPECS))
def test_a_batch_of_phones_trains_as_each_phone_does(model: str) -> None:
    spec, real = SPECS[model], stand_in(model)
    weights = initial_weights(spec, np.random.default_rng(1))
    fleet = fleet_of(real, PHONES, np.random.default_rng(2))
    # More than a batch on one phone, one example on another.
    fleet.counts[:2] = (50, 1)
    got = updates(spec, weights, real, fleet, epochs=EPOCHS, lr=RATE, orders=own_orders(fleet))
    for phone, update in enumerate(got):
        rows = fleet.rows[phone, : fleet.counts[phone]]
        wanted = local_update(
            spec,
            weights,
            real.x[rows],
            real.y[rows],
            epochs=EPOCHS,
            lr=RATE,
            rng=np.random.default_rng([3, phone]),
        )
        assert np.abs(wanted).max() > 1e-3
        np.testing.assert_allclose(update, wanted, atol=1e-5)


@pytest.mark.parametrize("phones", [1_000, 10_000])
def test_the_noise_is_that_of_the_whole_fleet(phones: int) -> None:
    terms = model_terms("router", phones, 8.0)
    assert terms == PRODUCTION.terms("router", phones)
    nothing = np.zeros((10, 20_000), np.int64)
    said = noisy_sum(nothing, phones, terms, np.random.default_rng(4))
    wanted = total_noise(terms.sigma, phones, terms.n_min)
    assert said.sigma == wanted
    assert said.total.std() / terms.scale == pytest.approx(wanted, rel=0.03)
    assert not noisy_sum(nothing, phones, terms, np.random.default_rng(4), noise=False).total.any()


def test_a_smaller_epsilon_is_bought_with_more_noise() -> None:
    factors = [noise_factor(epsilon) for epsilon in (8.0, 4.0, 1.0)]
    assert factors == sorted(factors)
    assert noise_factor(PRODUCTION.yearly_epsilon) == pytest.approx(1.0, rel=1e-6)


def test_vectors_are_clipped_and_keep_their_mean_on_the_lattice() -> None:
    terms = model_terms("router", 1_000, 8.0)
    rng = np.random.default_rng(5)
    vectors = rng.normal(0.0, 1.0, (200, 50))
    vectors[0] *= 1e-3
    lattice = clipped(vectors, terms, rng)
    lengths = np.linalg.norm(lattice, axis=1) / terms.scale
    assert lengths.max() <= terms.clip * 1.01
    np.testing.assert_allclose(lattice[0] / terms.scale, vectors[0], atol=1.0 / terms.scale)


@pytest.mark.parametrize("seed", range(3))
def test_owners_that_are_tested_with_are_never_trained_on(seed: int) -> None:
    real = stand_in("router")
    trained, tested = split_owners(real, seed)
    assert len(trained) + len(tested) == len(real)
    assert set(trained.owners.tolist()).isdisjoint(tested.owners.tolist())
    assert set(tested.sources.tolist()) == set(real.sources.tolist())


def test_a_phone_holds_the_examples_of_one_person() -> None:
    real = stand_in("router")
    fleet = fleet_of(real, 30, np.random.default_rng(6))
    for rows, count in zip(fleet.rows, fleet.counts, strict=True):
        assert len(set(real.owners[rows[:count]].tolist())) == 1


def test_usage_estimates_tell_the_fleets_languages() -> None:
    real = stand_in("router")
    fleet = fleet_of(real, 400, np.random.default_rng(7))
    said = usage_estimates(real, fleet, SPECS["router"], 100_000, 8.0, key=8)
    chinese = np.mean([real.languages[row] == "zh" for row in fleet.rows[:, 0]])
    (told,) = (
        bin_
        for bin_ in said["histograms"]
        if (bin_["histogram"], bin_["bin"]) == ("language", "zh")
    )
    assert told["estimate"] == pytest.approx(chinese, abs=0.01)


@pytest.mark.parametrize("kind", ["sign flip", "label flip", "backdoor"])
def test_lies_within_the_clip_move_the_mean_no_further_than_their_bound(kind: str) -> None:
    spec, real = SPECS["router"], stand_in("router")
    weights = initial_weights(spec, np.random.default_rng(1))
    fleet = fleet_of(real, 100, np.random.default_rng(2))
    terms = model_terms("router", 1_000, 8.0)

    def train(held: RealSet) -> np.ndarray:
        return updates(spec, weights, held, fleet, epochs=1, lr=RATE, orders=own_orders(fleet))

    honest = clipped(train(real), terms, np.random.default_rng(3))
    attack = Attack(kind, 0.05)  # type: ignore[arg-type]
    told = poisoned(honest, attack, spec, real, train, terms, np.random.default_rng(4))
    assert (told != honest).any(axis=1).sum() == 5
    moved = np.linalg.norm((told - honest).mean(axis=0)) / terms.scale
    assert 0.0 < moved <= shift_bound(attack, terms.clip) * 1.01


def test_a_scaled_lie_is_as_long_as_it_says() -> None:
    spec = SPECS["dedup"]
    terms = model_terms("dedup", 1_000, 8.0)
    rows = np.ones((100, flatten_head(initial_weights(spec, np.random.default_rng(1)), spec).size))
    honest = rows.astype(np.int64)
    lie = poisoned(
        honest, Attack("scaling", 0.01, 100.0), spec, stand_in("dedup"), lambda _: rows, terms,
        np.random.default_rng(2),
    )  # fmt: skip
    assert math.isclose(np.linalg.norm(lie[0]) / terms.scale, 100.0, rel_tol=1e-3)
    np.testing.assert_array_equal(lie[1:], honest[1:])
