"""The torch twins of the models' small networks, and what they lose on units of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloud.training.corpora import Examples
from protocol.models.spec import ModelSpec, Weights

__all__ = ["UnitLosses", "example_losses", "network_of", "weights_of"]


class UnitLosses:
    """Mean losses of units of rows.

    Args:
        example_weights: float32[n], multiplies each example's loss.
        real: the torch type to compute in.
    """

    def __init__(
        self,
        spec: ModelSpec,
        examples: Examples,
        example_weights: NDArray[np.float32],
        real: Any,
    ) -> None:
        import torch

        self._spec = spec
        self._x = torch.tensor(examples.x, dtype=real)
        self._y = torch.tensor(examples.y, dtype=real)
        self._weighting = torch.tensor(example_weights, dtype=real)

    def __call__(
        self, network: Any, rows: NDArray[np.int64], there: NDArray[np.bool_], *, hooked: bool
    ) -> Any:
        """Mean loss over each unit's rows, torch float[units].

        Args:
            network: what gives the logits of inputs.
            rows: int64[units, width] of the batch's units; `there`: which of them are.
            hooked: the network has backward hooks, of which torch warns that they fire early
                without a gradient at the input.
        """
        import torch

        width = rows.shape[1]
        batch = torch.from_numpy(rows.ravel())
        x = self._x[batch] if width == 1 else self._x[batch].reshape(len(rows), width, -1)
        logits = network(x.requires_grad_() if hooked else x)
        logits = logits.reshape(len(batch), logits.shape[-1])
        losses = example_losses(self._spec, logits, self._y[batch]) * self._weighting[batch]
        if width == 1:
            return losses
        shares = torch.from_numpy(there / there.sum(axis=1, keepdims=True)).to(losses.dtype)
        return (losses.reshape(len(rows), width) * shares).sum(dim=1)


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
