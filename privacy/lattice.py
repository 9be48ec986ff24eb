"""The integer lattice of a round: what fits 32-bit sums, and noise variances in its units."""

from __future__ import annotations

import math
from typing import Protocol

from privacy.errors import RoundRefused
from privacy.mechanisms.clip import LARGEST_RADIUS
from privacy.streams import USAGE_DIMENSION

__all__ = [
    "SMALLEST_SHARE",
    "RoundParameters",
    "check_lattice",
    "share_variance",
    "total_variance",
]

SMALLEST_SHARE = 8.0
"""Smallest sigma of one phone's share, in lattice units. From here on a sum of discrete Gaussians
is a discrete Gaussian up to 10·n·exp(-pi²·8²), which is nothing (Kairouz et al. 2021, Thm. 1)."""

WRAP = 1 << 31
"""Sums are centred modulo 2^32: their magnitude must stay below this many lattice units."""

TAIL_SIGMAS = 12.0
"""Noise of the sum, in sigmas, that must fit beside the signal before it wraps."""


class RoundParameters(Protocol):
    """The fields of a round descriptor that the privacy room reads."""

    @property
    def task(self) -> str:
        """usage, router or dedup."""
        ...

    @property
    def round(self) -> int:
        """Strictly increasing per task, from 1."""
        ...

    @property
    def dimension(self) -> int:
        """Values in a vector."""
        ...

    @property
    def scale(self) -> int:
        """Lattice units per 1.0."""
        ...

    @property
    def clip(self) -> float:
        """L2 bound of a vector, real units."""
        ...

    @property
    def sigma(self) -> float:
        """Std of the total noise, real units."""
        ...

    @property
    def n_min(self) -> int:
        """Fewest reports that may be summed."""
        ...


def check_lattice(parameters: RoundParameters) -> None:
    """RoundRefused for a round that is malformed or whose integers would not hold."""
    reals = (parameters.clip, parameters.sigma)
    if not all(math.isfinite(value) and value > 0 for value in reals):
        raise RoundRefused("round has a clip or sigma that is not a positive number")
    if min(parameters.round, parameters.dimension, parameters.scale, parameters.n_min) < 1:
        raise RoundRefused("round number, dimension, scale and n_min must be at least 1")
    if parameters.clip * parameters.scale > LARGEST_RADIUS:
        raise RoundRefused("round has a lattice too fine for 32-bit sums")
    if parameters.sigma * parameters.scale / math.sqrt(parameters.n_min) < SMALLEST_SHARE:
        raise RoundRefused("round has a lattice too coarse for its noise: raise the scale")
    if TAIL_SIGMAS * parameters.sigma * parameters.scale > WRAP:
        raise RoundRefused("round has noise too wide for 32-bit sums: lower the scale")
    if parameters.task == "usage" and parameters.dimension != USAGE_DIMENSION:
        raise RoundRefused(f"a usage round has {USAGE_DIMENSION} values")


def share_variance(sigma: float, scale: int, n_min: int) -> int:
    """Variance of one phone's noise share in squared lattice units, rounded up.

    sigma²/n_min each: any n_min phones together add at least the full sigma.
    """
    return -(-_lattice_variance(sigma, scale) // n_min)


def total_variance(sigma: float, scale: int) -> int:
    """Variance of noise of full ``sigma`` in squared lattice units, rounded up (the helper's)."""
    return _lattice_variance(sigma, scale)


def _lattice_variance(sigma: float, scale: int) -> int:
    numerator, denominator = sigma.as_integer_ratio()
    return -(-((numerator * scale) ** 2) // denominator**2)
