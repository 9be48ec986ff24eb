"""How good exactly those parameters are that a phone would run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cloud.training.corpora import Corpus, Examples
from protocol.models.forward import forward
from protocol.models.spec import ModelSpec
from protocol.params import Parameters

__all__ = ["Scores", "score"]

_DECISION = 0.5
_SMALLEST = 1e-7
"""Probabilities are kept this far from 0 and 1, so that one sure mistake has a finite loss."""


@dataclass(frozen=True)
class Scores:
    """Held-out figures in 0–1, and `loss`, mean cross-entropy in nats per example.

    accuracy: the strongest output is a right one, mean of the two held-out sets so that the small
    hand-written set counts as much as the large one. exact: every output on its right side of
    0.5 (router) or the same as accuracy (dedup).
    """

    accuracy: float
    accuracy_templates: float
    accuracy_written: float
    exact: float
    loss: float

    def beats(self, other: Scores) -> bool:
        """More right answers; at a tie, surer ones."""
        return (self.accuracy, -self.loss) > (other.accuracy, -other.loss)


def score(parameters: Parameters, spec: ModelSpec, corpus: Corpus) -> Scores:
    """Scores of `parameters` on the two held-out sets of `corpus`."""
    templates = _Outcome.of(parameters, spec, corpus.templates)
    written = _Outcome.of(parameters, spec, corpus.written)
    return Scores(
        accuracy=(templates.top + written.top) / 2.0,
        accuracy_templates=templates.top,
        accuracy_written=written.top,
        exact=(templates.exact + written.exact) / 2.0,
        loss=(templates.loss + written.loss) / 2.0,
    )


@dataclass(frozen=True)
class _Outcome:
    top: float
    exact: float
    loss: float

    @classmethod
    def of(cls, parameters: Parameters, spec: ModelSpec, examples: Examples) -> _Outcome:
        outputs = forward(parameters.weights(), examples.x, spec).astype(np.float64)
        rows = np.arange(len(examples))
        top = examples.y[rows, outputs.argmax(axis=1)] > 0.0
        sure = np.clip(outputs, _SMALLEST, 1.0 - _SMALLEST)
        hits = examples.y * np.log(sure)
        if spec.output == "sigmoid":
            hits = hits + (1.0 - examples.y) * np.log1p(-sure)
            exact = ((outputs > _DECISION) == (examples.y > 0.0)).all(axis=1)
        else:
            exact = top
        return cls(float(top.mean()), float(exact.mean()), float(-hits.sum(axis=1).mean()))
