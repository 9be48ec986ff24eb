import asyncio
import socket
from collections.abc import Iterator

import pytest

from simulator.virtual import Deadlock, VirtualClock, VirtualLoop


@pytest.fixture
def loop() -> Iterator[VirtualLoop]:
    virtual = VirtualLoop()
    yield virtual
    virtual.close()


def test_a_year_passes_at_once(loop: VirtualLoop) -> None:
    clock = VirtualClock(loop, epoch=1000.0)

    async def sleeper() -> float:
        await clock.sleep(365 * 86400.0)
        return clock.now()

    assert loop.run_until_complete(sleeper()) == 1000.0 + 365 * 86400.0
    assert loop.leaps <= 366 * 2


def test_run_until_includes_the_moment_and_its_consequences(loop: VirtualLoop) -> None:
    seen: list[tuple[str, float]] = []

    async def chain() -> None:
        await asyncio.sleep(10.0)
        seen.append(("due", loop.time()))
        await asyncio.sleep(0)
        seen.append(("after", loop.time()))
        await asyncio.sleep(0.5)
        seen.append(("next window", loop.time()))

    task = loop.create_task(chain())
    loop.run_until(10.0)
    assert seen == [("due", 10.0), ("after", 10.0)]
    assert loop.time() == 10.0
    loop.run_until(20.0)
    assert seen[-1] == ("next window", 10.5)
    assert loop.time() == 20.0
    assert task.done()


def test_equal_times_keep_the_order_of_setting(loop: VirtualLoop) -> None:
    fired: list[int] = []
    for number in range(200):
        loop.call_at(5.0, fired.append, number)
    loop.run_until(5.0)
    assert fired == list(range(200))


def test_deadlock_names_the_tasks(loop: VirtualLoop) -> None:
    async def stuck() -> None:
        await loop.create_future()

    task = loop.create_task(stuck(), name="phone-7 mailbox")
    with pytest.raises(Deadlock, match="phone-7 mailbox"):
        loop.run_until(1.0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        loop.run_until_complete(task)


def test_a_run_to_completion_that_cannot_end_is_a_deadlock(loop: VirtualLoop) -> None:
    future = loop.create_future()
    with pytest.raises(Deadlock):
        loop.run_until_complete(future)


def test_an_empty_world_just_passes(loop: VirtualLoop) -> None:
    loop.run_until(3600.0)
    assert loop.time() == 3600.0


def test_time_does_not_go_back(loop: VirtualLoop) -> None:
    loop.run_until(5.0)
    with pytest.raises(ValueError, match="cannot go back"):
        loop.run_until(4.0)


def test_threads_run_inline(loop: VirtualLoop) -> None:
    async def work() -> int:
        return await asyncio.to_thread(lambda: 41 + 1)

    assert loop.run_until_complete(work()) == 42


def test_timeouts_and_cancelled_timers_follow_virtual_time(loop: VirtualLoop) -> None:
    async def work() -> float:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(30.0):
                await asyncio.sleep(1e6)
        return loop.time()

    assert loop.run_until_complete(work()) == 30.0


def test_the_network_cannot_be_reached(loop: VirtualLoop) -> None:
    async def connect() -> None:
        with socket.socket() as sock:
            sock.setblocking(False)
            await loop.sock_connect(sock, ("127.0.0.1", 9))

    with pytest.raises(NotImplementedError):
        loop.run_until_complete(connect())


def test_what_a_task_sees_does_not_depend_on_its_neighbours() -> None:
    def times_of(neighbours: int) -> list[float]:
        virtual = VirtualLoop()
        seen: list[float] = []

        async def beat(step: float, sink: list[float]) -> None:
            for _ in range(50):
                await asyncio.sleep(step)
                sink.append(virtual.time())

        others = [virtual.create_task(beat(0.1 + i * 1e-9, [])) for i in range(neighbours)]
        mine = virtual.create_task(beat(0.1, seen))
        virtual.run_until(100.0)
        assert mine.done()
        assert all(task.done() for task in others)
        virtual.close()
        return seen

    assert times_of(0) == times_of(40)
