"""Cohorts in arrays: they train as each phone does, and send what the gate would."""

from __future__ import annotations

import math

import numpy as np
import pytest

from device.learning import local_update
from device.learning.mlp import clipped_gradient
from device.sync.contributions import LOCAL_EPOCHS, LOCAL_RATE
from privacy.budget import PRODUCTION
from protocol.models import SPECS, ModelSpec, Weights, flatten_head, initial_weights
from simulator.federation import (
    Cohort,
    Recipe,
    clipped,
    local_updates,
    noisy_sum,
    own_orders,
    plain_mean,
    private_mean,
    random_orders,
)

ROWS = 240
SIZES = (50, 1, 0, 12, 33, 64, 100)
"""Examples of the phones: several batches, a part of one, none at all."""
MLP = ModelSpec(
    "mlp",
    (20, 9, 4),
    dict.fromkeys(("w1", "b1", "w2", "b2"), 1 / 32),
    ("w1", "b1", "w2", "b2"),
    "softmax",
    ("a", "b", "c", "d"),
)


def pool(spec: ModelSpec) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(11)
    x = rng.normal(0.0, 0.3, (ROWS, spec.layers[0])).astype(np.float32)
    return x, np.eye(spec.layers[-1], dtype=np.float32)[rng.integers(spec.layers[-1], size=ROWS)]


def cohort() -> Cohort:
    rng = np.random.default_rng(12)
    return Cohort.of([rng.integers(ROWS, size=size) for size in SIZES])


def first(spec: ModelSpec) -> Weights:
    return initial_weights(spec, np.random.default_rng(1))


@pytest.mark.parametrize("model", sorted(SPECS))
def test_a_cohort_trains_as_each_phone_does(model: str) -> None:
    spec, (x, y), phones = SPECS[model], pool(SPECS[model]), cohort()
    generators = [np.random.default_rng([3, phone]) for phone in range(len(phones))]
    orders = own_orders(phones, LOCAL_EPOCHS, generators)
    got = local_updates(spec, first(spec), x, y, phones, orders)
    for phone, size in enumerate(SIZES):
        rows, rng = phones.rows[phone, :size], np.random.default_rng([3, phone])
        wanted = local_update(
            spec, first(spec), x[rows], y[rows], epochs=LOCAL_EPOCHS, lr=LOCAL_RATE, rng=rng
        )
        assert not size or np.abs(wanted).max() > 1e-3
        np.testing.assert_allclose(got[phone], wanted, rtol=0, atol=1e-6)


def test_any_model_trains_whole_with_plain_gradients_in_other_batches() -> None:
    recipe = Recipe(epochs=2, rate=0.2, batch=8, example_clip=math.inf, head_only=False)
    (x, y), phones = pool(MLP), cohort()
    orders = random_orders(phones, recipe.epochs, np.random.default_rng(5))
    got = local_updates(MLP, first(MLP), x, y, phones, orders, recipe)
    for phone, size in enumerate(SIZES):
        weights = first(MLP)
        for epoch in range(recipe.epochs):
            order = phones.rows[phone][orders[epoch, phone, :size]]
            for start in range(0, size, recipe.batch):
                rows = order[start : start + recipe.batch]
                slopes = clipped_gradient(weights, x[rows], y[rows], MLP).arrays
                weights = {n: weights[n] - np.float32(recipe.rate) * slopes[n] for n in weights}
        wanted = flatten_head(weights, MLP) - flatten_head(first(MLP), MLP)
        np.testing.assert_allclose(got[phone], wanted, rtol=0, atol=1e-6)
    mean = plain_mean(MLP, first(MLP), x, y, phones, orders, recipe)
    np.testing.assert_allclose(mean.mean, got.mean(axis=0), rtol=0, atol=1e-6)


def test_orders_hold_each_phones_own_places_first() -> None:
    phones = cohort()
    orders = random_orders(phones, 2, np.random.default_rng(6))
    for phone, size in enumerate(SIZES):
        for epoch in orders[:, phone]:
            assert sorted(epoch[:size].tolist()) == list(range(size))


def test_updates_are_clipped_onto_the_lattice_and_keep_their_mean() -> None:
    terms, rng = PRODUCTION.terms("router", 1_000), np.random.default_rng(7)
    inside = (rng.normal(size=1_251) * 1e-3).astype(np.float32)
    outside = (rng.normal(size=1_251) * 3.0).astype(np.float32)
    broken = np.full(1_251, np.nan, np.float32)
    points = clipped(np.stack([inside, outside, broken, *[inside] * 400]), terms, rng)
    limit = (terms.clip * terms.scale) ** 2
    assert (np.einsum("ij,ij->i", points, points) <= limit).all()
    assert not points[2].any()
    assert np.linalg.norm(points[1]) > 0.99 * math.sqrt(limit)
    # Unbiased: 400 roundings of at most half a unit of deviation each, five sigmas.
    mean = points[3:].mean(axis=0) / terms.scale
    np.testing.assert_allclose(mean, inside, rtol=0, atol=5 * 0.5 / math.sqrt(400) / terms.scale)


def test_a_cohort_stands_for_a_fleet_with_that_fleets_noise() -> None:
    spec, phones = SPECS["router"], cohort()
    (x, y), terms = pool(spec), PRODUCTION.terms("router", 10_000)
    orders = random_orders(phones, LOCAL_EPOCHS, np.random.default_rng(8))
    asked = (spec, first(spec), x, y, phones, orders, terms)
    bare = private_mean(*asked, np.random.default_rng(9), fleet=10_000, noise=False)
    noisy = private_mean(*asked, np.random.default_rng(9), fleet=10_000)
    assert (bare.noise, bare.n, noisy.n) == (0.0, 10_000, 10_000)
    seen = float((noisy.mean - bare.mean).std())
    assert seen == pytest.approx(noisy.noise, rel=0.1)
    again = private_mean(*asked, np.random.default_rng(9), fleet=10_000)
    np.testing.assert_array_equal(noisy.mean, again.mean)
    silent = noisy_sum(np.zeros(10, np.int64), 10, terms, np.random.default_rng(1), noise=False)
    assert not silent.total.any()
