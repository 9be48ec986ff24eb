"""DP-SGD: the clip binds, the noise has its size, the account agrees with a second accountant."""

from __future__ import annotations

from dataclasses import replace

import dp_accounting
import numpy as np
import pytest
import torch
from dp_accounting import rdp
from numpy.typing import NDArray

from cloud.training.config import TRAINING
from cloud.training.corpora import Examples
from cloud.training.dpsgd import (
    network_of,
    spent_epsilon,
    train_private,
    weights_of,
)
from cloud.training.sampling import SeededDraws, poisson_batches
from cloud.training.seeds import generator, key_for
from protocol.models.forward import forward, initial_weights
from protocol.models.spec import DEDUP, SPECS, Weights, flatten_head

EVERY_ROW = 1.0
"""Sampling rate that puts every row in the batch."""
SMALL_BATCH = 256


def random_examples(rows: int, scale: float = 1.0) -> Examples:
    rng = np.random.default_rng(5)
    x = (scale * rng.standard_normal((rows, DEDUP.layers[0]))).astype(np.float32)
    y = np.eye(3, dtype=np.float32)[rng.integers(3, size=rows)]
    return Examples(x, y, ("en",) * rows)


def one_step(examples: Examples, start: Weights, **changes: float) -> NDArray[np.float64]:
    """The gradient that one step applied, recovered from the change of the weights."""
    settings = {"momentum": 0.0, "weight_decay": 0.0, "noise_multiplier": 0.0}
    # A small divisor: the gradient is read off float32 weights and multiplied by it.
    settings["expected_batch"] = SMALL_BATCH
    config = replace(TRAINING["dedup"], sampling_rate=EVERY_ROW, **(settings | changes))  # type: ignore[arg-type]
    after = train_private(
        DEDUP,
        start,
        examples,
        np.ones(len(examples), dtype=np.float32),
        config,
        steps=1,
        learning_rate=1.0,
        key=3,
    )
    moved = flatten_head(start, DEDUP).astype(np.float64) - flatten_head(after, DEDUP)
    return moved * config.expected_batch


def closed_form_sum(examples: Examples, weights: Weights, clip: float) -> NDArray[np.float64]:
    """Sum of clipped gradients by hand: ‖g‖² = Σ ‖δ‖²(‖a‖² + 1) over layers, no opacus."""
    inputs = [examples.x.astype(np.float64)]
    for index in range(1, DEDUP.depth):
        inputs.append(np.maximum(inputs[-1] @ weights[f"w{index}"] + weights[f"b{index}"], 0.0))
    delta = forward(weights, examples.x, DEDUP).astype(np.float64) - examples.y
    deltas = [delta]
    for index in range(DEDUP.depth, 1, -1):
        deltas.insert(0, (deltas[0] @ weights[f"w{index}"].T) * (inputs[index - 1] > 0.0))
    squares = sum(
        (d**2).sum(axis=1) * ((a**2).sum(axis=1) + 1.0) for a, d in zip(inputs, deltas, strict=True)
    )
    factor = np.minimum(1.0, clip / np.sqrt(squares))[:, None]
    parts = []
    for a, d in zip(inputs, deltas, strict=True):
        parts += [(a.T @ (d * factor)).ravel(), (d * factor).sum(axis=0)]
    return np.concatenate(parts)


@pytest.mark.parametrize("clip", [0.1, 1.0, 1e6])
def test_opacus_ghost_clipping_equals_the_closed_form(clip: float) -> None:
    examples = random_examples(40)
    start = initial_weights(DEDUP, generator(1))
    ours = closed_form_sum(examples, start, clip)
    theirs = one_step(examples, start, clip=clip)
    assert np.abs(ours - theirs).max() < 1e-3 * max(float(np.abs(ours).max()), 0.1)


def test_one_example_moves_the_sum_by_at_most_the_clip() -> None:
    start = initial_weights(DEDUP, generator(1))
    huge = random_examples(1, scale=1000.0)
    assert np.linalg.norm(one_step(huge, start, clip=0.5)) <= 0.5 * (1 + 1e-3)


def test_the_noise_has_the_stated_size() -> None:
    start = initial_weights(DEDUP, generator(1))
    examples = random_examples(4)
    quiet = one_step(examples, start)
    noisy = one_step(examples, start, noise_multiplier=3.0, clip=2.0)
    loud = one_step(examples, start, noise_multiplier=0.0, clip=2.0)
    assert np.isfinite(quiet).all()
    assert np.std(noisy - loud) == pytest.approx(6.0, rel=0.1)


@pytest.mark.parametrize("model", SPECS)
def test_the_account_agrees_with_dp_accounting(model: str) -> None:
    config = TRAINING[model]
    steps = config.steps + 3 * config.refresh_steps
    event = dp_accounting.SelfComposedDpEvent(
        dp_accounting.PoissonSampledDpEvent(
            config.sampling_rate, dp_accounting.GaussianDpEvent(config.noise_multiplier)
        ),
        steps,
    )
    peer = rdp.RdpAccountant()
    peer.compose(event)
    ours = spent_epsilon(config, steps)
    # Loss distributions are tighter than moments, by about a tenth at these values.
    assert 0.85 * peer.get_epsilon(config.delta) < ours <= peer.get_epsilon(config.delta)
    assert ours < 10.0


def test_the_same_key_gives_the_same_weights_and_another_key_others() -> None:
    start = initial_weights(DEDUP, generator(1))
    examples = random_examples(200)

    def run(key: int) -> NDArray[np.float32]:
        after = train_private(
            DEDUP,
            start,
            examples,
            np.ones(200, dtype=np.float32),
            TRAINING["dedup"],
            steps=5,
            learning_rate=0.5,
            key=key,
        )
        return flatten_head(after, DEDUP)

    assert (run(9) == run(9)).all()
    assert (run(9) != run(10)).any()


def test_poisson_batches_vary_in_size_around_the_rate() -> None:
    sizes = [batch.size for batch in poisson_batches(2000, 0.1, 200, SeededDraws(generator(4)))]
    assert np.mean(sizes) == pytest.approx(200, rel=0.03)
    assert np.std(sizes) == pytest.approx(np.sqrt(2000 * 0.1 * 0.9), rel=0.2)


@pytest.mark.parametrize("model", SPECS)
def test_the_torch_twin_equals_the_forward_pass_of_phones(model: str) -> None:
    spec = SPECS[model]
    weights = initial_weights(spec, generator(2))
    x = np.random.default_rng(0).standard_normal((7, spec.layers[0])).astype(np.float32)
    network = network_of(spec, weights)
    with torch.no_grad():
        logits = network(torch.from_numpy(x))
    twin = torch.sigmoid(logits) if spec.output == "sigmoid" else torch.softmax(logits, dim=1)
    assert np.allclose(twin.numpy(), forward(weights, x, spec), atol=1e-5)
    back = weights_of(network, spec)
    assert all((back[name] == weights[name]).all() for name in weights)


def test_without_a_seed_keys_never_repeat() -> None:
    assert key_for(None, "a") != key_for(None, "a")
    assert key_for(1, "a") == key_for(1, "a") != key_for(2, "a")
    assert key_for(1, "a") != key_for(1, "b")
