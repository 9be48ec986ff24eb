"""Waiting for a task to end, whatever it ends with.

As `asyncio.wait` does, without what that does for arguments that are no tasks: a phone whose window
opens and closes all night waits for little else.
"""

from __future__ import annotations

import asyncio
from typing import Any

__all__ = ["ended"]


async def ended(task: asyncio.Task[Any]) -> None:
    """Return once it has ended; cancelling this leaves it alone."""
    waiter = asyncio.get_running_loop().create_future()

    def wake(_: object) -> None:
        if not waiter.done():
            waiter.set_result(None)

    task.add_done_callback(wake)
    try:
        await waiter
    finally:
        task.remove_done_callback(wake)
