"""Phones that lie, all together: what they send in the place of an honest report.

They know the model, the terms and, from their own training, where the honest mean will go. A phone
that lies need not clip: the ring takes any vector.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from privacy.budget import Terms
from protocol.models import ModelSpec
from tests.benchmarks.learning_data import RealSet
from tests.benchmarks.learning_fleet import Rows, Vectors, clipped

__all__ = ["Attack", "poisoned", "shift_bound"]

Kind = Literal["sign flip", "scaling", "label flip", "backdoor"]
Train = Callable[[RealSet], Vectors]
TARGET = 0
"""Output that a backdoor sends everything of its victims to."""


@dataclass(frozen=True)
class Attack:
    """`share` of the phones, at least one, do `kind`; scaling makes its vector `factor` clips
    long."""

    kind: Kind
    share: float
    factor: float = 1.0


def poisoned(
    lattice: Rows,
    attack: Attack,
    spec: ModelSpec,
    held: RealSet,
    train: Train,
    terms: Terms,
    rng: np.random.Generator,
) -> Rows:
    """`lattice` with the first rows replaced by what the lying phones send."""
    liars = max(1, round(attack.share * len(lattice)))
    told = lattice.copy()
    if attack.kind in ("sign flip", "scaling"):
        against = -lattice.mean(axis=0)
        length = attack.factor * terms.clip * terms.scale
        told[:liars] = np.rint(against / max(np.linalg.norm(against), 1.0) * length)
        return told
    wrong = np.roll(held.y, 1, axis=1) if attack.kind == "label flip" else _backdoor(held, spec)
    vectors = train(replace(held, y=wrong))[:liars]
    # Whatever a phone learnt, a liar sends it as long as the clip allows.
    lengths = np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    told[:liars] = clipped(vectors / lengths * terms.clip, terms, rng)
    return told


def _backdoor(held: RealSet, spec: ModelSpec) -> NDArray[np.float32]:
    """Everything that belongs to the last output goes to the first one."""
    wrong = held.y.copy()
    victims = held.y[:, -1] > 0.5
    wrong[victims] = np.eye(len(spec.outputs), dtype=np.float32)[TARGET]
    return wrong


def shift_bound(attack: Attack, clip: float) -> float:
    """How far clipped lies can move the mean: each of them replaces one honest vector of the ball
    by another of the ball."""
    return 2.0 * attack.share * clip
