"""A phone's own clock, which may be off, drift, and be set."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from device.actors import Clock
from simulator.faults.dice import Dice

__all__ = ["PhoneClock", "own_clock"]

_SKEW: Final = (-600.0, 600.0)
"""Seconds by which a skewed clock is off."""
_DRIFT: Final = 5e-5
"""Seconds a poor quartz gains or loses a second, at most."""


class PhoneClock:
    """The phone's `Clock` over true time. Sleeps are monotonic: setting a clock stretches none."""

    def __init__(self, true: Clock, *, offset: float = 0.0, drift: float = 0.0) -> None:
        """`offset`: seconds it is ahead; `drift`: seconds it gains a second."""
        self.true_clock = true
        self._offset, self._drift = offset, drift
        self._since = true.now()

    def now(self) -> float:
        """Unix seconds, as this phone believes."""
        return self.shown(self.true_clock.now())

    async def sleep(self, seconds: float, until: asyncio.Future[Any] | None = None) -> None:
        """Return after `seconds` of true time, or when `until` is done."""
        await self.true_clock.sleep(seconds, until)

    def jump(self, seconds: float) -> None:
        """Set it forward, or back."""
        self._offset += seconds

    def shown(self, true: float) -> float:
        """What it shows at the true unix time `true`, unless it is set in between."""
        return true + self._offset + self._drift * (true - self._since)

    @property
    def true(self) -> float:
        """The true unix time now."""
        return self.true_clock.now()


def own_clock(dice: Dice, clock: Clock) -> PhoneClock | None:
    """A phone's clock where it may be wrong; None where it is the true one."""
    if not dice.planned("clock_skew", "clock_jump"):
        return None
    if not dice.is_so("clock_skew"):
        return PhoneClock(clock)
    dice.happened("clock_skew")
    stream = dice.of("clock_skew")
    offset, drift = float(stream.uniform(*_SKEW)), float(stream.uniform(-_DRIFT, _DRIFT))
    return PhoneClock(clock, offset=offset, drift=drift)
