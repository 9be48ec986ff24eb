"""From noisy integer sums back to numbers with their uncertainty."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from privacy.mechanisms.local import SubsetSelection
from privacy.streams import USAGE_DIMENSION, USAGE_HISTOGRAMS

__all__ = [
    "BinEstimate",
    "MeanUpdate",
    "ShareEstimate",
    "estimate_histograms",
    "estimate_local",
    "local_error",
    "mean_update",
    "total_noise",
]

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


class ShareEstimate(NamedTuple):
    """One answer of a local report: share of the reporting phones, with a 95 % interval.

    ``share`` is unbiased and may fall outside [0, 1]; ``low`` and ``high`` are cut to it.
    """

    share: float
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


def estimate_local(
    counts: npt.NDArray[np.int64], n: int, randomiser: SubsetSelection
) -> list[ShareEstimate]:
    """Shares per answer from ``n`` local reports, one per bin, unbiased, with 95 % intervals.

    ``counts``: int64[bins], in how many reported sets each answer stands. With p, q the
    probabilities that an answer is in the set when it is, or is not, the true one, a count's
    expectation is n·(q + f·(p - q)) and its variance n·(f·p(1-p) + (1-f)·q(1-q)): the noise of the
    other phones and the binomial part of those that gave the answer. The interval holds every f
    whose own variance explains the count to within half a report (a score interval with
    continuity correction; Wilson 1927, Newcombe 1998), so it keeps its coverage for rare answers
    and where ε is so large that hardly a report lies. Raises ValueError when the counts cannot
    come from n reports.
    """
    if counts.shape != (randomiser.bins,) or n < 1:
        raise ValueError(f"a local sum has {randomiser.bins} counts and at least one report")
    values = [int(count) for count in counts]
    if not all(0 <= count <= n for count in values) or sum(values) != n * randomiser.size:
        raise ValueError(f"every local report names exactly {randomiser.size} answers")
    true, other = (float(chance) for chance in randomiser.inclusion())
    return [_score_interval(count / n, n, true, other) for count in values]


def local_error(randomiser: SubsetSelection, n: int, share: float = 0.0) -> float:
    """Std of `estimate_local`'s share for an answer that ``share`` of the ``n`` phones gave."""
    true, other = (float(chance) for chance in randomiser.inclusion())
    variance = share * true * (1 - true) + (1 - share) * other * (1 - other)
    return math.sqrt(variance / n) / (true - other)


def _score_interval(seen: float, n: int, true: float, other: float) -> ShareEstimate:
    fewer, more = seen - 0.5 / n, seen + 0.5 / n
    low = 0.0 if fewer <= other else _shares_explaining(fewer, n, true, other)[0]
    high = 1.0 if more >= true else _shares_explaining(more, n, true, other)[1]
    share = (seen - other) / (true - other)
    return ShareEstimate(share, min(max(low, 0.0), 1.0), max(min(high, 1.0), 0.0))


def _shares_explaining(seen: float, n: int, true: float, other: float) -> tuple[float, float]:
    """Solves (seen - q - f·d)² = z²/n · (q(1-q) + f·d·(1-p-q)) for f, with d = p - q.

    For ``seen`` in [0, 1] the right side is not negative where the left one is 0, so both
    solutions are real and lie around (seen - q)/d.
    """
    gain = true - other
    excess = seen - other
    spread = _NORMAL_95**2 / n
    slope = spread * gain * (1 - true - other)
    middle = (2 * excess * gain + slope) / (2 * gain**2)
    constant = (excess**2 - spread * other * (1 - other)) / gain**2
    reach = math.sqrt(max(middle**2 - constant, 0.0))  # below 0 by rounding only
    return middle - reach, middle + reach
