"""Seeded steps are opacus' to the last bit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from opacus.grad_sample import GradSampleModuleFastGradientClipping
from opacus.optimizers import DPOptimizerFastGradientClipping
from opacus.utils.fast_gradient_clipping_utils import DPTensorFastGradientClipping

from cloud.training.config import TRAINING, TrainingConfig
from cloud.training.corpora import Examples
from cloud.training.networks import UnitLosses, network_of, weights_of
from cloud.training.seeded_steps import SeededStep
from cloud.training.seeds import generator
from protocol.models.forward import initial_weights
from protocol.models.spec import SPECS, ModelSpec, Weights

ROWS, STEPS, RATE, KEY = 300, 4, 0.3, 2**100 + 5
Batch = tuple[NDArray[np.int64], NDArray[np.bool_]]


class OpacusStep:
    """The same step by opacus and torch.optim."""

    def __init__(
        self, spec: ModelSpec, start: Weights, examples: Examples, config: TrainingConfig
    ) -> None:
        self.network = network_of(spec, start)
        self._private = GradSampleModuleFastGradientClipping(
            self.network, max_grad_norm=config.clip, use_ghost_clipping=True
        )
        self._optimiser: Any = DPOptimizerFastGradientClipping(
            torch.optim.SGD(
                self.network.parameters(),
                lr=RATE,
                momentum=config.momentum,
                weight_decay=config.weight_decay,
            ),
            noise_multiplier=config.noise_multiplier,
            max_grad_norm=config.clip,
            expected_batch_size=config.expected_batch,
            generator=torch.Generator().manual_seed(KEY & (2**63 - 1)),
        )
        self._losses = UnitLosses(spec, examples, weighting(), torch.float32)

    def __call__(self, rows: NDArray[np.int64], there: NDArray[np.bool_]) -> None:
        self._optimiser.zero_grad()
        if len(rows):
            losses = self._losses(self._private, rows, there, hooked=True)
            DPTensorFastGradientClipping(self._private, self._optimiser, losses).backward()
        else:
            for parameter in self.network.parameters():
                parameter.grad = parameter.new_zeros(parameter.shape)
        self._optimiser.step()


def weighting() -> NDArray[np.float32]:
    return np.linspace(0.5, 1.5, ROWS, dtype=np.float32)


def examples_of(spec: ModelSpec) -> Examples:
    rng = np.random.default_rng(5)
    x = rng.random((ROWS, spec.layers[0]), dtype=np.float32)
    y = np.eye(len(spec.outputs), dtype=np.float32)[rng.integers(len(spec.outputs), size=ROWS)]
    return Examples(x, y, ("en",) * ROWS)


def batches(width: int) -> list[Batch]:
    """Some full, one empty, with rows left out of units that have fewer."""
    rng = np.random.default_rng(6)
    found: list[Batch] = []
    for units in (60, 0, 7, 45)[:STEPS]:
        there = rng.random((units, width)) < 0.7
        there[:, 0] = True
        found.append((rng.integers(ROWS, size=(units, width)), there))
    return found


@pytest.mark.parametrize("width", [1, 3])
@pytest.mark.parametrize("model", SPECS)
@pytest.mark.parametrize("momentum", [0.9, 0.0])
def test_the_weights_are_opacus_own_bit_for_bit(model: str, width: int, momentum: float) -> None:
    torch.set_num_threads(1)
    spec = SPECS[model]
    config = replace(TRAINING[model], expected_batch=40, clip=0.8, momentum=momentum)
    start, examples = initial_weights(spec, generator(1)), examples_of(spec)
    theirs = OpacusStep(spec, start, examples, config)
    ours = SeededStep(spec, start, examples, weighting(), config, RATE, KEY)
    for rows, there in batches(width):
        theirs(rows, there)
        ours(rows, there)
        wanted, found = weights_of(theirs.network, spec), weights_of(ours.network, spec)
        for name, array in wanted.items():
            assert array.tobytes() == found[name].tobytes(), name
    moved = weights_of(ours.network, spec)
    assert all(np.abs(moved[name] - start[name]).max() > 0.0 for name in start)


def test_without_noise_or_decay_it_is_the_plain_clipped_mean() -> None:
    spec = SPECS["dedup"]
    settings = {"noise_multiplier": 0.0, "weight_decay": 0.0, "momentum": 0.0}
    config = replace(TRAINING["dedup"], expected_batch=40, **settings)  # type: ignore[arg-type]
    start, examples = initial_weights(spec, generator(1)), examples_of(spec)
    theirs = OpacusStep(spec, start, examples, config)
    ours = SeededStep(spec, start, examples, weighting(), config, RATE, KEY)
    batch = batches(1)[0]
    theirs(*batch)
    ours(*batch)
    wanted, found = weights_of(theirs.network, spec), weights_of(ours.network, spec)
    assert all(wanted[name].tobytes() == found[name].tobytes() for name in wanted)
