"""The leader's half that no `Sharing` does: is the joined sum one that honest phones can give?

On the ring nothing is proven of a single report, so a phone can send anything; what it cannot do
is stay hidden. A sum that passes is within a known distance of an honest one, and the mean that
is taken of it is projected onto the clip ball, where every honest mean lies.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from privacy.lattice import TAIL_SIGMAS, RoundParameters

__all__ = ["plausible"]


def plausible(
    total: npt.NDArray[np.int64], count: int, parameters: RoundParameters, total_sigma: float
) -> bool:
    """Whether ``count`` honest reports can sum to ``total`` (int64[d], lattice units).

    ``total_sigma``: std of all noise in the sum, real units (`estimation.total_noise`). Honest
    vectors have L2 norm ≤ clip, and usage counts are at most 1 each; the noise stays within
    12 sigma a coordinate, and its norm within (sqrt(d) + 12) sigma, but for a chance below
    d·10^-32 (Gaussian tail; Laurent & Massart 2000, Lemma 1). A false answer means that phones
    lied, not that a sum was unlucky.
    """
    if total.shape != (parameters.dimension,):
        raise ValueError("the sum and the round differ in dimension")
    noise = total_sigma * parameters.scale
    most = 1.0 if parameters.task == "usage" else parameters.clip
    peak = count * most * parameters.scale + TAIL_SIGMAS * noise
    length = count * parameters.clip * parameters.scale
    length += (math.sqrt(parameters.dimension) + TAIL_SIGMAS) * noise
    reals = total.astype(np.float64)
    return bool(np.abs(reals).max() <= peak and np.linalg.norm(reals) <= length)
