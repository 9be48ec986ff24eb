"""From a real vector to the integer lattice, with a sensitivity that holds after rounding."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt

__all__ = ["LARGEST_RADIUS", "clip_to_lattice"]

LARGEST_RADIUS = 1 << 30
"""Largest clip·scale in lattice units: its square, and every sum of squares met on the way, fits
an int64, so the check below is exact without big integers."""


def clip_to_lattice(vector: npt.ArrayLike, clip: float, scale: int) -> npt.NDArray[np.int64]:
    """Round ``vector``·``scale`` to integers whose L2 norm is at most ``clip``·``scale``.

    ``vector``: float[d] in real units; ``clip``: L2 bound in real units; ``scale``: lattice units
    per 1.0. Returns int64[d] with Σx² ≤ floor((clip·scale)²), checked in integers on the values
    returned, so rounding can never raise the sensitivity (compare Kairouz et al. 2021,
    arXiv 2102.06387, which pays for conditional rounding instead). A vector with NaN or infinity
    becomes zeros rather than an error: whether a phone reports must not depend on its data.
    Raises ValueError for a clip or scale outside the lattice.
    """
    limit = _radius_squared(clip, scale)
    values = np.asarray(vector, dtype=np.float64)
    if values.ndim != 1:
        raise ValueError("the vector must have one dimension")
    peak = float(np.max(np.abs(values), initial=0.0))
    if peak == 0.0 or not math.isfinite(peak):
        return np.zeros(values.shape, dtype=np.int64)
    scaled = _inside_ball(values, peak, clip) * scale
    lattice = np.rint(scaled).astype(np.int64)
    if _norm_squared(lattice) > limit:
        lattice = np.trunc(scaled).astype(np.int64)
    while _norm_squared(lattice) > limit:  # float dust: at most a few units too long
        largest = int(np.argmax(np.abs(lattice)))
        lattice[largest] -= np.sign(lattice[largest])
    return lattice


def _radius_squared(clip: float, scale: int) -> int:
    if not (math.isfinite(clip) and clip > 0 and scale >= 1):
        raise ValueError("clip must be finite and positive, scale at least 1")
    radius = Fraction(clip) * scale
    if radius > LARGEST_RADIUS:
        raise ValueError("clip times scale is too large for the lattice")
    return math.floor(radius * radius)


def _inside_ball(
    values: npt.NDArray[np.float64], peak: float, clip: float
) -> npt.NDArray[np.float64]:
    """The vector scaled into the ball of radius ``clip``, without overflow for huge values."""
    direction = values / peak
    length = float(np.linalg.norm(direction))
    if peak * length <= clip:
        return values
    return direction * (clip / length)


def _norm_squared(lattice: npt.NDArray[np.int64]) -> int:
    return int(np.dot(lattice, lattice))
