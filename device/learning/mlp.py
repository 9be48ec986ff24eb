"""Backpropagation for the specs' multilayer perceptrons, with per-example clipping, in numpy.

The gradient of one example at a dense layer is the outer product of its input and its error, so
its norm is known without forming it: ‖g‖² = (‖input‖² + 1)·‖error‖² (Goodfellow, 2015, "Efficient
per-example gradient computations"). Clipping then only scales errors before one matrix product
("ghost clipping": Li et al., 2021, "Large language models can be strong DP learners").
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from protocol.models import ModelSpec, Weights

__all__ = ["Gradient", "clipped_gradient", "first_trained_layer", "loss", "loss_of"]

Array = NDArray[np.float32]
TINY = 1e-7
"""Keeps logarithms and norms away from zero."""
LOGIT_LIMIT = 60.0
"""exp stays finite in float32; a sigmoid is saturated long before."""


@dataclass(frozen=True, slots=True)
class Gradient:
    """Mean clipped gradient of a batch, only for the trained arrays, and each example's norm."""

    arrays: Weights
    norms: Array
    """L2 norm of every example's own gradient before clipping, float32 (n,)."""


def first_trained_layer(spec: ModelSpec, *, head_only: bool) -> int:
    """The lowest layer (from 1) whose arrays move: nothing below it is backpropagated."""
    if not head_only:
        return 1
    return min(int(name[1:]) for name in spec.head)


def clipped_gradient(
    weights: Mapping[str, Array],
    inputs: Array,
    labels: Array,
    spec: ModelSpec,
    *,
    clip: float = float("inf"),
    first: int = 1,
    inputs_at: int = 1,
) -> Gradient:
    """Gradient of the mean loss of a batch, each example clipped to L2 norm `clip`.

    `inputs` float32 (n, d) enter at layer `inputs_at` (1 is the model's input; a higher one when
    the caller has already run the frozen layers below), `labels` float32 (n, k) are one-hot for a
    softmax, 0 … 1 each for a sigmoid. Layers from `first` up get gradients.
    """
    activations = [inputs]
    for layer in range(inputs_at, spec.depth):
        activations.append(_relu_layer(activations[-1], weights, layer))
    error: Array = _outputs(activations[-1], weights, spec) - labels
    errors: dict[int, Array] = {}
    squares = np.zeros(len(inputs), np.float32)
    for layer in range(spec.depth, first - 1, -1):
        below = activations[layer - inputs_at]
        errors[layer] = error
        squares += (_square(below) + 1.0) * _square(error)
        if layer > first:
            passed: Array = error @ weights[f"w{layer}"].T
            passed[below <= 0] = 0.0
            error = passed
    norms = np.sqrt(squares)
    shares: Array = np.minimum(1.0, clip / np.maximum(norms, TINY)).astype(np.float32)
    arrays: Weights = {}
    for layer in range(first, spec.depth + 1):
        scaled: Array = errors[layer] * (shares / np.float32(len(inputs)))[:, None]
        arrays[f"w{layer}"] = activations[layer - inputs_at].T @ scaled
        arrays[f"b{layer}"] = scaled.sum(axis=0)
    return Gradient(arrays, norms)


def loss(weights: Mapping[str, Array], inputs: Array, labels: Array, spec: ModelSpec) -> float:
    """Mean cross-entropy (summed over outputs): binary each for a sigmoid, one for a softmax."""
    hidden = inputs
    for layer in range(1, spec.depth):
        hidden = _relu_layer(hidden, weights, layer)
    return loss_of(_outputs(hidden, weights, spec), labels, spec)


def loss_of(outputs: Array, labels: Array, spec: ModelSpec) -> float:
    """`loss` of outputs that the caller has worked out already."""
    chance = np.clip(outputs.astype(np.float64), TINY, 1.0 - TINY)
    gain = labels * np.log(chance)
    if spec.output == "sigmoid":
        gain = gain + (1.0 - labels) * np.log(1.0 - chance)
    return float(-gain.sum(axis=1).mean())


def _relu_layer(hidden: Array, weights: Mapping[str, Array], layer: int) -> Array:
    raised: Array = np.maximum(hidden @ weights[f"w{layer}"] + weights[f"b{layer}"], 0.0)
    return raised


def _outputs(hidden: Array, weights: Mapping[str, Array], spec: ModelSpec) -> Array:
    logits = hidden @ weights[f"w{spec.depth}"] + weights[f"b{spec.depth}"]
    if spec.output == "sigmoid":
        sigmoid: Array = 1.0 / (1.0 + np.exp(-np.clip(logits, -LOGIT_LIMIT, LOGIT_LIMIT)))
        return sigmoid
    raised = np.exp(logits - logits.max(axis=1, keepdims=True))
    softmax: Array = raised / raised.sum(axis=1, keepdims=True)
    return softmax


def _square(rows: Array) -> Array:
    square: Array = np.einsum("ij,ij->i", rows, rows)
    return square
