"""Closed-form per-example norms and gradients against the slow, certain ways."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from device.learning.mlp import clipped_gradient, loss
from protocol.models import DEDUP, ROUTER, ModelSpec, Weights, initial_weights

BOTH = pytest.mark.parametrize("spec", [ROUTER, DEDUP], ids=["router", "dedup"])


def batch(
    spec: ModelSpec, size: int, seed: int
) -> tuple[Weights, NDArray[np.float32], NDArray[np.float32]]:
    rng = np.random.Generator(np.random.Philox(key=seed))
    inputs = rng.normal(size=(size, spec.layers[0])).astype(np.float32)
    labels = np.eye(spec.layers[-1], dtype=np.float32)[rng.integers(spec.layers[-1], size=size)]
    return initial_weights(spec, rng), inputs, labels


@BOTH
def test_gradient_equals_the_numeric_one(spec: ModelSpec) -> None:
    weights, inputs, labels = batch(spec, 6, seed=1)
    exact = {name: array.astype(np.float64) for name, array in weights.items()}
    gradient = clipped_gradient(exact, inputs.astype(np.float64), labels, spec)  # type: ignore[arg-type]
    rng = np.random.Generator(np.random.Philox(key=2))
    step = 1e-5
    for name, slope in gradient.arrays.items():
        for _ in range(5):
            place = tuple(int(rng.integers(size)) for size in slope.shape)
            higher = {key: array.copy() for key, array in exact.items()}
            lower = {key: array.copy() for key, array in exact.items()}
            higher[name][place] += step
            lower[name][place] -= step
            rise = loss(higher, inputs, labels, spec) - loss(lower, inputs, labels, spec)  # type: ignore[arg-type]
            assert slope[place] == pytest.approx(rise / (2 * step), abs=2e-5), (name, place)


@BOTH
def test_norms_and_clipping_equal_one_example_at_a_time(spec: ModelSpec) -> None:
    weights, inputs, labels = batch(spec, 9, seed=3)
    clip = 1.5
    together = clipped_gradient(weights, inputs, labels, spec, clip=clip)
    mean = {name: np.zeros_like(array) for name, array in weights.items()}
    for row in range(len(inputs)):
        single = clipped_gradient(weights, inputs[row : row + 1], labels[row : row + 1], spec)
        norm = float(np.sqrt(sum(float((g**2).sum()) for g in single.arrays.values())))
        assert together.norms[row] == pytest.approx(norm, rel=1e-5)
        for name, slope in single.arrays.items():
            mean[name] += slope * min(1.0, clip / norm) / len(inputs)
    assert (together.norms > clip).any(), "the batch must test clipping"
    for name, slope in together.arrays.items():
        np.testing.assert_allclose(slope, mean[name], rtol=1e-4, atol=1e-6)


def test_no_example_moves_the_mean_by_more_than_its_clip() -> None:
    weights, inputs, labels = batch(ROUTER, 4, seed=4)
    inputs[0] *= 1e4
    gradient = clipped_gradient(weights, inputs, labels, ROUTER, clip=1.0)
    norm = np.sqrt(sum(float((slope**2).sum()) for slope in gradient.arrays.values()))
    assert norm <= 1.0 + 1e-5
