"""Group commit: few calls, right outcomes, nobody answered early, nobody forgotten."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from cloud.gateway.batcher import BATCH_ITEMS, BATCH_SECONDS, Batcher, Sharded


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
    asked = [batcher.submit(item) for item in range(5)]
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
    asked = batcher.submit(1)
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
    left = batcher.submit(1)
    stayed = batcher.submit(2)
    await asyncio.sleep(0)
    left.cancel()
    waits.over.set()
    assert await stayed == 4
    assert actor.batches == [[1, 2]]


async def test_close_sends_what_waits() -> None:
    actor, waits = Doubler(), Waits()
    batcher: Batcher[int, int] = Batcher(actor, "double", waits)
    asked = batcher.submit(1)
    await asyncio.sleep(0)
    await batcher.close()
    assert await asked == 2


async def test_what_comes_while_a_batch_is_under_way_fills_the_next() -> None:
    """The busier the actor, the larger the batches: one call under way is enough."""
    actor, waits = Doubler(), Waits()
    actor.gate.clear()
    waits.over.set()
    batcher: Batcher[int, int] = Batcher(actor, "double", waits)
    first = batcher.submit(1)
    await actor.called.wait()
    others = [batcher.submit(2)]
    for _ in range(9):
        await asyncio.sleep(0)
    assert len(waits.asked) == 2, "the second has waited its time"
    others.append(batcher.submit(3))
    assert actor.batches == [[1]]
    actor.gate.set()
    assert await asyncio.gather(first, *others) == [2, 4, 6]
    assert actor.batches == [[1], [2, 3]]


async def test_a_full_batch_does_not_wait_for_the_one_before() -> None:
    actor = Doubler()
    actor.gate.clear()
    batcher: Batcher[int, int] = Batcher(actor, "double")
    first = batcher.submit(1)
    await actor.called.wait()
    rest = [batcher.submit(item) for item in range(20, 20 + BATCH_ITEMS)]
    await asyncio.sleep(0)
    assert [len(batch) for batch in actor.batches] == [1, BATCH_ITEMS]
    actor.gate.set()
    assert await asyncio.gather(first, *rest) == [2, *(2 * item for item in range(20, 276))]


async def test_everything_of_a_device_goes_to_its_shard() -> None:
    actors = [Doubler(), Doubler(), Doubler()]
    sharded: Sharded[int, int] = Sharded(actors, "double", lambda item: f"phone-{item // 10}")
    items = list(range(100, 400))
    asked = [sharded.submit(item) for item in items]
    await sharded.close()
    assert [done.result() for done in asked] == [2 * item for item in items]
    shard_of: dict[int, int] = {}
    for shard, actor in enumerate(actors):
        assert actor.batches, "a shard that is never asked"
        for item in (item for batch in actor.batches for item in batch):
            assert shard_of.setdefault(item // 10, shard) == shard
