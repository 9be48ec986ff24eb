"""How the two models are trained: every number with its unit and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["TRAINING", "TrainingConfig"]


@dataclass(frozen=True)
class TrainingConfig:
    """One model's training.

    Privacy unit of the central steps: one labelled example of the corpus, add-or-remove. What
    phones contribute is protected before it arrives, and charged in their own ledgers.
    """

    steps: int
    """DP-SGD steps of the bootstrap."""
    learning_rate: float
    refresh_steps: int = 20
    """DP-SGD steps on the re-weighted corpus after each federated step; they cost ε too."""
    refresh_share: float = 0.2
    """Learning rate of a refresh as a share of `learning_rate`: large enough to reach the next
    point of the quantisation grid, too small to wash out what the phones taught."""
    sampling_rate: float = 0.25
    """Chance of each example to be in a step's batch (Poisson sampling). Few large batches: at one
    ε the noise in the mean gradient falls faster with the batch than it grows with the rate."""
    expected_batch: int = 2_050
    """Divisor of the summed gradient. A constant, never the corpus's true size: that would leak
    whether one example is there (opacus#571)."""
    noise_multiplier: float = 3.5
    """Std of the noise in units of the clip."""
    clip: float = 2.0
    """L2 bound of one example's gradient."""
    momentum: float = 0.9
    weight_decay: float = 5e-3
    """Keeps weights inside the quantisation grid, and wording from being learnt by heart: with
    2e-3 accuracy is up to a point higher and the loss on unseen wording a tenth."""
    delta: float = 1e-5
    """Under one over the number of examples."""
    server_rate: float = 1.0
    """Learning rate of the federated step (FedAvg: 1)."""
    server_momentum: float = 0.0
    """Heavy-ball momentum over published heads (FedAvgM); 0 turns it off."""
    shrink: bool = True
    """Shrink a mean update towards zero by the share of it that noise explains."""


TRAINING: Mapping[str, TrainingConfig] = {
    "router": TrainingConfig(steps=200, learning_rate=0.3, refresh_share=0.3),
    "dedup": TrainingConfig(steps=120, learning_rate=0.5, expected_batch=4_150),
}
"""Defaults by model, swept on folds of the training templates."""
