"""A phone that rests wakes at whole intervals, and only where there may be a reason."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from typing import Any

import pytest

from device.actors.rest import LONGEST_REST, Rest
from simulator.virtual import VirtualClock, VirtualLoop

INTERVAL = 300.0


def never(_now: float) -> bool:
    return False


def from_(moment: float) -> Callable[[float], bool]:
    return lambda now: now >= moment


def ends(due: Callable[[float], bool], *stirs: float) -> tuple[float, int]:
    """When a rest from 0 on ends, and how often time had to move."""
    loop = VirtualLoop()
    clock = VirtualClock(loop, 0.0)

    async def rest() -> float:
        resting = Rest(clock, INTERVAL)
        for moment in stirs:
            if moment <= 0.0:
                resting.stir()
            else:
                loop.call_at(moment, resting.stir)
        await resting.until(due)
        return clock.now()

    try:
        return loop.run_until_complete(rest()), loop.leaps
    finally:
        loop.close()


@pytest.mark.parametrize(
    ("moment", "end"), [(-math.inf, 300.0), (299.0, 300.0), (300.0, 300.0), (301.0, 600.0)]
)
def test_it_ends_at_the_first_look_that_is_due(moment: float, end: float) -> None:
    assert ends(from_(moment)) == (end, 1)


@pytest.mark.parametrize(("stir", "end"), [(0.0, 300.0), (1.0, 300.0), (601.0, 900.0)])
def test_a_stir_brings_the_next_look_and_none_before(stir: float, end: float) -> None:
    assert ends(never, stir)[0] == pytest.approx(end)


def test_with_nothing_to_do_it_looks_up_once_an_hour() -> None:
    assert ends(never) == (LONGEST_REST, 1)


async def test_a_rest_that_is_cancelled_leaves_nothing_behind() -> None:
    loop = asyncio.get_running_loop()

    class Idle:
        def now(self) -> float:
            return 0.0

        async def sleep(self, seconds: float, until: asyncio.Future[Any] | None = None) -> None:
            assert until is not None
            await until

    before = asyncio.all_tasks(loop)
    task = loop.create_task(Rest(Idle(), INTERVAL).until(never))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert asyncio.all_tasks(loop) == before
