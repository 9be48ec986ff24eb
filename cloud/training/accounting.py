"""What a central training costs, by two accountants: the tighter of two valid bounds is written."""

from __future__ import annotations

from functools import lru_cache

from cloud.training.config import TrainingConfig

__all__ = ["pld_epsilon", "rdp_epsilon", "spent_epsilon"]

_CACHED = 64
_FINEST = 1e-4
"""Discretisation of privacy losses, dp-accounting's default."""
_LEVELS = 1e5
"""... and coarser for an ε of more than this many of them, or composing would take minutes."""


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
    from opacus.accountants import RDPAccountant

    accountant = RDPAccountant()
    accountant.history = [(noise, rate, steps)]
    return float(accountant.get_epsilon(delta))


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
