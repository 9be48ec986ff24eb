"""From noisy integer sums back to numbers with their uncertainty."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from privacy.streams import USAGE_DIMENSION, USAGE_HISTOGRAMS

__all__ = ["BinEstimate", "MeanUpdate", "estimate_histograms", "mean_update", "total_noise"]

_NORMAL_95 = 1.959963984540054
"""Two-sided 95 % quantile of the standard normal."""


class BinEstimate(NamedTuple):
    """One bin: share of the reporting phones, with a 95 % confidence interval.

    ``estimate`` is unbiased and may fall outside [0, 1]; ``low`` and ``high`` are cut to it.
    """

    histogram: str
    bin: str
    estimate: float
    low: float
    high: float


class MeanUpdate(NamedTuple):
    """The mean of the phones' clipped updates, float64[d], and the std of each value's noise."""

    mean: npt.NDArray[np.float64]
    noise: float


def total_noise(sigma: float, n: int, n_min: int, *, helper: bool = True) -> float:
    """Std of the noise in a sum of ``n`` reports, in real units.

    Every phone adds sigma²/n_min of variance, the helper sigma²: sigma·sqrt(n/n_min + 1).
    """
    return sigma * math.sqrt(n / n_min + (1.0 if helper else 0.0))


def estimate_histograms(
    total: npt.NDArray[np.int64], n: int, scale: int, total_sigma: float
) -> list[BinEstimate]:
    """Shares per histogram bin from the unmasked sum of ``n`` usage reports.

    ``total``: int64[USAGE_DIMENSION] in lattice units; ``scale``: lattice units per device;
    ``total_sigma``: std of the sum's noise in devices (see `total_noise`).
    """
    if total.shape != (USAGE_DIMENSION,) or n < 1:
        raise ValueError(f"a usage sum has {USAGE_DIMENSION} values and at least one phone")
    names = [(histogram.name, name) for histogram in USAGE_HISTOGRAMS for name in histogram.bins]
    margin = _NORMAL_95 * total_sigma / n
    shares = (total / (scale * n)).tolist()
    return [
        BinEstimate(
            histogram,
            name,
            share,
            min(max(share - margin, 0.0), 1.0),
            max(min(share + margin, 1.0), 0.0),
        )
        for (histogram, name), share in zip(names, shares, strict=True)
    ]


def mean_update(
    total: npt.NDArray[np.int64], n: int, scale: int, total_sigma: float = 0.0
) -> MeanUpdate:
    """The mean update from the unmasked sum of ``n`` reports.

    ``total``: int64[d] in lattice units. ``total_sigma``: std of the sum's noise in real units.
    """
    if n < 1:
        raise ValueError("a mean needs at least one report")
    return MeanUpdate(total / (float(scale) * n), total_sigma / n)
