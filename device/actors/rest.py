"""Resting between dreams: look up at every interval, but wake only where there may be a reason.

A window is open for hours of most nights, and a phone that woke every five minutes to find nothing
new would wake some eighty times a day for nothing.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from typing import Final

from device.actors.clock import Clock
from device.actors.joining import all_ended, begun, one_ended

__all__ = ["Rest"]

LONGEST_REST: Final = 3_600.0
"""Seconds after which it looks up in any case: a clock may have been set meanwhile."""


class Rest:
    """Ends at a whole number of intervals after it began."""

    def __init__(self, clock: Clock, interval: float) -> None:
        """`interval`: seconds between two looks."""
        self._clock, self._interval = clock, interval
        self._stirred = asyncio.Event()

    def stir(self) -> None:
        """Something has happened that may be worth a look; the next one is not left out."""
        self._stirred.set()

    def settle(self) -> None:
        """What has stirred it so far is being seen to."""
        self._stirred.clear()

    async def until(self, due: Callable[[float], bool]) -> None:
        """Return at the first look at which `due` (of unix seconds) says so, or after a stir."""
        began = self._clock.now()
        if not self._stirred.is_set():
            await self._either(self._first(began, due) * self._interval)
            if not self._stirred.is_set():
                return
        gone = self._clock.now() - began
        looks = max(1, math.ceil(gone / self._interval))
        await self._clock.sleep(max(0.0, looks * self._interval - gone))

    def _first(self, began: float, due: Callable[[float], bool]) -> int:
        """How many intervals from `began` the first look that is due lies."""
        most = max(1, math.ceil(LONGEST_REST / self._interval))
        for look in range(1, most):
            if due(began + look * self._interval):
                return look
        return most

    async def _either(self, seconds: float) -> None:
        """Return after `seconds`, or as soon as something stirs."""
        slept, stirred = begun(self._clock.sleep(seconds)), begun(self._stirred.wait())
        try:
            await one_ended(slept, stirred)
        finally:
            slept.cancel()
            stirred.cancel()
            await all_ended(slept, stirred)
