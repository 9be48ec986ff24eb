"""One interface, two runtimes: the same behaviour from both."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cloud.actors.intake import Intake, UploadRow
from cloud.actors.ray_host import Host
from cloud.actors.ray_runtime import RayRuntime
from cloud.actors.registry import EnrolmentRefused, Registry
from cloud.actors.rounds import Rounds
from cloud.actors.runtime import (
    MAX_PENDING_CALLS,
    ActorBusy,
    ActorGone,
    InProcessRuntime,
    Runtime,
)
from cloud.helper_client import HelperIdentity
from cloud.identity import ensure_key
from cloud.randomness import SeededBits
from cloud.storage import DatabaseUnavailable
from tests.cloud.world import START, raw_report, sqlite


class Counter:
    """Counts, and notices when two of its methods run at once."""

    def __init__(self, path: str) -> None:
        self._path, self._busy, self.overlaps = Path(path), threading.Lock(), 0

    def add(self, amount: int) -> int:
        if not self._busy.acquire(blocking=False):
            self.overlaps += 1
            return -1
        try:
            total = int(self._path.read_text() or 0) + amount
            time.sleep(0)  # give another thread its chance to break in
            self._path.write_text(str(total))
            return total
        finally:
            self._busy.release()

    def seen_overlaps(self) -> int:
        return self.overlaps

    def fail(self) -> None:
        raise EnrolmentRefused("bad_token")


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "count"
    path.write_text("0")
    return str(path)


async def test_calls_arrive_one_at_a_time(runtime: Runtime, file: str) -> None:
    counter = runtime.spawn("counter", Counter, file)
    totals = await asyncio.gather(*(counter.ask("add", 1) for _ in range(50)))
    assert sorted(totals) == list(range(1, 51))
    assert await counter.ask("seen_overlaps") == 0


async def test_an_actors_exception_arrives_as_raised(runtime: Runtime, file: str) -> None:
    counter = runtime.spawn("counter", Counter, file)
    with pytest.raises(EnrolmentRefused) as caught:
        await counter.ask("fail")
    assert type(caught.value) is EnrolmentRefused
    assert caught.value.code == "bad_token"


async def test_tell_does_not_wait_and_survives_failure(runtime: Runtime, file: str) -> None:
    counter = runtime.spawn("counter", Counter, file)
    counter.tell("fail")
    counter.tell("add", 5)
    assert await counter.ask("add", 1) == 6


async def test_names_are_unique(runtime: Runtime, file: str) -> None:
    runtime.spawn("counter", Counter, file)
    with pytest.raises(ValueError, match="already running"):
        runtime.spawn("counter", Counter, file)


async def test_a_stopped_actor_says_so(runtime: Runtime, file: str) -> None:
    counter = runtime.spawn("counter", Counter, file)
    assert await counter.ask("add", 1) == 1
    await runtime.stop()
    with pytest.raises(ActorGone):
        await counter.ask("add", 1)


async def test_a_failing_constructor_is_told() -> None:
    for inline in (True, False):
        runtime = InProcessRuntime(inline=inline)
        with pytest.raises(FileNotFoundError):
            runtime.spawn("broken", Path("/nonexistent/file").read_bytes)
        await runtime.stop()


async def test_stop_drains_the_mailbox(file: str) -> None:
    runtime = InProcessRuntime(inline=False)
    counter = runtime.spawn("counter", Counter, file)
    waiting = [asyncio.ensure_future(counter.ask("add", 1)) for _ in range(20)]
    await asyncio.sleep(0)
    await runtime.stop()
    assert await asyncio.gather(*waiting) == list(range(1, 21))


def _open_usage_round(folder: Path) -> str:
    url = sqlite(folder)
    ensure_key(folder / "signing.key", SeededBits(1, "key"))
    helper = HelperIdentity(bytes(32), bytes(32), "demo")
    rounds = Rounds(url, str(folder / "signing.key"), helper, "demo")
    rounds.open_due(START)
    rounds.close()
    return url


def _row(number: int) -> UploadRow:
    return UploadRow(bytes([number] * 16), f"phone-{number}", raw_report(mark=number), START)


@pytest.mark.ray
async def test_a_killed_actor_forgets_nothing(
    tmp_path: Path, ray_cluster: Callable[[], RayRuntime]
) -> None:
    import ray

    runtime = ray_cluster()
    url = _open_usage_round(tmp_path)
    intake = runtime.spawn("intake", Intake, url, str(tmp_path / "signing.key"))
    first = await intake.ask("commit", [_row(1)])
    handle: Any = ray.get_actor(runtime.actor_name("intake"), namespace=runtime.namespace)
    ray.kill(handle, no_restart=False)
    again = await intake.ask("commit", [_row(1), _row(2)])
    known = await intake.ask("known", [("phone-1", _row(1).upload_id)])
    await runtime.stop()
    assert [one.code for one in first + again] == ["committed"] * 3
    assert known == [first[0].receipt]


@pytest.mark.ray
async def test_a_handle_can_be_handed_on(
    tmp_path: Path, ray_cluster: Callable[[], RayRuntime]
) -> None:
    runtime = ray_cluster()
    registry = runtime.spawn("registry", Registry, sqlite(tmp_path), True)
    relay = runtime.spawn("relay", Relay, registry)
    assert await relay.ask("count") == 0
    await runtime.stop()


class Relay:
    """An actor that asks another."""

    def __init__(self, registry: Any) -> None:
        self._registry = registry

    def count(self) -> int:
        return int(asyncio.run(self._registry.ask("count")))


class Slow:
    """Answers when it is let go."""

    def __init__(self) -> None:
        self.go = threading.Event()

    def wait(self) -> None:
        self.go.wait()


async def test_a_full_mailbox_says_busy_and_takes_calls_again() -> None:
    runtime = InProcessRuntime(inline=False)
    slow = Slow()
    ref = runtime.spawn("slow", lambda: slow)
    waiting = [asyncio.ensure_future(ref.ask("wait")) for _ in range(MAX_PENDING_CALLS)]
    await asyncio.sleep(0)
    with pytest.raises(ActorBusy):
        await ref.ask("wait")
    slow.go.set()
    await asyncio.gather(*waiting)
    await ref.ask("wait")
    await runtime.stop()


class Unbuildable:
    """Its database is away until `here`."""

    here = False

    def __init__(self) -> None:
        if not Unbuildable.here:
            raise DatabaseUnavailable("cannot open the database")

    def hello(self) -> str:
        return "hello"


def _raised(answer: tuple[bool, Any]) -> type[BaseException] | None:
    done, value = answer
    return None if done else type(value)


def test_a_host_builds_its_actor_when_it_can(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    host = Host("one", Unbuildable, (), {}, lambda: now)
    told = [_raised(host.call("hello", ())) for _ in range(3)]
    assert told == [DatabaseUnavailable, ActorBusy, ActorBusy]
    now += 0.6
    assert _raised(host.call("hello", ())) is DatabaseUnavailable
    now += 0.6  # the pause has grown
    assert _raised(host.call("hello", ())) is ActorBusy
    monkeypatch.setattr(Unbuildable, "here", True)
    now += 0.6
    assert host.call("hello", ()) == (True, "hello")


class Odd(Exception):
    """Cannot be built from what it shows of itself."""

    def __init__(self, one: int, two: int) -> None:
        super().__init__(f"{one} and {two}")


def test_an_exception_that_cannot_travel_is_named() -> None:
    host = Host("one", OddRaiser, (), {})
    done, error = host.call("fail", ())
    assert not done
    assert type(error) is RuntimeError
    assert "Odd" in str(error)


class OddRaiser:
    def fail(self) -> None:
        raise Odd(1, 2)
