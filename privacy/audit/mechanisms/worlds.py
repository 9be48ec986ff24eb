"""Two worlds told apart: a lower bound on mu of Gaussian differential privacy.

Every test of "world 0 or world 1?" has a false-positive rate a and a false-negative rate b, and a
mu-GDP mechanism keeps Phi^-1(1-a) - Phi^-1(b) ≤ mu (Dong, Roth & Su 2019, Definition 6). A fifth
of the samples chooses a threshold, the rest measures it, so the choice costs no confidence; both
rates are replaced by their Clopper-Pearson upper ends.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from privacy.audit.mechanisms.statistics import normal_quantile, proportion_bounds

__all__ = ["GROUP_SHIFT", "epsilon_lower_bound", "mu_lower_bound"]

GROUP_SHIFT = 1.75
"""Distance of the two worlds in claimed standard deviations. By group privacy a release of mu per
device is t·mu for t devices; near 1.75 a wrong sigma is easiest to see."""

_PILOT = 5
"""One sample in this many belongs to the pilot."""

_CANDIDATES = 41
"""Thresholds the pilot tries."""

Values = npt.NDArray[np.float64]


def mu_lower_bound(zeros: Values, shifted: Values, alpha: float) -> float:
    """A mu that the mechanism exceeds with confidence 1 - ``alpha``; 0 when none is shown.

    ``zeros``, ``shifted``: the same statistic in the two worlds, larger values speaking for the
    second. One independent sample each.
    """
    threshold = _choose(zeros[::_PILOT], shifted[::_PILOT])
    held_zeros, held_shifted = _hold_out(zeros), _hold_out(shifted)
    positives = int(np.count_nonzero(held_zeros > threshold))
    negatives = int(np.count_nonzero(held_shifted <= threshold))
    _, false_positive = proportion_bounds(positives, len(held_zeros), alpha / 2)
    _, false_negative = proportion_bounds(negatives, len(held_shifted), alpha / 2)
    if max(false_positive, false_negative) >= 1.0:
        return 0.0
    return max(0.0, normal_quantile(1.0 - false_positive) - normal_quantile(false_negative))


def epsilon_lower_bound(zeros: Values, shifted: Values, delta: float, alpha: float) -> float:
    """An epsilon at ``delta`` that is exceeded with confidence 1 - ``alpha``, whatever the noise.

    P(S | shifted) ≤ e^epsilon·P(S | zeros) + delta for S = "above a threshold", one device apart.
    Assumes no shape of the noise, and so sees far less than `mu_lower_bound`.
    """
    pilot = np.quantile(shifted[::_PILOT], np.linspace(0.0, 1.0, _CANDIDATES)[1:-1])
    threshold = max(
        pilot.tolist(),
        key=lambda cut: _log_ratio(zeros[::_PILOT], shifted[::_PILOT], cut, delta, alpha),
    )
    return _log_ratio(_hold_out(zeros), _hold_out(shifted), threshold, delta, alpha)


def _log_ratio(
    zeros: Values, shifted: Values, threshold: float, delta: float, alpha: float
) -> float:
    above = [int(np.count_nonzero(values > threshold)) for values in (zeros, shifted)]
    _, high = proportion_bounds(above[0], len(zeros), alpha / 2)
    low, _ = proportion_bounds(above[1], len(shifted), alpha / 2)
    return math.log((low - delta) / high) if low - delta > high else 0.0


def _hold_out(values: Values) -> Values:
    return np.delete(values, slice(None, None, _PILOT))


def _choose(zeros: Values, shifted: Values) -> float:
    """The threshold whose bound would be best, taking the rates' standard errors off."""
    low, high = np.median(zeros), np.median(shifted)
    best, threshold = -math.inf, float(low)
    for candidate in np.linspace(low, high, _CANDIDATES):
        first = _rate(int(np.count_nonzero(zeros > candidate)), len(zeros))
        second = _rate(int(np.count_nonzero(shifted <= candidate)), len(shifted))
        if max(first, second) >= 1.0:
            continue
        value = normal_quantile(1.0 - first) - normal_quantile(second)
        if value > best:
            best, threshold = value, float(candidate)
    return threshold


def _rate(count: int, trials: int) -> float:
    share = (count + 0.5) / (trials + 1)
    return share + 3.0 * math.sqrt(share * (1.0 - share) / trials)
