"""DP-SGD (Abadi et al. 2016) on the models' small networks: torch with opacus' ghost clipping.

Ghost clipping (Li et al. 2022) takes the norm of a gradient without building it, which is several
times cheaper than one gradient per example. torch and opacus are imported when training starts,
never before: they weigh 300 MiB.

The guarantee is for one unit (`Examples.units`), added or removed: all that one contributor has in
the corpus. In every step each unit is in the batch with chance q, independently of the others and
of the data. A unit in the batch takes up to k of its rows, chosen without looking at anybody
else's; the gradient of their mean loss, one vector, is scaled to L2 norm at most C. It depends on
the weights so far and on that unit alone: a row's weight must not depend on other rows. With or
without a unit, the sum of those vectors therefore differs by nothing where the unit is not in the
batch (chance 1 - q), and else by one vector of norm at most C, and N(0, z²C²) is added to every
value: a Poisson-sampled Gaussian with noise multiplier z and rate q, whatever k is and however
many rows a unit has. The divisor of the sum, momentum, decay and averaging only process what was
released. T steps, each reading what the ones before released, are its T-fold adaptive composition:
(z, q, T) is what `accounting` is given. Ghost clipping holds for the vectors of whole units too:
the rows of a unit are one item with a second axis, whose norm is ‖Σ a_t δ_tᵀ‖² =
Σ_ts (a_t·a_s)(δ_t·δ_s).

Without a key, batches and noise come from the system's generator, noise as in `exact_noise`, in
float64. With a key a run can be repeated bit for bit, and hides nothing from whoever has the key:
that is for simulated worlds, which use the float32 Gaussian of torch's generator (`seeded_steps`).
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloud.training.accounting import spent_epsilon
from cloud.training.config import TrainingConfig
from cloud.training.corpora import Examples
from cloud.training.networks import UnitLosses, example_losses, network_of, weights_of
from cloud.training.sampling import (
    Draws,
    SecretDraws,
    SeededDraws,
    UnitRows,
    poisson_batches,
)
from cloud.training.seeded_steps import SeededStep
from cloud.training.seeds import generator
from protocol.models.spec import ModelSpec, Weights

__all__ = [
    "example_losses",
    "network_of",
    "spent_epsilon",
    "train_private",
    "weights_of",
]

_AVERAGED_SHARE = 0.5
"""Share of the last steps whose weights are averaged: it cancels noise and costs no privacy."""


def train_private(
    spec: ModelSpec,
    start: Weights,
    examples: Examples,
    example_weights: NDArray[np.float32],
    config: TrainingConfig,
    *,
    steps: int,
    learning_rate: float,
    key: int | None,
) -> Weights:
    """`start` after `steps` of DP-SGD, averaged over the last half of them.

    Args:
        steps: at least one.
        example_weights: float32[n], multiplies each example's loss before its unit's gradient is
            clipped, so it changes no guarantee; it must not depend on other rows.
        key: 128-bit key of batches and noise, the same key gives the same weights; None: both
            from the system, exact and secret.
    """
    import torch

    torch.set_num_threads(1)
    given = (spec, start, examples, example_weights, config, learning_rate)
    step_on: _PrivateStep | SeededStep
    draws: Draws
    if key is None:
        step_on, draws = _PrivateStep(*given), SecretDraws(os.urandom)
    else:
        step_on, draws = SeededStep(*given, key), SeededDraws(generator(key))
    units = UnitRows.of(examples.units)
    mean = _RunningMean(spec)
    averaged_from = int(steps * (1.0 - _AVERAGED_SHARE))
    batches = poisson_batches(len(units), config.sampling_rate, steps, draws)
    for step, chosen in enumerate(batches):
        step_on(*units.picked(chosen, config.examples_per_unit, draws))
        if step >= averaged_from:
            mean.add(weights_of(step_on.network, spec))
    return mean.value


class _PrivateStep:
    """The network, opacus' optimiser, and one step of them on a batch of units."""

    def __init__(
        self,
        spec: ModelSpec,
        start: Weights,
        examples: Examples,
        example_weights: NDArray[np.float32],
        config: TrainingConfig,
        learning_rate: float,
    ) -> None:
        import torch
        from opacus.grad_sample import GradSampleModuleFastGradientClipping

        self.network = network_of(spec, start).to(torch.float64)
        self._private = GradSampleModuleFastGradientClipping(
            self.network, max_grad_norm=config.clip, use_ghost_clipping=True
        )
        self._optimiser = _optimiser(self.network, config, learning_rate)
        self._losses = UnitLosses(spec, examples, example_weights, torch.float64)

    def __call__(self, rows: NDArray[np.int64], there: NDArray[np.bool_]) -> None:
        """Rows int64[units, width] of the batch's units, and which of them are there."""
        from opacus.utils.fast_gradient_clipping_utils import DPTensorFastGradientClipping

        self._optimiser.zero_grad()
        if len(rows):
            losses = self._losses(self._private, rows, there, hooked=True)
            DPTensorFastGradientClipping(self._private, self._optimiser, losses).backward()
        else:
            # Nobody was drawn: the sum is zero, and the step is its noise.
            for parameter in self.network.parameters():
                parameter.grad = parameter.new_zeros(parameter.shape)
        self._optimiser.step()


def _optimiser(network: Any, config: TrainingConfig, learning_rate: float) -> Any:
    import torch

    from cloud.training.exact_noise import ExactNoiseOptimizer

    descent = torch.optim.SGD(
        network.parameters(),
        lr=learning_rate,
        momentum=config.momentum,
        weight_decay=config.weight_decay,
    )
    return ExactNoiseOptimizer(
        descent,
        bits=os.urandom,
        noise_multiplier=config.noise_multiplier,
        max_grad_norm=config.clip,
        expected_batch_size=config.expected_batch,
    )


class _RunningMean:
    def __init__(self, spec: ModelSpec) -> None:
        self._count = 0
        self._sums = {name: np.zeros(shape) for name, shape in spec.shapes.items()}

    def add(self, weights: Weights) -> None:
        self._count += 1
        for name, array in weights.items():
            self._sums[name] += array

    @property
    def value(self) -> Weights:
        return {
            name: (total / self._count).astype(np.float32) for name, total in self._sums.items()
        }
