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
from collections import deque
from collections.abc import Callable
from contextvars import Context
from typing import Any, TypeVar, TypeVarTuple

__all__ = ["Deadlock", "VirtualClock", "VirtualLoop"]

_FEW_TIMERS = 100
"""Timers among which cancelled ones may lie until their time comes."""
_NAMED_TASKS = 8
"""How many stuck tasks a Deadlock names."""

_T = TypeVar("_T")
_Ts = TypeVarTuple("_Ts")


class Deadlock(RuntimeError):
    """Nothing is ready and no timer is set, yet tasks still wait."""


class VirtualLoop(asyncio.BaseEventLoop):
    """Runs coroutines under virtual time, which starts at 0 seconds.

    One turn of the loop (`_run_once`) is written out here: the base class's would ask a selector,
    the clock's resolution and the debug flag each time, a third of a small callback's cost.
    """

    _ready: deque[asyncio.Handle]

    def __init__(self) -> None:
        super().__init__()
        self._now = 0.0
        self._horizon = math.inf
        self._orders = itertools.count()
        self._timers: list[tuple[float, int, asyncio.TimerHandle]] = []
        """A heap; the order of setting breaks ties, so that two timers are never compared."""
        self._cancelled_timers = 0
        self.leaps = 0
        """How often time moved: the loop's wake-ups."""

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
        timer = asyncio.TimerHandle(when, callback, args, self, context)
        heapq.heappush(self._timers, (when, next(self._orders), timer))
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

    def call_soon(
        self,
        callback: Callable[[*_Ts], object],
        *args: *_Ts,
        context: Context | None = None,
    ) -> asyncio.Handle:
        """As asyncio's, without its checks for other threads: there are none."""
        self._check_closed()  # type: ignore[attr-defined]
        handle = asyncio.Handle(callback, args, self, context)
        self._ready.append(handle)
        return handle

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

    def _run_once(self) -> None:
        """One turn: leap when nothing is ready, then run what is ready now, and only that."""
        timers, ready = self._timers, self._ready
        if self._cancelled_timers:
            self._drop_cancelled()
        if not ready and not self._stopping and not (timers and timers[0][0] <= self._now):  # type: ignore[attr-defined]
            self._leap()
            timers = self._timers
        while timers and timers[0][0] <= self._now:
            timer = heapq.heappop(timers)[2]
            timer._scheduled = False  # type: ignore[attr-defined]
            ready.append(timer)
        for _ in range(len(ready)):
            handle = ready.popleft()
            if not handle._cancelled:
                handle._run()

    def _drop_cancelled(self) -> None:
        """Take cancelled timers from the head of the heap, or all of them once they are most."""
        timers = self._timers
        if len(timers) > _FEW_TIMERS and self._cancelled_timers > len(timers) / 2:
            timers[:] = [entry for entry in timers if not entry[2]._cancelled]
            heapq.heapify(timers)
            self._cancelled_timers = 0
        while timers and timers[0][2]._cancelled:
            heapq.heappop(timers)[2]._scheduled = False  # type: ignore[attr-defined]
            self._cancelled_timers -= 1

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        if handle._scheduled:  # type: ignore[attr-defined]
            self._cancelled_timers += 1

    def close(self) -> None:
        """As asyncio's; timers still set are dropped."""
        super().close()
        self._timers.clear()

    def _leap(self) -> None:
        """Move the clock to the next live timer, or stop at the horizon."""
        if self._advanced(self._horizon):
            return
        if not self._timers and asyncio.all_tasks(self):
            raise Deadlock(self._deadlock())
        self._now = self._horizon
        self.stop()

    def _advanced(self, horizon: float) -> bool:
        """Move the clock to the next live timer, unless it lies beyond `horizon`; whether it did.

        Raises Deadlock when there is no horizon and no timer either.
        """
        due = self._timers[0][0] if self._timers else math.inf
        if due > horizon:
            return False
        if due == math.inf:
            raise Deadlock(self._deadlock())
        self._now = max(self._now, due)
        self.leaps += 1
        return True

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
        return self._epoch + self._loop._now

    async def sleep(self, seconds: float, until: asyncio.Future[Any] | None = None) -> None:
        """Wait `seconds` of virtual time, or until `until` is done."""
        if seconds <= 0.0:
            await asyncio.sleep(0)
            return
        # As asyncio's, which cancels also those timers that have fired.
        woken: asyncio.Future[None] = self._loop.create_future()
        timer = self._loop.call_at(self._loop._now + seconds, _wake, woken)
        if until is not None:
            await _woken_early(woken, timer, until)
            return
        try:
            await woken
        except asyncio.CancelledError:
            timer.cancel()
            raise


async def _woken_early(
    woken: asyncio.Future[None], timer: asyncio.TimerHandle, until: asyncio.Future[Any]
) -> None:
    """Return when `woken`, which `timer` does, or when `until` is done."""

    def wake(_: object) -> None:
        _wake(woken)

    until.add_done_callback(wake)
    try:
        await woken
    finally:
        until.remove_done_callback(wake)
        if timer._scheduled:  # type: ignore[attr-defined]
            timer.cancel()


def _wake(sleeper: asyncio.Future[None]) -> None:
    if not sleeper.done():
        sleeper.set_result(None)
