"""Group commit: many small requests become one call to an actor, one transaction, one fsync.

A call costs a change of threads and a transaction however little it asks, so what comes while one
is under way waits for it and travels together: the busier the gateway, the larger its batches.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, Generic, TypeVar
from zlib import crc32

from cloud.actors.runtime import Ref
from cloud.telemetry import span

__all__ = ["Batcher", "Sharded", "Sleep"]

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")
Sleep = Callable[[float], Awaitable[None]]

BATCH_ITEMS: Final = 256
BATCH_SECONDS: Final = 0.003


class Batcher(Generic[Item, Outcome]):
    """Collects items for `actor.method(list) -> list`.

    A batch leaves once its first item has waited 3 ms and the batch before is answered, or as soon
    as it is full (256).

    Args:
        actor: answers one outcome per item, in order.
        method: its method's name.
        sleep: how to wait; under a virtual clock the wait is virtual too.
        on_batch: told the size of every batch.
    """

    # A world of many phones has eight of these for each.
    __slots__ = (
        "_actor",
        "_due",
        "_flights",
        "_futures",
        "_items",
        "_method",
        "_on_batch",
        "_sleep",
        "_timer",
    )

    def __init__(
        self,
        actor: Ref,
        method: str,
        sleep: Sleep = asyncio.sleep,
        on_batch: Callable[[int], None] | None = None,
    ) -> None:
        self._actor, self._method, self._sleep, self._on_batch = actor, method, sleep, on_batch
        self._items: list[Item] = []
        self._futures: list[asyncio.Future[Outcome]] = []
        self._timer: asyncio.Task[None] | None = None
        self._due = False
        """Those that wait have waited long enough, and do so for a batch under way."""
        self._flights: list[asyncio.Task[None]] = []

    def submit(self, item: Item) -> asyncio.Future[Outcome]:
        """The outcome for `item`, after its batch is done, or what the actor raised."""
        future: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self._items.append(item)
        self._futures.append(future)
        if len(self._items) >= BATCH_ITEMS:
            self._launch()
        elif self._timer is None and not self._due:
            self._timer = asyncio.ensure_future(self._later())
        return future

    async def close(self) -> None:
        """Send what waits and see it done."""
        self._launch()
        while self._flights:
            await asyncio.gather(*self._flights)

    async def _later(self) -> None:
        await self._sleep(BATCH_SECONDS)
        self._timer = None  # before the launch, which would cancel this very task
        if self._flights:
            self._due = True
        else:
            self._launch()

    def _launch(self) -> None:
        timer, self._timer, self._due = self._timer, None, False
        if timer is not None:
            timer.cancel()
        items, self._items = self._items, []
        futures, self._futures = self._futures, []
        if items:
            flight = asyncio.ensure_future(self._run(items, futures))
            self._flights.append(flight)
            flight.add_done_callback(self._landed)

    def _landed(self, flight: asyncio.Task[None]) -> None:
        self._flights.remove(flight)
        if self._due and not self._flights:
            self._launch()

    async def _run(self, items: list[Item], futures: list[asyncio.Future[Outcome]]) -> None:
        if self._on_batch is not None:
            self._on_batch(len(items))
        try:
            with span("batch", root=True, method=self._method, items=len(items)):
                outcomes: list[Any] = await self._actor.ask(self._method, items)
        except Exception as error:
            for future in futures:
                if not future.done():
                    future.set_exception(error)
                    future.exception()  # known: its asker may have left meanwhile
            return
        for future, outcome in zip(futures, outcomes, strict=True):
            if not future.done():
                future.set_result(outcome)


class Sharded(Generic[Item, Outcome]):
    """A batcher for each of several actors; everything of one device goes to the same.

    Args:
        actors: the shards, at least one. Another number moves devices to other shards, which is
            harmless: what the shards know is in the database.
        device_of: the device an item is of.
    """

    def __init__(
        self,
        actors: Sequence[Ref],
        method: str,
        device_of: Callable[[Item], str],
        sleep: Sleep = asyncio.sleep,
        on_batch: Callable[[int], None] | None = None,
    ) -> None:
        self._device_of = device_of
        self._shards: list[Batcher[Item, Outcome]] = [
            Batcher(actor, method, sleep, on_batch) for actor in actors
        ]

    def submit(self, item: Item) -> asyncio.Future[Outcome]:
        """See `Batcher.submit`."""
        shards = self._shards
        if len(shards) == 1:
            return shards[0].submit(item)
        return shards[crc32(self._device_of(item).encode()) % len(shards)].submit(item)

    async def close(self) -> None:
        """Send what waits and see it done."""
        for shard in self._shards:
            await shard.close()
