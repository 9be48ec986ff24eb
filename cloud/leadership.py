"""Which of several processes ticks: the one whose lease holds, renewed in the background."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

import structlog

from cloud.faults import outage
from cloud.storage.leases import Lease

__all__ = ["Leadership"]

log = structlog.get_logger("reverie.cloud")

RENEWALS = 3
"""So often is a lease renewed before it would run out: two may fail."""


class Leadership:
    """A process's place in the competition.

    Args:
        lease: what the processes compete for.
        seconds: how long the lease lasts without a renewal.
        look_seconds: how often a process without it looks whether it is free.
        clock: seconds.
        may_lead: asked before every attempt: a process that could do harm stays out.
        on_change: told whether this process leads, whenever that changes.
    """

    def __init__(
        self,
        lease: Lease,
        seconds: float,
        look_seconds: float,
        clock: Callable[[], float],
        may_lead: Callable[[], bool] = lambda: True,
        on_change: Callable[[bool], object] = lambda _leads: None,
    ) -> None:
        self._lease, self._clock, self._may_lead = lease, clock, may_lead
        self._on_change = on_change
        self._renew_seconds = seconds / RENEWALS
        self._look_seconds = min(look_seconds, seconds / RENEWALS)
        self._leading = asyncio.Event()
        self._resigned_until = float("-inf")
        self._taking: asyncio.Task[int | None] | None = None
        self.epoch: int | None = None
        """Of the lease, while this process has it."""

    async def compete(self) -> None:
        """Take the lease when it is free and keep it; until cancelled, then give it back."""
        try:
            while True:
                await self._attempt()
                leading = self.epoch is not None
                await asyncio.sleep(self._renew_seconds if leading else self._look_seconds)
        finally:
            await self._give_back()

    async def wait(self) -> int:
        """The epoch, as soon as this process has the lease."""
        while True:
            await self._leading.wait()
            if self.epoch is not None:
                return self.epoch

    async def still(self, epoch: int) -> bool:
        """Whether the lease has been this process's since that epoch began, by the database."""
        return await asyncio.to_thread(self._lease.held, self._clock(), epoch)

    async def resign(self, seconds: float) -> None:
        """Let another process try for so long at least."""
        self._resigned_until = self._clock() + seconds
        await self._give_back()

    async def _attempt(self) -> None:
        epoch = None
        now = self._clock()
        if not self._may_lead():
            await self._give_back()
        elif now >= self._resigned_until:
            try:
                self._taking = asyncio.create_task(asyncio.to_thread(self._lease.take, now))
                epoch = await asyncio.shield(self._taking)
            except Exception as error:
                if not outage(error):
                    raise
                # Whether we still hold it the database will say; until then it is not ours.
        self._note(epoch if self._clock() >= self._resigned_until else None)

    async def _give_back(self) -> None:
        self._note(None)
        if self._taking is not None:
            # A thread is not cancelled with its task: it would take back what is given back here.
            await asyncio.wait({self._taking})
        with contextlib.suppress(Exception):  # it runs out by itself
            await asyncio.to_thread(self._lease.release)

    def _note(self, epoch: int | None) -> None:
        if epoch == self.epoch:
            return
        self.epoch = epoch
        self._on_change(epoch is not None)
        if epoch is None:
            self._leading.clear()
            log.info("tick_lease_lost")
        else:
            self._leading.set()
            log.info("tick_lease_taken", epoch=epoch)
