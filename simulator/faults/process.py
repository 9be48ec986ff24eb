"""A phone's process, which may die at any of its awaits.

Every task of one life carries the life's `Meter` in its context, children included, so each step
that any of them takes between two awaits can be counted, and the last one chosen. A dead process
runs nothing: what is left on its stacks is unwound against storage that refuses it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Generator
from contextlib import suppress
from contextvars import Context, ContextVar
from typing import Any, TypeVar

from device.sync.adoption import Examiner, Models
from simulator.faults.disk import Died, Handle

__all__ = ["METER", "Apart", "Meter", "apart", "install"]

_T = TypeVar("_T")

METER: ContextVar[Meter | None] = ContextVar("meter", default=None)
"""The life to which the running task belongs."""


class Meter:
    """Counts the steps of one life and ends it."""

    def __init__(self, handle: Handle) -> None:
        self.handle = handle
        self.steps = 0
        self.last: int | None = None
        """The step that is not taken any more; None for never."""
        self.killed = False
        """Whether it died at an await, not in a write."""
        self._tasks: list[asyncio.Task[Any]] = []

    @property
    def alive(self) -> bool:
        """Whether the process still runs."""
        return self.handle.alive

    def kill(self) -> None:
        """Nothing of this life runs any further."""
        self.handle.die()

    def step(self) -> bool:
        """Whether one more step may be taken."""
        self.steps += 1
        if self.last is not None and self.steps >= self.last and self.alive:
            self.killed = True
            self.kill()
        return self.alive

    def add(self, task: asyncio.Task[Any]) -> None:
        """A task of this life."""
        if len(self._tasks) > _MANY_TASKS:
            self._tasks = [one for one in self._tasks if not one.done()]
        self._tasks.append(task)

    async def bury(self) -> None:
        """Unwind what is left of every task, children before their parents."""
        self.kill()
        while left := [task for task in self._tasks if not task.done()]:
            left[-1].cancel()
            await asyncio.wait(left[-1:])
        for task in self._tasks:
            if not task.cancelled():
                task.exception()  # seen: a dead process reports nothing
        self._tasks.clear()


_MANY_TASKS = 256
"""Tasks remembered before those that have ended are dropped."""


class _Metered(Coroutine[Any, Any, Any]):
    """A coroutine whose every step is asked for."""

    def __init__(self, inner: Coroutine[Any, Any, Any], meter: Meter) -> None:
        self._inner, self._meter = inner, meter

    def send(self, value: Any) -> Any:
        if self._meter.step():
            return self._inner.send(value)
        return self._inner.throw(Died())

    def throw(
        self,
        kind: type[BaseException] | BaseException,
        *more: Any,
    ) -> Any:
        if self._meter.step():
            return self._inner.throw(kind, *more)
        return self._inner.throw(Died())

    def close(self) -> None:
        with suppress(Died):
            self._inner.close()

    def __await__(self) -> Generator[Any, Any, Any]:
        return (yield from self._inner.__await__())


async def apart(work: Coroutine[Any, Any, _T]) -> _T:
    """Await what is no part of the phone's process, such as the gateway's end of a session: no life
    counts its steps, and what it has begun does not die with the phone."""
    if METER.get() is None:
        return await work
    token = METER.set(None)
    try:
        task = asyncio.ensure_future(work)
    finally:
        METER.reset(token)
    return await task


class Apart:
    """An examiner whose steps are not the phone's: how many it takes depends on what other phones
    of the same host had examined before."""

    def __init__(self, examiner: Examiner) -> None:
        self._examiner = examiner

    async def passed(self, models: Models) -> frozenset[str]:
        """Ids of the memory probes passed with `models`."""
        return await apart(self._examiner.passed(models))


def install(loop: asyncio.AbstractEventLoop) -> None:
    """Have `loop` count the steps of tasks that belong to a life; other tasks are as ever."""
    if loop.get_task_factory() is None:
        loop.set_task_factory(_make)
        loop.set_exception_handler(_report)


def _report(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """As ever, but that a dead process has nothing to report."""
    if not isinstance(context.get("exception"), Died):
        loop.default_exception_handler(context)


def _make(
    loop: asyncio.AbstractEventLoop,
    coro: Coroutine[Any, Any, Any] | Generator[Any, None, Any],
    context: Context | None = None,
) -> asyncio.Task[Any]:
    meter = METER.get()
    if meter is None or not asyncio.iscoroutine(coro):
        return asyncio.Task(coro, loop=loop, context=context)
    task = asyncio.Task(_Metered(coro, meter), loop=loop, context=context)
    meter.add(task)
    return task
