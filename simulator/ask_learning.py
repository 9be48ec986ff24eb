"""Federated learning over the examples that virtual phones really earned.

Phones live their days offline, by the device's own code: their owners talk, ask and say what
helped, and that makes the examples. Rounds over them then use the parts that run rounds for real:
the phone's local training, the gate's clipping, the budget's noise, the server's step and the
evaluator's verdict. The phones may stand for a larger fleet, whose noise it then is.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from cloud.training.config import TRAINING
from cloud.training.corpora import load_corpus
from cloud.training.dpsgd import train_private
from cloud.training.federated import RoundMean, federated_step, settled_state
from cloud.training.gate import Rival, objection
from cloud.training.optimisers import OptimiserState
from cloud.training.scoring import Board, Scores, answer
from cloud.training.seeds import generator as philox
from cloud.training.seeds import key_for
from device.learning import local_update
from device.phone import Machine, Phone
from device.settings import Settings
from device.sync.contributions import LOCAL_EPOCHS, LOCAL_RATE
from device.vault import MemoryStorage, StaticProtector
from privacy.accounting import gdp_epsilon, mu_of
from privacy.budget import PRODUCTION, Terms
from privacy.estimation import mean_update, total_noise
from privacy.lattice import share_variance, total_variance
from privacy.mechanisms.clip import clip_to_lattice
from privacy.mechanisms.table import gaussian_table
from protocol.models import SPECS, forward, head_dimension, initial_weights
from protocol.params import Parameters
from simulator.lives import Life, Lives
from simulator.owner import Owner
from simulator.randomness import KeyedBits, generator, stream_key
from simulator.scenario import Scenario
from simulator.senses import WindowConditions
from simulator.virtual import VirtualClock, VirtualLoop
from simulator.world import EPOCH

__all__ = ["Course", "Learned", "Lived", "hits", "live", "noise_factor"]

_MODEL = "router"
_SPEC = SPECS[_MODEL]
_DAY = 86_400.0
_BISECTIONS = 60
_FACTORS = (1e-3, 1e4)
_RIGHT = 0.5

Array = NDArray[np.float32]


@dataclass(frozen=True)
class Lived:
    """The router examples one phone earned: x float32[n, inputs], y float32[n, layers]."""

    phone: int
    person: str
    habit: str
    x: Array
    y: Array


@dataclass(frozen=True)
class Learned:
    """Where a course of rounds led. `accuracy` is on the cloud's held-out examples, `passed` how
    often the evaluator would have let the result replace the first release, `noise` the L2 noise
    of one round's mean update in clips."""

    parameters: Parameters
    accuracy: float
    passed: int
    noise: float


def live(
    scenario: Scenario, *, phones: int, days: int, seed: int, tell: Callable[[int], None]
) -> list[Lived]:
    """Let phones of a scenario live their days with no cloud; `tell` hears of each finished one."""
    lives = Lives(scenario, seed=seed, start=EPOCH, days=days, data=scenario.data)
    return [_live(lives.of(number), number, days, seed, tell) for number in range(phones)]


def _live(life: Life, number: int, days: int, seed: int, tell: Callable[[int], None]) -> Lived:
    loop = VirtualLoop()
    try:
        earned = loop.run_until_complete(_days(loop, life, number, days, seed))
    finally:
        loop.close()
    tell(number)
    return Lived(number, life.person.name, str(life.habit or ""), *earned)


async def _days(
    loop: VirtualLoop, life: Life, number: int, days: int, seed: int
) -> tuple[Array, Array]:
    clock = VirtualClock(loop, EPOCH)
    machine = Machine(
        clock=clock,
        bits=KeyedBits(seed, "phone", number),
        storage=MemoryStorage(),
        protector=StaticProtector(stream_key(seed, "key", number)),
        conditions=WindowConditions(life.truth, clock, EPOCH),
        rng=generator(seed, "phone", number),
    )
    phone = await Phone.open(machine, Settings(timezone=life.person.zone, budget="demo"))
    daemon = asyncio.ensure_future(phone.run())
    await Owner(life.person, clock, patient=False).use(phone)
    await clock.sleep(max(0.0, EPOCH + days * _DAY - clock.now()))
    daemon.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await daemon
    earned = phone.examples.training_set(_MODEL)
    await phone.close()
    return earned


def hits(parameters: Parameters, phones: Sequence[Lived]) -> float:
    """Share of the phones' questions for which the strongest layer is one that helped."""
    held = [one for one in phones if len(one.x)]
    x, y = (np.concatenate([getattr(one, name) for one in held]) for name in "xy")
    outputs = forward(parameters.weights(), x, _SPEC)
    return float((y[np.arange(len(y)), outputs.argmax(axis=1)] > _RIGHT).mean())


def noise_factor(epsilon: float) -> float:
    """By how much all noise of the production budget is larger, or smaller, so that a year of it
    costs `epsilon` at its δ."""
    whole = mu_of(PRODUCTION.yearly_cap)
    low, high = _FACTORS
    for _ in range(_BISECTIONS):
        middle = math.sqrt(low * high)
        dear = gdp_epsilon(whole / middle, PRODUCTION.delta) > epsilon
        low, high = (middle, high) if dear else (low, middle)
    return high


class Course:
    """Rounds of one fleet from one first release, which is trained once and kept."""

    def __init__(self, seed: int) -> None:
        """Train the first release as the cloud does: DP-SGD on the built-in corpus alone."""
        config, examples = TRAINING[_MODEL], load_corpus(_MODEL).train
        weights = train_private(
            _SPEC,
            initial_weights(_SPEC, philox(key_for(seed, _MODEL, "weights"))),
            examples,
            np.ones(len(examples), np.float32),
            config,
            steps=config.steps,
            learning_rate=config.learning_rate,
            key=key_for(seed, _MODEL, "bootstrap"),
        )
        self._seed, self._config = seed, config
        self._board = Board.of(load_corpus(_MODEL), _SPEC)
        self.first = Parameters.of(weights, _SPEC, 1)
        self._start = self._rival(self.first)

    @property
    def accuracy(self) -> float:
        """The first release's, on the cloud's held-out examples."""
        return self._start.scores.accuracy

    def run(self, phones: Sequence[Lived], fleet: int, epsilon: float, rounds: int) -> Learned:
        """Rounds in which `phones` stand for a fleet of `fleet` at `epsilon` a year (infinity: no
        noise). Every step is taken, whatever the evaluator says of it: what it forbids is part of
        what noise costs, and would hide the rest."""
        terms = PRODUCTION.terms(_MODEL, fleet)
        if math.isfinite(epsilon):
            terms = terms._replace(sigma=terms.sigma * noise_factor(epsilon))
        current, reached = self.first, self._start
        state: OptimiserState | None = None
        noise, passed = 0.0, 0
        for number in range(rounds):
            mean = self._mean(current, phones, fleet, terms, epsilon, number)
            noise = mean.noise / terms.clip * math.sqrt(mean.mean.size)
            step = federated_step(_SPEC, current.weights(), [mean], self._config, state)
            current = Parameters.of(step.weights, _SPEC, current.version + 1)
            reached = self._rival(current)
            passed += not objection(reached.answers, self._start, [], self._board)
            state = settled_state(step, step.weights, _SPEC, self._config)
        return Learned(current, reached.scores.accuracy, passed, noise)

    def _mean(
        self,
        base: Parameters,
        phones: Sequence[Lived],
        fleet: int,
        terms: Terms,
        epsilon: float,
        number: int,
    ) -> RoundMean:
        names = ("course", f"{epsilon:g}", number)
        bits, weights = KeyedBits(self._seed, *names), base.weights()
        train = partial(local_update, _SPEC, weights, epochs=LOCAL_EPOCHS, lr=LOCAL_RATE)
        total = np.zeros(head_dimension(_SPEC), np.int64)
        for one in phones:
            if len(one.x):
                rng = generator(self._seed, *names, one.phone)
                update = train(one.x, one.y, rng=rng)
                total += clip_to_lattice(update, terms.clip, terms.scale, bits)
        total = np.rint(total * (fleet / len(phones))).astype(np.int64)
        sigma = 0.0
        if math.isfinite(epsilon):
            variance = fleet * share_variance(terms.sigma, terms.scale, terms.n_min)
            variance += total_variance(terms.sigma, terms.scale)
            total = total + gaussian_table(variance).sample(total.size, bits)
            sigma = total_noise(terms.sigma, fleet, terms.n_min)
        told = mean_update(total, fleet, terms.scale, sigma)
        return RoundMean(told.mean, told.noise, fleet, terms.clip)

    def _rival(self, parameters: Parameters) -> Rival:
        answers = answer(parameters, _SPEC, self._board)
        return Rival(parameters.version, answers, Scores.of(answers, self._board))
