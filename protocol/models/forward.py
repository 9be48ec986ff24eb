"""The forward pass in numpy: what a phone runs, and what the cloud's torch model must equal."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from protocol.models.spec import ModelSpec, Weights

__all__ = ["forward", "initial_weights"]

_LOGIT_LIMIT = 60.0
"""exp stays finite in float32 within ±88; a sigmoid is saturated long before 60."""


def forward(
    weights: Mapping[str, NDArray[np.float32]], x: NDArray[np.float32], spec: ModelSpec
) -> NDArray[np.float32]:
    """Outputs float32[n, k] of inputs float32[n, d].

    relu between layers, the spec's sigmoid or softmax at the end.
    """
    hidden = np.asarray(x, dtype=np.float32)
    for index in range(1, spec.depth):
        hidden = np.maximum(hidden @ weights[f"w{index}"] + weights[f"b{index}"], np.float32(0.0))
    logits = hidden @ weights[f"w{spec.depth}"] + weights[f"b{spec.depth}"]
    return _sigmoid(logits) if spec.output == "sigmoid" else _softmax(logits)


def initial_weights(spec: ModelSpec, rng: np.random.Generator) -> Weights:
    """Random weights to start training from: variance 2/inputs (He et al. 2015), biases zero."""
    weights: Weights = {}
    for name, shape in spec.shapes.items():
        if len(shape) == 1:
            weights[name] = np.zeros(shape, dtype=np.float32)
        else:
            spread = np.sqrt(2.0 / shape[0])
            weights[name] = (rng.standard_normal(shape) * spread).astype(np.float32)
    return weights


def _sigmoid(logits: NDArray[np.float32]) -> NDArray[np.float32]:
    bounded = np.clip(logits, -_LOGIT_LIMIT, _LOGIT_LIMIT)
    outputs: NDArray[np.float32] = (1.0 / (1.0 + np.exp(-bounded))).astype(np.float32)
    return outputs


def _softmax(logits: NDArray[np.float32]) -> NDArray[np.float32]:
    raised = np.exp(logits - logits.max(axis=-1, keepdims=True))
    outputs: NDArray[np.float32] = (raised / raised.sum(axis=-1, keepdims=True)).astype(np.float32)
    return outputs
