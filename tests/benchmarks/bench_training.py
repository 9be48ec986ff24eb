"""Training in the cloud: DP-SGD beside plain torch, and what a release costs on the wire."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from cloud.training.config import TRAINING
from cloud.training.corpora import Examples, load_corpus
from cloud.training.dpsgd import (
    example_losses,
    network_of,
    train_private,
)
from cloud.training.sampling import SeededDraws, poisson_batches
from cloud.training.seeds import generator
from protocol.models.forward import initial_weights
from protocol.models.spec import SPECS, ModelSpec, Weights
from protocol.params import Parameters, encode_difference, encode_full
from tests.benchmarks.row import Row, best_seconds

BOOTSTRAP_SECONDS = 6.0
"""Both models' first versions, on one core, imports excluded."""
KEY = 17


def rows() -> Iterator[Row]:
    """Seconds an epoch, seconds for both first versions, bytes of a refresh."""
    import opacus  # noqa: F401  (its import is no part of the timings)

    models = sorted(SPECS)
    for model in models:
        spec, examples = SPECS[model], load_corpus(model).train
        epoch = round(1.0 / TRAINING[model].sampling_rate)
        yield Row(
            f"training.{model}.dp_sgd_epoch",
            best_seconds(lambda: _private(spec, examples, epoch), 3),  # noqa: B023
            "s",
            peer="torch SGD without privacy",
            peer_value=best_seconds(lambda: _plain(spec, examples, epoch), 3),  # noqa: B023
        )
    yield Row(
        "training.bootstrap_both",
        best_seconds(lambda: [_first(SPECS[model]) for model in models], 1),
        "s",
        bound=BOOTSTRAP_SECONDS,
        target=BOOTSTRAP_SECONDS,
    )
    for model in models:
        spec = SPECS[model]
        first = _first(spec)
        base = Parameters.of(first, spec, 1)
        target = Parameters.of(_refreshed(spec, first), spec, 2)
        full = len(encode_full(target))
        yield Row(
            f"training.{model}.release_difference",
            float(len(encode_difference(base, target))),
            "B",
            peer="full blob",
            peer_value=float(full),
            target=float(full),
        )


def _first(spec: ModelSpec) -> Weights:
    return _private(spec, load_corpus(spec.name).train, TRAINING[spec.name].steps)


def _refreshed(spec: ModelSpec, start: Weights) -> Weights:
    config = TRAINING[spec.name]
    rate = config.learning_rate * config.refresh_share
    examples = load_corpus(spec.name).train
    return _private(spec, examples, config.refresh_steps, start=start, rate=rate)


def _private(
    spec: ModelSpec,
    examples: Examples,
    steps: int,
    *,
    start: Weights | None = None,
    rate: float | None = None,
) -> Weights:
    config = TRAINING[spec.name]
    return train_private(
        spec,
        start or initial_weights(spec, generator(KEY)),
        examples,
        np.ones(len(examples), dtype=np.float32),
        config,
        steps=steps,
        learning_rate=rate or config.learning_rate,
        key=KEY,
    )


def _plain(spec: ModelSpec, examples: Examples, steps: int) -> Any:
    import torch

    config = TRAINING[spec.name]
    network = network_of(spec, initial_weights(spec, generator(KEY)))
    optimiser = torch.optim.SGD(
        network.parameters(),
        lr=config.learning_rate,
        momentum=config.momentum,
        weight_decay=config.weight_decay,
    )
    x, y = torch.tensor(examples.x), torch.tensor(examples.y)
    draws = SeededDraws(generator(KEY))
    for chosen in poisson_batches(len(examples), config.sampling_rate, steps, draws):
        batch = torch.from_numpy(chosen)
        optimiser.zero_grad()
        example_losses(spec, network(x[batch]), y[batch]).mean().backward()
        optimiser.step()
    return network
