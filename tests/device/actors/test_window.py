"""Law 2: only while all three hold, settled; unknown is no; work stops within 1 s.

Mutants seen failing here: unknown taken as yes; no settling; no watch while work runs; a reading
that never comes waited for; polls counted from the end of a slow reading.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from device.actors import Conditions, LoopClock, Outcome, Window, checkpoint
from device.conditions import Interval, ScriptedConditions
from simulator.virtual import VirtualLoop

EPOCH = 1_000_000.0
LAW = 1.0
"""Seconds within which work must have stopped."""


class Silent:
    """A source that cannot announce: reads a script, slowly if told so.

    It looks first and answers later, as a source does that reads one file and then asks a tool.
    """

    def __init__(self, script: ScriptedConditions, clock: LoopClock) -> None:
        self._script = script
        self._clock = clock
        self.reads = 0
        self.delay: Callable[[float], float] = lambda now: 0.0

    async def read(self) -> Conditions:
        self.reads += 1
        seen = self._script.at(self._clock.now())
        await self._clock.sleep(self.delay(self._clock.now() - EPOCH))
        return seen


def script(clock: LoopClock, *intervals: Interval) -> ScriptedConditions:
    moved = [
        one.model_copy(update={"start": EPOCH + one.start, "end": EPOCH + one.end})
        for one in intervals
    ]
    return ScriptedConditions(moved, clock.now)


Source = ScriptedConditions | Silent


def sources(clock: LoopClock, *intervals: Interval) -> list[Source]:
    return [script(clock, *intervals), Silent(script(clock, *intervals), clock)]


@pytest.mark.parametrize("which", [0, 1], ids=["announcing", "polled"])
@pytest.mark.parametrize("field", ["idle", "charging", "unmetered"])
@pytest.mark.parametrize("ends_with", [False, None])
def test_work_stops_within_a_second(
    loop: VirtualLoop, which: int, field: str, ends_with: bool | None
) -> None:
    clock = LoopClock(EPOCH)
    then = Interval(start=500.3, end=9e9).model_copy(update={field: ends_with})
    source = sources(clock, Interval(start=100.0, end=500.3), then)[which]
    window = Window(clock, source)
    stopped: list[float] = []

    async def work() -> None:
        try:
            while True:
                await clock.sleep(0.01)
                await checkpoint()
        finally:
            stopped.append(clock.now() - EPOCH)

    async def story() -> Outcome:
        shown = [window.is_open]
        await window.opened()
        shown.append(window.is_open)
        opened = clock.now() - EPOCH
        assert 160.0 <= opened <= 160.0 + 30.0 * which
        outcome = await window.run_while_open(work)
        shown.append(window.is_open)
        assert shown == [False, True, False]
        return outcome

    assert loop.run_until_complete(story()) == "interrupted"
    assert 500.3 <= stopped[0] <= 500.3 + LAW


@pytest.mark.parametrize("delay", [0.0, 0.2, 0.4, 0.44])
def test_a_slow_source_stops_work_within_a_second(loop: VirtualLoop, delay: float) -> None:
    """Wherever between two of its looks the condition ends."""
    clock = LoopClock(EPOCH)
    ends = [1000.0 * n + 500.0 + 0.037 * n for n in range(1, 40)]
    source = Silent(
        script(clock, *(Interval(start=end - 400.0, end=end) for end in ends)),
        clock,
    )
    source.delay = lambda now: delay
    window = Window(clock, source)

    async def story() -> None:
        for end in ends:
            await window.opened()
            assert await window.run_while_open(lambda: clock.sleep(1e9)) == "interrupted"
            assert end <= clock.now() - EPOCH <= end + LAW

    loop.run_until_complete(story())


@pytest.mark.parametrize("ends", [300.0, 9e9], ids=["condition ended", "conditions hold"])
def test_a_hanging_reading_counts_as_unknown(loop: VirtualLoop, ends: float) -> None:
    clock = LoopClock(EPOCH)
    source = Silent(script(clock, Interval(start=0.0, end=ends)), clock)
    source.delay = lambda now: 1e6 if now >= 300.0 else 0.0
    window = Window(clock, source)

    async def story() -> float:
        await window.opened()
        assert await window.run_while_open(lambda: clock.sleep(1e9)) == "interrupted"
        return clock.now() - EPOCH

    assert 300.0 <= loop.run_until_complete(story()) <= 300.0 + LAW


def test_finished_work_and_failed_work(loop: VirtualLoop) -> None:
    clock = LoopClock(EPOCH)
    window = Window(clock, script(clock, Interval(start=0.0, end=9e9)), settle=0.0)

    async def failing() -> None:
        await checkpoint()
        raise LookupError

    async def story() -> None:
        await window.opened()
        assert await window.run_while_open(lambda: clock.sleep(5.0)) == "finished"
        with pytest.raises(LookupError):
            await window.run_while_open(failing)

    loop.run_until_complete(story())


def test_a_closed_window_starts_nothing(loop: VirtualLoop) -> None:
    clock = LoopClock(EPOCH)
    window = Window(clock, script(clock))
    begun: list[int] = []

    async def work() -> None:
        begun.append(1)

    assert loop.run_until_complete(window.run_while_open(work)) == "interrupted"
    assert not begun


def test_cancelling_the_runner_ends_the_work(loop: VirtualLoop) -> None:
    clock = LoopClock(EPOCH)
    window = Window(clock, script(clock, Interval(start=0.0, end=9e9)), settle=0.0)
    ended: list[str] = []

    async def work() -> None:
        try:
            await clock.sleep(1e9)
        finally:
            ended.append("work")

    async def story() -> None:
        await window.opened()
        runner = asyncio.ensure_future(window.run_while_open(work))
        await clock.sleep(1.0)
        runner.cancel()
        with pytest.raises(asyncio.CancelledError):
            await runner
        assert ended == ["work"]
        assert len(asyncio.all_tasks()) == 1

    loop.run_until_complete(story())


def test_settling_starts_again_after_a_gap(loop: VirtualLoop) -> None:
    clock = LoopClock(EPOCH)
    source = script(
        clock,
        Interval(start=0.0, end=59.0),
        Interval(start=59.5, end=100.0),
        Interval(start=200.0, end=400.0),
    )

    async def story() -> float:
        await Window(clock, source).opened()
        return clock.now() - EPOCH

    assert loop.run_until_complete(story()) == pytest.approx(260.0)


def test_conditions_nobody_watched_settle_anew(loop: VirtualLoop) -> None:
    clock = LoopClock(EPOCH)
    source = Silent(
        script(clock, Interval(start=0.0, end=1000.0), Interval(start=1001.0, end=9e9)), clock
    )
    window = Window(clock, source)

    async def story() -> float:
        await window.opened()
        await clock.sleep(2000.0 - (clock.now() - EPOCH))
        assert not window.is_open
        await window.opened()
        return clock.now() - EPOCH

    assert loop.run_until_complete(story()) >= 2060.0


def test_a_low_battery_keeps_it_closed(loop: VirtualLoop) -> None:
    clock = LoopClock(EPOCH)
    source = script(
        clock,
        Interval(start=0.0, end=500.0, battery=0.29),
        Interval(start=500.0, end=900.0, battery=0.3),
    )

    async def story() -> float:
        await Window(clock, source).opened()
        return clock.now() - EPOCH

    assert loop.run_until_complete(story()) == pytest.approx(560.0)


@pytest.mark.parametrize("which", [0, 1], ids=["announcing", "polled"])
def test_a_battery_that_falls_under_the_floor_stops_work(loop: VirtualLoop, which: int) -> None:
    clock = LoopClock(EPOCH)
    source = sources(
        clock,
        Interval(start=0.0, end=500.0, battery=0.31),
        Interval(start=500.0, end=9e9, battery=0.29),
    )[which]
    window = Window(clock, source)

    async def story() -> float:
        await window.opened()
        assert await window.run_while_open(lambda: clock.sleep(1e9)) == "interrupted"
        return clock.now() - EPOCH

    assert 500.0 <= loop.run_until_complete(story()) <= 500.0 + LAW


def test_a_source_that_announces_is_read_once_at_a_moment(loop: VirtualLoop) -> None:
    clock = LoopClock(EPOCH)
    source = script(clock, Interval(start=0.0, end=1000.0))
    read: list[float] = []

    class Counted(ScriptedConditions):
        async def read(self) -> Conditions:
            read.append(clock.now() - EPOCH)
            return source.at(clock.now())

        def next_change(self, now: float) -> float | None:
            return source.next_change(now)

    window = Window(clock, Counted((), clock.now))

    async def story() -> None:
        await window.opened()
        assert await window.run_while_open(lambda: clock.sleep(1e9)) == "interrupted"
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1.0):
                await window.opened()

    loop.run_until_complete(story())
    assert read == [0.0, 60.0, 1000.0]


def test_a_sleeping_phone_costs_no_wake_up(loop: VirtualLoop) -> None:
    clock = LoopClock(EPOCH)
    window = Window(clock, script(clock, Interval(start=10 * 86_400.0, end=11 * 86_400.0)))

    async def story() -> None:
        await window.opened()
        assert await window.run_while_open(lambda: clock.sleep(1e9)) == "interrupted"

    loop.run_until_complete(story())
    assert loop.leaps <= 4


def test_a_script_that_ended_is_no_deadlock(loop: VirtualLoop) -> None:
    clock = LoopClock(EPOCH)
    waiting = loop.create_task(Window(clock, script(clock)).opened())
    loop.run_until(86_400.0)
    assert not waiting.done()
    waiting.cancel()
    loop.run_until(86_401.0)


SETTLE, POLL = 20.0, 5.0
Part = tuple[float, bool | None, bool | None, bool | None]
"""Length in seconds; idle, charging, unmetered."""
TRI = st.sampled_from([True, True, True, False, None])


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.floats(0.5, 300.0), TRI, TRI, TRI), min_size=1, max_size=12),
    st.booleans(),
)
def test_work_runs_in_settled_windows_and_only_there(parts: list[Part], polled: bool) -> None:
    # A stretch of exactly the settling time may or may not open: floats decide.
    assume(all(abs(end - start - SETTLE) > 1e-6 for start, end in held(parts)))
    loop = VirtualLoop()
    clock = LoopClock(EPOCH)
    intervals, at = [], 0.0
    for length, idle, charging, unmetered in parts:
        intervals.append(
            Interval(start=at, end=at + length, idle=idle, charging=charging, unmetered=unmetered)
        )
        at += length
    source = sources(clock, *intervals)[polled]
    truth = script(clock, *intervals)
    window = Window(clock, source, settle=SETTLE, poll=POLL)
    ticks: list[float] = []
    begun: list[float] = []

    async def work() -> None:
        begun.append(clock.now())
        while True:
            ticks.append(clock.now())
            await clock.sleep(0.25)

    async def run_for_ever() -> None:
        while True:
            await window.opened()
            await window.run_while_open(work)

    task = loop.create_task(run_for_ever())
    loop.run_until(at + 100.0)
    task.cancel()
    loop.run_until(at + 101.0)
    loop.close()
    for tick in ticks:
        assert truth.at(tick).all_hold or truth.at(tick - LAW).all_hold
    if polled:
        # A poll may miss a gap shorter than itself, but sees any stretch that outlasts both.
        for start, end in held(parts):
            if end - start > SETTLE + 2 * POLL:
                assert any(start <= one < end for one in begun)
    else:
        opened = [start + SETTLE for start, end in held(parts) if start + SETTLE < end]
        assert begun == pytest.approx(opened, abs=1e-6)


def held(parts: list[Part]) -> list[tuple[float, float]]:
    """The longest stretches of unix time over which all three hold."""
    stretches: list[tuple[float, float]] = []
    at = EPOCH
    for length, *conditions in parts:
        if all(one is True for one in conditions):
            joins = bool(stretches) and stretches[-1][1] == at
            start = stretches.pop()[0] if joins else at
            stretches.append((start, at + length))
        at += length
    return stretches
