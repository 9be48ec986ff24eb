"""Specs, the forward pass, and what the frozen grid costs."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from protocol.errors import WeightsInvalid
from protocol.models import (
    DEDUP,
    ROUTER,
    SPECS,
    ModelSpec,
    Weights,
    add_to_head,
    flatten_head,
    forward,
    head_dimension,
    initial_weights,
)
from protocol.models.sizes import PAIR_FEATURES, QUERY_EMBEDDING, QUERY_FEATURES
from protocol.params import Parameters, encode_full
from tests.protocol.samples import generator, random_weights

MAX_HEAD = 2_000
"""Below ten thousand phones only a head of this many values is worth training (federated)."""


def test_specs_are_those_of_the_contract() -> None:
    assert ROUTER.layers == (QUERY_FEATURES, 48, 24, 3)
    assert DEDUP.layers == (PAIR_FEATURES, 18, 12, 3)
    assert ROUTER.outputs == ("working", "structured", "raw")
    assert DEDUP.outputs == ("duplicate", "merge", "independent")
    for spec in SPECS.values():
        assert set(spec.scales) == set(spec.shapes)
        assert head_dimension(spec) <= MAX_HEAD


@pytest.mark.parametrize("spec", [ROUTER, DEDUP])
def test_even_a_noisy_release_fits_a_phones_day(spec: ModelSpec) -> None:
    """Law 8: 20 KB a device-day. Weights this spread out deflate worse than trained ones."""
    noisy = {
        name: (generator(5).standard_normal(shape) * 0.2).astype(np.float32)
        for name, shape in spec.shapes.items()
    }
    assert len(encode_full(Parameters.of(noisy, spec, 1))) <= 16_384


@pytest.mark.parametrize("spec", [ROUTER, DEDUP])
def test_the_head_is_a_flat_vector(spec: ModelSpec) -> None:
    weights = random_weights(spec, 1)
    before = {name: array.copy() for name, array in weights.items()}
    vector = generator(2).standard_normal(head_dimension(spec)).astype(np.float32)
    moved = add_to_head(weights, vector, spec)
    assert np.allclose(flatten_head(moved, spec) - flatten_head(weights, spec), vector, atol=1e-6)
    for name in spec.shapes:
        assert np.array_equal(weights[name], before[name])
        if name not in spec.head:
            assert np.array_equal(moved[name], weights[name])
    with pytest.raises(WeightsInvalid):
        add_to_head(weights, vector[:-1], spec)


@pytest.mark.parametrize("spec", [ROUTER, DEDUP])
def test_outputs_are_probabilities_even_for_huge_inputs(spec: ModelSpec) -> None:
    weights = initial_weights(spec, generator(1))
    spec.check(weights)
    x = generator(2).standard_normal((5, spec.layers[0])).astype(np.float32)
    for scale in (1.0, 1e6):
        y = forward(weights, x * np.float32(scale), spec)
        assert y.shape == (5, 3)
        assert y.dtype == np.float32
        assert ((y >= 0) & (y <= 1)).all()
        if spec.output == "softmax":
            assert np.allclose(y.sum(axis=1), 1, atol=1e-5)
    first = initial_weights(spec, generator(1))
    assert all(np.array_equal(first[name], weights[name]) for name in weights)


def trained(
    spec: ModelSpec, x: NDArray[np.float32], y: NDArray[np.float32], epochs: int
) -> Weights:
    """Plain gradient descent with momentum; both outputs share the gradient p − y."""
    weights = initial_weights(spec, generator(3))
    speed = {name: np.zeros_like(array) for name, array in weights.items()}
    for _ in range(epochs):
        layers = [x]
        for index in range(1, spec.depth):
            layers.append(np.maximum(layers[-1] @ weights[f"w{index}"] + weights[f"b{index}"], 0))
        error = (forward(weights, x, spec) - y) / len(x)
        for index in range(spec.depth, 0, -1):
            down = error @ weights[f"w{index}"].T * (layers[index - 1] > 0)
            for name, slope in (
                (f"w{index}", layers[index - 1].T @ error),
                (f"b{index}", error.sum(axis=0)),
            ):
                speed[name] = (0.9 * speed[name] - 0.1 * slope).astype(np.float32)
                weights[name] = weights[name] + speed[name]
            error = down
    return weights


@pytest.mark.parametrize("spec", [ROUTER, DEDUP])
def test_the_grid_keeps_a_trained_nets_decisions(spec: ModelSpec) -> None:
    rng = generator(4)
    x = rng.random((1500, spec.layers[0])).astype(np.float32)
    if spec is ROUTER:
        # Like real queries: most marks are not there.
        x[:, QUERY_EMBEDDING:] = x[:, QUERY_EMBEDDING:] < 0.2
        words = x[:, :QUERY_EMBEDDING]
        words -= 0.5
        words /= np.linalg.norm(words, axis=1, keepdims=True)
    else:
        # Like real pairs: most differences are not there.
        x *= rng.random(x.shape) < 0.2
    teacher = rng.standard_normal((spec.layers[0], 3))
    scores = (x - x.mean(axis=0)) @ teacher
    labels = scores.argmax(axis=1)
    y = np.eye(3, dtype=np.float32)[labels]
    weights = trained(spec, x[:1000], y[:1000], epochs=600)
    quantised = Parameters.of(weights, spec, 1).weights()
    held = x[1000:]
    exact, coarse = forward(weights, held, spec), forward(quantised, held, spec)
    accuracy = float((exact.argmax(axis=1) == labels[1000:]).mean())
    assert accuracy > 0.8
    assert abs(accuracy - float((coarse.argmax(axis=1) == labels[1000:]).mean())) <= 0.01
    assert (
        float((exact.argmax(axis=1) == coarse.argmax(axis=1)).mean()) >= 0.97
    )  # the rest are near ties
    assert np.abs(exact - coarse).mean() < 0.02
    largest = max(float(np.abs(array).max()) for array in weights.values())
    assert largest < 127 / 32, "the grid would clip"
