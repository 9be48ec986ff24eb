"""Floors move with what the fleet is known to ask, and with nothing else."""

from __future__ import annotations

import math
from datetime import UTC
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from cloud.training import policy as policy_module
from cloud.training.corpora import Corpus, Examples
from cloud.training.policy import (
    GRID,
    KNOWN_WITHIN,
    SEARCH_COST,
    _Trial,
    carried,
    tuned_policy,
)
from cloud.training.usage import PHONES, FleetMix, UsageMix, carried_forward
from device.recall import Router
from device.recall.floors import Floors
from privacy import BUDGETS
from privacy.estimation import estimate_histograms, total_noise
from privacy.streams import USAGE_HISTOGRAMS
from protocol.models import ROUTER, forward, router_features
from protocol.params import Parameters
from protocol.policy import DEFAULT_FLOOR, FLOOR_NAMES, HIGHEST_FLOOR, LOWEST_FLOOR, floors_of

DEFAULT = dict.fromkeys(FLOOR_NAMES.values(), DEFAULT_FLOOR)
EVEN = {"working": 1 / 3, "structured": 1 / 3, "raw": 1 / 3}
HALVES = {"zh": 0.5, "en": 0.5}


def transparent_router() -> Parameters:
    """A router whose outputs are the sigmoids of its first three inputs."""
    weights = {name: np.zeros(shape, np.float32) for name, shape in ROUTER.shapes.items()}
    for layer in range(3):
        for sign, unit in ((1.0, 2 * layer), (-1.0, 2 * layer + 1)):
            weights["w1"][layer, unit] = sign
            weights["w2"][unit, unit] = 1.0
            weights["w3"][unit, layer] = sign
    return Parameters.of(weights, ROUTER, 1)


PARAMETERS = transparent_router()


def examples(outputs: NDArray[Any], right: NDArray[Any], units: int | None = None) -> Examples:
    """Questions on which the transparent router says `outputs` float[n, 3]."""
    n = len(outputs)
    x = np.zeros((n, ROUTER.layers[0]), np.float32)
    x[:, :3] = np.log(outputs / (1.0 - outputs))
    tongues = tuple("zh" if row % 2 else "en" for row in range(n))
    numbers = np.arange(n) % (units or n)
    return Examples(x, right.astype(np.float32), tongues, numbers.astype(np.int64))


def corpus_of(questions: Examples) -> Corpus:
    return Corpus(questions, questions, questions, questions)


def shy_of_raw(n: int = 600, seed: int = 1) -> Corpus:
    """Questions of one layer each. The router is sure of working and structured, and gives raw
    0.055 both where raw is right and, one time in two, where it is not."""
    rng = np.random.default_rng(seed)
    layer = np.arange(n) % 3
    right = np.eye(3)[layer]
    outputs = np.where(right > 0, 0.9, 0.01) + rng.uniform(0, 0.002, (n, 3))
    raw = layer == 2
    outputs[raw] = (0.3, 0.01, 0.055)
    outputs[~raw, 2] = np.where(rng.random(n)[~raw] < 0.5, 0.055, 0.01)
    return corpus_of(examples(outputs, right))


def mix(raw: float, error: float = 0.001) -> UsageMix:
    rest = (1.0 - raw) / 2.0
    shares = {"language": HALVES, "top_layer": {"working": rest, "structured": rest, "raw": raw}}
    errors = {name: dict.fromkeys(bins, error) for name, bins in shares.items()}
    return FleetMix(shares, errors)


def test_a_layer_the_router_is_shy_of_gets_a_lower_floor_where_the_fleet_asks_for_it() -> None:
    asked = tuned_policy(PARAMETERS, shy_of_raw(), mix(raw=0.6))
    assert asked["floor_raw"] == 0.05
    seldom = tuned_policy(PARAMETERS, shy_of_raw(), mix(raw=0.01))
    assert seldom["floor_raw"] == DEFAULT_FLOOR, "a search is not worth it for one in a hundred"


@pytest.mark.parametrize(
    "unknown",
    [
        {},
        mix(raw=0.6, error=0.05),
        {"top_layer": {"working": 0.2, "structured": 0.2, "raw": 0.6}},
        {"language": HALVES},
        mix(raw=0.6, error=math.inf),
    ],
)
def test_what_is_not_known_moves_nothing(unknown: UsageMix) -> None:
    assert tuned_policy(PARAMETERS, shy_of_raw(), unknown) == DEFAULT
    present = DEFAULT | {"floor_raw": 0.3}
    assert tuned_policy(PARAMETERS, shy_of_raw(), unknown, current=present) == present


def test_known_means_known_to_two_points() -> None:
    at_bound = math.sqrt(1.5) * KNOWN_WITHIN  # of one bin, for the worst part to be that
    inside, outside = (mix(raw=1 / 3, error=at_bound * by) for by in (0.8, 1.3))
    world = shy_of_raw(6_000)
    assert tuned_policy(PARAMETERS, world, inside) != DEFAULT
    assert tuned_policy(PARAMETERS, world, outside) == DEFAULT


@pytest.mark.parametrize("seed", range(4))
def test_a_router_whose_weights_are_chances_keeps_002s_floor(seed: int) -> None:
    """λ is 0.1 because of this: where weights are chances, 0.1 is the best floor there is."""
    rng = np.random.default_rng(seed)

    def drawn() -> Examples:
        outputs = np.exp(rng.uniform(math.log(0.005), math.log(0.9), (4_000, 3)))
        outputs[np.arange(4_000), np.arange(4_000) % 3] = 0.9  # a router gives few queries up
        return examples(outputs, (rng.random(outputs.shape) < outputs).astype(float))

    templates, written = drawn(), drawn()
    world = Corpus(templates, templates, written, written)
    assert all(0.06 <= floor <= 0.15 for floor in _Trial(PARAMETERS, world, mix(0.31)).best())
    assert tuned_policy(PARAMETERS, world, mix(0.31)) == DEFAULT


# --- the loss ---


def test_the_loss_is_missed_layers_plus_the_price_of_searches() -> None:
    outputs = np.array([[0.5, 0.05, 0.05], [0.05, 0.5, 0.2], [0.05, 0.05, 0.05]])
    right = np.array([[1, 0, 1], [0, 1, 1], [0, 0, 1]])
    trial = _Trial(PARAMETERS, corpus_of(examples(outputs, right)), {})
    losses = trial.losses((0.1, 0.1, 0.1))[:3]
    searched_all = 3 * SEARCH_COST
    assert losses == pytest.approx([1 + SEARCH_COST, 2 * SEARCH_COST, searched_all])
    assert trial.losses((0.02, 0.02, 0.02))[:3] == pytest.approx([searched_all] * 3)


def test_the_cloud_counts_the_searches_that_a_phone_makes() -> None:
    """Both ends must mean the same by a floor, also where a router gives every layer up."""
    rng = np.random.default_rng(3)
    weights = {
        name: (rng.standard_normal(shape) * 0.3).astype(np.float32)
        for name, shape in ROUTER.shapes.items()
    }
    parameters = Parameters.of(weights, ROUTER, 1)
    queries = [f"我养的花{n}" for n in range(120)]
    x = np.stack([router_features(query) for query in queries])
    halves = np.median(forward(parameters.weights(), x, ROUTER), axis=0)
    floors = {
        f"floor_{layer}": float(half) for layer, half in zip(ROUTER.outputs, halves, strict=True)
    }
    phone = Router(parameters, UTC, floors=Floors.in_force(None, floors))
    routes = [phone.route(query, 0.0) for query in queries]
    assert {route.decided_by for route in routes} == {"model", "fallback"}
    questions = Examples(x, np.zeros((len(x), 3), np.float32), ("zh",) * len(x))
    trial = _Trial(parameters, corpus_of(questions), {})
    losses = trial.losses(tuple(floors_of(floors)[layer] for layer in ROUTER.outputs))
    searched = np.rint(losses[: len(x)] / SEARCH_COST)
    assert searched.tolist() == [len(route.layers) for route in routes]


def test_the_best_floors_are_those_of_the_least_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    grid = (0.02, 0.1, 0.3, 0.5)
    monkeypatch.setattr(policy_module, "GRID", grid)
    rng = np.random.default_rng(4)
    outputs = rng.uniform(0.01, 0.6, (300, 3))
    right = (rng.random(outputs.shape) < 0.3).astype(float)
    trial = _Trial(PARAMETERS, corpus_of(examples(outputs, right)), mix(raw=0.3))
    found = trial.best()
    losses = {
        (a, b, c): float((trial._weights * trial.losses((a, b, c))).sum())
        for a in grid
        for b in grid
        for c in grid
    }
    assert losses[found] == pytest.approx(min(losses.values()))  # type: ignore[index]


# --- hysteresis ---


def test_what_is_best_already_stays() -> None:
    world, known = shy_of_raw(), mix(raw=0.6)
    found = tuned_policy(PARAMETERS, world, known)
    assert found != DEFAULT
    assert tuned_policy(PARAMETERS, world, known, current=found) == found


def test_a_gain_within_its_standard_error_moves_nothing() -> None:
    """The same gain, of as many questions, drawn from three templates or from hundreds."""
    few = shy_of_raw(90)
    many_units = _Trial(PARAMETERS, few, mix(raw=0.3))
    question = few.templates
    lumped = Examples(question.x, question.y, question.languages, np.arange(90, dtype=np.int64) % 3)
    few_units = _Trial(PARAMETERS, corpus_of(lumped), mix(raw=0.3))
    best, present = many_units.best(), (0.1, 0.1, 0.1)
    assert many_units.surely_better(best, present, mix(raw=0.3))
    assert not few_units.surely_better(best, present, mix(raw=0.3))
    assert not many_units.surely_better(best, best, mix(raw=0.3))
    assert not many_units.surely_better(present, best, mix(raw=0.3))


def test_what_is_not_known_of_the_mix_widens_the_error() -> None:
    world = shy_of_raw(6_000)
    sure, unsure = mix(raw=0.2), mix(raw=0.2, error=0.15)
    best, present = _Trial(PARAMETERS, world, sure).best(), (0.1, 0.1, 0.1)
    assert _Trial(PARAMETERS, world, sure).surely_better(best, present, sure)
    assert not _Trial(PARAMETERS, world, sure).surely_better(best, present, unsure)


# --- real histograms ---


def heard(budget: str, phones: int, raw: float, rounds: int, rng: np.random.Generator) -> FleetMix:
    """What a cloud knows after so many rounds of a fleet that asks `raw` of the raw layer."""
    terms = BUDGETS[budget].terms("usage", phones)
    sigma = total_noise(terms.sigma, phones, terms.n_min)
    rest = 0.9 - raw
    truth = {
        "top_layer": (rest / 2, rest / 2, raw, 0.1),
        "language": (0.45, 0.45, 0.05, 0.05),
    }
    estimates = []
    for _ in range(rounds):
        counts = [
            rng.multinomial(phones, truth.get(each.name, (1.0,) + (0.0,) * (len(each.bins) - 1)))
            for each in USAGE_HISTOGRAMS
        ]
        noisy = np.concatenate(counts) + rng.normal(0.0, sigma, sum(map(len, counts)))
        units = np.rint(noisy * terms.scale).astype(np.int64)
        found = estimate_histograms(units, phones, terms.scale, sigma)
        estimates.append({"histograms": [one._asdict() for one in found], PHONES: phones})
    return carried_forward(estimates)


@pytest.mark.parametrize(("budget", "phones"), [("demo", 45), ("demo", 300), ("production", 600)])
def test_demo_noise_and_few_phones_move_nothing(budget: str, phones: int) -> None:
    """However many rounds are averaged and however raw the fleet: a year of retrainings."""
    rng, world, present = np.random.default_rng(phones), shy_of_raw(), dict(DEFAULT)
    for _ in range(52):
        known = heard(budget, phones, raw=0.7, rounds=8, rng=rng)
        present = tuned_policy(PARAMETERS, world, known, current=present)
        assert present == DEFAULT


def test_a_production_fleet_moves_them_once_and_noise_never_again() -> None:
    rng, world, present = np.random.default_rng(7), shy_of_raw(), dict(DEFAULT)
    seen = []
    for _ in range(30):
        known = heard("production", 10_000, raw=0.6, rounds=4, rng=rng)
        present = tuned_policy(PARAMETERS, world, known, current=present)
        seen.append(tuple(present.values()))
    assert len(set(seen)) == 1
    assert present["floor_raw"] == 0.05
    assert all(LOWEST_FLOOR <= floor <= HIGHEST_FLOOR for floor in present.values())


# --- what travels ---


def test_the_grid_holds_the_bounds_and_the_default() -> None:
    assert GRID[0] == LOWEST_FLOOR
    assert GRID[-1] == HIGHEST_FLOOR
    assert DEFAULT_FLOOR in GRID
    assert list(GRID) == sorted(set(GRID))


def test_the_default_policy_is_not_carried() -> None:
    assert carried(DEFAULT) == {}
    assert carried({}) == {}
    assert carried(DEFAULT | {"floor_raw": 0.06}) == DEFAULT | {"floor_raw": 0.06}
