"""An asyncio event loop under virtual time: nothing waits, time jumps to the next timer.

The loop has no sockets, no threads and no file descriptors: code that tries to reach the machine
fails, which is law 6 made mechanical. Timers due at the same instant fire in the order they were
set, and time takes exactly the values that timers name, so what one phone sees does not depend on
which other phones share its loop.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import math
from collections.abc import Callable
from contextvars import Context
from typing import Any, TypeVar, TypeVarTuple

__all__ = ["Deadlock", "VirtualClock", "VirtualLoop"]

_NAMED_TASKS = 8
"""How many stuck tasks a Deadlock names."""

_T = TypeVar("_T")
_Ts = TypeVarTuple("_Ts")


class Deadlock(RuntimeError):
    """Nothing is ready and no timer is set, yet tasks still wait."""


class _OrderedTimer(asyncio.TimerHandle):
    """A timer with a tie-break: equal times keep the order of setting."""

    __slots__ = ("order",)

    def __init__(self, order: int, *args: Any) -> None:
        super().__init__(*args)
        self.order = order

    def __lt__(self, other: object) -> bool:
        if not isinstance(other, _OrderedTimer):
            return NotImplemented
        return (self.when(), self.order) < (other.when(), other.order)


class _NoWait:
    """Stands where the selector would: instead of waiting it moves the loop's clock."""

    def __init__(self, loop: VirtualLoop) -> None:
        self._loop = loop

    def select(self, timeout: float | None) -> list[object]:
        """Called once an iteration; `timeout` is 0 while callbacks are ready."""
        if timeout is None or timeout > 0:
            self._loop._leap()
        return []

    def close(self) -> None:
        """Nothing is held."""


class VirtualLoop(asyncio.BaseEventLoop):
    """Runs coroutines under virtual time, which starts at 0 seconds."""

    def __init__(self) -> None:
        super().__init__()
        self._selector = _NoWait(self)
        self._now = 0.0
        self._horizon = math.inf
        self._orders = itertools.count()
        self.leaps = 0
        """How often time moved: the loop's wake-ups."""

    @property
    def _clock_resolution(self) -> float:
        # The base class fires what is due before now + resolution: one float step is "due now".
        return math.ulp(self._now)

    @_clock_resolution.setter
    def _clock_resolution(self, _value: float) -> None:
        """The base class sets its own; virtual time needs none."""

    def time(self) -> float:
        """Virtual seconds since the start of the world."""
        return self._now

    def run_until(self, moment: float) -> None:
        """Run everything due up to and at `moment` (virtual seconds), then stop there.

        Raises Deadlock when tasks wait although no timer is left.
        """
        if moment < self._now:
            raise ValueError(f"virtual time is already {self._now}, it cannot go back to {moment}")
        self._horizon = moment
        try:
            self.run_forever()
        finally:
            self._horizon = math.inf

    def call_at(
        self,
        when: float,
        callback: Callable[[*_Ts], object],
        *args: *_Ts,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        """As asyncio's, with a stable order among equal times."""
        self._check_closed()  # type: ignore[attr-defined]
        timer = _OrderedTimer(next(self._orders), when, callback, args, self, context)
        heapq.heappush(self._scheduled, timer)  # type: ignore[attr-defined]
        timer._scheduled = True  # type: ignore[attr-defined]
        return timer

    def call_later(
        self,
        delay: float,
        callback: Callable[[*_Ts], object],
        *args: *_Ts,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        """As asyncio's, through this loop's `call_at`."""
        return self.call_at(self._now + delay, callback, *args, context=context)

    def run_in_executor(
        self, _executor: object, func: Callable[[*_Ts], _T], *args: *_Ts
    ) -> asyncio.Future[_T]:
        """Run `func` at once: a worker thread would race with virtual time."""
        done: asyncio.Future[_T] = self.create_future()
        try:
            done.set_result(func(*args))
        except Exception as error:
            done.set_exception(error)
        return done

    def _leap(self) -> None:
        """Move the clock to the next live timer, or stop at the horizon."""
        scheduled: list[asyncio.TimerHandle] = self._scheduled  # type: ignore[attr-defined]
        due = scheduled[0].when() if scheduled else math.inf
        if due <= self._horizon:
            if due == math.inf:
                raise Deadlock(self._deadlock())
            self._now = max(self._now, due)
            self.leaps += 1
            return
        if not scheduled and asyncio.all_tasks(self):
            raise Deadlock(self._deadlock())
        self._now = self._horizon
        self.stop()

    def _deadlock(self) -> str:
        names = sorted(task.get_name() for task in asyncio.all_tasks(self))
        shown = ", ".join(names[:_NAMED_TASKS]) or "none"
        more = f" and {len(names) - _NAMED_TASKS} more" if len(names) > _NAMED_TASKS else ""
        return f"deadlock at {self._now:.3f} s: no timer is set, waiting tasks: {shown}{more}"

    def _process_events(self, event_list: list[object]) -> None:
        """There are no file descriptors, hence no events."""

    def _write_to_self(self) -> None:
        """No other thread may wake this loop, and none needs to."""


class VirtualClock:
    """The phone's `Clock` over a virtual loop: unix seconds = `epoch` + loop time."""

    def __init__(self, loop: VirtualLoop, epoch: float) -> None:
        self._loop = loop
        self._epoch = epoch

    def now(self) -> float:
        """Unix seconds, UTC, in the virtual world."""
        return self._epoch + self._loop.time()

    async def sleep(self, seconds: float) -> None:
        """Wait `seconds` of virtual time."""
        await asyncio.sleep(seconds)
