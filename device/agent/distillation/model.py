"""Distilling with the built-in dedup model: the same facts, but likeness is judged by meaning."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from device.agent.distillation.distiller import INDEPENDENT, Judgement, Marks, Verdict
from device.agent.distillation.exact import ExactDistiller
from device.agent.distillation.observed import rival
from device.agent.records import Run
from protocol.models import DEDUP, Weights, dedup_features, forward

__all__ = ["ModelDistiller"]

DUPLICATE = DEDUP.outputs.index("duplicate")
CERTAIN = 0.95
"""Probability from which two sentences count as one: a confirmation is all that is at stake."""


class ModelDistiller:
    """Asks the phone's adopted dedup model; with none adopted it is the exact distiller."""

    name = "model"

    def __init__(self, weights: Callable[[], Weights | None]) -> None:
        """`weights` gives the adopted model, which may change with every release."""
        self._weights = weights
        self._exact = ExactDistiller()

    async def facts(self, run: Run) -> Sequence[str]:
        """As `Distiller.facts`."""
        return await self._exact.facts(run)

    async def judge(self, new: str, held: Mapping[str, str]) -> Judgement:
        """As `Distiller.judge`; it never merges: only a reader can word both in one sentence."""
        exact = await self._exact.judge(new, held)
        if exact.verdict is Verdict.DUPLICATE or not held:
            return exact
        against = next((i for i, content in held.items() if rival(content, new)), "")
        if against:
            return Judgement(Verdict.CONTRADICTS, against)
        weights = self._weights()
        if weights is None:
            return INDEPENDENT
        features = np.stack([dedup_features(content, new) for content in held.values()])
        chances = forward(weights, features, DEDUP)[:, DUPLICATE]
        best = int(chances.argmax())
        if chances[best] < CERTAIN:
            return INDEPENDENT
        return Judgement(Verdict.DUPLICATE, list(held)[best])

    async def marks(self, run: Run, held: Mapping[str, str]) -> Marks:
        """As `Distiller.marks`."""
        return await self._exact.marks(run, held)
