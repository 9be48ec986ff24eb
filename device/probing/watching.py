"""Whether a phone in RAM looked into the models it was lent.

A play follows from the script, the code and what was read of the parameters. A dialogue that never
looked into a model comes out the same with any other in its place, and need not be played again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import cast

import numpy as np
from numpy.typing import NDArray

from device.sync.modelpool import Held, ModelPool
from protocol.models import Weights
from protocol.params import Parameters

__all__ = ["WatchedModels"]


class WatchedModels(ModelPool):
    """Holds parameters as a phone does, and notes which models' weights were read."""

    __slots__ = ("read",)

    def __init__(self) -> None:
        super().__init__()
        self.read: set[str] = set()
        """Names of the models whose weights were looked into so far."""

    def hold(self, parameters: Parameters) -> Held:
        """These parameters, their weights watched."""
        watched = _Watched(parameters.weights(), parameters.model, self.read)
        return Held(parameters, cast(Weights, watched))


class _Watched(Mapping[str, NDArray[np.float32]]):
    """Weights that note in `read` that somebody looked."""

    __slots__ = ("_model", "_read", "_weights")

    def __init__(self, weights: Weights, model: str, read: set[str]) -> None:
        self._weights, self._model, self._read = weights, model, read

    def __getitem__(self, name: str) -> NDArray[np.float32]:
        self._read.add(self._model)
        return self._weights[name]

    def __iter__(self) -> Iterator[str]:
        self._read.add(self._model)
        return iter(self._weights)

    def __len__(self) -> int:
        return len(self._weights)
