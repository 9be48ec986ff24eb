"""How the two models are trained: every number with its unit and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from protocol.models.spec import GRID_STEP

__all__ = ["TRAINING", "UNIT", "UNITS", "OptimiserName", "TrainingConfig", "Unit"]

OptimiserName = Literal["fedavg", "fedavgm", "fedadam"]
Unit = Literal["line", "template"]


UNITS: Mapping[str, str] = {
    "line": "one contributor of the operator's corpus with all their lines, or one line of the "
    "built-in public corpus",
    "template": "one contributor of the operator's corpus with all their lines, or one template "
    "of the built-in public corpus with all lines made from it",
}
"""What comes or goes at once, by `TrainingConfig.public_unit`."""
UNIT = UNITS["line"]
"""The unit that the (ε, δ) of a release trained with the defaults is for."""


@dataclass(frozen=True)
class TrainingConfig:
    """One model's training.

    What a release's (ε, δ) is for: `UNITS[public_unit]`, added or removed. What phones contribute
    is protected before it arrives, and charged in their own ledgers.

    The built-in corpus is public, so its unit is a choice, and accuracy decides it. With its lines
    as units both models reach their best (router .80, dedup .76 of held-out wording) at ε 4.6 and
    3.5. With its templates as units (634, and 138 families) the same accuracy costs the router
    ε 14 (z 3, q 1, k 8, 60 steps) and dedup ε 62 (z 1, k 24); at ε 7 they fall to .80 with a third
    more loss, and to .49. A contributor of an operator's own corpus has the same ε as a line,
    however many lines are theirs: each is in a batch as one unit.
    """

    steps: int
    """DP-SGD steps of the bootstrap."""
    learning_rate: float
    refresh_steps: int = 20
    """DP-SGD steps on the re-weighted corpus after each federated step; they cost ε too."""
    refresh_share: float = 0.2
    """Learning rate of a refresh as a share of `learning_rate`: large enough to reach the next
    point of the quantisation grid, too small to wash out what the phones taught."""
    public_unit: Unit = "line"
    """What one unit of the built-in corpus is; of an operator's own it is a contributor."""
    examples_per_unit: int = 1
    """Rows that a unit in the batch takes at most; their mean loss gives its one gradient."""
    corpus: str | None = None
    """File of an operator's own labelled lines, trained on beside the built-in ones."""
    sampling_rate: float = 0.25
    """Chance of each unit to be in a step's batch (Poisson sampling). Few large batches: at one
    ε the noise in the mean gradient falls faster with the batch than it grows with the rate."""
    expected_batch: int = 2_050
    """Divisor of the summed gradient. A constant, never the corpus's true size: that would leak
    whether one example is there (opacus#571)."""
    noise_multiplier: float = 3.5
    """Std of the noise in units of the clip."""
    clip: float = 2.0
    """L2 bound of one unit's gradient."""
    momentum: float = 0.9
    weight_decay: float = 5e-3
    """Keeps weights inside the quantisation grid, and wording from being learnt by heart: with
    2e-3 accuracy is up to a point higher and the loss on unseen wording a tenth."""
    delta: float = 1e-5
    """Under one over the number of examples."""
    optimiser: OptimiserName = "fedavg"
    """What the server does with a mean update."""
    server_rate: float = 1.0
    """Learning rate of FedAvg and FedAvgM."""
    server_momentum: float = 0.0
    """FedAvgM's momentum, FedAdam's β₁."""
    adaptive_step: float = GRID_STEP
    """FedAdam's learning rate: how far a coordinate that all phones agree on moves in one step.
    Less than half a step of the phones' grid would move nothing."""
    adaptive_memory: float = 0.99
    """FedAdam's β₂."""
    adaptive_floor: float = 1e-3
    """FedAdam's τ."""
    carry_rounding: bool = True
    """Add to a step what the phones' grid rounded off the one before it."""
    shares: tuple[float, ...] = (1.0, 0.5, 0.25)
    """Parts of a move that are tried one after the other until the gate lets one pass: what phones
    teach and what the corpus holds do not always agree, and half a move may please both."""
    buffer_most: int = 8
    """Rounds of phones that one step takes together."""
    shrink: bool = True
    """Shrink a mean update towards zero by the share of it that noise explains."""


TRAINING: Mapping[str, TrainingConfig] = {
    "router": TrainingConfig(steps=200, learning_rate=0.3, refresh_share=0.3),
    "dedup": TrainingConfig(steps=120, learning_rate=0.5, expected_batch=4_150),
}
"""Defaults by model, swept on folds of the training templates."""
