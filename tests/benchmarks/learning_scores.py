"""How good parameters are on real examples that no phone trained on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from protocol.models import ModelSpec, forward
from protocol.params import Parameters
from tests.benchmarks.learning_data import GRADED, RealSet

__all__ = ["Figures", "figures"]


@dataclass(frozen=True)
class Figures:
    """top: the strongest output is a right one. exact: every output on its right side of 0.5
    (router), or the class is right (dedup). f1: of "the same" on the pairs labelled yes or no
    (dedup), or top (router)."""

    top: float
    exact: float
    f1: float


def figures(spec: ModelSpec, parameters: Parameters, test: RealSet) -> Figures:
    """Figures of the parameters as phones run them."""
    outputs = forward(parameters.weights(), test.x, spec)
    strongest = outputs.argmax(axis=1)
    top = float((test.y[np.arange(len(test)), strongest] > 0.5).mean())
    if spec.output == "sigmoid":
        exact = ((outputs > 0.5) == (test.y > 0.5)).all(axis=1)
        return Figures(top, float(exact.mean()), top)
    binary = test.sources != GRADED
    said = strongest[binary] == spec.outputs.index("duplicate")
    true = test.y[binary, spec.outputs.index("duplicate")] > 0.5
    f1 = 2.0 * float((said & true).sum()) / max(int(said.sum() + true.sum()), 1)
    return Figures(float((said == true).mean()), top, f1)
