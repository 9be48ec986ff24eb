"""Whether two texts say the same: the dedup model's word, and the gate before any merge.

A wrong merge loses both sides and nobody notices (001), while a duplicate only costs room. So what
is stored is merged by itself only where model and exact evidence agree: the model is sure, and the
wordings are equal but for particles (`wording`). Everything else is kept apart. One place decides:
answers are folded (`device.recall.folding`) and memories merged (`merging`) by this judgement.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from device.memory.wording import letters_of, wording_of
from protocol.models import DEDUP, Weights, dedup_features, forward

__all__ = ["GATE", "Judgement", "Verdict"]

GATE = 0.6
"""Probability of "duplicate" from which the model agrees to a merge of equal wordings. On the first
halves of the xiaobu and PAWS-X pairs (bench_dedup.py has the others) equal wordings alone have
precision .98 and 1; from here on the model takes the wrong ones out and few of the right ones."""


class Verdict(StrEnum):
    """What to do with a pair (000, 001)."""

    DUPLICATE = "duplicate"
    MERGE = "merge"
    INDEPENDENT = "independent"


@dataclass(frozen=True, slots=True, eq=False)
class Judgement:
    """Judges by the dedup model's `weights`; with None, only equal letters are the same."""

    weights: Weights | None = None

    def chances(self, a: str, b: str) -> dict[Verdict, float]:
        """Probability of each verdict; without a model, certainty either way."""
        if self.weights is None:
            same = letters_of(a) == letters_of(b)
            return {
                Verdict.DUPLICATE: float(same),
                Verdict.MERGE: 0.0,
                Verdict.INDEPENDENT: float(not same),
            }
        outputs = forward(self.weights, dedup_features(a, b)[None, :], DEDUP)[0]
        return {Verdict(name): float(p) for name, p in zip(DEDUP.outputs, outputs, strict=True)}

    def verdict(self, a: str, b: str) -> Verdict:
        """The likeliest verdict."""
        chances = self.chances(a, b)
        return max(chances, key=chances.__getitem__)

    def may_merge(self, a: str, b: str) -> bool:
        """The gate: whether two memories with these texts may become one unasked."""
        if letters_of(a) == letters_of(b):
            return wording_of(a) == wording_of(b)
        if self.weights is None or wording_of(a) != wording_of(b):
            return False
        return self.chances(a, b)[Verdict.DUPLICATE] >= GATE
