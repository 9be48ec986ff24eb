"""What befalls the cloud itself where cloud and phones meet: actors that begin anew, a helper that
is away, and no cloud at all."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Final

from simulator.faults.actors import RenewingRuntime
from simulator.faults.cloud import downs, restarts
from simulator.faults.plan import FaultPlan, Fired

__all__ = ["Mishaps", "befall_the_cloud"]

_OF_THE_CLOUD: Final = ("actor_restart", "helper_away", "cloud_down")


def befall_the_cloud(plan: FaultPlan) -> bool:
    """Whether anything of this is planned: else a cloud runs as it is."""
    return any(getattr(plan, name).rate for name in _OF_THE_CLOUD)


class Mishaps:
    """Called at every border of one world, before the cloud ticks.

    Args:
        plan, seed: of the world; seconds: its length; border: seconds between two borders.
        runtime: where the cloud's actors live.
        stop: ends the cloud's own process; start: composes it again from its folder, at a moment
            in seconds since the world began.
    """

    def __init__(
        self,
        plan: FaultPlan,
        seed: int,
        *,
        seconds: float,
        border: float,
        runtime: RenewingRuntime,
        stop: Callable[[], Awaitable[None]],
        start: Callable[[float], Awaitable[None]],
    ) -> None:
        self.fired: Fired = Counter()
        self._runtime, self._stop, self._start = runtime, stop, start
        when = restarts(plan, seed, seconds)
        self._helper, self._actors = when.helper, when.actors.begins
        self._downs = downs(plan, seed, seconds, border)
        self._renewed = 0
        self._up = True
        self._away = False

    async def let(self, moment: float) -> bool:
        """What is due at `moment`, seconds since the world began; whether there is a cloud."""
        down = self._downs.until(moment) is not None
        if down and self._up:
            await self._stop()
            await self._runtime.go_down()
            self.fired["cloud_down"] += 1
        elif not down and not self._up:
            await self._start(moment)
        self._up = not down
        if down:
            return False
        due = bisect_right(self._actors, moment)
        if due > self._renewed:
            await self._runtime.renew()
            self.fired["actor_restart"] += 1
        self._renewed = due
        await self._set_helper(self._helper.until(moment) is not None)
        return True

    async def end(self) -> None:
        """The world ends: how often the helper was asked in vain."""
        self.fired["helper_away"] += await self._runtime.helper_away(False)

    async def _set_helper(self, away: bool) -> None:
        # Also when nothing changed: a cloud that was composed again has begun with one that answers
        await self._runtime.helper_away(away)
