"""Resting between dreams: look up at every interval, but wake only where there may be a reason.

A window is open for hours of most nights, and a phone that woke every five minutes to find nothing
new would wake some eighty times a day for nothing.
"""

from __future__ import annotations

import asyncio
import math
from bisect import bisect_left
from collections.abc import Callable
from typing import Final

from device.actors.clock import Clock

__all__ = ["Rest"]

LONGEST_REST: Final = 3_600.0
"""Seconds after which it looks up in any case: a clock may have been set meanwhile."""


class Rest:
    """Ends at a whole number of intervals after it began."""

    __slots__ = ("_clock", "_interval", "_stirred", "_waits")

    def __init__(self, clock: Clock, interval: float) -> None:
        """`interval`: seconds between two looks."""
        self._clock, self._interval = clock, interval
        self._stirred = False
        self._waits: asyncio.Future[None] | None = None
        """Until something stirs, while it rests."""

    def stir(self) -> None:
        """Something has happened that may be worth a look; the next one is not left out."""
        self._stirred = True
        if self._waits is not None and not self._waits.done():
            self._waits.set_result(None)

    def settle(self) -> None:
        """What has stirred it so far is being seen to."""
        self._stirred = False

    async def until(self, due: Callable[[float], bool]) -> None:
        """Return at the first look at which `due` (of unix seconds) says so, or after a stir.

        What is due stays due.
        """
        began = self._clock.now()
        if not self._stirred:
            await self._either(self._first(began, due) * self._interval)
            if not self._stirred:
                return
        gone = self._clock.now() - began
        looks = max(1, math.ceil(gone / self._interval))
        await self._clock.sleep(max(0.0, looks * self._interval - gone))

    def _first(self, began: float, due: Callable[[float], bool]) -> int:
        """How many intervals from `began` the first look that is due lies."""
        most = max(1, math.ceil(LONGEST_REST / self._interval))
        looks = range(1, most)
        return 1 + bisect_left(looks, True, key=lambda look: due(began + look * self._interval))

    async def _either(self, seconds: float) -> None:
        """Return after `seconds`, or as soon as something stirs."""
        self._waits = asyncio.get_running_loop().create_future()
        try:
            await self._clock.sleep(seconds, self._waits)
        finally:
            self._waits = None
