"""DP-SGD steps that can be repeated bit for bit, for simulated worlds: opacus' arithmetic without
opacus.

Every operation on a number is the one opacus' ghost clipping and torch's SGD make, in their order,
so the weights are theirs to the last bit, which a test holds. What is left out is the machinery
around them: hooks, gradients of parameters in the first of the two backward passes, and an import
of 2,400 modules, which costs a small world more than its training. Where noise has to hide
something, opacus itself is used.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloud.training.config import TrainingConfig
from cloud.training.corpora import Examples
from cloud.training.networks import UnitLosses, network_of
from protocol.models.spec import ModelSpec, Weights

__all__ = ["SeededStep"]

_SEED_MASK = 2**63 - 1
_STABILISER = 1e-6
"""Added to a norm before the clip is divided by it, as opacus does."""


class SeededStep:
    """The network and one step on a batch of units, under a generator of one key.

    Args:
        example_weights: float32[n], multiplies each example's loss.
        key: 128-bit key of the noise.
    """

    def __init__(
        self,
        spec: ModelSpec,
        start: Weights,
        examples: Examples,
        example_weights: NDArray[np.float32],
        config: TrainingConfig,
        learning_rate: float,
        key: int,
    ) -> None:
        import torch

        self.network = network_of(spec, start)
        self._losses = UnitLosses(spec, examples, example_weights, torch.float32)
        self._config, self._rate = config, learning_rate
        self._noise = torch.Generator().manual_seed(key & _SEED_MASK)
        self._parameters = list(self.network.parameters())
        self._momenta: list[Any] = []

    def __call__(self, rows: NDArray[np.int64], there: NDArray[np.bool_]) -> None:
        """Rows int64[units, width] of the batch's units, and which of them are there."""
        import torch

        if len(rows):
            sums = self._clipped_sums(rows, there)
        else:
            # Nobody was drawn: the sum is zero, and the step is its noise.
            sums = [torch.zeros_like(parameter) for parameter in self._parameters]
        with torch.no_grad():
            self._move([self._noised(total) for total in sums])

    def _clipped_sums(self, rows: NDArray[np.int64], there: NDArray[np.bool_]) -> Any:
        """Sum over units of their clipped gradients, by parameter."""
        import torch

        passed = _Passed(self.network)
        losses = self._losses(passed, rows, there, hooked=False)
        deltas = torch.autograd.grad(losses.mean(dim=0), passed.outputs, retain_graph=True)
        norms = [
            norm
            for inputs, delta in zip(passed.inputs, deltas, strict=True)
            for norm in _norms(inputs.detach(), delta * len(rows))
        ]
        norm = torch.stack(norms, dim=0).norm(2, dim=0)
        factors = (self._config.clip / (norm + _STABILISER)).clamp(max=1.0)
        return torch.autograd.grad((factors * losses).sum(), self._parameters)

    def _noised(self, total: Any) -> Any:
        """The mean gradient that is released."""
        import torch

        std = self._config.noise_multiplier * self._config.clip
        if std == 0.0:
            return total / self._config.expected_batch
        noise = torch.normal(0.0, std, total.shape, generator=self._noise, dtype=total.dtype)
        return (total + noise) / self._config.expected_batch

    def _move(self, gradients: list[Any]) -> None:
        """SGD with momentum and weight decay."""
        config, parameters = self._config, self._parameters
        if config.weight_decay:
            gradients = [
                gradient.add(parameter, alpha=config.weight_decay)
                for gradient, parameter in zip(gradients, parameters, strict=True)
            ]
        if config.momentum and self._momenta:
            for momentum, gradient in zip(self._momenta, gradients, strict=True):
                momentum.mul_(config.momentum).add_(gradient)
        elif config.momentum:
            self._momenta = [gradient.clone() for gradient in gradients]
        for parameter, step in zip(parameters, self._momenta or gradients, strict=True):
            parameter.add_(step, alpha=-self._rate)


class _Passed:
    """One pass through the network that remembers what went into and came out of its layers."""

    def __init__(self, network: Any) -> None:
        self._network = network
        self.inputs: list[Any] = []
        self.outputs: list[Any] = []

    def __call__(self, x: Any) -> Any:
        for module in self._network:
            layer = hasattr(module, "weight")
            if layer:
                self.inputs.append(x)
            x = module(x)
            if layer:
                self.outputs.append(x)
        return x


def _norms(inputs: Any, deltas: Any) -> tuple[Any, Any]:
    """L2 norms of each unit's gradient of a layer's weight and of its bias, torch float[units]."""
    import torch

    if deltas.dim() == 2:
        of_deltas = torch.einsum("n...i,n...i->n", deltas, deltas)
        of_inputs = torch.einsum("n...j,n...j->n", inputs, inputs)
        return torch.sqrt(of_deltas * of_inputs), torch.sqrt(of_deltas)
    # Rows of one unit: ‖Σ a_t δ_tᵀ‖² = Σ_ts (a_t·a_s)(δ_t·δ_s).
    by_deltas = torch.einsum("nik,njk->nij", deltas, deltas)
    by_inputs = torch.einsum("nik,njk->nij", inputs, inputs)
    weight = torch.einsum("n...i,n...i->n", by_deltas, by_inputs).clamp(min=0)
    bias = torch.einsum("n...i->n", by_deltas).clamp(min=0)
    return torch.sqrt(weight), torch.sqrt(bias)
