import asyncio
from collections.abc import Callable, Coroutine, Iterator, Sequence
from functools import partial
from typing import Any

import pytest

from simulator.lanes import Lane, LaneLoop
from simulator.virtual import Deadlock

Said = tuple[str, float]


@pytest.fixture
def loop() -> Iterator[LaneLoop]:
    lanes = LaneLoop()
    yield lanes
    lanes.close()


def _lane(loop: LaneLoop, live: Callable[[], Coroutine[Any, Any, None]], name: str = "") -> Lane:
    return Lane(0.0, lambda: loop.create_task(live(), name=name))


def _beats(loop: LaneLoop, said: list[Said], name: str, step: float) -> Lane:
    async def live() -> None:
        while True:
            await asyncio.sleep(step)
            said.append((name, loop.time()))

    return _lane(loop, live)


def test_each_lane_runs_alone_to_the_border(loop: LaneLoop) -> None:
    said: list[Said] = []
    lanes = [_beats(loop, said, "a", 2.0), _beats(loop, said, "b", 3.0)]
    loop.run_lanes(lanes, 6.0)
    assert said == [("a", 2.0), ("a", 4.0), ("a", 6.0), ("b", 3.0), ("b", 6.0)]
    assert loop.time() == 6.0
    loop.run_lanes(lanes, 9.0)
    assert said[5:] == [("a", 8.0), ("b", 9.0)]
    _end(loop, lanes)


def test_in_order_every_lane_sees_the_same_but_all_by_time(loop: LaneLoop) -> None:
    said: list[Said] = []
    lanes = [_beats(loop, said, "a", 2.0), _beats(loop, said, "b", 3.0)]
    loop.run_in_order(lanes, 6.0, lambda: False)
    assert said == [("a", 2.0), ("b", 3.0), ("a", 4.0), ("a", 6.0), ("b", 6.0)]
    assert loop.time() == 6.0
    _end(loop, lanes)


def test_who_watches_may_stop_at_any_instant(loop: LaneLoop) -> None:
    said: list[Said] = []
    lanes = [_beats(loop, said, "a", 2.0), _beats(loop, said, "b", 3.0)]
    loop.run_in_order(lanes, 60.0, lambda: len(said) == 3)
    assert said == [("a", 2.0), ("b", 3.0), ("a", 4.0)]
    _end(loop, lanes)


def test_questions_of_many_lanes_go_out_together_and_time_stands_still(loop: LaneLoop) -> None:
    brought: list[list[str]] = []
    heard: list[Said] = []

    def bring(questions: Sequence[str]) -> list[tuple[Any, BaseException | None]]:
        brought.append(list(questions))
        return [(question.upper(), None) for question in questions]

    async def live(name: str, at: float) -> None:
        await asyncio.sleep(at)
        beside = asyncio.ensure_future(asyncio.sleep(0.5))
        first = await loop.ask_outside(name), loop.time()
        heard.extend((first, (await loop.ask_outside(name), loop.time())))
        assert not beside.done()
        await beside

    loop.bring = bring
    lanes = [_lane(loop, partial(live, name, at)) for name, at in (("a", 1.0), ("b", 7.0))]
    loop.run_lanes(lanes, 10.0)
    assert brought == [["a", "b"], ["a", "b"]]
    assert heard == [("A", 1.0), ("A", 1.0), ("B", 7.0), ("B", 7.0)]
    assert all(lane.task is not None and lane.task.done() for lane in lanes)


def test_a_lane_runs_ahead_of_the_border_but_where_it_is_bound(loop: LaneLoop) -> None:
    said: list[Said] = []

    async def live() -> None:
        await asyncio.sleep(3.0)
        with loop.bound():
            for _ in range(3):
                await asyncio.sleep(1.0)
                said.append(("bound", loop.time()))
        await asyncio.sleep(1.0)
        said.append(("free", loop.time()))

    lanes = [_lane(loop, live), _beats(loop, said, "a", 5.0)]
    loop.run_lanes(lanes, 2.0, 20.0)
    assert said == [("a", 5.0), ("a", 10.0), ("a", 15.0), ("a", 20.0)]
    assert (lanes[0].now, lanes[1].now, loop.time()) == (3.0, 20.0, 2.0)
    loop.run_lanes(lanes, 5.0, 20.0)
    assert said[4:] == [("bound", 4.0), ("bound", 5.0)]
    loop.run_lanes(lanes, 6.0, 20.0)
    assert said[6:] == [("bound", 6.0), ("free", 7.0)]
    _end(loop, lanes)


def test_a_question_asked_ahead_goes_out_once_the_border_is_there(loop: LaneLoop) -> None:
    brought: list[list[str]] = []

    def bring(questions: Sequence[str]) -> list[tuple[Any, BaseException | None]]:
        brought.append(list(questions))
        return [(None, None) for _ in questions]

    async def live(name: str, at: float) -> None:
        await asyncio.sleep(at)
        await loop.ask_outside(name)
        assert loop.time() == at

    async def refresh() -> None:
        await loop.ask_outside("common")

    loop.bring = bring
    lanes = [_lane(loop, partial(live, name, at)) for name, at in (("a", 1.0), ("b", 7.0))]
    loop.run_lanes(lanes, 5.0, 10.0)
    loop.run_until_complete(refresh())
    assert brought == [["a"], ["common"]]
    loop.run_lanes(lanes, 6.0, 10.0)
    assert len(brought) == 2
    loop.run_lanes(lanes, 7.0, 10.0)
    assert brought[2:] == [["b"]]
    assert all(lane.task is not None and lane.task.done() for lane in lanes)


def test_so_many_lanes_take_turns_that_they_stay_in_the_caches(
    loop: LaneLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("simulator.lanes._TOGETHER", 2)
    brought: list[list[int]] = []

    def bring(questions: Sequence[int]) -> list[tuple[Any, BaseException | None]]:
        brought.append(list(questions))
        return [(None, None) for _ in questions]

    async def live(number: int) -> None:
        for _ in range(2):
            await loop.ask_outside(number)

    loop.bring = bring
    lanes = [_lane(loop, partial(live, number)) for number in range(5)]
    loop.run_lanes(lanes, 1.0)
    assert brought == [[0, 1], [0, 1], [2, 3], [2, 3], [4], [4]]


def test_an_error_reaches_the_one_who_asked(loop: LaneLoop) -> None:
    async def live() -> None:
        with pytest.raises(LookupError, match="nobody"):
            await loop.ask_outside("who")

    loop.bring = lambda questions: [(None, LookupError("nobody")) for _ in questions]
    lane = _lane(loop, live)
    loop.run_lanes([lane], 1.0)
    assert lane.task is not None
    lane.task.result()


def test_what_is_in_no_lane_may_ask_too(loop: LaneLoop) -> None:
    loop.bring = lambda questions: [(7, None) for _ in questions]

    async def ask() -> object:
        return await loop.ask_outside("how many")

    assert loop.run_until_complete(ask()) == 7


def test_a_lane_that_waits_for_nothing_is_a_deadlock(loop: LaneLoop) -> None:
    async def stuck() -> None:
        await loop.create_future()

    lanes = [_beats(loop, [], "a", 1.0), _lane(loop, stuck, "phone-7")]
    with pytest.raises(Deadlock, match="phone-7"):
        loop.run_lanes(lanes, 5.0)
    _end(loop, lanes)


def test_a_lane_whose_task_has_ended_is_no_deadlock(loop: LaneLoop) -> None:
    async def short() -> None:
        await asyncio.sleep(1.0)

    lanes = [_lane(loop, short), _beats(loop, [], "a", 1.0)]
    loop.run_lanes(lanes, 5.0)
    loop.run_lanes(lanes, 9.0)
    assert loop.time() == 9.0
    _end(loop, lanes)


def _end(loop: LaneLoop, lanes: Sequence[Lane]) -> None:
    tasks = [lane.task for lane in lanes if lane.task is not None]
    for task in tasks:
        task.cancel()

    async def over() -> None:
        await asyncio.gather(*tasks, return_exceptions=True)

    loop.run_until_complete(over())
