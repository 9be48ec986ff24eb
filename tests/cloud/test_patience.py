"""One timer a session: it interrupts what takes too long, and nothing else."""

from __future__ import annotations

import asyncio

import pytest

from cloud.gateway.patience import Patience

LONG = 3600.0


async def never() -> None:
    await asyncio.Event().wait()


async def interrupted(patience: Patience) -> bool:
    """Whether an endless wait was ended by `patience`."""
    try:
        await never()
    except asyncio.CancelledError:
        return patience.spent()
    return False


async def test_a_wait_ends_at_its_deadline_and_the_task_goes_on() -> None:
    async def session() -> int:
        patience, ended = Patience(), 0
        for _ in range(3):
            patience.within(0.0)
            ended += await interrupted(patience)
        patience.stop()
        return ended

    task = asyncio.create_task(session())
    assert await task == 3
    assert task.cancelling() == 0


async def test_an_early_timer_sleeps_on_until_the_deadline_that_was_moved() -> None:
    loop = asyncio.get_running_loop()
    patience = Patience()
    patience.within(0.0)
    patience.within(0.02)
    moved = loop.time() + 0.02
    assert await interrupted(patience)
    assert loop.time() >= moved
    patience.stop()


async def test_a_nearer_deadline_is_kept_though_a_later_one_was_set_before() -> None:
    patience = Patience()
    patience.within(LONG)
    patience.within(0.0)
    assert await interrupted(patience)
    patience.within(LONG, latest=asyncio.get_running_loop().time())
    assert await interrupted(patience)
    patience.stop()


async def test_a_cancellation_by_somebody_else_is_not_its_own() -> None:
    seen: list[bool] = []

    async def session() -> None:
        patience = Patience()
        patience.within(LONG)
        try:
            await never()
        except asyncio.CancelledError:
            seen.append(patience.spent())
            raise
        finally:
            patience.stop()

    task = asyncio.create_task(session())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert seen == [False]


async def test_stopped_it_interrupts_nothing() -> None:
    patience = Patience()
    patience.within(0.0)
    patience.stop()
    for _ in range(9):
        await asyncio.sleep(0)
