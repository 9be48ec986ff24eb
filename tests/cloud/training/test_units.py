"""User-level DP-SGD: what one unit can do to a step, batches, exact noise, the account."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from torch.func import functional_call, grad, vmap

from cloud.training import dpsgd
from cloud.training.accounting import pld_epsilon, rdp_epsilon, spent_epsilon
from cloud.training.config import TRAINING
from cloud.training.corpora import Examples, joined, load_corpus
from cloud.training.dpsgd import example_losses, network_of, train_private
from cloud.training.exact_noise import NoiseLattice
from cloud.training.sampling import SecretDraws, SeededDraws, UnitRows
from cloud.training.seeds import generator
from privacy.audit.accountants import Accountants
from protocol.models.forward import initial_weights
from protocol.models.spec import DEDUP, SPECS, Weights, flatten_head

DIVISOR = 256
CLIP = 0.7
START = initial_weights(DEDUP, generator(1))


def examples_of(sizes: list[int], seed: int = 5, scale: float = 3.0) -> Examples:
    """Random rows, the given number for each unit."""
    rng = np.random.default_rng(seed)
    units = np.repeat(np.arange(len(sizes)), sizes)
    x = (scale * rng.standard_normal((len(units), DEDUP.layers[0]))).astype(np.float32)
    y = np.eye(3, dtype=np.float32)[rng.integers(3, size=len(units))]
    return Examples(x, y, ("en",) * len(units), units)


def summed_gradient(
    examples: Examples, *, most: int, key: int | None = 3, clip: float = CLIP, noise: float = 0.0
) -> NDArray[np.float64]:
    """The sum that one step with every unit in its batch released, float64[d]."""
    config = replace(
        TRAINING["dedup"],
        sampling_rate=1.0,
        momentum=0.0,
        weight_decay=0.0,
        noise_multiplier=noise,
        clip=clip,
        examples_per_unit=most,
        expected_batch=DIVISOR,
    )
    ones = np.ones(len(examples), dtype=np.float32)
    after = train_private(DEDUP, START, examples, ones, config, steps=1, learning_rate=1.0, key=key)
    moved = flatten_head(START, DEDUP).astype(np.float64) - flatten_head(after, DEDUP)
    return moved * DIVISOR


def clipped_by_hand(examples: Examples, weights: Weights, clip: float) -> NDArray[np.float64]:
    """Each unit's mean gradient by torch.func, example by example, clipped: float64[units, d]."""
    network = network_of(DEDUP, weights).double()
    parameters = {name: each.detach() for name, each in network.named_parameters()}

    def loss(values: dict[str, torch.Tensor], x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        logits = functional_call(network, values, (x[None],))
        answer: torch.Tensor = example_losses(DEDUP, logits, y[None])[0]
        return answer

    x, y = torch.tensor(examples.x).double(), torch.tensor(examples.y).double()
    each = vmap(grad(loss), in_dims=(None, 0, 0))(parameters, x, y)
    # torch keeps a layer's weights as (outputs, inputs).
    parts = [array.transpose(-1, -2) if array.dim() == 3 else array for array in each.values()]
    rows = torch.cat([part.reshape(len(x), -1) for part in parts], dim=1).numpy()
    means = np.stack([rows[examples.units == u].mean(axis=0) for u in np.unique(examples.units)])
    norms = np.linalg.norm(means, axis=1, keepdims=True)
    clipped: NDArray[np.float64] = means * np.minimum(1.0, clip / norms)
    return clipped


@pytest.mark.parametrize("key", [3, None], ids=["seeded", "secret"])
@pytest.mark.parametrize("clip", [0.05, 5.0, 200.0])
def test_every_unit_is_clipped_as_a_whole(key: int | None, clip: float) -> None:
    examples = examples_of([1, 5, 2, 8, 3])
    ours = summed_gradient(examples, most=8, key=key, clip=clip)
    theirs = clipped_by_hand(examples, START, clip).sum(axis=0)
    assert np.abs(ours - theirs).max() < 1e-3 * max(float(np.abs(theirs).max()), 0.1)


@pytest.mark.parametrize("most", [1, 4, 50])
@pytest.mark.parametrize("key", [3, None], ids=["seeded", "secret"])
def test_one_unit_moves_the_sum_by_at_most_the_clip(most: int, key: int | None) -> None:
    """Two corpora that differ in one unit of fifty rows, each gradient far above the clip."""
    others, whole = examples_of([3] * 20), examples_of([3] * 20 + [50], scale=2.0)
    with_unit = joined(others, _only(whole, 20))
    # Rows are picked at random within a unit: only where all are taken are both sums alike.
    if most < 3:
        others, with_unit = _lines(others), joined(_lines(others), _only(whole, 20))
    moved = summed_gradient(with_unit, most=most, key=key) - summed_gradient(
        others, most=most, key=key
    )
    assert CLIP * 0.5 < np.linalg.norm(moved) <= CLIP * (1 + 1e-3)


def test_as_many_lines_apart_move_it_further() -> None:
    """The test above can fail: the same rows as fifty units are fifty times as much."""
    others, many = examples_of([3] * 20), _lines(_only(examples_of([50], scale=2.0), 0))
    moved = summed_gradient(joined(others, many), most=3) - summed_gradient(others, most=3)
    assert np.linalg.norm(moved) > 4 * CLIP


def _only(examples: Examples, unit: int) -> Examples:
    rows = examples.units == unit
    chosen = np.zeros(rows.sum(), dtype=np.int64)
    return Examples(examples.x[rows], examples.y[rows], ("en",) * len(chosen), chosen)


def _lines(examples: Examples) -> Examples:
    return replace(examples, units=np.arange(len(examples)))


# --- batches --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "draws", [SeededDraws(generator(4)), SecretDraws(os.urandom)], ids=["seeded", "secret"]
)
def test_each_unit_comes_with_its_chance_and_alone(draws: SeededDraws | SecretDraws) -> None:
    batches = np.zeros((4_000, 40))
    for batch in batches:
        batch[draws.chosen(40, 0.3)] = 1.0
    assert batches.mean() == pytest.approx(0.3, abs=0.01)
    assert batches.mean(axis=0) == pytest.approx(np.full(40, 0.3), abs=0.05)
    assert batches.sum(axis=1).var() == pytest.approx(40 * 0.3 * 0.7, rel=0.15)


def test_all_units_come_at_rate_one_and_none_at_the_smallest() -> None:
    assert SecretDraws(os.urandom).chosen(1_000, 1.0).tolist() == list(range(1_000))
    assert SecretDraws(os.urandom).chosen(1_000, 2.0**-70).size == 0
    zeros = SecretDraws(bytes)
    assert zeros.chosen(3, 2.0**-64).tolist() == [0, 1, 2]


@given(
    units=st.lists(st.integers(0, 9), min_size=1, max_size=40),
    most=st.integers(1, 6),
    seed=st.integers(0, 2**32 - 1),
)
def test_a_unit_gives_rows_of_its_own_and_no_more_than_allowed(
    units: list[int], most: int, seed: int
) -> None:
    numbers = np.array(units, dtype=np.int64)
    table, names = UnitRows.of(numbers), sorted(set(units))
    assert len(table) == len(names)
    chosen = np.flatnonzero(np.random.default_rng(seed).random(len(names)) < 0.7)
    rows, there = table.picked(chosen, most, SeededDraws(generator(seed)))
    assert rows.shape == there.shape == (len(chosen), min(most, table.largest))
    for place, unit in enumerate(chosen):
        picked = rows[place][there[place]]
        assert len(set(picked.tolist())) == len(picked) == min(most, units.count(names[unit]))
        assert (numbers[picked] == names[unit]).all()


def test_rows_of_a_unit_are_picked_evenly() -> None:
    table = UnitRows.of(np.array([0] * 5 + [1] * 3))
    draws = SeededDraws(generator(1))
    counts = np.zeros(8)
    for _ in range(3_000):
        rows, there = table.picked(np.array([0, 1]), 2, draws)
        counts[rows[there]] += 1
    assert counts / 3_000 == pytest.approx([0.4] * 5 + [2 / 3] * 3, abs=0.04)


@pytest.mark.parametrize("key", [3, None], ids=["seeded", "secret"])
def test_a_batch_of_nobody_is_a_step_of_noise(key: int | None) -> None:
    examples = examples_of([1, 1])
    config = replace(
        TRAINING["dedup"], sampling_rate=2.0**-60, momentum=0.0, weight_decay=0.0, clip=2.0
    )
    after = train_private(
        DEDUP,
        START,
        examples,
        np.ones(2, dtype=np.float32),
        config,
        steps=1,
        learning_rate=1.0,
        key=key,
    )
    moved = (flatten_head(after, DEDUP) - flatten_head(START, DEDUP)) * config.expected_batch
    assert np.std(moved) == pytest.approx(2.0 * config.noise_multiplier, rel=0.1)


# --- exact noise ----------------------------------------------------------------------------------


@pytest.mark.parametrize("clip", [2.0, 0.3, 1e-3])
def test_the_lattice_covers_what_rounding_adds(clip: float) -> None:
    lattice = NoiseLattice.of(clip, 3.5, 20_000)
    assert np.log2(lattice.step) == np.rint(np.log2(lattice.step))
    reach = clip + lattice.step * np.sqrt(20_000) + clip * 2.0**-20
    assert np.sqrt(lattice.variance) * lattice.step >= 3.5 * reach
    assert np.sqrt(lattice.variance) * lattice.step <= 3.5 * reach * 1.001
    assert np.sqrt(lattice.variance) > 1 << 16, "as fine as the account takes it to be"


@given(seed=st.integers(0, 2**32 - 1), size=st.floats(0.0, 1.9))
def test_rounding_never_takes_neighbours_further_apart_than_is_covered(
    seed: int, size: float
) -> None:
    rng = np.random.default_rng(seed)
    lattice = NoiseLattice.of(2.0, 0.0, 50)
    total, unit = 100.0 * rng.normal(size=50), rng.normal(size=50)
    unit *= size / np.linalg.norm(unit)
    apart = lattice.noised(total + unit, os.urandom) - lattice.noised(total, os.urandom)
    assert np.linalg.norm(apart) <= 2.0 + lattice.step * np.sqrt(50)


def test_noise_is_on_the_lattice_gaussian_and_of_the_stated_size() -> None:
    lattice = NoiseLattice.of(2.0, 3.5, 20_000)
    noise = lattice.noised(np.zeros(40_000), os.urandom)
    assert (noise / lattice.step == np.rint(noise / lattice.step)).all()
    scaled = noise / (np.sqrt(lattice.variance) * lattice.step)
    assert scaled.mean() == pytest.approx(0.0, abs=0.03)
    assert scaled.std() == pytest.approx(1.0, abs=0.02)
    assert (scaled**4).mean() == pytest.approx(3.0, abs=0.25)
    assert np.abs(np.corrcoef(scaled[:-1], scaled[1:])[0, 1]) < 0.03


def test_a_step_without_a_key_has_the_noise_of_its_lattice() -> None:
    examples = examples_of([1] * 4)
    quiet = summed_gradient(examples, most=1, key=None, clip=2.0)
    noisy = summed_gradient(examples, most=1, key=None, clip=2.0, noise=3.0)
    assert np.std(noisy - quiet) == pytest.approx(6.0, rel=0.1)


def test_without_a_key_no_two_runs_and_no_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the system's generator is asked, and for enough."""
    asked: list[int] = []
    real: Callable[[int], bytes] = os.urandom

    def counted(size: int) -> bytes:
        asked.append(size)
        return real(size)

    monkeypatch.setattr("cloud.training.dpsgd.os.urandom", counted)
    monkeypatch.setattr(dpsgd, "generator", None)
    examples = examples_of([1] * 8)
    one, two = (summed_gradient(examples, most=1, key=None, noise=1.0) for _ in range(2))
    assert (one != two).mean() > 0.99
    parameters = sum(int(np.prod(shape)) for shape in DEDUP.shapes.values())
    assert sum(asked) >= 2 * 8 * parameters


# --- the account ----------------------------------------------------------------------------------


@pytest.mark.parametrize("model", SPECS)
def test_the_tighter_of_two_accounts_is_written(model: str) -> None:
    config = TRAINING[model]
    steps = config.steps + 3 * config.refresh_steps
    values = (config.noise_multiplier, config.sampling_rate, steps, config.delta)
    renyi, losses = rdp_epsilon(*values), pld_epsilon(*values)
    assert spent_epsilon(config, steps) == pytest.approx(min(renyi, losses), rel=1e-3)
    # One is known to be loose by about a tenth here; further apart, one of them would be wrong.
    assert 0.85 * renyi < losses <= renyi
    auditor = Accountants.load().sampled_pld(*values)
    assert losses == pytest.approx(auditor, rel=1e-3)
    assert spent_epsilon(config, steps) < 10.0


def test_no_step_costs_nothing_and_no_noise_everything() -> None:
    config = TRAINING["dedup"]
    assert spent_epsilon(config, 0) == 0.0
    assert spent_epsilon(replace(config, noise_multiplier=0.0), 1) == float("inf")
    assert spent_epsilon(config, 10) < spent_epsilon(config, 20)


@pytest.mark.parametrize("model", SPECS)
def test_lines_of_the_public_corpus_are_units_or_its_templates_are(model: str) -> None:
    lines, templates = load_corpus(model).train, load_corpus(model, "template").train
    assert len(np.unique(lines.units)) == len(lines)
    assert 100 < len(np.unique(templates.units)) < len(lines) / 10
    assert lines.x is templates.x
