"""The loop's own turn against asyncio's, and senses that wake a phone only when it matters."""

import asyncio
import heapq
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from device.actors.window import Window
from simulator.availability import Track, draw_availability
from simulator.randomness import generator
from simulator.virtual import VirtualClock, VirtualLoop
from simulator.virtual_phone import TrackConditions, WindowConditions

START, DAY = 1_772_409_600.0, 86_400.0


class _Timer(asyncio.TimerHandle):
    order = 0

    def __lt__(self, other: object) -> bool:
        assert isinstance(other, _Timer)
        return (self.when(), self.order) < (other.when(), other.order)


class _Plain(asyncio.SelectorEventLoop):
    """asyncio's own turn under a clock that jumps: what `VirtualLoop` must behave like."""

    def __init__(self) -> None:
        super().__init__()
        self.now, self.orders = 0.0, 0
        self._clock_resolution = 1e-12

    def time(self) -> float:
        return self.now

    def call_at(  # type: ignore[override]
        self, when: float, callback: Any, *args: Any, context: Any = None
    ) -> asyncio.TimerHandle:
        timer = _Timer(when, callback, args, self, context)
        timer.order, self.orders = self.orders, self.orders + 1
        heapq.heappush(self._scheduled, timer)  # type: ignore[attr-defined]
        timer._scheduled = True  # type: ignore[attr-defined]
        return timer

    def call_later(  # type: ignore[override]
        self, delay: float, callback: Any, *args: Any, context: Any = None
    ) -> asyncio.TimerHandle:
        return self.call_at(self.now + delay, callback, *args, context=context)

    def _run_once(self) -> None:
        waiting = [t for t in self._scheduled if not t.cancelled()]  # type: ignore[attr-defined]
        if not self._ready and waiting:  # type: ignore[attr-defined]
            self.now = max(self.now, min(waiting).when())
        super()._run_once()  # type: ignore[misc]


_deeds = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3), st.booleans()), max_size=40)


@given(_deeds)
def test_a_turn_runs_what_asyncio_would_run_in_the_same_order(
    deeds: list[tuple[int, int, bool]],
) -> None:
    def told_by(loop: asyncio.AbstractEventLoop) -> list[tuple[int, float]]:
        told: list[tuple[int, float]] = []

        async def one(number: int, delay: int, hops: int) -> None:
            await asyncio.sleep(delay / 2)
            for _ in range(hops):
                told.append((number, loop.time()))
                await asyncio.sleep(0)
            told.append((number, loop.time()))

        async def all_of_them() -> None:
            tasks = []
            for number, (delay, hops, cancelled) in enumerate(deeds):
                tasks.append(asyncio.create_task(one(number, delay, hops)))
                if cancelled and number:
                    loop.call_later(delay / 2, tasks[number - 1].cancel)
            await asyncio.gather(*tasks, return_exceptions=True)

        try:
            loop.run_until_complete(all_of_them())
        finally:
            loop.close()
        return told

    assert told_by(VirtualLoop()) == told_by(_Plain())


def test_cancelled_timers_leave_the_others_in_their_order() -> None:
    loop = VirtualLoop()
    told: list[int] = []
    timers = [loop.call_at(float(n // 3), told.append, n) for n in range(900)]
    for number, timer in enumerate(timers):
        if number % 7:
            timer.cancel()
            timer.cancel()
    loop.run_until(1_000.0)
    assert told == list(range(0, 900, 7))
    loop.close()


@pytest.fixture(params=range(3))
def phone(request: pytest.FixtureRequest) -> int:
    return int(request.param)


def test_a_phone_woken_less_sees_the_very_same_windows(phone: int) -> None:
    truth = draw_availability(generator(5, "few", phone), start=START, days=3, utc_offset=0.0)

    def windows(kind: type[TrackConditions]) -> tuple[list[tuple[float, str]], int]:
        loop = VirtualLoop()
        clock = VirtualClock(loop, START)
        window = Window(clock, kind(truth, clock, START))
        seen: list[tuple[float, str]] = []

        async def follow() -> None:
            while True:
                await window.opened()
                seen.append((clock.now(), "opened"))
                await window.run_while_open(asyncio.Event().wait)
                seen.append((clock.now(), "closed"))

        task = loop.create_task(follow())
        loop.run_until(3 * DAY)
        task.cancel()
        loop.run_until(3 * DAY)
        leaps = loop.leaps
        loop.close()
        return seen, leaps

    often, many = windows(TrackConditions)
    seldom, few = windows(WindowConditions)
    assert often == seldom
    assert len(often) > 4
    assert few < many / 2


_spans = st.lists(st.integers(0, 300), unique=True, max_size=20).map(
    lambda edges: tuple(
        (float(a), float(b)) for a, b in zip(sorted(edges)[::2], sorted(edges)[1::2], strict=False)
    )
)


@given(_spans, st.integers(-2, 302))
def test_edges_say_what_the_spans_say(spans: tuple[tuple[float, float], ...], at: int) -> None:
    track, inside = Track(spans), [s for s in spans if s[0] <= at < s[1]]
    assert track.holds(at) == bool(inside)
    assert track.span_at(at) == (inside[0] if inside else None)
    later = [edge for span in spans for edge in span if edge > at]
    assert track.next_change(at) == (min(later) if later else float("inf"))
