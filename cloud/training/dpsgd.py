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
that is for simulated worlds, which use the float32 Gaussian of torch's generator.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloud.training.accounting import spent_epsilon
from cloud.training.config import TrainingConfig
from cloud.training.corpora import Examples
from cloud.training.sampling import (
    Draws,
    SecretDraws,
    SeededDraws,
    UnitRows,
    poisson_batches,
)
from cloud.training.seeds import generator
from protocol.models.spec import ModelSpec, Weights

__all__ = [
    "example_losses",
    "network_of",
    "spent_epsilon",
    "train_private",
    "weights_of",
]

_SEED_MASK = 2**63 - 1
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
    step_on = _PrivateStep(spec, start, examples, example_weights, config, learning_rate, key)
    draws: Draws = SecretDraws(os.urandom) if key is None else SeededDraws(generator(key))
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
    """The network, its optimiser, and one step of them on a batch of units."""

    def __init__(
        self,
        spec: ModelSpec,
        start: Weights,
        examples: Examples,
        example_weights: NDArray[np.float32],
        config: TrainingConfig,
        learning_rate: float,
        key: int | None,
    ) -> None:
        import torch
        from opacus.grad_sample import GradSampleModuleFastGradientClipping

        real = torch.float64 if key is None else torch.float32
        self._spec = spec
        self.network = network_of(spec, start).to(real)
        self._private = GradSampleModuleFastGradientClipping(
            self.network, max_grad_norm=config.clip, use_ghost_clipping=True
        )
        self._optimiser = _optimiser(self.network, config, learning_rate, key)
        self._x = torch.tensor(examples.x, dtype=real)
        self._y = torch.tensor(examples.y, dtype=real)
        self._weighting = torch.tensor(example_weights, dtype=real)

    def __call__(self, rows: NDArray[np.int64], there: NDArray[np.bool_]) -> None:
        """Rows int64[units, width] of the batch's units, and which of them are there."""
        from opacus.utils.fast_gradient_clipping_utils import DPTensorFastGradientClipping

        self._optimiser.zero_grad()
        if len(rows):
            losses = self._unit_losses(rows, there)
            DPTensorFastGradientClipping(self._private, self._optimiser, losses).backward()
        else:
            # Nobody was drawn: the sum is zero, and the step is its noise.
            for parameter in self.network.parameters():
                parameter.grad = parameter.new_zeros(parameter.shape)
        self._optimiser.step()

    def _unit_losses(self, rows: NDArray[np.int64], there: NDArray[np.bool_]) -> Any:
        """Mean loss over each unit's rows, torch float[units]."""
        import torch

        width = rows.shape[1]
        batch = torch.from_numpy(rows.ravel())
        # Without a gradient at the input, torch warns that its backward hooks fire early.
        if width == 1:
            logits = self._private(self._x[batch].requires_grad_())
            return example_losses(self._spec, logits, self._y[batch]) * self._weighting[batch]
        x = self._x[batch].reshape(len(rows), width, -1).requires_grad_()
        logits = self._private(x).reshape(len(batch), -1)
        losses = example_losses(self._spec, logits, self._y[batch]) * self._weighting[batch]
        shares = torch.from_numpy(there / there.sum(axis=1, keepdims=True)).to(losses.dtype)
        return (losses.reshape(len(rows), width) * shares).sum(dim=1)


def _optimiser(network: Any, config: TrainingConfig, learning_rate: float, key: int | None) -> Any:
    import torch
    from opacus.optimizers import DPOptimizerFastGradientClipping

    descent = torch.optim.SGD(
        network.parameters(),
        lr=learning_rate,
        momentum=config.momentum,
        weight_decay=config.weight_decay,
    )
    settings: dict[str, Any] = {
        "noise_multiplier": config.noise_multiplier,
        "max_grad_norm": config.clip,
        "expected_batch_size": config.expected_batch,
    }
    if key is not None:
        seeded = torch.Generator().manual_seed(key & _SEED_MASK)
        return DPOptimizerFastGradientClipping(descent, generator=seeded, **settings)
    from cloud.training.exact_noise import ExactNoiseOptimizer

    return ExactNoiseOptimizer(descent, bits=os.urandom, **settings)


def example_losses(spec: ModelSpec, logits: Any, y: Any) -> Any:
    """Cross-entropy of each row, torch float32[n]; over sigmoid outputs it is summed."""
    import torch

    if spec.output == "sigmoid":
        losses = torch.nn.functional.binary_cross_entropy_with_logits(logits, y, reduction="none")
        return losses.sum(dim=1)
    return -(y * torch.log_softmax(logits, dim=1)).sum(dim=1)


def network_of(spec: ModelSpec, weights: Weights) -> Any:
    """The torch twin of protocol.models.forward, before the output's sigmoid or softmax."""
    import torch

    modules: list[Any] = []
    for index in range(1, spec.depth + 1):
        rows, columns = spec.shapes[f"w{index}"]
        linear = torch.nn.Linear(rows, columns)
        with torch.no_grad():
            linear.weight.copy_(torch.from_numpy(weights[f"w{index}"].T.copy()))
            linear.bias.copy_(torch.from_numpy(weights[f"b{index}"].copy()))
        modules += [linear, torch.nn.ReLU()]
    return torch.nn.Sequential(*modules[:-1])


def weights_of(network: Any, spec: ModelSpec) -> Weights:
    """The network's weights under the spec's names and shapes."""
    weights: Weights = {}
    linears = [module for module in network if hasattr(module, "weight")]
    for index, linear in enumerate(linears, 1):
        weights[f"w{index}"] = np.array(linear.weight.detach().numpy().T, np.float32, order="C")
        weights[f"b{index}"] = np.array(linear.bias.detach().numpy(), np.float32)
    spec.check(weights)
    return weights


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
