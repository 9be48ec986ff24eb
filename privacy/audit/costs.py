"""What a mechanism in a ledger costs, and whether a budget allows it, from its fields alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from privacy.accounting import RHO_UNIT_BITS, pure_units, rho_units
from privacy.budget import Budget
from privacy.chain import GaussianMechanism, Mechanism, Reserve
from privacy.errors import FloorViolated, RoundRefused
from privacy.streams import USAGE_HISTOGRAMS

__all__ = ["collusion_of", "cost_of", "fault_of", "pure_epsilon"]

_BINS = {histogram.name: len(histogram.bins) for histogram in USAGE_HISTOGRAMS}


_LARGEST_INTEGER = 1 << 53
"""No field of a real mechanism comes near; larger ones have no float."""

_LEAST_SIGMA = 1e-300
_LARGEST_PURE = 32.0


def cost_of(mechanism: Mechanism) -> int:
    """Rho units of one release; of a local report, those of the Gaussian that dominates it."""
    if isinstance(mechanism, GaussianMechanism):
        return rho_units(mechanism.clip, mechanism.sigma)
    if mechanism.epsilon > _LARGEST_PURE:  # far above every floor: a fault, whatever it costs
        return math.ceil(Fraction(mechanism.epsilon) ** 2 * (1 << RHO_UNIT_BITS))
    return pure_units(mechanism.epsilon)


def collusion_of(mechanism: Mechanism) -> int:
    """Rho units of one release when leader and helper collude: its own noise share is left,
    sigma / sqrt(n_min). A local report is what it is."""
    if not isinstance(mechanism, GaussianMechanism):
        return cost_of(mechanism)
    share = mechanism.sigma / math.sqrt(min(mechanism.n_min, _LARGEST_INTEGER))
    return rho_units(mechanism.clip, max(share, _LEAST_SIGMA))


def pure_epsilon(mechanism: Mechanism) -> Fraction:
    """Epsilon at delta 0 of a local report, exactly as the ledger names it; else 0."""
    return Fraction(0) if isinstance(mechanism, GaussianMechanism) else Fraction(mechanism.epsilon)


def fault_of(entry: Reserve, budget: Budget) -> str:
    """Why ``budget`` does not allow this charge's mechanism; "" when it does."""
    mechanism = entry.mechanism
    numbers = [entry.round, *(n for n in vars(mechanism).values() if isinstance(n, int))]
    if max(numbers) > _LARGEST_INTEGER:
        return "a number in it is larger than any phone would write"
    local_task = entry.task == budget.local.task
    if isinstance(mechanism, GaussianMechanism):
        if local_task:
            return "a local task was charged for shared noise"
        try:
            budget.check(_AuditedRound.of(entry.task, entry.round, mechanism))
        except (FloorViolated, RoundRefused) as error:
            return str(error)
        return ""
    if not local_task:
        return f"only {budget.local.task} may report locally"
    if mechanism.epsilon > budget.local.epsilon:
        return (
            f"a local report of epsilon {mechanism.epsilon:g}, "
            f"the {budget.name} budget allows {budget.local.epsilon:g}"
        )
    if _BINS.get(mechanism.histogram) != mechanism.bins:
        return "the histogram has another number of bins"
    if mechanism.size >= mechanism.bins or (mechanism.name == "k-rr" and mechanism.size != 1):
        return "the reported set has a size its mechanism cannot have"
    return ""


@dataclass(frozen=True, slots=True)
class _AuditedRound:
    """A charge as the round it was made for."""

    task: str
    round: int
    dimension: int
    scale: int
    clip: float
    sigma: float
    n_min: int

    @classmethod
    def of(cls, task: str, number: int, made: GaussianMechanism) -> _AuditedRound:
        return cls(task, number, made.dimension, made.scale, made.clip, made.sigma, made.n_min)
