"""What a phone may report about its own use: eight one-hot histograms, nothing else.

Each phone puts exactly one 1 into each histogram, so a report's L2 norm is exactly sqrt(8):
the clip never distorts it, and the number of answers given never depends on the data.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = [
    "USAGE_CLIP",
    "USAGE_DIMENSION",
    "USAGE_HISTOGRAMS",
    "Histogram",
    "split_usage",
    "usage_histogram",
    "usage_vector",
]


@dataclass(frozen=True, slots=True)
class Histogram:
    """One question with a closed list of answers."""

    name: str
    bins: tuple[str, ...]


USAGE_HISTOGRAMS: tuple[Histogram, ...] = (
    Histogram("decided_by", ("rule", "model", "fallback", "none")),
    Histogram("top_layer", ("working", "structured", "raw", "none")),
    Histogram("language", ("zh", "en", "mixed", "none")),
    Histogram("queries", ("0", "1-5", "6-20", "21-50", "51+")),
    Histogram("records", ("0-99", "100-999", "1000-9999", "10000+")),
    Histogram("usefulness", ("none", "0-25", "25-50", "50-75", "75-100")),
    Histogram("router_adoption", ("none", "adopted", "refused")),
    Histogram("dedup_adoption", ("none", "adopted", "refused")),
)

USAGE_DIMENSION = sum(len(histogram.bins) for histogram in USAGE_HISTOGRAMS)
"""Length of a usage vector: all bins of all histograms, in the order above."""

USAGE_CLIP = math.sqrt(len(USAGE_HISTOGRAMS))
"""L2 norm of every usage vector, in devices: one 1 in each histogram."""


def usage_histogram(name: str) -> Histogram:
    """The histogram called ``name``; ValueError when there is none."""
    for histogram in USAGE_HISTOGRAMS:
        if histogram.name == name:
            return histogram
    raise ValueError("there is no such usage histogram")


def usage_vector(answers: Mapping[str, str]) -> npt.NDArray[np.float64]:
    """The one-hot vector of a phone's answers, histogram name → bin.

    Returns float64[USAGE_DIMENSION]. Raises ValueError when a histogram is missing, unknown, or
    answered outside its bins; the message names the histogram, never the answer.
    """
    unknown = sorted(set(answers) - {histogram.name for histogram in USAGE_HISTOGRAMS})
    if unknown:
        raise ValueError(f"{len(unknown)} answers belong to no usage histogram")
    vector = np.zeros(USAGE_DIMENSION)
    start = 0
    for histogram in USAGE_HISTOGRAMS:
        if answers.get(histogram.name) not in histogram.bins:
            raise ValueError(f"usage histogram {histogram.name!r} needs one of its own bins")
        vector[start + histogram.bins.index(answers[histogram.name])] = 1.0
        start += len(histogram.bins)
    return vector


def split_usage(vector: npt.NDArray[np.generic]) -> dict[str, dict[str, float]]:
    """A vector of USAGE_DIMENSION values cut back into histogram name → bin → value."""
    if vector.shape != (USAGE_DIMENSION,):
        raise ValueError(f"a usage vector has {USAGE_DIMENSION} values")
    values = iter(vector.tolist())
    return {
        histogram.name: {name: float(next(values)) for name in histogram.bins}
        for histogram in USAGE_HISTOGRAMS
    }
