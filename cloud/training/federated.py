"""The server's side of federated averaging (McMahan et al. 2017; momentum: Hsu et al. 2019)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cloud.training.config import TrainingConfig
from protocol.models.spec import ModelSpec, Weights, add_to_head, flatten_head

__all__ = ["FederatedStep", "federated_average", "project_to_ball", "shrinkage"]

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class FederatedStep:
    """Where one round of phones leads. `kept` is the share of their mean update that was used."""

    weights: Weights
    kept: float


def federated_average(
    spec: ModelSpec,
    current: Weights,
    previous: Weights | None,
    mean: Vector,
    noise: float,
    config: TrainingConfig,
    *,
    clip: float = math.inf,
    staleness: int = 0,
) -> FederatedStep:
    """`current` moved by the phones' mean update of its head.

    Args:
        previous: the release before `current`, for heavy-ball momentum. The last two releases are
            all the state there is, so that a restarted trainer takes the same step.
        mean: float64[head_dimension]; noise: std of each of its values.
        clip: L2 bound of every phone's update, and so of their true mean: what lies beyond it is
            noise, or a phone that lied, and is cut off (post-processing: it costs no privacy).
        staleness: releases since the one the phones trained from; damps by 1/sqrt(1 + staleness)
            (FedBuff, Nguyen et al. 2022).
    """
    kept = shrinkage(mean, noise) if config.shrink else 1.0
    # Shrunk first: the noise is judged by what was measured, not by what was cut off it.
    step = project_to_ball(mean * kept, clip)
    step = step * (config.server_rate / math.sqrt(1.0 + staleness))
    if previous is not None and config.server_momentum > 0.0:
        velocity = flatten_head(current, spec).astype(np.float64) - flatten_head(previous, spec)
        step = step + config.server_momentum * velocity
    return FederatedStep(add_to_head(current, step, spec), kept)


def project_to_ball(vector: Vector, radius: float) -> Vector:
    """The nearest vector of L2 norm at most `radius`; zeros for one that is not finite."""
    length = float(np.linalg.norm(vector))
    if not math.isfinite(length):
        return np.zeros_like(vector)
    return vector if length <= radius else vector * (radius / length)


def shrinkage(mean: Vector, noise: float) -> float:
    """Positive-part James–Stein factor in 0–1: how much of `mean` its noise does not explain.

    With few phones the noise is far longer than the signal, and a plain FedAvg step would be a
    random walk. It is a function of what the phones released, so it costs no privacy.
    """
    length = float(np.dot(mean, mean))
    if length <= 0.0 or not math.isfinite(length):
        return 0.0
    expected = max(mean.size - 2, 1) * noise * noise
    return max(0.0, 1.0 - expected / length)
