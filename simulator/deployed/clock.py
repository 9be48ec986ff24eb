"""Real time, sped up: what a phone under load takes for its clock."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any, Final

__all__ = ["SpedClock"]

_BEAT: Final = 0.01
"""Real seconds between two looks at the machine's time."""
_MOST: Final = 0.05
"""Real seconds that one look lets pass at most."""


class SpedClock:
    """`speed` seconds pass for every real one, from unix second `start` on.

    While the phones keep this process busy, time stands still: a phone that was not given its turn
    must not find its window closed meanwhile. So a machine that cannot keep up plays more slowly,
    and no law is broken by it. To be made inside the running loop.
    """

    def __init__(self, start: float, speed: float) -> None:
        self.speed = speed
        self._start, self._timer = start, asyncio.get_running_loop().time
        self._began = self._looked = self._timer()
        self._passed = 0.0
        self.late: list[float] = []
        """Real seconds by which each look came late."""

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Time passes inside, from `start` on."""
        self._began = self._looked = self._timer()
        self._passed = 0.0
        self.late.clear()
        beating = asyncio.create_task(self._beat())
        try:
            yield
        finally:
            beating.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await beating

    def now(self) -> float:
        """Unix seconds."""
        since = min(self._timer() - self._looked, _MOST)
        return self._start + (self._passed + since) * self.speed

    def real(self) -> float:
        """Real seconds since the start."""
        return self._timer() - self._began

    @property
    def reached(self) -> float:
        """Virtual seconds that have passed in a real one."""
        return self._passed * self.speed / max(self.real(), _BEAT)

    async def sleep(self, seconds: float, until: asyncio.Future[Any] | None = None) -> None:
        """Return after `seconds` of this clock, or when `until` is done; zero or less only yields
        once."""
        if until is not None:
            slept = asyncio.ensure_future(self.sleep(seconds))
            try:
                await asyncio.wait([slept, until], return_when=asyncio.FIRST_COMPLETED)
            finally:
                slept.cancel()
            return
        due = self.now() + seconds
        await asyncio.sleep(max(0.0, seconds) / self.speed)
        while (left := due - self.now()) > 0.0:  # noqa: ASYNC110 (time may have stood still)
            await asyncio.sleep(left / self.speed)

    async def until(self, seconds: float) -> None:
        """Return `seconds` after the start."""
        await self.sleep(self._start + seconds - self.now())

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(_BEAT)
            now = self._timer()
            since, self._looked = now - self._looked, now
            self._passed += min(since, _MOST)
            self.late.append(max(0.0, since - _BEAT))
