"""Dedup models that are sure of one verdict whatever they are shown."""

from __future__ import annotations

import numpy as np

from device.memory.judgement import Judgement, Verdict
from protocol.models import DEDUP, Weights


def weights_for(verdict: Verdict) -> Weights:
    """Weights whose output is this verdict with certainty."""
    weights = {name: np.zeros(shape, dtype=np.float32) for name, shape in DEDUP.shapes.items()}
    weights["b3"][DEDUP.outputs.index(verdict.value)] = 20.0
    return weights


SURE = Judgement(weights_for(Verdict.DUPLICATE))
KEEPS_BOTH = Judgement(weights_for(Verdict.MERGE))
NO_MODEL = Judgement(None)
