"""Federated learning over the examples that virtual phones really earned.

Phones live their days offline, by the device's own code: their owners talk, ask and say what
helped, and that makes the examples. Rounds over them then use the parts that run rounds for real:
the phone's local training, the gate's clipping, the budget's noise, the server's step and the
evaluator's verdict (`simulator.federation`). What is left out is the cloud's refresh on its own
corpus, which is the same at any noise. The phones may stand for a larger fleet, whose noise it
then is.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

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
from device.phone import Machine, Phone
from device.settings import Settings
from device.sync.contributions import LOCAL_EPOCHS
from device.vault import MemoryStorage, StaticProtector
from privacy.accounting import gdp_epsilon, mu_of
from privacy.budget import PRODUCTION, Terms
from protocol.models import SPECS, Weights, forward, initial_weights
from protocol.params import Parameters
from simulator.federation import Cohort, private_mean, random_orders
from simulator.lives import Life, Lives
from simulator.owner import Owner
from simulator.randomness import KeyedBits, generator, stream_key
from simulator.scenario import Scenario
from simulator.senses import WindowConditions
from simulator.virtual import VirtualClock, VirtualLoop
from simulator.world import EPOCH

__all__ = [
    "T_95",
    "Course",
    "Learned",
    "Lived",
    "commonest",
    "hits",
    "live",
    "noise_factor",
    "parted",
    "pool_of",
    "spread",
]

_MODEL = "router"
_SPEC = SPECS[_MODEL]
_DAY = 86_400.0
_BISECTIONS = 60
_FACTORS = (1e-3, 1e4)
_RIGHT = 0.5
_STRANGERS = 0.25
"""Share of the people whose phones are kept for the test."""
T_95 = {2: 12.71, 3: 4.303, 4: 3.182, 5: 2.776, 6: 2.571, 7: 2.447, 8: 2.365, 9: 2.306, 10: 2.262}
"""Student's t by number of seeds: half the width of a 95 % interval in standard errors."""

Array = NDArray[np.float32]


@dataclass(frozen=True)
class Lived:
    """The router examples one phone earned: x float32[n, inputs], y float32[n, layers]."""

    phone: int
    person: str
    language: str
    habit: str
    x: Array
    y: Array


@dataclass(frozen=True)
class Learned:
    """Where a course of rounds led. `accuracy` is on the cloud's held-out examples, `published` how
    many moves were, `noise` the L2 noise of one round's mean update in clips."""

    parameters: Parameters
    accuracy: float
    published: int
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
    return Lived(number, life.person.name, life.person.language, str(life.habit or ""), *earned)


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
    x, y, _ = pool_of(phones)
    outputs = forward(parameters.weights(), x, _SPEC)
    return float((y[np.arange(len(y)), outputs.argmax(axis=1)] > _RIGHT).mean())


def commonest(phones: Sequence[Lived]) -> float:
    """The same of the layer that helps most often, whatever is asked: what takes no model."""
    return float((pool_of(phones)[1] > _RIGHT).mean(axis=0).max())


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


def pool_of(phones: Sequence[Lived]) -> tuple[Array, Array, Cohort]:
    """Everything the phones earned as (x, y) float32[n, …], and whose it is."""
    x, y = (np.concatenate([getattr(one, name) for one in phones]) for name in "xy")
    ends = np.cumsum([len(one.x) for one in phones])
    places = [np.arange(end - len(one.x), end) for one, end in zip(phones, ends, strict=True)]
    return x, y, Cohort.of(places)


def parted(phones: Sequence[Lived], seed: int) -> tuple[list[Lived], list[Lived]]:
    """(those that train, strangers): of each language a quarter of the people, at least one, drawn
    by the seed, whose phones nobody trains on."""
    rng = generator(seed, "strangers")
    unseen: set[str] = set()
    for language in sorted({one.language for one in phones}):
        people = sorted({one.person for one in phones if one.language == language})
        number = max(1, round(_STRANGERS * len(people)))
        unseen |= set(rng.choice(people, number, replace=False).tolist())
    return (
        [one for one in phones if one.person not in unseen],
        [one for one in phones if one.person in unseen],
    )


def spread(values: Sequence[float]) -> float:
    """Half the width of the 95 % interval of the values' mean (Student's t)."""
    return T_95[len(values)] * float(np.std(values, ddof=1)) / math.sqrt(len(values))


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

    def run(
        self,
        phones: Sequence[Lived],
        fleet: int,
        epsilon: float,
        rounds: int,
        *,
        gated: bool = True,
    ) -> Learned:
        """Rounds in which `phones` stand for a fleet of `fleet` at `epsilon` a year (infinity: no
        noise). `gated`: as the cloud does it, the evaluator decides which moves are published, a
        whole one, a half or a quarter; else every step is taken, whatever it breaks elsewhere."""
        terms = PRODUCTION.terms(_MODEL, fleet)
        if math.isfinite(epsilon):
            terms = terms._replace(sigma=terms.sigma * noise_factor(epsilon))
        rivals, current = [self._start], self.first
        state: OptimiserState | None = None
        noise = 0.0
        pool = pool_of(phones)
        for number in range(rounds):
            mean = self._mean(current, pool, fleet, terms, epsilon, number)
            noise = mean.noise / terms.clip * math.sqrt(mean.mean.size)
            base = current.weights()
            step = federated_step(_SPEC, base, [mean], self._config, state)
            for share in self._config.shares if gated else (1.0,):
                moved = _between(base, step.weights, share)
                candidate = Parameters.of(moved, _SPEC, current.version + 1)
                rival = self._rival(candidate)
                if not gated or not objection(rival.answers, rivals[-1], rivals[:-1], self._board):
                    rivals.append(rival)
                    current = candidate
                    state = settled_state(step, moved, _SPEC, self._config)
                    break
        return Learned(current, rivals[-1].scores.accuracy, len(rivals) - 1, noise)

    def _mean(
        self,
        base: Parameters,
        pool: tuple[Array, Array, Cohort],
        fleet: int,
        terms: Terms,
        epsilon: float,
        number: int,
    ) -> RoundMean:
        # The same orders and roundings at any noise, so that noise alone tells two courses apart.
        x, y, cohort = pool
        orders = random_orders(cohort, LOCAL_EPOCHS, generator(self._seed, "orders", number))
        names = ("noise", fleet, f"{epsilon:g}", number)
        return private_mean(
            _SPEC,
            base.weights(),
            x,
            y,
            cohort,
            orders,
            terms,
            generator(self._seed, *names),
            fleet=fleet,
            noise=math.isfinite(epsilon),
        )

    def _rival(self, parameters: Parameters) -> Rival:
        answers = answer(parameters, _SPEC, self._board)
        return Rival(parameters.version, answers, Scores.of(answers, self._board))


def _between(first: Weights, last: Weights, share: float) -> Weights:
    return {name: first[name] + np.float32(share) * (last[name] - first[name]) for name in first}
