"""The federated step: exact FedAvg without noise, no step at all when noise explains everything."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from cloud.training.config import TRAINING
from cloud.training.corpora import Examples
from cloud.training.federated import federated_average, project_to_ball, shrinkage
from cloud.training.seeds import generator
from cloud.training.usage import LEAST, MOST, example_weights, usage_mix
from protocol.models.forward import initial_weights
from protocol.models.spec import DEDUP, ROUTER, flatten_head, head_dimension

CONFIG = TRAINING["router"]
DIMENSION = head_dimension(ROUTER)


def test_without_noise_it_is_federated_averaging() -> None:
    current = initial_weights(ROUTER, generator(1))
    mean = np.random.default_rng(1).normal(size=DIMENSION) * 0.01
    step = federated_average(ROUTER, current, None, mean, 0.0, CONFIG)
    moved = flatten_head(step.weights, ROUTER) - flatten_head(current, ROUTER)
    assert step.kept == 1.0
    assert np.allclose(moved, mean, atol=1e-6)
    untouched = set(ROUTER.shapes) - set(ROUTER.head)
    assert all((step.weights[name] == current[name]).all() for name in untouched)


def test_staleness_damps_and_momentum_carries_on() -> None:
    current = initial_weights(ROUTER, generator(1))
    previous = initial_weights(ROUTER, generator(2))
    mean = np.full(DIMENSION, 0.01)
    stale = federated_average(ROUTER, current, None, mean, 0.0, CONFIG, staleness=3)
    assert np.allclose(
        flatten_head(stale.weights, ROUTER) - flatten_head(current, ROUTER), 0.005, atol=1e-6
    )
    rolling = replace(CONFIG, server_momentum=0.5)
    step = federated_average(ROUTER, current, previous, mean, 0.0, rolling)
    velocity = flatten_head(current, ROUTER) - flatten_head(previous, ROUTER)
    moved = flatten_head(step.weights, ROUTER) - flatten_head(current, ROUTER)
    assert np.allclose(moved, mean + 0.5 * velocity, atol=1e-5)


def test_no_mean_moves_the_head_further_than_one_phone_may() -> None:
    current = initial_weights(ROUTER, generator(1))
    wild = np.random.default_rng(4).normal(size=DIMENSION) * 1e6
    step = federated_average(ROUTER, current, None, wild, 0.01, CONFIG, clip=1.0)
    moved = flatten_head(step.weights, ROUTER) - flatten_head(current, ROUTER)
    assert np.linalg.norm(moved) == pytest.approx(1.0, abs=1e-3)
    broken = np.full(DIMENSION, np.nan)
    still = federated_average(ROUTER, current, None, broken, 0.01, CONFIG, clip=1.0)
    assert (flatten_head(still.weights, ROUTER) == flatten_head(current, ROUTER)).all()


@given(seed=st.integers(0, 2**32 - 1), size=st.floats(0.0, 1e3), radius=st.floats(0.1, 10.0))
def test_projection_comes_no_further_from_anything_in_the_ball(
    seed: int, size: float, radius: float
) -> None:
    rng = np.random.default_rng(seed)
    vector, inside = rng.normal(size=20) * size, rng.normal(size=20)
    inside *= radius * rng.random() / np.linalg.norm(inside)
    projected = project_to_ball(vector, radius)
    assert np.linalg.norm(projected) <= radius * (1 + 1e-12)
    assert np.linalg.norm(projected - inside) <= np.linalg.norm(vector - inside) + 1e-9


@given(seed=st.integers(0, 2**32 - 1), noise=st.floats(0.0, 10.0))
def test_shrinkage_is_a_share(seed: int, noise: float) -> None:
    mean = np.random.default_rng(seed).normal(size=50)
    assert 0.0 <= shrinkage(mean, noise) <= 1.0


def test_shrinkage_forgets_pure_noise_and_beats_the_plain_mean() -> None:
    rng = np.random.default_rng(3)
    truth = rng.normal(size=DIMENSION)
    truth *= 0.5 / np.linalg.norm(truth)
    plain, shrunk, kept_noise = 0.0, 0.0, 0.0
    for _ in range(40):
        noise = rng.normal(size=DIMENSION) * 0.05
        seen = truth + noise
        plain += float(((seen - truth) ** 2).sum())
        shrunk += float(((shrinkage(seen, 0.05) * seen - truth) ** 2).sum())
        kept_noise += shrinkage(noise, 0.05)
    assert shrunk < 0.2 * plain
    assert kept_noise / 40 < 0.05


@pytest.mark.parametrize("broken", [np.zeros(8), np.full(8, np.nan), np.full(8, np.inf)])
def test_a_broken_mean_moves_nothing(broken: NDArray[np.float64]) -> None:
    assert shrinkage(broken, 1.0) == 0.0


def two_languages() -> Examples:
    y = np.array([[1, 0, 0], [0, 1, 0], [0, 1, 1], [1, 0, 0]], dtype=np.float32)
    return Examples(np.zeros((4, 2), dtype=np.float32), y, ("zh", "zh", "en", "en"))


def test_usage_weighs_language_and_layer() -> None:
    mix = usage_mix(
        {
            "histograms": [
                {"histogram": "language", "bin": "zh", "estimate": 0.6, "low": 0, "high": 1},
                {"histogram": "language", "bin": "en", "estimate": 0.2, "low": 0, "high": 1},
                {"histogram": "top_layer", "bin": "working", "estimate": 0.1},
                {"histogram": "top_layer", "bin": "structured", "estimate": 0.4},
                {"histogram": "top_layer", "bin": "raw", "estimate": 0.1},
            ]
        }
    )
    router = example_weights(two_languages(), ROUTER, mix)
    assert router == pytest.approx([1.5 * 0.5, 1.5 * 2.0, 0.5 * 1.25, 0.25])
    assert example_weights(two_languages(), DEDUP, mix) == pytest.approx([1.5, 1.5, 0.5, 0.5])


@given(st.lists(st.floats(-2.0, 2.0), min_size=5, max_size=5))
def test_noisy_estimates_keep_weights_bounded(values: list[float]) -> None:
    bins = ("zh", "en", "working", "structured", "raw")
    entries = [
        {"histogram": "language" if i < 2 else "top_layer", "bin": name, "estimate": value}
        for i, (name, value) in enumerate(zip(bins, values, strict=True))
    ]
    weights = example_weights(two_languages(), ROUTER, usage_mix({"histograms": entries}))
    assert ((weights >= LEAST) & (weights <= MOST)).all()


def test_no_usage_known_means_even_weights() -> None:
    assert (example_weights(two_languages(), ROUTER, {}) == 1.0).all()
