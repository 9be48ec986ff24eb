"""The window: idle AND charging AND unmetered, held for a settling time (law 2).

| now             | a reading says     | then                                                   |
|-----------------|--------------------|--------------------------------------------------------|
| closed          | all three hold     | settling since that reading                            |
| settling        | all hold, long enough | open                                                |
| settling, open  | any is no/unknown  | closed; running work is cancelled at its next await    |

A source that announces its changes is read only when they are due, so a sleeping phone costs no
wake-up, and has its answer at hand; any other source is polled, and a reading that outgrows
`reading_limit` is unknown.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Coroutine
from typing import Any, Literal

from device.actors.clock import Clock
from device.actors.joining import ended
from device.conditions.source import FREE_FLOOR, AnnouncingSource, Conditions, ConditionSource

__all__ = ["Conditions", "Outcome", "Window", "checkpoint"]

Outcome = Literal["finished", "interrupted"]

SETTLE = 60.0
"""Seconds the three conditions must hold before work starts."""
CLOSED_POLL = 30.0
"""Seconds between readings of a silent source while the window is closed or settling."""
OPEN_POLL = 0.4
"""Seconds from the start of one reading to the start of the next while work runs."""
READING_LIMIT = 0.45
"""Seconds after which a reading that does not come counts as unknown while work runs.

A change just missed by one reading is seen at the end of the next: at most two of these, or one
and `OPEN_POLL`, after it came. Both are under 1 s, with room for the work to reach a checkpoint.
"""
POLLS_TO_MISS = 2
"""A reading older than this many polls no longer says that the conditions held all along."""
LONGEST_NAP = 30 * 86_400.0
"""Seconds slept when no change is in sight: a timer at infinity would drag virtual time along."""
BATTERY_FLOOR = 0.3
"""Charge below which nothing starts even on the charger (AOSP FederatedCompute's floor)."""


async def checkpoint() -> None:
    """Let the loop run once: a long computation awaits this every few tens of milliseconds.

    It is where a closing window stops the work.
    """
    await asyncio.sleep(0)


class Window:
    """Says when work may run, and stops it when it may no longer."""

    __slots__ = (
        "_announced",
        "_announcing",
        "_asked",
        "_battery_floor",
        "_clock",
        "_good_until",
        "_held_since",
        "_poll",
        "_reading_limit",
        "_settle",
        "_source",
        "last",
    )

    def __init__(
        self,
        clock: Clock,
        source: ConditionSource,
        settle: float = SETTLE,
        poll: float = CLOSED_POLL,
        *,
        reading_limit: float | None = None,
        battery_floor: float = BATTERY_FLOOR,
    ) -> None:
        """Times in seconds; `battery_floor` 0 … 1.

        `reading_limit` defaults to the source's own `reading_limit` attribute (slow tools declare
        one) and else to `READING_LIMIT`.
        """
        self._clock = clock
        self._source = source
        # Asked once: a runtime check of a protocol costs more than a reading.
        self._announcing = source if isinstance(source, AnnouncingSource) else None
        self._settle = settle
        self._poll = poll
        declared = getattr(source, "reading_limit", READING_LIMIT)
        self._reading_limit = float(declared if reading_limit is None else reading_limit)
        self._battery_floor = battery_floor
        self._held_since: float | None = None
        self._good_until = -math.inf
        self._asked = -math.inf
        self._announced = (-math.inf, math.inf)
        """When the source last told its next change, and what it told."""
        self.last: Conditions | None = None
        """The newest reading."""

    @property
    def is_open(self) -> bool:
        """Whether the newest reading, if not too old, says that work may run."""
        now = self._clock.now()
        return now <= self._good_until and self._settled(now)

    def allows(self, reading: Conditions) -> bool:
        """Whether `reading` lets work run, the settling time apart.

        Of the three conditions unknown counts as no. Charge, heat and space hinder where they are
        known: a machine without a battery has no charge to tell.
        """
        enough = reading.battery is None or reading.battery >= self._battery_floor
        room = reading.free is None or reading.free >= FREE_FLOOR
        return reading.all_hold and enough and room and reading.hot is not True

    async def opened(self) -> None:
        """Return as soon as the window is open; may wait for days."""
        while True:
            await self._read(limit=None)
            now = self._clock.now()
            if self._settled(now):
                return
            await self._sleep(self._pause(now))

    async def run_while_open(self, work: Callable[[], Coroutine[Any, Any, object]]) -> Outcome:
        """Run `work()` to its end, or cancel it within 1 s of a condition ending.

        A source that declares a longer `reading_limit` is noticed within twice that limit.
        Errors of the work are raised. Returns only when the work has really ended.
        """
        await self._read(limit=self._reading_limit)
        if not self._settled(self._clock.now()):
            return "interrupted"
        task = asyncio.get_running_loop().create_task(work())
        try:
            await self._closed(task)
        finally:
            await _end(task)
        return "interrupted" if task.cancelled() else _finished(task)

    async def _closed(self, work: asyncio.Task[object]) -> None:
        """Return when a condition ends or can no longer be confirmed, or when `work` has ended."""
        while True:
            now = self._clock.now()
            change = self._next_change(now)
            # From the start of the last reading: a slow source may have looked just then.
            await self._sleep((self._asked + OPEN_POLL if change is None else change) - now, work)
            if work.done():
                return
            await self._read(limit=self._reading_limit)
            if not self._settled(self._clock.now()):
                return

    async def _read(self, limit: float | None) -> None:
        """Take a reading and note since when all conditions hold."""
        asked = self._clock.now()
        if self._announcing is not None and asked == self._asked:
            return  # read at this very moment
        self._asked = asked
        if limit is None or self._announcing is not None:
            self._note(await self._source.read())
            return
        try:
            async with asyncio.timeout(limit):
                reading = await self._source.read()
        except TimeoutError:
            reading = Conditions(None, None, None, None, read_at=self._clock.now())
        self._note(reading)

    def _note(self, reading: Conditions) -> None:
        """Take note of the reading asked for last."""
        self.last = reading
        if not self.allows(reading):
            self._held_since = None
            return
        now = self._clock.now()
        if self._held_since is None or self._asked > self._good_until:
            # After a gap nobody watched, the conditions may have ended in between: settle anew.
            self._held_since = now
        change = self._next_change(now)
        self._good_until = now + POLLS_TO_MISS * self._poll if change is None else change

    async def _sleep(self, seconds: float, until: asyncio.Task[object] | None = None) -> None:
        await self._clock.sleep(min(seconds, LONGEST_NAP), until)

    def _settled(self, now: float) -> bool:
        return self._held_since is not None and now - self._held_since >= self._settle

    def _next_change(self, now: float) -> float | None:
        """When the source will change next; inf for never, None when it does not tell."""
        if self._announcing is None:
            return None
        if self._announced[0] != now:
            change = self._announcing.next_change(now)
            self._announced = (now, math.inf if change is None else change)
        return self._announced[1]

    def _pause(self, now: float) -> float:
        """Seconds until the next reading is worth taking while the window is not open."""
        settling = math.inf
        if self._held_since is not None:
            settling = self._held_since + self._settle - now
        change = self._next_change(now)
        if change is None:
            return min(self._poll, settling)
        return min(change - now, settling)


async def _end(task: asyncio.Task[object]) -> None:
    """Cancel `task` if it still runs and wait until it has ended, whatever it ends with."""
    if not task.done():
        task.cancel()
        await ended(task)


def _finished(task: asyncio.Task[object]) -> Outcome:
    task.result()
    return "finished"
