from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import structlog
from structlog.testing import capture_logs

from device.actors import (
    Actor,
    ActorRef,
    ActorStopped,
    ActorSystem,
    Clock,
    DomainError,
    Fault,
    LoopClock,
    MailboxFull,
    PromptActor,
    Request,
    SystemClock,
)
from device.actors.mailbox import Envelope, Mailbox
from device.actors.system import AT_ONCE
from simulator.virtual import VirtualLoop


@dataclass(frozen=True, slots=True)
class Add(Request[int]):
    amount: int


@dataclass(frozen=True, slots=True)
class Nap(Request[float]):
    seconds: float


@dataclass(frozen=True, slots=True)
class Fail(Request[None]):
    error: Exception


@dataclass(frozen=True, slots=True)
class Call(Request[object]):
    """Runs any coroutine inside the actor."""

    work: Callable[[], Awaitable[object]]


class Refused(DomainError):
    pass


class Counter(Actor):
    """Adds up; everything that happens to it goes into `diary`."""

    def __init__(self, clock: Clock, diary: list[str]) -> None:
        self.total = 0
        self.clock = clock
        self.diary = diary

    async def started(self) -> None:
        self.diary.append("started")

    async def stopped(self) -> None:
        self.diary.append("stopped")

    async def receive(self, message: object) -> object:
        match message:
            case Add(amount):
                self.total += amount
                return self.total
            case Nap(seconds):
                await self.clock.sleep(seconds)
                self.diary.append(f"slept {seconds:g}")
                return self.clock.now()
            case Fail(error):
                raise error
            case Call(work):
                return await work()
        return await super().receive(message)


class World:
    def __init__(self, loop: VirtualLoop) -> None:
        self.loop = loop
        self.clock = LoopClock(epoch=1_000_000.0)
        self.system = ActorSystem(self.clock)
        self.diary: list[str] = []

    def counter(self, **limits: Any) -> ActorRef:
        return self.system.spawn("counter", lambda: Counter(self.clock, self.diary), **limits)

    def run(self, story: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self.loop.run_until_complete(story())
        self.loop.run_until_complete(self.system.stop())
        assert not asyncio.all_tasks(self.loop), "a task outlived its system"


@pytest.fixture
def world(loop: VirtualLoop) -> World:
    return World(loop)


def test_asks_are_answered_in_order(world: World) -> None:
    async def story() -> None:
        ref = world.counter()
        answers = await asyncio.gather(*(ref.ask(Add(1)) for _ in range(100)))
        assert answers == list(range(1, 101))
        ref.tell(Add(1000))
        total: int = await ref.ask(Add(0))
        assert total == 1100
        assert ref.name == "counter"

    world.run(story)
    assert world.diary == ["started", "stopped"]


def test_an_idle_actor_has_no_task_and_costs_no_wake_up(world: World) -> None:
    async def story() -> None:
        ref = world.counter()
        await ref.ask(Add(1))
        await asyncio.sleep(0)
        assert len(asyncio.all_tasks()) == 1
        before = world.loop.leaps
        await world.clock.sleep(86_400.0)
        assert world.loop.leaps == before + 1

    world.run(story)


def test_a_refusal_goes_to_the_asker_and_restarts_nothing(world: World) -> None:
    async def story() -> None:
        ref = world.counter()
        await ref.ask(Add(5))
        with pytest.raises(Refused):
            await ref.ask(Fail(Refused("no such id")))
        assert await ref.ask(Add(1)) == 6

    world.run(story)
    assert world.diary == ["started", "stopped"]


def test_a_fault_restarts_from_the_factory(world: World) -> None:
    async def story() -> None:
        ref = world.counter()
        await ref.ask(Add(5))
        with capture_logs() as lines, pytest.raises(Fault) as caught:
            await ref.ask(Fail(KeyError("what the user said")))
        assert [line["error"] for line in lines] == ["KeyError"]
        assert "what the user said" not in str(lines)
        assert isinstance(caught.value.__cause__, KeyError)
        assert "what the user said" not in str(caught.value)
        assert await ref.ask(Add(1)) == 1

    world.run(story)
    assert world.diary == ["started", "stopped", "started", "stopped"]


def test_an_unknown_message_is_a_fault(world: World) -> None:
    async def story() -> None:
        with pytest.raises(Fault, match="Request"):
            await world.counter().ask(Request[int]())

    world.run(story)


def test_a_log_that_cannot_be_written_leaves_no_asker_waiting(world: World, tmp_path: Path) -> None:
    """A daemon whose standard error is closed must go on serving and restarting."""
    gone = (tmp_path / "log").open("w")
    gone.close()
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(gone))

    async def story() -> None:
        ref = world.counter(max_restarts=2, within=60.0)
        waiting = [asyncio.ensure_future(ref.ask(Fail(ValueError()))) for _ in range(5)]
        errors = await asyncio.gather(*waiting, return_exceptions=True)
        assert [type(error) for error in errors] == [Fault] * 3 + [ActorStopped] * 2

    world.run(story)


def test_too_many_faults_stop_the_actor(world: World) -> None:
    async def story() -> None:
        ref = world.counter(max_restarts=2, within=60.0)
        waiting = [asyncio.ensure_future(ref.ask(Fail(ValueError()))) for _ in range(5)]
        errors = await asyncio.gather(*waiting, return_exceptions=True)
        assert [type(error) for error in errors] == [Fault] * 3 + [ActorStopped] * 2
        for send in (lambda: ref.ask(Add(1)), lambda: _tell(ref)):
            with pytest.raises(ActorStopped):
                await send()

    world.run(story)


async def _tell(ref: ActorRef) -> None:
    ref.tell(Add(1))


def test_old_faults_are_forgiven(world: World) -> None:
    async def story() -> None:
        ref = world.counter(max_restarts=1, within=60.0)
        for _ in range(5):
            with pytest.raises(Fault):
                await ref.ask(Fail(ValueError()))
            await world.clock.sleep(61.0)
        assert await ref.ask(Add(1)) == 1

    world.run(story)


@pytest.mark.parametrize("error", [Refused("wrong key"), RuntimeError()])
def test_an_actor_that_cannot_start_says_so(world: World, error: Exception) -> None:
    class Stillborn(Actor):
        async def started(self) -> None:
            raise error

    async def story() -> None:
        ref = world.system.spawn("stillborn", Stillborn)
        with pytest.raises(ActorStopped):
            await ref.ask(Add(1))

    world.run(story)


def test_ask_waits_for_room_and_tell_does_not(world: World) -> None:
    async def story() -> None:
        ref = world.counter(capacity=2)
        asks = [asyncio.ensure_future(ref.ask(Nap(1.0))) for _ in range(6)]
        await asyncio.sleep(0)
        with pytest.raises(MailboxFull):
            ref.tell(Add(1))
        ends = await asyncio.gather(*asks)
        assert ends == [1_000_000.0 + n for n in range(1, 7)]
        ref.tell(Add(1))

    world.run(story)


def test_a_cancelled_ask_leaves_the_actor_healthy(world: World) -> None:
    async def story() -> None:
        ref = world.counter(capacity=1)
        working = asyncio.ensure_future(ref.ask(Nap(10.0)))
        await asyncio.sleep(0)
        queued = asyncio.ensure_future(ref.ask(Nap(5.0)))
        await asyncio.sleep(0)
        in_line = asyncio.ensure_future(ref.ask(Nap(3.0)))
        last = asyncio.ensure_future(ref.ask(Add(7)))
        await world.clock.sleep(1.0)
        for ask in (working, queued, in_line):
            ask.cancel()
        assert await last == 7
        # The one that had begun was finished, the two that had not were never begun.
        assert world.diary == ["started", "slept 10"]

    world.run(story)


def test_a_timed_out_ask_in_line_passes_its_room_on(world: World) -> None:
    async def story() -> None:
        ref = world.counter(capacity=1)
        asks = [asyncio.ensure_future(ref.ask(Nap(1.0))) for _ in range(8)]
        await asyncio.sleep(0)
        for ask in asks[2:7]:
            ask.cancel()
        assert await asks[7] == 1_000_003.0

    world.run(story)


def test_stop_finishes_what_was_sent(world: World) -> None:
    async def story() -> None:
        ref = world.counter()
        asks = [asyncio.ensure_future(ref.ask(Nap(1.0))) for _ in range(3)]
        await asyncio.sleep(0)
        await world.system.stop()
        assert len(await asyncio.gather(*asks)) == 3
        with pytest.raises(ActorStopped):
            await ref.ask(Add(1))
        with pytest.raises(ActorStopped):
            world.counter()

    world.run(story)
    assert world.diary[-1] == "stopped"


def test_stop_refuses_those_still_in_line_for_room(world: World) -> None:
    """Which also shows that the mailbox is bounded: beyond its room nothing has been sent."""

    async def story() -> None:
        ref = world.counter(capacity=2)
        asks = [asyncio.ensure_future(ref.ask(Nap(0.5))) for _ in range(6)]
        await world.clock.sleep(0.1)
        await world.system.stop()
        ends = await asyncio.gather(*asks, return_exceptions=True)
        # One was being served and two were in the box.
        assert ends[:3] == [1_000_000.5, 1_000_001.0, 1_000_001.5]
        assert [type(end) for end in ends[3:]] == [ActorStopped] * 3

    world.run(story)


def test_stop_never_hangs(world: World) -> None:
    async def stubborn() -> None:
        for _ in range(3):
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                continue

    async def story() -> None:
        ref = world.counter()
        asks = [
            asyncio.ensure_future(ref.ask(Call(lambda: asyncio.Event().wait()))),
            asyncio.ensure_future(ref.ask(Add(1))),
        ]
        other = world.system.spawn("other", lambda: Counter(world.clock, []))
        hard = asyncio.ensure_future(other.ask(Call(stubborn)))
        await world.clock.sleep(1.0)
        before = world.clock.now()
        await world.system.stop()
        assert world.clock.now() - before <= 30.0
        for ask in asks:
            assert isinstance((await asyncio.gather(ask, return_exceptions=True))[0], ActorStopped)
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
        await asyncio.gather(hard, return_exceptions=True)

    world.loop.run_until_complete(story())


def test_an_actor_may_stop_its_own_system(world: World) -> None:
    async def story() -> None:
        ref = world.counter()
        await ref.ask(Call(world.system.stop))
        with pytest.raises(ActorStopped):
            await ref.ask(Add(1))

    world.run(story)


def test_asking_oneself_fails_at_once(world: World) -> None:
    async def story() -> None:
        ref = world.counter()
        with pytest.raises(Fault) as caught:
            await ref.ask(Call(lambda: ref.ask(Add(1))))
        assert "for ever" in str(caught.value.__cause__)

    world.run(story)


async def test_the_same_code_runs_on_the_real_loop() -> None:
    clock = SystemClock()
    system = ActorSystem(clock)
    ref = system.spawn("counter", lambda: Counter(clock, []))
    assert await ref.ask(Add(2)) == 2
    assert abs(await ref.ask(Nap(0.0)) - clock.now()) < 60.0
    await system.stop()


def test_room_given_to_one_who_then_left_goes_to_the_next(loop: VirtualLoop) -> None:
    async def story() -> None:
        box = Mailbox(1)
        box.put(Envelope("first", None))
        left, stays = (asyncio.ensure_future(box.room()) for _ in range(2))
        await asyncio.sleep(0)
        box.take()  # wakes the one in front …
        left.cancel()  # … who is cancelled before it runs
        await asyncio.wait_for(stays, 1.0)

    loop.run_until_complete(story())


class Prompt(PromptActor):
    """A counter that never waits."""

    def __init__(self, diary: list[str]) -> None:
        self.total = 0
        self.diary = diary

    async def started(self) -> None:
        self.diary.append("started")

    async def stopped(self) -> None:
        await asyncio.sleep(0)
        self.diary.append("stopped")

    def answer(self, message: object) -> object:
        match message:
            case Add(amount):
                self.total += amount
                return self.total
            case Fail(error):
                raise error
        return super().answer(message)


def test_an_idle_prompt_actor_answers_in_its_askers_turn(world: World) -> None:
    async def story() -> None:
        ref = world.system.spawn("prompt", lambda: Prompt(world.diary))
        assert await ref.ask(Add(1)) == 1  # still to be started: through the mailbox
        turned: list[bool] = []
        asyncio.get_running_loop().call_soon(turned.append, True)
        assert await ref.ask(Add(1)) == 2
        assert not turned
        ref.tell(Add(10))
        assert await ref.ask(Add(1)) == 13  # behind what was sent before it
        assert turned

    world.run(story)
    assert world.diary == ["started", "stopped"]


def test_who_asks_a_prompt_actor_in_a_long_loop_lets_others_run(world: World) -> None:
    async def story() -> None:
        ref = world.system.spawn("prompt", lambda: Prompt(world.diary))
        asked = 0

        async def greedy() -> None:
            nonlocal asked
            for _ in range(10 * AT_ONCE):
                await ref.ask(Add(1))
                asked += 1

        looping = asyncio.ensure_future(greedy())
        await asyncio.sleep(0)
        assert asked <= AT_ONCE
        await ref.ask(Add(0))
        assert asked <= 2 * AT_ONCE + 1
        await looping

    world.run(story)


def test_a_prompt_actor_refuses_fails_and_is_restarted_like_any_other(world: World) -> None:
    async def story() -> None:
        ref = world.system.spawn("prompt", lambda: Prompt(world.diary), max_restarts=1)
        assert await ref.ask(Add(5)) == 5
        with pytest.raises(Refused):
            await ref.ask(Fail(Refused("no such id")))
        assert await ref.ask(Add(1)) == 6
        with capture_logs(), pytest.raises(Fault) as caught:
            await ref.ask(Fail(KeyError("what the user said")))
        assert isinstance(caught.value.__cause__, KeyError)
        assert await ref.ask(Add(1)) == 1
        with pytest.raises(Fault):
            await ref.ask(Request[int]())
        with pytest.raises(ActorStopped):
            await ref.ask(Add(1))

    world.run(story)
    assert world.diary == ["started", "stopped", "started", "stopped"]


def test_the_asker_of_a_failed_answer_may_leave(world: World) -> None:
    """The restart goes on without it, and whoever comes next finds a fresh actor."""

    async def story() -> None:
        ref = world.system.spawn("prompt", lambda: Prompt(world.diary))
        assert await ref.ask(Add(5)) == 5
        asking = asyncio.ensure_future(ref.ask(Fail(ValueError())))
        await asyncio.sleep(0)
        asking.cancel()
        assert await ref.ask(Add(1)) == 1
        with pytest.raises(asyncio.CancelledError):
            await asking

    world.run(story)
