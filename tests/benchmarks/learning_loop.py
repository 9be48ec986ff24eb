"""The whole learning loop over a fleet, round after round, out of the parts that run it for real.

One round: the phones train (learning_fleet), their clipped lattice vectors are summed with the
round's noise, the server takes its federated step, refreshes on the corpus as the fleet's use
weighs it, puts the result on the quantisation grid, and the gate decides whether it is published.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

import numpy as np

from cloud.training.config import TRAINING, TrainingConfig
from cloud.training.corpora import load_corpus
from cloud.training.dpsgd import train_private
from cloud.training.federated import RoundMean, federated_step, settled_state
from cloud.training.gate import GUARD_LEVEL, LEVEL, MOST_FALL, Rival, compare, objection, worst
from cloud.training.optimisers import OptimiserState
from cloud.training.scoring import Board, Scores, answer
from cloud.training.seeds import generator, key_for
from cloud.training.usage import example_weights, usage_mix
from device.recall.probes import probe
from device.sync.contributions import LOCAL_EPOCHS, LOCAL_RATE
from privacy.estimation import mean_update
from privacy.secagg.leader import plausible
from protocol.models import SPECS, ModelSpec, Weights, initial_weights
from protocol.params import Parameters
from tests.benchmarks.learning_data import RealSet
from tests.benchmarks.learning_fleet import Fleet, clipped, fleet_of, noisy_sum, shuffled, updates
from tests.benchmarks.learning_noise import model_terms, round_terms, usage_estimates
from tests.benchmarks.learning_poison import Attack, poisoned
from tests.benchmarks.learning_scores import Figures, figures

__all__ = ["Arm", "Defences", "Played", "first_release", "play", "rehearsing"]

TRAINED = 300
"""Phones that are trained in a round; they stand for all of a larger fleet."""
ROUNDS = 13
"""Two years of one model: its rounds are 56 days apart (privacy.budget)."""

SHARES = TRAINING["router"].shares

Judge = Literal["gate", "not worse", "none"]


@dataclass(frozen=True)
class Defences:
    """What stands between a phone that lies and the others; each can be taken away."""

    refusal: bool = True
    """A sum that honest phones cannot give is refused whole (privacy.secagg.leader)."""
    ball: bool = True
    """The mean is cut to what the clip allows (cloud.training.federated)."""
    shrink: bool = True
    """James–Stein (cloud.training.optimisers)."""
    judge: Judge = "gate"
    """gate: as the evaluator judges. not worse: the same but for its last demand, that the
    candidate be better on the built-in examples, which are not what phones ask."""
    adoption: bool = True
    """A phone keeps what it has where its built-in probes' loss rises (device/sync/adoption.py)."""
    groups: int = 1
    """Above one: the median of the means of so many disjoint groups, each with a round's noise."""


@dataclass(frozen=True)
class Arm:
    """One way of running the loop.

    epsilon: a year, at δ 1e-6; infinity for no noise. rehearsal: built-in examples a phone trains
    on for each of its own. changes: to the shipped TrainingConfig.
    """

    name: str
    phones: int = 10_000
    epsilon: float = 8.0
    reweighted: bool = False
    rehearsal: float = 0.0
    shares: tuple[float, ...] = SHARES
    """Parts of a move that are tried one after the other until the gate lets one pass."""
    changes: tuple[tuple[str, float | str | bool], ...] = ()
    defences: Defences = Defences(adoption=False)
    attack: Attack | None = None
    rounds: int = ROUNDS
    epochs: int = LOCAL_EPOCHS
    rate: float = LOCAL_RATE
    trained: int = TRAINED

    @property
    def noisy(self) -> bool:
        return math.isfinite(self.epsilon)


@dataclass(frozen=True)
class Played:
    """After each round, the start first: figures of what phones run, on real and on built-in data;
    whether a version was published; why not; L2 norm of the mean update as measured."""

    real: tuple[Figures, ...]
    built_in: tuple[Scores, ...]
    published: tuple[bool, ...]
    reasons: tuple[str, ...]
    norms: tuple[float, ...]


@dataclass
class _Server:
    """The releases so far, what the evaluator knows of them, and the optimiser's state."""

    published: list[Parameters]
    rivals: list[Rival]
    state: OptimiserState | None = None


def play(model: str, arm: Arm, seed: int, phones: RealSet, test: RealSet) -> Played:
    """Run the loop; `phones` are the examples that its phones hold, `test` those of strangers."""
    spec = SPECS[model]
    config = _config(model, arm)
    start = first_release(model, seed)
    server = _Server([start], [_rival(spec, start)])
    running = start
    rng = np.random.default_rng([seed, 2])
    real, built_in = [figures(spec, start, test)], [server.rivals[0].scores]
    published, reasons, norms = [True], [""], [0.0]
    for number in range(1, arm.rounds + 1):
        fleet = fleet_of(phones, min(arm.trained, arm.phones), rng)
        means, norm = _round(spec, server.published[-1].weights(), phones, fleet, arm, rng)
        reason = "no sum that honest phones can give"
        if means is not None:
            key = key_for(seed, model, arm.name, number)
            reason = _server_step(spec, server, means, fleet, phones, arm, config, key)
        norms.append(norm)
        reasons.append(reason)
        published.append(not reason)
        if not reason and (not arm.defences.adoption or _adopts(model, running, server)):
            running = server.published[-1]
        real.append(figures(spec, running, test))
        built_in.append(_rival(spec, running).scores)
    return Played(tuple(real), tuple(built_in), tuple(published), tuple(reasons), tuple(norms))


@cache
def first_release(model: str, seed: int) -> Parameters:
    """What the cloud starts with: DP-SGD on the built-in corpus alone."""
    config, spec, examples = TRAINING[model], SPECS[model], load_corpus(model).train
    weights = train_private(
        spec,
        initial_weights(spec, generator(key_for(seed, model, "weights"))),
        examples,
        np.ones(len(examples), np.float32),
        config,
        steps=config.steps,
        learning_rate=config.learning_rate,
        key=key_for(seed, model, "bootstrap"),
    )
    return Parameters.of(weights, spec, 1)


def rehearsing(
    real: RealSet, fleet: Fleet, model: str, share: float, rng: np.random.Generator
) -> tuple[RealSet, Fleet]:
    """Phones that also hold `share` built-in examples for each of their own, out of REHEARSED."""
    train = load_corpus(model).train
    # The same few on every phone: what an installation would bring along.
    few = np.random.default_rng(0).choice(len(train), REHEARSED, replace=False)
    extra = np.ceil(fleet.counts * share).astype(np.int64)
    rows = np.zeros((len(fleet), int((fleet.counts + extra).max())), np.int64)
    for phone, (own, more) in enumerate(zip(fleet.counts, extra, strict=True)):
        rows[phone, :own] = fleet.rows[phone, :own]
        rows[phone, own : own + more] = len(real) + rng.integers(REHEARSED, size=more)
    held = replace(
        real,
        x=np.concatenate([real.x, train.x[few]]),
        y=np.concatenate([real.y, train.y[few]]),
    )
    return held, Fleet(rows, fleet.counts + extra)


REHEARSED = 84
"""Built-in examples an installation would bring along: as many as it has router probes."""


def _config(model: str, arm: Arm) -> TrainingConfig:
    changes: dict[str, object] = dict(arm.changes)
    return replace(TRAINING[model], shrink=arm.defences.shrink, **changes)  # type: ignore[arg-type]


def _round(
    spec: ModelSpec,
    weights: Weights,
    phones: RealSet,
    fleet: Fleet,
    arm: Arm,
    rng: np.random.Generator,
) -> tuple[list[RoundMean] | None, float]:
    """The means the server gets (None: it refuses the sum) and the first one's L2 norm."""
    held, sent = phones, fleet
    if arm.rehearsal:
        held, sent = rehearsing(phones, fleet, spec.name, arm.rehearsal, rng)
    terms = model_terms(spec.name, arm.phones // arm.defences.groups, arm.epsilon)

    def train(real: RealSet) -> np.ndarray:
        orders = shuffled(sent, rng)
        return updates(spec, weights, real, sent, epochs=arm.epochs, lr=arm.rate, orders=orders)

    lattice = clipped(train(held), terms, rng)
    if arm.attack is not None:
        lattice = poisoned(lattice, arm.attack, spec, held, train, terms, rng)
    means = []
    for rows in np.array_split(lattice[rng.permutation(len(lattice))], arm.defences.groups):
        n = arm.phones // arm.defences.groups
        summed = noisy_sum(rows, n, terms, rng, noise=arm.noisy)
        judged = round_terms(spec, terms)
        if arm.defences.refusal and not plausible(summed.total, n, judged, summed.sigma):
            continue
        update = mean_update(summed.total, n, summed.scale, summed.sigma)
        clip = terms.clip if arm.defences.ball else math.inf
        means.append(RoundMean(update.mean, update.noise, n, clip))
    if not means:
        return None, math.inf
    if len(means) > 1:
        means = [_median(means, arm.phones)]
    return means, float(np.linalg.norm(means[0].mean))


def _server_step(
    spec: ModelSpec,
    server: _Server,
    means: list[RoundMean],
    fleet: Fleet,
    phones: RealSet,
    arm: Arm,
    config: TrainingConfig,
    key: int,
) -> str:
    """Take the step the trainer takes; publish it, or say why it is not."""
    current = server.published[-1]
    step = federated_step(spec, current.weights(), means, config, server.state)
    weights = step.weights
    if arm.reweighted:
        examples = load_corpus(spec.name).train
        mix = usage_mix(usage_estimates(phones, fleet, spec, arm.phones, arm.epsilon, key))
        weights = train_private(
            spec,
            weights,
            examples,
            example_weights(examples, spec, mix),
            config,
            steps=config.refresh_steps,
            learning_rate=config.learning_rate * config.refresh_share,
            key=key,
        )
    reason = ""
    for share in arm.shares:
        moved = _between(current.weights(), weights, share)
        candidate = Parameters.of(moved, spec, current.version + 1)
        rival = _rival(spec, candidate)
        reason = _objection(rival, server.rivals, _board(spec.name), arm.defences.judge)
        if not reason:
            server.published.append(candidate)
            server.rivals.append(rival)
            server.state = settled_state(step, moved, spec, config)
            break
    return reason


def _between(first: Weights, second: Weights, share: float) -> Weights:
    return {n: (first[n] + np.float32(share) * (second[n] - first[n])) for n in first}


def _objection(candidate: Rival, rivals: list[Rival], board: Board, judge: Judge) -> str:
    if judge == "none":
        return ""
    if judge == "gate":
        return objection(candidate.answers, rivals[-1], rivals[:-1], board)
    for against, level in (([rivals[-1]], LEVEL), (rivals, GUARD_LEVEL)):
        found = worst(compare(candidate.answers, against, board), level)
        if found is not None:
            return f"worse on {found.name}"
    best = max(rival.scores.accuracy for rival in rivals)
    return "" if candidate.scores.accuracy >= best - MOST_FALL else "accuracy fell"


def _adopts(model: str, running: Parameters, server: _Server) -> bool:
    offered = probe(model, server.published[-1].weights())
    return offered.loss <= probe(model, running.weights()).loss


def _median(means: list[RoundMean], phones: int) -> RoundMean:
    """Coordinate-wise; its noise is that of one mean times sqrt(π/2 / groups)."""
    middle = np.median(np.stack([each.mean for each in means]), axis=0)
    noise = means[0].noise * math.sqrt(math.pi / 2.0 / len(means))
    return RoundMean(middle, noise, phones, means[0].clip)


@cache
def _board(model: str) -> Board:
    return Board.of(load_corpus(model), SPECS[model])


def _rival(spec: ModelSpec, parameters: Parameters) -> Rival:
    board = _board(spec.name)
    answers = answer(parameters, spec, board)
    return Rival(parameters.version, answers, Scores.of(answers, board))
