"""Is this week's histogram still the fleet's own? A chi-squared test that knows its noise.

The newest round is compared with the inverse-variance average of those before it. What may lie
between them without anything having changed is known: the noise of both, which the phones and the
helper drew; the sampling of a fleet in which not the same phones report every week; and a wander
of about a point a bin, because people are no lottery. Under that covariance the squared distance
is chi-squared with as many degrees of freedom as bins, one less where phones randomise their own
answers, for then the shares sum to one exactly. So the threshold follows from how often a fleet
that stays as it is may alarm.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["CALM_CHANCE", "FALSE_ALARMS_A_YEAR", "LEAST_PAST", "WANDER", "Compared", "Told",
           "chance_of", "compared", "threshold"]  # fmt: skip

FALSE_ALARMS_A_YEAR = 0.5
"""Expected, over all watched histograms, of a fleet that stays as it is."""
CALM_CHANCE = 0.05
"""A drift has passed when the distance is one that a stable fleet exceeds this often."""
LEAST_PAST = 3
"""Rounds before the newest under which there is no past to compare with."""
WANDER = 0.01
"""Std of a bin's share from week to week in a fleet that nothing happens to; a guess on the safe
side, which matters above about 4,000 phones, where noise hides less than that."""

Array = NDArray[np.float64]


class Told(NamedTuple):
    """One histogram in some rounds, newest first; any leading axes are fleets of their own.

    ``shares`` float64[..., rounds, k]; ``variances`` float64[..., rounds], of one bin's noise;
    ``phones`` float64[..., rounds]; ``local``: the phones randomised their answers themselves.
    """

    shares: Array
    variances: Array
    phones: Array
    local: bool


class Compared(NamedTuple):
    """The newest round against those before: ``distance`` float64[...] with ``freedom`` degrees,
    the ``usual`` shares float64[..., k]."""

    distance: Array
    freedom: int
    usual: Array


def compared(told: Told) -> Compared:
    """How far the newest round is from the average of the others, in units of what is no news."""
    k = told.shares.shape[-1]
    precision = 1.0 / (told.variances[..., 1:] + (k - 1.0) / k**2 / told.phones[..., 1:])
    weights = precision / precision.sum(axis=-1, keepdims=True)
    usual = (weights[..., None] * told.shares[..., 1:, :]).sum(axis=-2)
    noise = told.variances[..., 0] + (weights**2 * told.variances[..., 1:]).sum(axis=-1)
    sampled = 1.0 / told.phones[..., 0] + (weights**2 / told.phones[..., 1:]).sum(axis=-1)
    spread = _covariance(usual, noise, sampled, told.local)
    difference = told.shares[..., 0, :] - usual
    if told.local:
        contrasts = _contrasts(k)
        spread = contrasts @ spread @ contrasts.T
        difference = difference @ contrasts.T
    whitened = np.linalg.solve(spread, difference[..., None])[..., 0]
    distance: Array = (difference * whitened).sum(axis=-1)
    return Compared(distance, difference.shape[-1], usual)


def threshold(freedom: int, chance: float) -> float:
    """The distance that a stable fleet exceeds with this chance."""
    low, high = 0.0, 1_000.0
    for _ in range(60):
        middle = (low + high) / 2.0
        low, high = (middle, high) if chance_of(middle, freedom) > chance else (low, middle)
    return high


def chance_of(distance: float, freedom: int) -> float:
    """Chance that a chi-squared variable of so many degrees of freedom exceeds ``distance``."""
    half = distance / 2.0
    if freedom % 2 == 0:
        return math.exp(-half) * sum(half**i / math.factorial(i) for i in range(freedom // 2))
    odd = sum(math.pow(half, i - 0.5) / math.gamma(i + 0.5) for i in range(1, (freedom + 1) // 2))
    return math.erfc(math.sqrt(half)) + math.exp(-half) * odd


def _covariance(usual: Array, noise: Array, sampled: Array, local: bool) -> Array:
    """float64[..., k, k] of the difference between a round and the average before it."""
    k = usual.shape[-1]
    centred = np.eye(k) - 1.0 / k  # of shares that sum to one
    shares = np.clip(usual, 0.0, None)
    shares = shares / np.maximum(shares.sum(axis=-1, keepdims=True), 1e-9)
    multinomial = shares[..., None] * np.eye(k) - shares[..., None] * shares[..., None, :]
    own = centred * k / (k - 1.0) if local else np.eye(k)
    spread: Array = (
        noise[..., None, None] * own
        + sampled[..., None, None] * multinomial
        + WANDER**2 * centred * k / (k - 1.0)
    )
    return spread


def _contrasts(k: int) -> Array:
    """float64[k-1, k]: an orthonormal basis of what sums to zero (Helmert)."""
    rows = np.zeros((k - 1, k))
    for i in range(1, k):
        rows[i - 1, :i] = 1.0
        rows[i - 1, i] = -float(i)
        rows[i - 1] /= math.sqrt(i * (i + 1.0))
    return rows
