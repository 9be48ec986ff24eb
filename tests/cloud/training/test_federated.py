"""The federated step: exact FedAvg without noise, nothing where noise explains everything."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from cloud.training.config import TRAINING
from cloud.training.federated import (
    RoundMean,
    combined,
    federated_step,
    project_to_ball,
    settled_state,
    shrinkage,
)
from cloud.training.optimisers import OptimiserState
from cloud.training.seeds import generator
from protocol.models.forward import initial_weights
from protocol.models.spec import ROUTER, Weights, flatten_head, head_dimension
from protocol.params import Parameters

CONFIG = TRAINING["router"]
DIMENSION = head_dimension(ROUTER)


def test_without_noise_it_is_federated_averaging() -> None:
    current = initial_weights(ROUTER, generator(1))
    mean = np.random.default_rng(1).normal(size=DIMENSION) * 0.01
    step = federated_step(ROUTER, current, [RoundMean(mean, 0.0)], CONFIG)
    moved = flatten_head(step.weights, ROUTER) - flatten_head(current, ROUTER)
    assert step.kept == 1.0
    assert np.allclose(moved, mean, atol=1e-6)
    untouched = set(ROUTER.shapes) - set(ROUTER.head)
    assert all((step.weights[name] == current[name]).all() for name in untouched)


def test_staleness_damps() -> None:
    current = initial_weights(ROUTER, generator(1))
    mean = np.full(DIMENSION, 0.01)
    stale = federated_step(ROUTER, current, [RoundMean(mean, 0.0, staleness=3)], CONFIG)
    assert np.allclose(
        flatten_head(stale.weights, ROUTER) - flatten_head(current, ROUTER), 0.005, atol=1e-6
    )


def test_no_mean_moves_the_head_further_than_one_phone_may() -> None:
    current = initial_weights(ROUTER, generator(1))
    wild = np.random.default_rng(4).normal(size=DIMENSION) * 1e6
    step = federated_step(ROUTER, current, [RoundMean(wild, 0.01, clip=1.0)], CONFIG)
    moved = flatten_head(step.weights, ROUTER) - flatten_head(current, ROUTER)
    assert np.linalg.norm(moved) == pytest.approx(1.0, abs=1e-3)
    broken = np.full(DIMENSION, np.nan)
    still = federated_step(ROUTER, current, [RoundMean(broken, 0.01, clip=1.0)], CONFIG)
    assert (flatten_head(still.weights, ROUTER) == flatten_head(current, ROUTER)).all()


@given(seed=st.integers(0, 2**32 - 1), size=st.floats(0.0, 1e3), radius=st.floats(0.1, 10.0))
def test_projection_comes_no_further_from_anything_in_the_ball(
    seed: int, size: float, radius: float
) -> None:
    rng = np.random.default_rng(seed)
    vector, inside = rng.normal(size=20) * size, rng.normal(size=20)
    inside *= radius * rng.random() / np.linalg.norm(inside)
    projected = project_to_ball(vector, radius)
    assert np.linalg.norm(projected) <= radius * (1 + 1e-12)
    assert np.linalg.norm(projected - inside) <= np.linalg.norm(vector - inside) + 1e-9


@given(seed=st.integers(0, 2**32 - 1), noise=st.floats(0.0, 10.0))
def test_shrinkage_is_a_share(seed: int, noise: float) -> None:
    mean = np.random.default_rng(seed).normal(size=50)
    assert 0.0 <= shrinkage(mean, noise) <= 1.0


def test_shrinkage_forgets_pure_noise_and_beats_the_plain_mean() -> None:
    rng = np.random.default_rng(3)
    truth = rng.normal(size=DIMENSION)
    truth *= 0.5 / np.linalg.norm(truth)
    plain, shrunk, kept_noise = 0.0, 0.0, 0.0
    for _ in range(40):
        noise = rng.normal(size=DIMENSION) * 0.05
        seen = truth + noise
        plain += float(((seen - truth) ** 2).sum())
        shrunk += float(((shrinkage(seen, 0.05) * seen - truth) ** 2).sum())
        kept_noise += shrinkage(noise, 0.05)
    assert shrunk < 0.2 * plain
    assert kept_noise / 40 < 0.05


@pytest.mark.parametrize("broken", [np.zeros(8), np.full(8, np.nan), np.full(8, np.inf)])
def test_a_broken_mean_moves_nothing(broken: NDArray[np.float64]) -> None:
    assert shrinkage(broken, 1.0) == 0.0


# --- several rounds in one step -------------------------------------------------------------------


def rounds_of(seed: int, count: int = 4) -> list[RoundMean]:
    rng = np.random.default_rng(seed)
    return [
        RoundMean(
            rng.normal(size=DIMENSION) * 0.01,
            float(rng.uniform(0.0, 0.01)),
            int(rng.integers(50, 5_000)),
            1.0,
            int(rng.integers(0, 4)),
        )
        for _ in range(count)
    ]


@given(seed=st.integers(0, 2**32 - 1), order=st.permutations(range(4)))
def test_the_order_of_rounds_does_not_matter(seed: int, order: list[int]) -> None:
    rounds = rounds_of(seed)
    ours, theirs = combined(rounds), combined([rounds[place] for place in order])
    assert (ours.mean == theirs.mean).all()
    assert (ours.noise, ours.clip) == (theirs.noise, theirs.clip)


def test_without_noise_rounds_weigh_by_their_phones() -> None:
    few = RoundMean(np.full(DIMENSION, 0.001), 0.0, 100, 1.0)
    many = RoundMean(np.full(DIMENSION, 0.002), 0.0, 300, 1.0)
    assert combined([few, many]).mean == pytest.approx(np.full(DIMENSION, 0.00175))


def test_with_much_noise_rounds_weigh_by_its_inverse_variance() -> None:
    loud = RoundMean(np.full(DIMENSION, 0.1), 2.0, 1_000, 1.0)
    quiet = RoundMean(np.full(DIMENSION, 0.2), 1.0, 1_000, 1.0)
    both = combined([loud, quiet])
    assert both.mean == pytest.approx(np.full(DIMENSION, 0.18), rel=1e-4)
    assert both.noise == pytest.approx(np.sqrt(0.2**2 * 4 + 0.8**2), rel=1e-4)
    assert both.noise < 1.0, "two rounds know more than the better one"


def test_more_stale_rounds_move_less() -> None:
    (fresh,) = rounds_of(5, 1)
    lengths = [
        float(np.linalg.norm(combined([replace(fresh, staleness=s)]).mean)) for s in range(6)
    ]
    assert lengths == sorted(lengths, reverse=True)
    assert lengths[3] == pytest.approx(lengths[0] / 2.0)
    with_other = [
        float(
            combined([replace(fresh, staleness=s), replace(fresh, staleness=1)]).mean @ fresh.mean
        )
        for s in range(6)
    ]
    assert with_other == sorted(with_other, reverse=True)
    assert len(set(with_other)) == 6


def test_a_lying_round_is_cut_to_what_clip_and_noise_explain() -> None:
    wild = RoundMean(np.full(DIMENSION, 1e3), 0.001, 100, 1.0)
    assert np.linalg.norm(combined([wild]).mean) < 1.0 + 0.001 * (np.sqrt(DIMENSION) + 10)
    rng = np.random.default_rng(1)
    honest = RoundMean(rng.normal(size=DIMENSION) * 0.5, 0.5, 100, 1.0)
    assert (combined([honest]).mean == honest.mean).all()


# --- the phones' grid -----------------------------------------------------------------------------


def on_grid(weights: Weights) -> Weights:
    return Parameters.of(weights, ROUTER, 0).weights()


@pytest.mark.parametrize("carry", [True, False])
def test_what_the_grid_rounds_off_is_carried_until_it_arrives(carry: bool) -> None:
    config = replace(CONFIG, carry_rounding=carry)
    start = current = on_grid(initial_weights(ROUTER, generator(1)))
    small = RoundMean(np.full(DIMENSION, ROUTER.scales["w2"] / 8.0), 0.0, 100, 1e6)
    state = None
    for _ in range(16):
        step = federated_step(ROUTER, current, [small], config, state)
        state = settled_state(step, step.weights, ROUTER, config)
        assert state.remembers == bool(state.carry.any())
        current = on_grid(step.weights)
    moved = flatten_head(current, ROUTER) - flatten_head(start, ROUTER)
    expected = 2 * ROUTER.scales["w2"] if carry else 0.0
    assert moved == pytest.approx(np.full(DIMENSION, expected))


def test_nothing_piles_up_beyond_the_end_of_the_grid() -> None:
    current = on_grid(initial_weights(ROUTER, generator(1)))
    far = RoundMean(np.full(DIMENSION, 100.0), 0.0, 100, 1e6)
    step = federated_step(ROUTER, current, [far], CONFIG)
    state = settled_state(step, step.weights, ROUTER, CONFIG)
    assert np.abs(state.carry).max() <= ROUTER.scales["w2"] / 2.0


def test_another_optimiser_takes_over_only_what_was_rounded_off() -> None:
    current = on_grid(initial_weights(ROUTER, generator(1)))
    config = replace(CONFIG, optimiser="fedavgm", server_momentum=0.9)
    before = OptimiserState.fresh("fedadam", DIMENSION)
    before = replace(before, first=np.ones(DIMENSION), carry=np.full(DIMENSION, 0.01), steps=9)
    silent = RoundMean(np.zeros(DIMENSION), 0.0, 100, 1.0)
    step = federated_step(ROUTER, current, [silent], config, before)
    moved = flatten_head(step.weights, ROUTER) - flatten_head(current, ROUTER)
    assert moved == pytest.approx(np.full(DIMENSION, 0.01), abs=1e-6)
    assert (step.state.kind, step.state.steps) == ("fedavgm", 1)
