"""How the fleet's use of its memory re-weights the central corpus."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloud.training.corpora import Examples
from protocol.models.spec import ModelSpec

__all__ = ["USAGE_TASKS", "UsageMix", "carried_forward", "example_weights", "usage_mix"]

UsageMix = Mapping[str, Mapping[str, float]]
"""Histogram name → bin → share."""

USAGE_TASKS = ("usage", "local_usage")
"""Rounds that tell of the fleet's use: all histograms at once, or one after the other."""

LEAST, MOST = 0.25, 4.0
"""A weight's range: noise or one odd week must not silence a language or drown the others."""
_LANGUAGES = ("zh", "en")


def usage_mix(estimates: Mapping[str, Any]) -> UsageMix:
    """Shares from the `estimates` of a usage aggregate."""
    mix: dict[str, dict[str, float]] = {}
    for entry in estimates.get("histograms", ()):
        mix.setdefault(str(entry["histogram"]), {})[str(entry["bin"])] = float(entry["estimate"])
    return mix


def carried_forward(newest_first: Iterable[Mapping[str, Any]]) -> UsageMix:
    """Each histogram as the newest aggregate that has it tells it.

    A local round answers one histogram; a round that expired leaves the one before it standing.
    """
    mix: dict[str, Mapping[str, float]] = {}
    for estimates in newest_first:
        for histogram, shares in usage_mix(estimates).items():
            mix.setdefault(histogram, shares)
    return mix


def example_weights(examples: Examples, spec: ModelSpec, mix: UsageMix) -> NDArray[np.float32]:
    """float32[n]: the fleet's share of an example's language and layer over an even share.

    Even shares are constants, not the corpus's own: a weight may not depend on other examples.
    """
    by_language = _ratios(mix.get("language", {}), _LANGUAGES)
    weights = np.array([by_language[language] for language in examples.languages])
    if spec.name == "router":
        by_layer = _ratios(mix.get("top_layer", {}), spec.outputs)
        factors = np.array([by_layer[name] for name in spec.outputs])
        weights = weights * (examples.y @ factors) / np.maximum(examples.y.sum(axis=1), 1.0)
    bounded: NDArray[np.float32] = np.clip(weights, LEAST, MOST).astype(np.float32)
    return bounded


def _ratios(shares: Mapping[str, float], names: Sequence[str]) -> dict[str, float]:
    known = {name: max(shares.get(name, 0.0), 0.0) for name in names}
    total = sum(known.values())
    if total <= 0.0:
        return dict.fromkeys(names, 1.0)
    return {
        name: float(np.clip(share * len(names) / total, LEAST, MOST))
        for name, share in known.items()
    }
