"""When a process does what: it looks for changes often, and ticks when the lease is its own."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import structlog

from cloud.faults import outage
from cloud.gateway.changes import clock_offset
from cloud.gateway.readiness import Readiness
from cloud.leadership import Leadership
from cloud.service import Cloud
from cloud.storage.holders import has_ended, this_process
from cloud.storage.leases import Lease
from cloud.ticking import LeaseLost

__all__ = ["Pace", "Pacer"]

log = structlog.get_logger("reverie.cloud")

TICK_LEASE = "tick"
RETRY_SECONDS = 5.0
"""After an outage a tick is tried again so soon, or at its next turn if that is sooner."""
STALE_REFRESHES = 5
"""A process whose snapshot has missed so many refreshes should get no more phones."""
CLOCK_SECONDS = 60.0
"""How often the clocks are compared, and how far they may be apart: half as far as a round is
hidden before it closes, so that a phone finds it open by anybody's clock."""


@dataclass(frozen=True)
class Pace:
    """Seconds: between two ticks, between two looks for changes, and how long a lease lasts."""

    tick: float
    refresh: float
    lease: float


class Pacer:
    """Runs one cloud's process by the clock.

    Args:
        cloud: started.
        clock: unix seconds.
    """

    def __init__(self, cloud: Cloud, pace: Pace, clock: Callable[[], float] = time.time) -> None:
        self._cloud, self._pace, self._clock = cloud, pace, clock
        self._loop = asyncio.get_running_loop()
        self.readiness = Readiness(STALE_REFRESHES * pace.refresh, self._loop.time())
        self._fault, self._clock_fault = "", ""
        self._compared = float("-inf")

    async def run(self) -> None:
        """Until cancelled. A tick in progress is given up then: the next one finishes it."""
        await self._look(self._compare_clocks)  # before anything is done by this clock
        async with asyncio.TaskGroup() as together:
            together.create_task(self._refreshing())
            if self._cloud.config.role == "all":
                leading = self._leadership()
                self._cloud.metrics.leader.set_function(lambda: float(leading.epoch is not None))
                together.create_task(leading.compete())
                together.create_task(self._ticking(leading))

    def _leadership(self) -> Leadership:
        database = self._cloud.database
        lease = Lease(database, TICK_LEASE, this_process(), self._pace.lease, has_ended)
        return Leadership(
            lease,
            self._pace.lease,
            self._pace.refresh,
            self._clock,
            may_lead=lambda: not self._clock_fault,
            on_change=self._cloud.metrics.ticking.set,
        )

    async def _ticking(self, leading: Leadership) -> None:
        while True:
            epoch = await leading.wait()
            begun = self._loop.time()
            pause = await self._tick(leading, epoch)
            self._cloud.metrics.ticks.observe(self._loop.time() - begun)
            await asyncio.sleep(pause)

    async def _tick(self, leading: Leadership, epoch: int) -> float:
        """One tick. Gives the seconds to wait before the next."""
        try:
            await self._cloud.tick(self._clock(), lambda: leading.still(epoch))
        except LeaseLost:
            log.warning("tick_given_up", reason="another process holds the lease now")
            return self._pace.refresh
        except Exception as error:
            self._cloud.metrics.tick_failures.inc()
            if reason := outage(error):
                log.warning("tick_failed", reason=reason)
                return min(RETRY_SECONDS, self._pace.tick)
            log.error("tick_failed", exc_info=error)
            # What fails here, such as for want of a key, may succeed where another process runs.
            await leading.resign(self._pace.tick)
        return self._pace.tick

    async def _refreshing(self) -> None:
        while True:
            await asyncio.sleep(self._pace.refresh)
            await self._look(self._refresh)

    async def _refresh(self) -> None:
        await self._cloud.refresh(self._clock())
        await self._compare_clocks()

    async def _look(self, look: Callable[[], Awaitable[None]]) -> None:
        try:
            await look()
        except Exception as error:
            self._note(outage(error) or type(error).__name__, error)
        else:
            self._note("")

    def _note(self, fault: str, error: Exception | None = None) -> None:
        if fault:
            self.readiness.failed(fault)
        else:
            self.readiness.refreshed(self._loop.time(), self._clock_fault)
        if fault == self._fault:
            return
        self._fault = fault
        if fault:
            trace = None if error is None or outage(error) else error
            log.warning("refresh_failed", reason=fault, exc_info=trace)
        else:
            log.info("refresh_works_again")

    async def _compare_clocks(self) -> None:
        if self._loop.time() - self._compared < CLOCK_SECONDS:
            return
        offset = await asyncio.to_thread(clock_offset, self._cloud.database, self._clock)
        self._compared = self._loop.time()
        fault = ""
        if abs(offset) > CLOCK_SECONDS:
            fault = f"this machine's clock is {offset:+.0f} s off the database server's: set it"
            log.error("clock_off", offset_seconds=round(offset))
        self._clock_fault = fault
