"""DP-SGD (Abadi et al. 2016) on the models' small networks: torch with opacus' ghost clipping.

Ghost clipping (Li et al. 2022) takes the norm of every example's gradient without building it,
which is several times cheaper than one gradient per example. torch and opacus are imported when
training starts, never before: they weigh 300 MiB.

Noise is float32 Gaussian from torch's generator: fine against honest readers of the model, not
against the floating-point attacks of Mironov 2012 (opacus#616). The corpus is public, so here it
only shows the path; what users contribute is noised exactly, in integers, on their phones.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloud.training.config import TrainingConfig
from cloud.training.corpora import Examples
from cloud.training.seeds import generator
from protocol.models.spec import ModelSpec, Weights

__all__ = [
    "example_losses",
    "network_of",
    "poisson_batches",
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
    key: int,
) -> Weights:
    """`start` after `steps` of DP-SGD, averaged over the last half of them.

    Args:
        steps: at least one.
        example_weights: float32[n], multiplies each example's loss before its gradient is clipped,
            so it changes no guarantee; it must not depend on which other examples are there.
        key: 128-bit key of batches and noise; the same key gives the same weights.
    """
    import torch
    from opacus.grad_sample import GradSampleModuleFastGradientClipping
    from opacus.optimizers import DPOptimizerFastGradientClipping
    from opacus.utils.fast_gradient_clipping_utils import DPTensorFastGradientClipping

    torch.set_num_threads(1)
    network = network_of(spec, start)
    private = GradSampleModuleFastGradientClipping(
        network, max_grad_norm=config.clip, use_ghost_clipping=True
    )
    optimiser = DPOptimizerFastGradientClipping(
        torch.optim.SGD(
            network.parameters(),
            lr=learning_rate,
            momentum=config.momentum,
            weight_decay=config.weight_decay,
        ),
        noise_multiplier=config.noise_multiplier,
        max_grad_norm=config.clip,
        expected_batch_size=config.expected_batch,
        generator=torch.Generator().manual_seed(key & _SEED_MASK),
    )
    x, y = torch.tensor(examples.x), torch.tensor(examples.y)
    weighting = torch.tensor(example_weights)
    mean = _RunningMean(spec)
    averaged_from = int(steps * (1.0 - _AVERAGED_SHARE))
    batches = poisson_batches(len(examples), config.sampling_rate, steps, generator(key))
    for step, chosen in enumerate(batches):
        batch = torch.from_numpy(chosen)
        # Without a gradient at the input, torch warns that its backward hooks fire early.
        logits = private(x[batch].requires_grad_())
        losses = example_losses(spec, logits, y[batch]) * weighting[batch]
        optimiser.zero_grad()
        DPTensorFastGradientClipping(private, optimiser, losses).backward()
        optimiser.step()
        if step >= averaged_from:
            mean.add(weights_of(network, spec))
    return mean.value


def poisson_batches(
    size: int, rate: float, steps: int, rng: np.random.Generator
) -> Iterator[NDArray[np.int64]]:
    """`steps` batches of row numbers; each row is in each batch with chance `rate`."""
    for _ in range(steps):
        chosen = np.flatnonzero(rng.random(size) < rate)
        while chosen.size == 0:
            # A mean over nothing is undefined; at these sizes the chance is under 1e-90.
            chosen = np.flatnonzero(rng.random(size) < rate)
        yield chosen


def spent_epsilon(config: TrainingConfig, steps: int) -> float:
    """ε at `config.delta` of `steps` steps, by opacus' RDP accountant (an upper bound)."""
    from opacus.accountants import RDPAccountant

    accountant = RDPAccountant()
    accountant.history = [(config.noise_multiplier, config.sampling_rate, steps)]
    return float(accountant.get_epsilon(config.delta))


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
        weights[f"w{index}"] = np.ascontiguousarray(linear.weight.detach().numpy().T)
        weights[f"b{index}"] = linear.bias.detach().numpy().copy()
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
