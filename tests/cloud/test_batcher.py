"""Group commit: few calls, right outcomes, nobody answered early, nobody forgotten."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from cloud.gateway.batcher import BATCH_ITEMS, BATCH_SECONDS, Batcher


class Doubler:
    """An actor handle that doubles; it can be told to fail, or to wait."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.called, self.gate = asyncio.Event(), asyncio.Event()
        self.gate.set()

    async def ask(self, method: str, *args: Any) -> Any:
        assert method == "double"
        (items,) = args
        self.batches.append(items)
        self.called.set()
        await self.gate.wait()
        if 13 in items:
            raise ConnectionError
        return [2 * item for item in items]

    def tell(self, method: str, *args: Any) -> None:
        raise NotImplementedError


class Waits:
    """A virtual wait: it ends when the test says so, and remembers how long it was."""

    def __init__(self) -> None:
        self.asked: list[float] = []
        self.over = asyncio.Event()

    async def __call__(self, seconds: float) -> None:
        self.asked.append(seconds)
        await self.over.wait()


async def test_items_that_come_together_travel_together() -> None:
    actor, waits = Doubler(), Waits()
    batcher: Batcher[int, int] = Batcher(actor, "double", waits)
    asked = [asyncio.ensure_future(batcher.submit(item)) for item in range(5)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert (actor.batches, waits.asked) == ([], [BATCH_SECONDS])
    waits.over.set()
    assert await asyncio.gather(*asked) == [0, 2, 4, 6, 8]
    assert actor.batches == [[0, 1, 2, 3, 4]]


async def test_a_full_batch_does_not_wait() -> None:
    actor, waits = Doubler(), Waits()
    batcher: Batcher[int, int] = Batcher(actor, "double", waits)
    items = [20 + item for item in range(BATCH_ITEMS)]
    assert await asyncio.gather(*map(batcher.submit, items)) == [2 * item for item in items]
    assert actor.batches == [items]


async def test_no_answer_before_the_commit() -> None:
    actor = Doubler()
    actor.gate.clear()
    batcher: Batcher[int, int] = Batcher(actor, "double")
    asked = asyncio.ensure_future(batcher.submit(1))
    await actor.called.wait()
    assert not asked.done()
    actor.gate.set()
    assert await asked == 2


async def test_a_failed_batch_fails_its_own_items_only() -> None:
    actor = Doubler()
    batcher: Batcher[int, int] = Batcher(actor, "double")
    with pytest.raises(ConnectionError):
        await batcher.submit(13)
    assert await batcher.submit(2) == 4


async def test_an_item_whose_asker_left_is_still_sent() -> None:
    actor, waits = Doubler(), Waits()
    batcher: Batcher[int, int] = Batcher(actor, "double", waits)
    left = asyncio.ensure_future(batcher.submit(1))
    stayed = asyncio.ensure_future(batcher.submit(2))
    await asyncio.sleep(0)
    left.cancel()
    waits.over.set()
    assert await stayed == 4
    assert actor.batches == [[1, 2]]


async def test_close_sends_what_waits() -> None:
    actor, waits = Doubler(), Waits()
    batcher: Batcher[int, int] = Batcher(actor, "double", waits)
    asked = asyncio.ensure_future(batcher.submit(1))
    await asyncio.sleep(0)
    await batcher.close()
    assert await asked == 2
