"""Local training: a few clipped gradient steps on this phone's examples.

The result is the change of the federated head only, ready for the privacy gate. Deterministic
given the rng. With at most 500 examples it takes milliseconds; the async form still yields after
every epoch, so that a dream can stop within a second (law 2).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from device.learning.mlp import clipped_gradient, first_trained_layer
from protocol.models import ModelSpec, Weights, flatten_head

__all__ = ["Training", "local_update", "local_update_async"]

BATCH_EXAMPLES = 32
EXAMPLE_CLIP = 1.0
"""L2 bound on one example's gradient: a single odd example cannot bend the model."""

Array = NDArray[np.float32]


class Training:
    """One local training, an epoch at a time."""

    def __init__(
        self,
        spec: ModelSpec,
        weights: Mapping[str, Array],
        inputs: Array,
        labels: Array,
        *,
        rng: np.random.Generator,
        lr: float,
        head_only: bool = True,
    ) -> None:
        """`inputs` float32 (n, d), `labels` float32 (n, k), `lr` the step per batch mean."""
        self._spec = spec
        self._base = weights
        self._weights: Weights = dict(weights)
        self._labels = labels
        self._rng = rng
        self._lr = np.float32(lr)
        self._first = first_trained_layer(spec, head_only=head_only)
        self._inputs = _through_frozen_layers(weights, inputs, self._first)

    @property
    def weights(self) -> Weights:
        """The weights as trained so far."""
        return self._weights

    @property
    def update(self) -> Array:
        """Trained head minus base head, float32 (head_dimension,)."""
        return flatten_head(self._weights, self._spec) - flatten_head(self._base, self._spec)

    def epoch(self) -> None:
        """One pass over the examples in a fresh order."""
        for rows in self._batches():
            gradient = clipped_gradient(
                self._weights,
                self._inputs[rows],
                self._labels[rows],
                self._spec,
                clip=EXAMPLE_CLIP,
                first=self._first,
                inputs_at=self._first,
            )
            for name, slope in gradient.arrays.items():
                self._weights[name] = self._weights[name] - self._lr * slope

    def _batches(self) -> Iterator[NDArray[np.int64]]:
        order = self._rng.permutation(len(self._inputs))
        for start in range(0, len(order), BATCH_EXAMPLES):
            yield order[start : start + BATCH_EXAMPLES]


def local_update(
    spec: ModelSpec,
    weights: Mapping[str, Array],
    inputs: Array,
    labels: Array,
    *,
    epochs: int,
    lr: float,
    rng: np.random.Generator,
    head_only: bool = True,
    checkpoint: Callable[[], None] | None = None,
) -> Array:
    """Trained head minus base head, float32 (head_dimension,); zeros when there is no example.

    `checkpoint` is called between epochs and may raise to stop.
    """
    training = Training(spec, weights, inputs, labels, rng=rng, lr=lr, head_only=head_only)
    for _ in range(epochs):
        training.epoch()
        if checkpoint is not None:
            checkpoint()
    return training.update


async def local_update_async(
    spec: ModelSpec,
    weights: Mapping[str, Array],
    inputs: Array,
    labels: Array,
    *,
    epochs: int,
    lr: float,
    rng: np.random.Generator,
    checkpoint: Callable[[], Awaitable[None]],
    head_only: bool = True,
) -> Array:
    """The same update; awaits `checkpoint` between epochs, where a closing window cancels it."""
    training = Training(spec, weights, inputs, labels, rng=rng, lr=lr, head_only=head_only)
    for _ in range(epochs):
        training.epoch()
        await checkpoint()
    return training.update


def _through_frozen_layers(weights: Mapping[str, Array], inputs: Array, first: int) -> Array:
    """The frozen layers' output, computed once instead of in every epoch."""
    hidden = np.asarray(inputs, np.float32)
    for layer in range(1, first):
        hidden = np.maximum(hidden @ weights[f"w{layer}"] + weights[f"b{layer}"], np.float32(0.0))
    return hidden
