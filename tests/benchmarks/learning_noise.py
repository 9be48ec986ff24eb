"""The terms of a round at any yearly ε, and what a fleet's usage round would tell."""

from __future__ import annotations

import math
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from cloud.training.seeds import generator
from cloud.training.usage import PHONES
from privacy.accounting import gdp_epsilon, mu_of
from privacy.budget import PRODUCTION, Terms
from privacy.estimation import estimate_histograms
from privacy.streams import usage_vector
from protocol.models import ModelSpec, head_dimension
from tests.benchmarks.learning_data import RealSet
from tests.benchmarks.learning_fleet import Fleet, noisy_sum

__all__ = ["RoundTerms", "model_terms", "noise_factor", "round_terms", "usage_estimates"]

BISECTIONS = 60
DEFAULT = 8.0
"""PRODUCTION's ε a year, to a hundredth."""
SAID = {
    "decided_by": "model",
    "queries": "6-20",
    "records": "100-999",
    "usefulness": "75-100",
    "router_adoption": "adopted",
    "dedup_adoption": "adopted",
}
"""Answers that re-weighting does not read."""


class RoundTerms(NamedTuple):
    """A round as the leader's check reads it."""

    task: str
    round: int
    dimension: int
    scale: int
    clip: float
    sigma: float
    n_min: int


@cache
def noise_factor(epsilon: float) -> float:
    """By how much all noise of the plan is larger so that a year of it costs `epsilon`, both
    streams alike."""
    if epsilon == DEFAULT or math.isinf(epsilon):
        return 1.0
    whole = mu_of(PRODUCTION.yearly_cap)
    low, high = 1e-3, 1e3
    for _ in range(BISECTIONS):
        middle = math.sqrt(low * high)
        if gdp_epsilon(whole / middle, PRODUCTION.delta) > epsilon:
            low = middle
        else:
            high = middle
    return high


def model_terms(task: str, phones: int, epsilon: float) -> Terms:
    """The production budget's terms for a fleet, its noise scaled to `epsilon` a year."""
    terms = PRODUCTION.terms(task, phones)
    return terms._replace(sigma=terms.sigma * noise_factor(epsilon))


def round_terms(spec: ModelSpec, terms: Terms) -> RoundTerms:
    """The same with the model's dimension."""
    return RoundTerms(
        spec.name, 1, head_dimension(spec), terms.scale, terms.clip, terms.sigma, terms.n_min
    )


def usage_estimates(
    real: RealSet, fleet: Fleet, spec: ModelSpec, phones: int, epsilon: float, key: int
) -> dict[str, Any]:
    """Histograms of the fleet's languages and of the layer that most often helped, with noise."""
    terms = model_terms("usage", phones, epsilon)
    vectors = []
    for rows, count in zip(fleet.rows, fleet.counts, strict=True):
        own = rows[:count]
        helped = real.y[own].sum(axis=0)
        # A dedup phone's recalls are not in the data; nothing of dedup reads them.
        top = spec.outputs[int(helped.argmax())] if spec.name == "router" else "none"
        answers = SAID | {"language": real.languages[own[0]], "top_layer": top}
        vectors.append(np.rint(usage_vector(answers) * terms.scale).astype(np.int64))
    noise = math.isfinite(epsilon)
    said = noisy_sum(np.stack(vectors), phones, terms, generator(key), noise=noise)
    bins = estimate_histograms(said.total, phones, terms.scale, said.sigma)
    return {"histograms": [each._asdict() for each in bins], PHONES: phones}
