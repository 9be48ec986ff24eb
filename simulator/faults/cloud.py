"""What goes wrong with the cloud, as a phone meets it; the same for every phone of a world.

| fault            | what happens here                                                           |
|------------------|-----------------------------------------------------------------------------|
| gateway_restart  | every open session ends, with or without a goodbye; another gateway begins  |
| actor_restart    | for minutes calls to actors fail, some of them after they were carried out; |
|                  | at the next border of the world all actors begin anew from the database     |
| database_restart | for minutes whatever needs the database fails                               |
| helper_away      | whatever the leader asks of the helper fails for hours                      |
| cloud_down       | from one border to another there is no cloud; then one is composed again    |
|                  | from the folder                                                             |
| partition        | one phone cannot reach the cloud for hours (a phone's own luck)             |

All moments follow from (seed, plan) alone, so hosts need not tell each other.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from cloud.actors.runtime import ActorGone, Ref
from cloud.storage import DatabaseUnavailable
from simulator.faults.dice import Dice, moments
from simulator.faults.plan import FaultPlan
from simulator.randomness import generator

__all__ = ["Outage", "Restarts", "Spans", "downs", "gateway_restarts", "restarts", "shaky"]

_ACTORS_AWAY: Final = (60.0, 1_800.0)
"""Seconds for which calls fail now and then."""
_DATABASE_AWAY: Final = (30.0, 1_800.0)
_HELPER_AWAY: Final = (2 * 3_600.0, 12 * 3_600.0)
_CLOUD_DOWN: Final = (1_800.0, 4 * 3_600.0)
"""Seconds, before they are rounded up to whole spans between two borders."""
_CALL_FAILS: Final = 0.5
"""Share of the calls that fail meanwhile; half of these were carried out."""


class Spans:
    """Disjoint or nested spans of seconds, by when they begin."""

    def __init__(self, begins: Sequence[float] = (), lengths: Sequence[float] = ()) -> None:
        self.begins: Final = tuple(begins)
        """Ascending."""
        ends: list[float] = []
        for begin, length in zip(begins, lengths, strict=True):
            ends.append(max(begin + length, ends[-1] if ends else 0.0))
        self._ends = ends

    def until(self, at: float) -> float | None:
        """When the span in force at `at` ends; None when there is none."""
        passed = bisect_right(self.begins, at)
        return self._ends[passed - 1] if passed and at < self._ends[passed - 1] else None


@dataclass(frozen=True)
class Restarts:
    """When parts of the cloud fail; seconds since the world began."""

    gateways: tuple[float, ...]
    actors: Spans
    database: Spans
    helper: Spans


def restarts(plan: FaultPlan, seed: int, seconds: float) -> Restarts:
    """Everything that will fail in a world of so many seconds."""

    def spans(name: str, lengths: tuple[float, float]) -> Spans:
        rng = generator(seed, "fault", name)
        begins = moments(plan, name, rng, seconds)
        return Spans(begins, [float(rng.uniform(*lengths)) for _ in begins])

    gateways = moments(
        plan, "gateway_restart", generator(seed, "fault", "gateway_restart"), seconds
    )
    return Restarts(
        tuple(gateways),
        spans("actor_restart", _ACTORS_AWAY),
        spans("database_restart", _DATABASE_AWAY),
        spans("helper_away", _HELPER_AWAY),
    )


def downs(plan: FaultPlan, seed: int, seconds: float, border: float) -> Spans:
    """When there is no cloud at all. Cloud and phones meet every `border` seconds only, so it goes
    down at one border and is there again at another."""
    rng = generator(seed, "fault", "cloud_down")
    begins = moments(plan, "cloud_down", rng, seconds)
    lengths = [float(rng.uniform(*_CLOUD_DOWN)) for _ in begins]
    return Spans(
        [math.ceil(at / border) * border for at in begins],
        [math.ceil(length / border) * border for length in lengths],
    )


def gateway_restarts(
    plan: FaultPlan, seed: int, seconds: float, border: float
) -> tuple[float, ...]:
    """When another gateway begins, ascending: after its own restarts, and with every new cloud."""
    if not plan.gateway_restart.rate and not plan.cloud_down.rate:
        return ()
    own = restarts(plan, seed, seconds).gateways
    return tuple(sorted((*own, *downs(plan, seed, seconds, border).begins)))


class Outage:
    """A handle on an actor that cannot always be reached: a `Ref`."""

    def __init__(self, ref: Ref, when: Restarts, dice: Dice) -> None:
        self._ref, self._when, self._dice = ref, when, dice

    async def ask(self, method: str, *args: Any) -> Any:
        """As the actor's. Raises DatabaseUnavailable, ActorGone."""
        now = self._dice.elapsed()
        if self._when.database.until(now) is not None:
            self._dice.happened("database_restart", method)
            raise DatabaseUnavailable("the database restarts")
        if self._when.actors.until(now) is None:
            return await self._ref.ask(method, *args)
        stream = self._dice.of("actor_restart")
        if stream.random() >= _CALL_FAILS:
            return await self._ref.ask(method, *args)
        carried_out = bool(stream.random() < _CALL_FAILS)
        self._dice.happened("actor_restart", f"{method}, carried out: {carried_out}")
        if carried_out:
            await self._ref.ask(method, *args)
        raise ActorGone("the actor restarts")

    def tell(self, method: str, *args: Any) -> None:
        """As the actor's."""
        self._ref.tell(method, *args)


def shaky(plan: FaultPlan, seed: int, seconds: float, dice: Dice) -> Callable[[Ref], Ref]:
    """What makes a handle on an actor one that fails one phone when the plan says so."""
    if not plan.actor_restart.rate and not plan.database_restart.rate:
        return lambda ref: ref
    when = restarts(plan, seed, seconds)
    return lambda ref: Outage(ref, when, dice)
