"""A gateway that is another one after each restart: what it had in memory is gone."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence

from cloud.gateway.connection import Connection
from cloud.gateway.core import GatewayCore, Snapshot
from cloud.gateway.metrics import Metrics

__all__ = ["RestartingGateway"]


class RestartingGateway:
    """The `GatewayCore` of the moment.

    Args:
        make: number of the gateway's life, from 0 → a fresh one.
        restarts: when the next life begins, ascending; seconds since the world began.
        elapsed: seconds since the world began, now.
        told: called when a phone meets another gateway than before.
    """

    def __init__(
        self,
        make: Callable[[int], GatewayCore],
        restarts: Sequence[float],
        elapsed: Callable[[], float],
        told: Callable[[], None],
    ) -> None:
        self._make, self._restarts, self._elapsed, self._told = make, restarts, elapsed, told
        self._life = 0
        self._core = make(0)
        self._older: list[GatewayCore] = []

    def open_session(self, now: float) -> Connection:
        """A fresh session that begins at unix time `now`."""
        return self.core.open_session(now)

    @property
    def core(self) -> GatewayCore:
        """The one that runs now."""
        life = bisect_right(self._restarts, self._elapsed())
        if life != self._life:
            # What was on its way to the database may still arrive there; nobody hears of it.
            self._older.append(self._core)
            shown, self._life = self._core.snapshot, life
            self._core = self._make(life)
            self._core.snapshot = shown
            self._told()
        return self._core

    @property
    def metrics(self) -> Metrics:
        """The counters of all its lives."""
        return self._core.metrics

    @property
    def snapshot(self) -> Snapshot:
        """What phones are shown."""
        return self._core.snapshot

    @snapshot.setter
    def snapshot(self, shown: Snapshot) -> None:
        self._core.snapshot = shown

    async def refresh(self) -> None:
        """See `GatewayCore.refresh`."""
        await self._core.refresh()

    async def close(self) -> None:
        """See what was taken through its commit."""
        for core in (*self._older, self._core):
            await core.close()
