"""What a central training costs, by two accountants: the tighter of two valid bounds is written."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from cloud.training.config import TrainingConfig
from privacy.audit.accountants import renyi_analysis

__all__ = ["pld_epsilon", "rdp_epsilon", "spent_epsilon"]

_CACHED = 64
_FINEST = 1e-4
"""Discretisation of privacy losses, dp-accounting's default."""
_LEVELS = 1e5
"""... and coarser for an ε of more than this many of them, or composing would take minutes."""
_ORDERS = [1 + tenth / 10.0 for tenth in range(1, 100)] + list(range(12, 64))
"""Rényi orders: those of opacus' own accountant."""


def spent_epsilon(config: TrainingConfig, steps: int) -> float:
    """ε at `config.delta` of `steps` steps for one unit, added or removed; 0.0 for no step.

    Infinite without noise.
    """
    if steps == 0:
        return 0.0
    if config.noise_multiplier <= 0.0:
        return float("inf")
    values = (config.noise_multiplier, config.sampling_rate, steps, config.delta)
    bound = rdp_epsilon(*values)
    return min(bound, pld_epsilon(*values, expected=bound))


@lru_cache(maxsize=_CACHED)
def rdp_epsilon(noise: float, rate: float, steps: int, delta: float) -> float:
    """An upper bound by Rényi moments (opacus; Mironov, Talwar & Zhang 2019)."""
    moments = steps * _step_moments(noise, rate)
    spent, _ = renyi_analysis().get_privacy_spent(orders=_ORDERS, rdp=moments, delta=delta)
    return float(spent)


@lru_cache(maxsize=_CACHED)
def _step_moments(noise: float, rate: float) -> NDArray[np.float64]:
    """Rényi divergence of one step at each of `_ORDERS`."""
    moments: NDArray[np.float64] = np.asarray(
        renyi_analysis().compute_rdp(q=rate, noise_multiplier=noise, steps=1, orders=_ORDERS)
    )
    return moments


@lru_cache(maxsize=_CACHED)
def pld_epsilon(
    noise: float, rate: float, steps: int, delta: float, *, expected: float = 0.0
) -> float:
    """An upper bound by loss distributions, rounded pessimistically (dp-accounting).

    `expected`: an ε it will not exceed, which sets how fine the distribution must be.
    """
    from dp_accounting import GaussianDpEvent, NeighboringRelation, PoissonSampledDpEvent
    from dp_accounting.pld import PLDAccountant

    accountant = PLDAccountant(
        NeighboringRelation.ADD_OR_REMOVE_ONE,
        value_discretization_interval=max(_FINEST, expected / _LEVELS),
    )
    accountant.compose(PoissonSampledDpEvent(rate, GaussianDpEvent(noise)), steps)
    return float(accountant.get_epsilon(delta))
