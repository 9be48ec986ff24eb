"""From a real vector to the integer lattice, with a sensitivity that holds after rounding."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from privacy.bits import BitSource, draw

__all__ = ["LARGEST_RADIUS", "clip_to_lattice", "rounding_radius"]

LARGEST_RADIUS = 1 << 30
"""Largest clip·scale in lattice units: its square, and every sum of squares met on the way, fits
an int64, so the check below is exact without big integers."""

_DUST = 1.0 + 2.0**-40
"""Float norms this far over the clip may be at it: the integers decide. Anything longer is not
squared in integers before it is clipped, where it could overflow."""

_WORD_BYTES = 8
"""Random bytes that round one value: its probability is exact to 2^-64."""

_CAUTION = 1.0
"""sqrt(2·ln(1/beta)) of the conditional rounding: beta = exp(-1/2) is the bound on the chance that
one attempt inside the smaller ball is too long."""

_CACHED_RADII = 16
"""Radii kept: a fleet uses a handful of (clip, scale) combinations."""

_ATTEMPTS = 16
"""Attempts inside the smaller ball. All fail with a chance under beta^16 < 4e-4 (far less in
practice); what then follows is still a valid, only slightly shorter, vector."""


def clip_to_lattice(
    vector: npt.ArrayLike, clip: float, scale: int, bits: BitSource
) -> npt.NDArray[np.int64]:
    """Round ``vector``·``scale`` to integers whose L2 norm is at most ``clip``·``scale``.

    ``vector``: float[d] in real units; ``clip``: L2 bound in real units; ``scale``: lattice units
    per 1.0; ``bits``: the only randomness. Returns int64[d] with Σx² ≤ floor((clip·scale)²),
    checked in integers on the values returned, so rounding can never raise the sensitivity.

    Rounding is stochastic and unbiased: up with the probability of the fraction (to 2^-64), so a
    mean over many phones keeps what is finer than the lattice. A vector of whole lattice units
    inside the ball is returned as it is. A vector longer than ``clip`` is scaled to it first.
    Within sqrt(d) units of the surface a rounding may be too long, and is then drawn again inside
    a ball smaller by about 1/2 + d/(8·clip·scale) units: the conditional rounding of Kairouz, Liu
    & Steinke 2021 (arXiv 2102.06387), paid with that bit of length instead of sensitivity. Only
    there does the expectation fall short, by about as much. Where no smaller ball is left (d far
    above (clip·scale)²) values are cut toward zero.

    A vector with NaN or infinity becomes zeros rather than an error: whether a phone reports must
    not depend on its data. Raises ValueError for a clip or scale outside the lattice.
    """
    limit = _radius_squared(clip, scale)
    values = np.asarray(vector, dtype=np.float64)
    if values.ndim != 1:
        raise ValueError("the vector must have one dimension")
    peak = float(np.max(np.abs(values), initial=0.0))
    if peak == 0.0 or not math.isfinite(peak):
        return np.zeros(values.shape, dtype=np.int64)
    direction = values / peak
    length = float(np.linalg.norm(direction))
    if peak * length <= clip * _DUST:
        whole = _whole(values * scale)
        if whole is not None and _norm_squared(whole) <= limit:
            return whole
    inside = values if peak * length <= clip else direction * (clip / length)
    scaled = inside * scale
    lattice = _round(scaled, bits)
    if _norm_squared(lattice) <= limit:
        return lattice
    return _round_conditionally(scaled, limit, bits)


def _round_conditionally(
    scaled: npt.NDArray[np.float64], limit: int, bits: BitSource
) -> npt.NDArray[np.int64]:
    """Round inside a smaller ball until the result is short enough; else cut toward zero."""
    radius = rounding_radius(len(scaled), limit)
    if radius > 0:
        shrunk = scaled * min(1.0, radius / float(np.linalg.norm(scaled)))
        for _ in range(_ATTEMPTS):
            lattice = _round(shrunk, bits)
            if _norm_squared(lattice) <= limit:
                return lattice
    return _cut(scaled, limit)


@lru_cache(maxsize=_CACHED_RADII)
def _radius_squared(clip: float, scale: int) -> int:
    if not (math.isfinite(clip) and clip > 0 and scale >= 1):
        raise ValueError("clip must be finite and positive, scale at least 1")
    radius = Fraction(clip) * scale
    if radius > LARGEST_RADIUS:
        raise ValueError("clip times scale is too large for the lattice")
    return math.floor(radius * radius)


def _whole(scaled: npt.NDArray[np.float64]) -> npt.NDArray[np.int64] | None:
    """The vector as integers if every value is one already, else None."""
    nearest = np.rint(scaled)
    return nearest.astype(np.int64) if np.array_equal(scaled, nearest) else None


def rounding_radius(dimension: int, limit: int) -> float:
    """The norm from which a stochastic rounding is likely to stay within sqrt(limit); 0 if none.

    Solves r² + d/4 + t·(r + sqrt(d)/2) = limit for r, t = _CAUTION: the left side bounds the
    squared norm after rounding but for a chance beta (Kairouz et al. 2021).
    """
    room = limit - dimension / 4 - _CAUTION * math.sqrt(dimension) / 2
    return (math.sqrt(_CAUTION**2 + 4 * room) - _CAUTION) / 2 if room > 0 else 0.0


def _round(scaled: npt.NDArray[np.float64], bits: BitSource) -> npt.NDArray[np.int64]:
    """Each value rounded to one of its two neighbours, unbiased to 2^-64."""
    size = np.abs(scaled)
    floor = np.floor(size)
    threshold = np.ldexp(size - floor, 8 * _WORD_BYTES).astype(np.uint64)
    words = np.frombuffer(draw(bits, _WORD_BYTES * len(scaled)), dtype="<u8")
    magnitude: npt.NDArray[np.int64] = floor.astype(np.int64) + (words < threshold)
    magnitude[np.signbit(scaled)] *= -1
    return magnitude


def _cut(scaled: npt.NDArray[np.float64], limit: int) -> npt.NDArray[np.int64]:
    lattice = np.trunc(scaled).astype(np.int64)
    while _norm_squared(lattice) > limit:  # float dust: at most a few units too long
        largest = int(np.argmax(np.abs(lattice)))
        lattice[largest] -= np.sign(lattice[largest])
    return lattice


def _norm_squared(lattice: npt.NDArray[np.int64]) -> int:
    return int(np.dot(lattice, lattice))
