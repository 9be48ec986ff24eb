"""How much may leave, how noisy, how often: the two budgets and the floors a phone enforces.

Unit of protection: one device. Neighbours: zero-out of one device. A budget has streams; a stream
is a group of tasks that share one cap. The cloud asks `Budget.parameters` when it writes a round
descriptor; the phone asks `Budget.check` of *its own* budget before it charges anything, so a
cloud that lies can make a round useless, never less private than the phone's budget.

A fleet without a helper has local rounds instead (`Budget.check_local`), paid by the counts stream.

PRODUCTION spends epsilon 8 a year at delta 1e-6: half on weekly usage counts, half on at most 13
model updates. DEMO exists so that fifty phones learn something visible in three days; it is not
private, and everything that shows it says so.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from privacy.accounting import MONTH, YEAR, Guarantee, gdp_epsilon, guarantee_at, mu_of, rho_units
from privacy.allowance import Allowance, local_sentence, shared_sentence
from privacy.errors import FloorViolated, RoundRefused
from privacy.lattice import SMALLEST_SHARE, RoundParameters, check_lattice
from privacy.local_plan import LocalPlan, LocalTerms
from privacy.streams import USAGE_CLIP

__all__ = [
    "BUDGETS",
    "DAY",
    "DEMO",
    "LARGEST_UPDATE_NOISE",
    "LOCAL_TASK",
    "MODEL_CLIP",
    "PRODUCTION",
    "YEAR",
    "Allowance",
    "Budget",
    "LocalPlan",
    "Stream",
    "Terms",
]

DAY = 86_400.0
"""Seconds."""

LOCAL_TASK = "local_usage"
"""The task of local rounds; the counts stream pays for it too."""

MODEL_CLIP = 1.0
"""Default L2 clip of a model update, in units of the parameters."""

LARGEST_HEAD = 2_000
"""Values of the largest federated head; the fleet-size rules assume it unless told otherwise."""

_USAGE_SCALE = 10
"""Lattice units per device in a count: fine enough for the noise, and with 8 bits a count the proof
of a report at the floors is 256 bits long, half of what a finer lattice takes."""

_MODEL_SCALE = 1 << 12
"""Lattice units per MODEL_CLIP: rounding moves a 2,000-value head by 0.3 % of the clip."""

_BATCH_SHARE = 0.75
"""n_min as a share of the phones expected: noise shares add up to little more than sigma, and a
quarter may stay away."""

_FEWEST_FOR_COUNTS = 500
"""Devices below which histograms are not worth publishing under a private budget."""

_LARGEST_LOCAL_ERROR = 0.06
"""Standard deviation of a share above which a private budget publishes no local histogram: what
500 phones get from a helper."""

LARGEST_UPDATE_NOISE = 0.5
"""L2 noise of the mean update, in clips, above which a federated step is refused."""


class Terms(NamedTuple):
    """What a round descriptor of a task should say. ``sigma`` and ``clip`` in real units."""

    clip: float
    sigma: float
    scale: int
    n_min: int
    cadence: float


@dataclass(frozen=True, slots=True)
class Stream:
    """Tasks sharing one cap.

    ``noise``: floor on sigma / clip. ``n_min``: floor on the batch. ``cadence``: seconds between
    two rounds of one task. ``yearly``: participations a year, over all the stream's tasks.
    """

    name: str
    tasks: tuple[str, ...]
    clip: float
    scale: int
    noise: float
    n_min: int
    cadence: float
    yearly: int

    @property
    def sigma(self) -> float:
        """Std of the total noise at the stream's own clip, in real units."""
        return self.noise * self.clip

    @property
    def yearly_cap(self) -> int:
        """Rho units the stream may spend within any 365 days."""
        return self.yearly * rho_units(self.clip, self.sigma)


@dataclass(frozen=True, slots=True)
class Budget:
    """A named privacy budget; compare by name. ``delta`` at most 1/(10·fleet)."""

    name: str
    delta: float
    streams: tuple[Stream, ...]
    local: LocalPlan
    lifetime_years: int
    private: bool

    def stream(self, task: str) -> Stream:
        """The stream that pays for ``task``; RoundRefused when the budget knows no such task."""
        for stream in self.streams:
            if task in stream.tasks:
                return stream
        raise RoundRefused(f"the {self.name} budget has no such task")

    @property
    def tasks(self) -> tuple[str, ...]:
        """Every task the budget pays for."""
        return tuple(task for stream in self.streams for task in stream.tasks)

    @property
    def yearly_cap(self) -> int:
        """Rho units over all streams within any 365 days."""
        return sum(stream.yearly_cap for stream in self.streams)

    @property
    def lifetime_cap(self) -> int:
        """Rho units one ledger may ever spend: the backstop should a clock run away."""
        return self.lifetime_years * self.yearly_cap

    @property
    def yearly_epsilon(self) -> float:
        """Epsilon at ``delta`` of a year spent to the cap."""
        return gdp_epsilon(mu_of(self.yearly_cap), self.delta)

    @property
    def lifetime_epsilon(self) -> float:
        """Epsilon at ``delta`` of a lifetime spent to the cap."""
        return gdp_epsilon(mu_of(self.lifetime_cap), self.delta)

    def guarantee(self, task: str) -> Guarantee:
        """Epsilons of the stream that pays for ``task``, at its own noise: a report, and 30 days,
        365 days and a lifetime of taking part whenever the cadence and the caps allow."""
        stream = self.stream(task)
        one = stream.yearly_cap // stream.yearly
        monthly = len(stream.tasks) * math.ceil(MONTH / stream.cadence)
        totals = (
            one,
            one * min(stream.yearly, monthly),
            stream.yearly_cap,
            self.lifetime_years * stream.yearly_cap,
        )
        return guarantee_at(totals, self.delta)

    def parameters(self, task: str, fleet: int = 0) -> tuple[float, int, float]:
        """(sigma in real units at the default clip, n_min, cadence in seconds) for a round."""
        terms = self.terms(task, fleet)
        return terms.sigma, terms.n_min, terms.cadence

    def terms(self, task: str, fleet: int = 0) -> Terms:
        """All a descriptor needs. ``fleet``, when given, raises n_min to 75 % of the phones
        expected: the fewer phones share the noise, the more of it the sum carries."""
        stream = self.stream(task)
        n_min = max(stream.n_min, int(_BATCH_SHARE * fleet))
        scale = stream.scale
        while stream.sigma * scale / math.sqrt(n_min) < 2 * SMALLEST_SHARE:
            scale *= 2
        return Terms(stream.clip, stream.sigma, scale, n_min, stream.cadence)

    def check(self, parameters: RoundParameters) -> None:
        """Refuse a round below this budget's floors (FloorViolated) or off the lattice."""
        check_lattice(parameters)
        stream = self.stream(parameters.task)
        if parameters.task == self.local.task:
            raise RoundRefused("a local round has no vector")
        if parameters.sigma < stream.noise * parameters.clip:
            raise FloorViolated(
                f"round asks for {parameters.sigma / parameters.clip:.3g} x clip of noise, "
                f"the {self.name} budget wants at least {stream.noise:.3g}"
            )
        if parameters.n_min < stream.n_min:
            raise FloorViolated(
                f"round would sum as few as {parameters.n_min} phones, "
                f"the {self.name} budget wants at least {stream.n_min}"
            )

    def check_local(self, terms: LocalTerms) -> None:
        """Refuse a local round above this budget's epsilon or below its n_min (FloorViolated), or
        one that is malformed (RoundRefused)."""
        self.local.check(terms, self.name)

    def allows(self, n: int, dimension: int = LARGEST_HEAD) -> str:
        """What this budget allows ``n`` phones, as one plain sentence (see `allowance`)."""
        return self.allowance(n, dimension).sentence

    def allowance(self, n: int, dimension: int = LARGEST_HEAD) -> Allowance:
        """Error of histograms and updates at a fleet of ``n`` when all report in one batch.

        ``dimension``: values in a model update. A private budget publishes counts from 500
        phones on; any budget takes a federated step only while the L2 noise of the mean update
        is at most 0.5 clips, and sums nothing below n_min phones. Local mode is told beside it.
        """
        if n < 1:
            raise ValueError("a fleet has at least one phone")
        fewest = max(stream.n_min for stream in self.streams)
        counts = self._mean_noise("usage", n)
        update = self._mean_noise("router", n) / MODEL_CLIP * math.sqrt(dimension)
        counts_useful = n >= max(fewest, _FEWEST_FOR_COUNTS if self.private else 0)
        updates_useful = n >= fewest and update <= LARGEST_UPDATE_NOISE
        local = self.local.error(n)
        local_useful = n >= self.local.n_min and not (self.private and local > _LARGEST_LOCAL_ERROR)
        fleet = (
            f"{n:,} {'phone' if n == 1 else 'phones'} the {self.name} budget "
            f"(epsilon {self.yearly_epsilon:.3g} a year)"
        )
        return Allowance(
            counts,
            update,
            counts_useful,
            updates_useful,
            shared_sentence(fleet, counts, counts_useful, update, updates_useful),
            local,
            local_useful,
            local_sentence(fleet, self.local.epsilon, local, local_useful),
        )

    def _mean_noise(self, task: str, n: int) -> float:
        """Std of one coordinate of the mean over ``n`` phones, real units."""
        terms = self.terms(task, n)
        return terms.sigma * math.sqrt(n / terms.n_min + 1.0) / n


_PRODUCTION_COUNTS = Stream(
    name="counts",
    tasks=("usage", LOCAL_TASK),
    clip=USAGE_CLIP,
    scale=_USAGE_SCALE,
    noise=6.66,  # sigma 18.8 devices: mu 1.083 over 52 weekly reports
    n_min=100,
    cadence=7 * DAY,
    yearly=52,
)
_PRODUCTION_MODELS = Stream(
    name="models",
    tasks=("router", "dedup"),
    clip=MODEL_CLIP,
    scale=_MODEL_SCALE,
    noise=3.33,  # mu 1.083 over 13 updates
    n_min=100,
    cadence=56 * DAY,  # two tasks, 13 participations a year between them
    yearly=13,
)

PRODUCTION = Budget(
    name="production",
    delta=1e-6,
    streams=(_PRODUCTION_COUNTS, _PRODUCTION_MODELS),
    local=LocalPlan(
        task=LOCAL_TASK,
        epsilon=0.1198,  # the most of which 52 reports cost no more than 52 of the usage rounds
        n_min=100,
        cadence=7 * DAY,
    ),
    lifetime_years=5,
    private=True,
)
"""Epsilon 8 a year at delta 1e-6, per device."""

_DEMO_COUNTS = Stream(
    name="counts",
    tasks=("usage", LOCAL_TASK),
    clip=USAGE_CLIP,
    scale=_USAGE_SCALE,
    noise=0.71,  # sigma 2 devices: about 8 % of 45 phones per bin
    n_min=20,
    cadence=DAY,
    yearly=15,
)
_DEMO_MODELS = Stream(
    name="models",
    tasks=("router", "dedup"),
    clip=MODEL_CLIP,
    scale=_MODEL_SCALE,
    noise=0.35,  # a mean of 45 heads of 1,300 values carries noise of 0.5 clips
    n_min=20,
    cadence=DAY,
    yearly=30,
)

DEMO = Budget(
    name="demo",
    delta=1e-6,
    streams=(_DEMO_COUNTS, _DEMO_MODELS),
    local=LocalPlan(task=LOCAL_TASK, epsilon=1.149, n_min=20, cadence=DAY),
    lifetime_years=1,
    private=False,
)
"""For fifty phones over a few days. Its epsilon is in the tens after three days: NOT private."""

BUDGETS: dict[str, Budget] = {budget.name: budget for budget in (PRODUCTION, DEMO)}
"""The budgets a ledger may name."""
