"""Time as it is given to the phone: real, or an event loop's own (virtual) time."""

from __future__ import annotations

import asyncio
import time
from typing import Any, Protocol

__all__ = ["Clock", "LoopClock", "SystemClock"]


class Clock(Protocol):
    """Where every part of the phone gets its time from."""

    def now(self) -> float:
        """Unix seconds, UTC."""
        ...

    async def sleep(self, seconds: float, until: asyncio.Future[Any] | None = None) -> None:
        """Return after `seconds`, or as soon as `until` is done, whatever it ends with; zero or
        less only yields once. Cancelling this leaves `until` alone."""
        ...


class SystemClock:
    """The machine's clock. Sleeps are monotonic: a stepped wall clock does not stretch them."""

    def now(self) -> float:
        """Unix seconds, UTC."""
        return time.time()

    async def sleep(self, seconds: float, until: asyncio.Future[Any] | None = None) -> None:
        """Return after `seconds` of the loop's monotonic time, or when `until` is done."""
        await _slept(seconds, until)


class LoopClock:
    """`epoch` + the running loop's time: virtual exactly when the loop is."""

    __slots__ = ("_epoch",)

    def __init__(self, epoch: float) -> None:
        """`epoch`: unix seconds that stand at loop time 0."""
        self._epoch = epoch

    def now(self) -> float:
        """Unix seconds, UTC; needs a running loop."""
        return self._epoch + asyncio.get_running_loop().time()

    async def sleep(self, seconds: float, until: asyncio.Future[Any] | None = None) -> None:
        """Return after `seconds` of loop time, or when `until` is done."""
        await _slept(seconds, until)


async def _slept(seconds: float, until: asyncio.Future[Any] | None) -> None:
    seconds = max(0.0, seconds)
    if until is None:
        await asyncio.sleep(seconds)
    else:
        await asyncio.wait([until], timeout=seconds)
