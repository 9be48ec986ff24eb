"""The server's side of federated learning: from what rounds of phones said to the next weights.

A release takes weeks to reach everyone, and rounds go on meanwhile. What they bring is buffered
and taken in one step (FedBuff, Nguyen et al. 2022), each round damped by how many releases it is
behind.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cloud.training.config import TrainingConfig
from cloud.training.optimisers import OPTIMISERS, OptimiserState, Update, project_to_ball, shrinkage
from protocol.models.spec import ModelSpec, Weights, add_to_head, flatten_head, head_dimension
from protocol.params import Parameters

__all__ = [
    "FederatedStep",
    "RoundMean",
    "combined",
    "federated_step",
    "project_to_ball",
    "settled_state",
    "shrinkage",
]

Vector = NDArray[np.float64]

_NOISE_TAIL = 6.0
"""Standard deviations by which noise of d values is longer than sqrt(d) of them once in 10^8."""


@dataclass(frozen=True)
class RoundMean:
    """One round: the mean update float64[d] of `n` phones, the std `noise` of each of its values.

    `clip` is the L2 bound of every phone's update, and so of their true mean. `staleness`: releases
    since the one they trained from.
    """

    mean: Vector
    noise: float
    n: int = 1
    clip: float = math.inf
    staleness: int = 0


@dataclass(frozen=True)
class FederatedStep:
    """Where rounds of phones lead. `kept` is the share of their mean update that was used, `noise`
    the std of each of its values, `state` what the next step begins with, once `settled_state` has
    seen the final weights."""

    weights: Weights
    kept: float
    noise: float
    state: OptimiserState


def combined(rounds: Sequence[RoundMean]) -> Update:
    """The rounds' means, weighted by how well each is known and damped by 1/sqrt(1 + staleness).

    A round's mean is off the fleet's by its own phones, with variance at most clip²/d/n in each
    value, and by its noise: its weight is one over the sum of both. Without noise that is FedAvg's
    weighting by phones, with much noise the inverse variance. The order of rounds does not matter.

    What is longer than the clip and the noise together explain is a phone that lied: it is cut off.
    """
    # Sums are rounded once, whatever the order: else it would decide the last bit.
    weights = [_precision(each) for each in rounds]
    total = math.fsum(weights)
    shares = [
        weight / total / math.sqrt(1.0 + each.staleness)
        for weight, each in zip(weights, rounds, strict=True)
    ]
    damped = [each.mean * share for each, share in zip(rounds, shares, strict=True)]
    # Of one round there is nothing to add up; -0.0 becomes 0.0 as in a sum.
    mean = damped[0] + 0.0
    if len(damped) > 1:
        mean = np.array([math.fsum(values) for values in zip(*damped, strict=True)])
    variances = [(each.noise * share) ** 2 for each, share in zip(rounds, shares, strict=True)]
    clips = [each.clip * share for each, share in zip(rounds, shares, strict=True)]
    noise, clip = math.sqrt(math.fsum(variances)), math.fsum(clips)
    reach = clip + noise * (math.sqrt(mean.size) + _NOISE_TAIL)
    return Update(project_to_ball(mean, reach), noise, clip)


def federated_step(
    spec: ModelSpec,
    current: Weights,
    rounds: Sequence[RoundMean],
    config: TrainingConfig,
    state: OptimiserState | None = None,
) -> FederatedStep:
    """`current` moved by what `rounds` (at least one) of phones said of its head.

    Args:
        state: of the release `current` is; None starts afresh, and of another optimiser's state
            only the carry is taken.
    """
    said = combined(rounds)
    fresh = OptimiserState.fresh(config.optimiser, head_dimension(spec))
    if state is None or state.kind != config.optimiser:
        state = fresh if state is None else replace(fresh, carry=state.carry)
    move = OPTIMISERS[config.optimiser](said, state, config)
    step = move.step + state.carry if config.carry_rounding else move.step
    return FederatedStep(add_to_head(current, step, spec), move.kept, said.noise, move.state)


def settled_state(
    step: FederatedStep, weights: Weights, spec: ModelSpec, config: TrainingConfig
) -> OptimiserState:
    """The state to keep with the release of `weights` (the step's, refreshed or not)."""
    if not config.carry_rounding:
        return step.state
    meant = flatten_head(weights, spec).astype(np.float64)
    held = flatten_head(Parameters.of(weights, spec, 0).weights(), spec).astype(np.float64)
    # What lies beyond the grid's end is not to come: it would pile up there.
    half = np.concatenate([np.full(weights[n].size, spec.scales[n] / 2.0) for n in spec.head])
    return replace(step.state, carry=np.clip(meant - held, -half, half))


def _precision(each: RoundMean) -> float:
    """One over the variance of one of the round's values, as far as it is known."""
    spread = 1.0 if math.isinf(each.clip) else each.clip**2 / each.mean.size
    return 1.0 / (spread / each.n + each.noise**2)
