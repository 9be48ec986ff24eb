"""FedAvg, FedAvgM, FedAdam against the papers' recurrences, written out value by value."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from cloud.training.config import TRAINING, OptimiserName, TrainingConfig
from cloud.training.optimiser_state import StateInvalid, decode_state, encode_state
from cloud.training.optimisers import (
    OPTIMISERS,
    OptimiserState,
    Update,
    fedadam,
    fedavg,
    fedavgm,
    shrinkage,
)

KINDS: tuple[OptimiserName, ...] = get_args(OptimiserName)
D = 6
CONFIG = replace(
    TRAINING["router"],
    server_rate=0.7,
    server_momentum=0.6,
    adaptive_step=0.05,
    adaptive_memory=0.9,
    adaptive_floor=0.01,
)
Vector = NDArray[np.float64]


def said(mean: Vector, noise: float = 0.0, clip: float = math.inf) -> Update:
    return Update(mean, noise, clip)


def updates(count: int = 5, seed: int = 1) -> list[Vector]:
    return list(np.random.default_rng(seed).normal(size=(count, D)))


def steps_of(kind: OptimiserName, means: list[Vector], config: TrainingConfig) -> list[Vector]:
    state, steps = OptimiserState.fresh(kind, D), []
    for mean in means:
        move = OPTIMISERS[kind](said(mean), state, config)
        state = move.state
        steps.append(move.step)
    return steps


def test_fedavg_is_the_mean_times_the_rate() -> None:
    for mean, step in zip(updates(), steps_of("fedavg", updates(), CONFIG), strict=True):
        assert np.allclose(step, 0.7 * mean)


def test_fedavgm_is_the_heavy_ball() -> None:
    velocity = [0.0] * D
    for mean, step in zip(updates(), steps_of("fedavgm", updates(), CONFIG), strict=True):
        velocity = [0.6 * v + u for v, u in zip(velocity, mean, strict=True)]
        assert np.allclose(step, [0.7 * v for v in velocity])


def test_fedadam_is_adam() -> None:
    first, second = [0.0] * D, [0.0] * D
    for t, (mean, step) in enumerate(
        zip(updates(), steps_of("fedadam", updates(), CONFIG), strict=True), 1
    ):
        first = [0.6 * m + 0.4 * u for m, u in zip(first, mean, strict=True)]
        second = [0.9 * v + 0.1 * u * u for v, u in zip(second, mean, strict=True)]
        expected = [
            0.05 * (m / (1 - 0.6**t)) / (math.sqrt(v / (1 - 0.9**t)) + 0.01)
            for m, v in zip(first, second, strict=True)
        ]
        assert np.allclose(step, expected)


def test_the_second_moment_is_less_the_noise() -> None:
    """Two values that move alike, seen through noise far above them: both still move by a step."""
    rng = np.random.default_rng(0)
    noise, config = 1.0, replace(CONFIG, server_momentum=0.9, adaptive_memory=0.999, shrink=False)
    truth = np.full(2_000, 0.3)

    def last_step(told: float) -> float:
        state = OptimiserState.fresh("fedadam", truth.size)
        for _ in range(600):
            seen = truth + noise * rng.normal(size=truth.size)
            move = fedadam(said(seen, told), state, config)
            state = move.state
        return float(move.step.mean())

    without = config.adaptive_step * 0.3 / math.hypot(0.3, noise)
    assert last_step(0.0) == pytest.approx(without, rel=0.1)
    assert last_step(noise) > 2.0 * without


def test_faint_evidence_adds_up_over_rounds() -> None:
    """A signal that noise explains in every single round."""
    rng = np.random.default_rng(2)
    truth = np.full(400, 0.3)
    config = replace(CONFIG, server_momentum=0.9)
    state = OptimiserState.fresh("fedavgm", truth.size)
    single, kept = [], []
    for _ in range(40):
        seen = truth + 1.5 * rng.normal(size=truth.size)
        single.append(shrinkage(seen, 1.5))
        move = fedavgm(said(seen, 1.5), state, config)
        state = move.state
        kept.append(move.kept)
    assert np.mean(single) < 0.1
    assert np.mean(kept[-20:]) > 0.3
    # The variance of a sum of 0.9^k times independent noise, to which it has converged.
    assert state.first_noise == pytest.approx(1.5**2 / (1 - 0.81), rel=0.01)


@pytest.mark.parametrize("kind", KINDS)
def test_pure_noise_moves_nothing_much(kind: OptimiserName) -> None:
    rng = np.random.default_rng(3)
    state = OptimiserState.fresh(kind, 1_000)
    kept = []
    for _ in range(30):
        move = OPTIMISERS[kind](said(rng.normal(size=1_000), 1.0), state, CONFIG)
        state = move.state
        kept.append(move.kept)
    assert np.mean(kept) < 0.1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("noise", [0.0, 1.0])
def test_nothing_said_moves_nothing(kind: OptimiserName, noise: float) -> None:
    move = OPTIMISERS[kind](said(np.zeros(D), noise), OptimiserState.fresh(kind, D), CONFIG)
    assert not move.step.any()


@pytest.mark.parametrize("kind", KINDS)
@given(seed=st.integers(0, 2**32 - 1), size=st.floats(0.1, 100.0), clip=st.floats(0.01, 2.0))
def test_no_step_is_longer_than_the_clip_allows(
    kind: OptimiserName, seed: int, size: float, clip: float
) -> None:
    mean = size * np.random.default_rng(seed).normal(size=D)
    move = OPTIMISERS[kind](said(mean, 0.01, clip), OptimiserState.fresh(kind, D), CONFIG)
    bound = {
        "fedavg": 0.7 * clip,
        "fedavgm": 0.7 * clip / 0.4,
        "fedadam": 0.05 / 0.01 * clip / 0.4,
    }[kind]
    assert np.linalg.norm(move.step) <= bound * (1 + 1e-9)


def test_inputs_are_left_alone() -> None:
    mean, state = np.ones(D), OptimiserState.fresh("fedadam", D)
    fedadam(said(mean), state, CONFIG)
    fedavg(said(mean), state, CONFIG)
    assert (mean == 1.0).all()
    assert state.steps == 0
    assert not state.first.any()


# --- as bytes -------------------------------------------------------------------------------------


def some_state(kind: OptimiserName = "fedadam") -> OptimiserState:
    first, second, carry = updates(3)
    return OptimiserState(kind, 7, first, second**2, 0.25, 0.5, carry)


@pytest.mark.parametrize("kind", KINDS)
def test_a_state_survives_its_bytes(kind: OptimiserName) -> None:
    state = some_state(kind)
    blob = encode_state(state)
    back = decode_state(blob, D)
    assert encode_state(back) == blob
    assert (back.kind, back.steps) == (kind, 7)
    assert (back.first_noise, back.second_noise) == (0.25, 0.5)
    for name in ("first", "second", "carry"):
        assert (getattr(back, name) == getattr(state, name)).all()
    again = OPTIMISERS[kind](said(updates()[0], 0.1), back, CONFIG)
    assert (again.step == OPTIMISERS[kind](said(updates()[0], 0.1), state, CONFIG).step).all()


@pytest.mark.parametrize(
    "change",
    [
        {"steps": 3, "first": np.full(D, np.nan)},
        {"first": np.full(D, np.inf)},
        {"second": np.full(D, -1.0)},
        {"carry": np.full(D, 1e9)},
        {"first_noise": -1.0},
        {"second_noise": math.nan},
        {"second_noise": math.inf},
    ],
)
def test_values_no_step_writes_are_refused(change: dict[str, object]) -> None:
    blob = encode_state(replace(some_state(), **change))  # type: ignore[arg-type]
    with pytest.raises(StateInvalid, match="no step can write"):
        decode_state(blob, D)


@pytest.mark.parametrize("broken", [b"", b"RVO1", encode_state(some_state()) + b"x"])
def test_another_size_is_refused_before_it_is_read(broken: bytes) -> None:
    with pytest.raises(StateInvalid, match="another size"):
        decode_state(broken, D)
    with pytest.raises(StateInvalid, match="another size"):
        decode_state(encode_state(some_state()), D + 1)


@given(position=st.integers(0, 28), value=st.integers(0, 255))
def test_hostile_heads_are_refused_or_mean_a_valid_state(position: int, value: int) -> None:
    blob = bytearray(encode_state(some_state()))
    blob[position] = value
    try:
        state = decode_state(bytes(blob), D)
    except StateInvalid:
        return
    assert encode_state(state) == bytes(blob)
    assert state.kind in KINDS
    assert len(state.carry) == D
