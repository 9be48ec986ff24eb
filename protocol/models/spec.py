"""The two models every phone runs, and their frozen quantisation grids.

A grid is frozen so that two versions of a model differ by small integers: the same retrain costs
12 times less on a frozen int8 grid than as float32, at equal accuracy. A step of 1/32 reaches
±3.97. Inputs are unit-norm embeddings and features in 0–1, and nets trained on such inputs have
weights of up to about 3: at 1/32 nothing is clipped and accuracy moves by about a point, at
1/64 the largest 2 % are clipped and decisions change (tests/protocol/test_models.py). A unit-norm
input's pre-activation is rounded by about (1/32)/√12 ≈ 0.009. A power of two makes dequantisation
exact in float32.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from protocol.errors import WeightsInvalid
from protocol.models.sizes import FEATURE_VERSION, PAIR_FEATURES, QUERY_FEATURES

__all__ = [
    "DEDUP",
    "ROUTER",
    "SPECS",
    "ModelSpec",
    "Weights",
    "add_to_head",
    "flatten_head",
    "head_dimension",
]

Weights = dict[str, NDArray[np.float32]]
"""Array name → float32; ``w<i>`` is (inputs, outputs), ``b<i>`` is (outputs,)."""

GRID_STEP = 1.0 / 32.0


@dataclass(frozen=True)
class ModelSpec:
    """A multilayer perceptron: ``layers`` are sizes from input to output.

    ``scales`` is the grid step of each array, ``head`` the arrays that phones train together,
    ``outputs`` the names of the output units in order.
    """

    name: str
    layers: tuple[int, ...]
    scales: Mapping[str, float] = field(hash=False)
    head: tuple[str, ...]
    output: Literal["sigmoid", "softmax"]
    outputs: tuple[str, ...]
    feature_version: int = FEATURE_VERSION
    activation: Literal["relu"] = "relu"

    @property
    def depth(self) -> int:
        """Number of weight layers."""
        return len(self.layers) - 1

    @cached_property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Shape of every array, in canonical order (w1, b1, w2, …)."""
        shapes: dict[str, tuple[int, ...]] = {}
        for index, (rows, columns) in enumerate(zip(self.layers, self.layers[1:], strict=False), 1):
            shapes[f"w{index}"] = (rows, columns)
            shapes[f"b{index}"] = (columns,)
        return shapes

    @cached_property
    def parameter_count(self) -> int:
        """Number of weights in all arrays."""
        return sum(int(np.prod(shape)) for shape in self.shapes.values())

    @property
    def max_blob(self) -> int:
        """Bytes that no honest blob or difference of this model exceeds."""
        return 2 * self.parameter_count + 1024

    def check(self, weights: Mapping[str, NDArray[np.float32]]) -> None:
        """Raise WeightsInvalid unless names and shapes are this spec's."""
        if set(weights) != set(self.shapes):
            raise WeightsInvalid(f"{self.name} needs the arrays {', '.join(self.shapes)}")
        for name, shape in self.shapes.items():
            if weights[name].shape != shape:
                raise WeightsInvalid(f"{self.name}.{name} must have shape {shape}")


def _uniform_grid(layers: tuple[int, ...]) -> dict[str, float]:
    names = [f"{kind}{index}" for index in range(1, len(layers)) for kind in "wb"]
    return dict.fromkeys(names, GRID_STEP)


_ROUTER_LAYERS = (QUERY_FEATURES, 48, 24, 3)
_DEDUP_LAYERS = (PAIR_FEATURES, 18, 12, 3)

ROUTER = ModelSpec(
    name="router",
    layers=_ROUTER_LAYERS,
    scales=_uniform_grid(_ROUTER_LAYERS),
    head=("w2", "b2", "w3", "b3"),
    output="sigmoid",
    outputs=("working", "structured", "raw"),
)
"""Query features → a weight per memory layer (article 002, fine stage of the router)."""

DEDUP = ModelSpec(
    name="dedup",
    layers=_DEDUP_LAYERS,
    scales=_uniform_grid(_DEDUP_LAYERS),
    head=("w1", "b1", "w2", "b2", "w3", "b3"),
    output="softmax",
    outputs=("duplicate", "merge", "independent"),
)
"""Features of two texts → what to do with the pair (articles 000 and 001)."""

SPECS: Mapping[str, ModelSpec] = {spec.name: spec for spec in (ROUTER, DEDUP)}


@cache
def head_dimension(spec: ModelSpec) -> int:
    """Number of values in the federated head."""
    return sum(int(np.prod(spec.shapes[name])) for name in spec.head)


def flatten_head(
    weights: Mapping[str, NDArray[np.float32]], spec: ModelSpec
) -> NDArray[np.float32]:
    """The head's arrays as one float32[head_dimension], row-major, in ``spec.head`` order."""
    parts = [np.asarray(weights[name], dtype=np.float32).ravel() for name in spec.head]
    return np.concatenate(parts)


def add_to_head(
    weights: Mapping[str, NDArray[np.float32]], vector: NDArray[np.floating], spec: ModelSpec
) -> Weights:
    """New weights with ``vector`` (float[head_dimension]) added to the head; inputs untouched."""
    if np.shape(vector) != (head_dimension(spec),):
        raise WeightsInvalid(f"the head of {spec.name} has {head_dimension(spec)} values")
    updated = {name: np.array(array, dtype=np.float32) for name, array in weights.items()}
    start = 0
    for name in spec.head:
        shape = spec.shapes[name]
        end = start + int(np.prod(shape))
        updated[name] = (updated[name] + vector[start:end].reshape(shape)).astype(np.float32)
        start = end
    return updated
