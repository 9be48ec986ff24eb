"""Waiting for tasks to end, whatever they end with.

As `asyncio.wait` and `asyncio.gather` do, without what those do for arguments that are no tasks:
a phone that rests and wakes all night waits for little else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

__all__ = ["all_ended", "begun", "one_ended"]

Work = asyncio.Task[Any]


def begun(work: Coroutine[Any, Any, object]) -> Work:
    """A task for `work` on the running loop."""
    return asyncio.get_running_loop().create_task(work)


async def one_ended(*tasks: Work) -> None:
    """Return as soon as one of them has ended; cancelling this leaves them alone."""
    await _ended(1, tasks)


async def all_ended(*tasks: Work) -> None:
    """Return once every one of them has ended."""
    await _ended(len(tasks), tasks)


async def _ended(many: int, tasks: tuple[Work, ...]) -> None:
    waiter = asyncio.get_running_loop().create_future()
    left = many

    def one(_: Work) -> None:
        nonlocal left
        left -= 1
        if left == 0 and not waiter.done():
            waiter.set_result(None)

    for task in tasks:
        task.add_done_callback(one)
    try:
        await waiter
    finally:
        for task in tasks:
            task.remove_done_callback(one)
