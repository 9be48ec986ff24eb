"""What a virtual phone senses of its true conditions."""

from __future__ import annotations

import math
from dataclasses import replace

from device.actors import Clock
from device.actors.window import BATTERY_FLOOR
from device.conditions import Conditions
from simulator.availability import PhoneAvailability
from simulator.faults.clocks import PhoneClock

__all__ = ["ClockedConditions", "TrackConditions", "WindowConditions"]

_CHARGE_PER_HOUR = 0.6
"""Share of the battery gained in an hour on the charger."""
_DRAIN_PER_HOUR = 0.04
_FIRST_CHARGE = 0.7
_FULL, _EMPTY = 1.0, 0.05
"""The owner plugs in before the phone dies, even where the track does not say so."""
_HOUR = 3600.0
_SURELY = 1.0
"""Seconds after which a level that was to be reached surely is, for all rounding."""


class TrackConditions:
    """The phone's senses: the true tracks, read without error, announcing their changes."""

    __slots__ = ("_clock", "_level", "_level_at", "_truth")

    def __init__(self, truth: PhoneAvailability, clock: Clock, start: float) -> None:
        self._truth, self._clock = truth, clock
        self._level, self._level_at = _FIRST_CHARGE, start

    async def read(self) -> Conditions:
        """The conditions now."""
        now = self._clock.now()
        return Conditions(
            idle=self._truth.idle.holds(now),
            charging=self._truth.charging.holds(now),
            unmetered=self._truth.unmetered.holds(now),
            battery=self._battery(now),
            read_at=now,
        )

    def next_change(self, now: float) -> float | None:
        """The next edge of any condition, or when the battery has reached the floor."""
        edge = self._truth.next_change(now)
        if self._truth.charging.holds(now):
            edge = min(edge, self._enough(now))
        return None if edge == math.inf else edge

    def _enough(self, now: float) -> float:
        """When, on the charger, the battery is above the floor below which a phone starts nothing;
        never, where it is by now. In whole seconds, so that it is the same whenever it is asked."""
        lacking = BATTERY_FLOOR - self._battery(now)
        if lacking <= 0.0:
            return math.inf
        return math.ceil(now + lacking / _CHARGE_PER_HOUR * _HOUR) + _SURELY

    def _battery(self, now: float) -> float:
        """Charge now, followed edge by edge since the last reading."""
        while self._level_at < now:
            charging, edge = self._truth.charging.stands(self._level_at)
            until = min(now, edge)
            rate = _CHARGE_PER_HOUR if charging else -_DRAIN_PER_HOUR
            level = self._level + rate * (until - self._level_at) / _HOUR
            self._level, self._level_at = min(_FULL, max(_EMPTY, level)), until
        return self._level


class WindowConditions(TrackConditions):
    """The same senses, which announce only what can open or close the window: whatever changes in
    between is no reason to wake a sleeping phone."""

    __slots__ = ("_window",)

    def __init__(self, truth: PhoneAvailability, clock: Clock, start: float) -> None:
        super().__init__(truth, clock, start)
        self._window = truth.window

    async def read(self) -> Conditions:
        """The conditions now: in the window, all three."""
        now = self._clock.now()
        if not self._window.holds(now):
            return await super().read()
        return Conditions(True, True, True, self._battery(now), now)

    def next_change(self, now: float) -> float | None:
        """When the three conditions next begin or cease to hold together, or the battery has
        reached the floor while they hold."""
        holds, edge = self._window.stands(now)
        if holds:
            edge = min(edge, self._enough(now))
        return None if edge == math.inf else edge


class ClockedConditions(WindowConditions):
    """The same, for a phone whose own clock is not the true one: it asks and is told in its own
    time."""

    __slots__ = ("_own",)

    def __init__(self, truth: PhoneAvailability, clock: PhoneClock, start: float) -> None:
        super().__init__(truth, clock.true_clock, start)
        self._own = clock

    async def read(self) -> Conditions:
        """The conditions now, dated by the phone's clock."""
        return replace(await super().read(), read_at=self._own.now())

    def next_change(self, now: float) -> float | None:  # noqa: ARG002
        """As the phone's clock will show it."""
        edge = super().next_change(self._own.true)
        return None if edge is None else self._own.shown(edge)
