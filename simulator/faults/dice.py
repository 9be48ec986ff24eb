"""One phone's luck: when each planned fault comes, drawn from a stream of that fault's own."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from typing import Final

import numpy as np

from simulator.faults.plan import UNITS, FaultPlan, Fired
from simulator.randomness import generator

__all__ = ["Dice", "Told", "moments"]

_DAY: Final = 86_400.0
_HOUR: Final = 3_600.0

Told = Callable[[str, str], None]
"""Told the name of a fault that has just happened, and one detail."""


def _unheard(_name: str, _detail: str) -> None:
    """Nobody follows this world event by event."""


class Dice:
    """Draws for one phone; counts what happened in `fired`.

    Args:
        plan: the faults of the world.
        seed: of the world.
        phone: its number.
        elapsed: seconds since the world began, now.
    """

    def __init__(
        self, plan: FaultPlan, seed: int, phone: int, elapsed: Callable[[], float]
    ) -> None:
        self.fired: Fired = Counter()
        self.told: Told = _unheard
        self._faults = {name: fault for name, fault in plan.items() if fault.rate}
        self.elapsed = elapsed
        self._seed, self._phone = seed, phone
        self._streams: dict[str, np.random.Generator] = {}

    def comes(self, name: str, detail: str = "") -> bool:
        """Whether the fault `name` happens at this session, frame or phone; counted if so."""
        fault = self._faults.get(name)
        if fault is None:
            return False
        came = bool(self.of(name).random() < fault.rate_at(self.elapsed()))
        if came:
            self.happened(name, detail)
        return came

    def is_so(self, name: str) -> bool:
        """Whether this phone is one of the share with the trait `name`; not counted."""
        fault = self._faults.get(name)
        return fault is not None and bool(self.of(name).random() < fault.rate)

    def planned(self, *names: str) -> bool:
        """Whether any of these has a rate above 0."""
        return any(name in self._faults for name in names)

    def stops(self, name: str) -> float:
        """Seconds of the world after which the fault `name` is over; infinity for never."""
        fault = self._faults.get(name)
        return math.inf if fault is None or fault.to_day is None else fault.to_day * _DAY

    def happened(self, name: str, detail: str = "") -> None:
        """Count one occurrence."""
        self.fired[name] += 1
        self.told(name, detail)

    def of(self, name: str) -> np.random.Generator:
        """The stream of the fault `name` on this phone."""
        stream = self._streams.get(name)
        if stream is None:
            stream = self._streams[name] = generator(self._seed, "fault", name, self._phone)
        return stream

    def moments(self, name: str, seconds: float) -> list[float]:
        """When `name` comes within a world of so many seconds; seconds since it began."""
        if name not in self._faults:
            return []
        plan = FaultPlan.none().model_copy(update={name: self._faults[name]})
        return moments(plan, name, self.of(name), seconds)


def moments(plan: FaultPlan, name: str, rng: np.random.Generator, seconds: float) -> list[float]:
    """A Poisson process of the fault's rate, thinned by its schedule (Lewis and Shedler, 1979).

    Returns seconds since the world began, ascending, below `seconds`.
    """
    fault = dict(plan.items())[name]
    if not fault.rate:
        return []
    unit = _DAY if UNITS[name] == "phone-day" else _HOUR
    found: list[float] = []
    at = 0.0
    while True:
        at += float(rng.exponential(unit / fault.rate))
        if at >= seconds:
            return found
        if fault.rate_at(at):
            found.append(at)
