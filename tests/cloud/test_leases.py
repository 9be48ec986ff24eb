"""One holder at a time, by whoever's clock, and an epoch that tells who was away meanwhile."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import delete, select

from cloud.actors.runtime import InProcessRuntime
from cloud.config import CloudConfig
from cloud.leadership import Leadership
from cloud.pacing import Pace, Pacer
from cloud.service import Cloud
from cloud.storage import Database
from cloud.storage.holders import has_ended, this_process
from cloud.storage.leases import Lease
from cloud.storage.tables import leases

SECONDS = 15.0
Claim = Callable[..., Lease]


@pytest.fixture
def claim(each_database: str) -> Iterator[Claim]:
    """Makes claims on one lease, each over a handle of its own, as processes have."""
    opened: list[Database] = []

    def make(holder: str, has_ended: Callable[[str], bool] = lambda _holder: False) -> Lease:
        opened.append(Database(each_database))
        return Lease(opened[-1], "tick", holder, SECONDS, has_ended)

    yield make
    for database in opened:
        database.close()


def test_one_holds_and_renews(claim: Claim) -> None:
    one, two = claim("one"), claim("two")
    assert one.take(0.0) == 1
    assert two.take(0.0) is None
    for now in range(1, 100):
        assert one.take(float(now)) == 1
        assert two.take(float(now)) is None
        assert one.held(float(now), 1)
        assert not two.held(float(now))


def test_a_dead_holder_is_followed_after_its_seconds(claim: Claim) -> None:
    one, two = claim("one"), claim("two")
    one.take(0.0)
    # Counted from when the contender first saw what did not change any more.
    assert two.take(100.0) is None
    assert two.take(100.0 + SECONDS - 0.01) is None
    assert two.take(100.0 + SECONDS) == 2
    assert two.held(100.0 + SECONDS)


def test_clocks_hours_apart(claim: Claim) -> None:
    ahead, behind = claim("ahead"), claim("behind")
    for now in range(0, 100, 5):
        assert ahead.take(now + 7_200.0) == 1
        assert behind.take(now - 7_200.0) is None
    # Neither does a clock that is set back while it looks on end another's lease.
    assert behind.take(-90_000.0) is None
    assert behind.take(-90_000.0 + SECONDS) == 2
    assert ahead.take(8_000.0) is None


def test_a_holder_that_was_frozen_finds_its_epoch_stale(claim: Claim) -> None:
    frozen, other = claim("frozen"), claim("other")
    epoch = frozen.take(0.0)
    assert epoch == 1
    other.take(0.0)
    assert other.take(SECONDS) == 2
    # Its own clock may have stood still with it: the database knows better.
    assert not frozen.held(1.0, epoch)
    assert frozen.take(1.0) is None
    other.release()
    again = frozen.take(2.0)
    assert again == 3
    # The work begun under the first epoch ends all the same.
    assert not frozen.held(2.0, epoch)
    assert frozen.held(2.0, again)


def test_a_holder_that_was_silent_too_long_stops_before_it_is_overtaken(claim: Claim) -> None:
    one = claim("one")
    epoch = one.take(0.0)
    assert one.held(SECONDS - 0.01, epoch)
    assert not one.held(SECONDS, epoch)
    # Nobody came: it may go on, as if it had renewed in time.
    assert one.take(SECONDS + 1) == epoch
    assert one.held(SECONDS + 1, epoch)


def test_a_lease_given_back_is_free_at_once(claim: Claim) -> None:
    one, two = claim("one"), claim("two")
    one.take(0.0)
    one.release()
    assert not one.held(0.0)
    assert two.take(0.0) == 2
    # Giving back what another has by now changes nothing.
    one.release()
    assert two.held(0.0)


def test_a_process_known_to_be_gone_is_not_waited_for(claim: Claim) -> None:
    claim("dead").take(0.0)
    assert claim("two", lambda holder: holder == "someone else").take(0.0) is None
    assert claim("two", lambda holder: holder == "dead").take(0.0) == 2


def test_a_holder_that_renews_at_the_last_moment_keeps_the_lease(claim: Claim) -> None:
    one = claim("one")
    one.take(0.0)

    def meanwhile(_holder: str) -> bool:
        assert one.take(1.0) == 1  # between the other's look and its claim
        return True

    assert claim("two", meanwhile).take(0.0) is None
    assert one.held(1.0)


def test_contenders_in_threads_never_hold_at_once(claim: Claim, each_database: str) -> None:
    names = [f"holder-{number}" for number in range(4)]
    for turn in range(1, 9):
        claims = [claim(name) for name in names]
        together = threading.Barrier(len(claims))
        epochs: dict[str, int | None] = {}

        def contend(name: str, mine: Lease, start: threading.Barrier = together) -> None:
            start.wait()
            epochs[name] = mine.take(0.0)  # noqa: B023 - joined within this turn

        threads = [
            threading.Thread(target=contend, args=pair) for pair in zip(names, claims, strict=True)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        winners = [name for name, epoch in epochs.items() if epoch is not None]
        assert len(winners) == 1
        assert epochs[winners[0]] == turn
        for name, mine in zip(names, claims, strict=True):
            assert mine.held(0.0) == (name in winners)
            mine.release()
    database = Database(each_database)
    with database.read() as connection:
        (row,) = connection.execute(select(leases)).all()
    database.close()
    assert (row.holder, row.epoch) == ("", 8)


async def test_a_process_whose_clock_is_wrong_gets_no_phones_and_does_not_tick(
    each_database: str, tmp_path: Path
) -> None:
    cloud = Cloud(
        CloudConfig(state=tmp_path), InProcessRuntime(inline=True), bits=os.urandom, now=0.0
    )
    cloud.database = Database(each_database)
    for offset, off in ((0.0, False), (3_600.0, True), (-3_600.0, True)):
        clock = partial(lambda by: time.time() + by, offset)
        pacer = Pacer(cloud, Pace(1.0, 1.0, SECONDS), clock)
        await pacer._look(pacer._compare_clocks)
        # SQLite is on this machine: there is no other clock to be wrong by.
        wrong = off and each_database.startswith("postgresql")
        assert ("clock" in pacer.readiness.objection(time.monotonic())) == wrong
        await pacer._leadership()._attempt()
        with cloud.database.read() as connection:
            assert (connection.execute(select(leases)).first() is None) == wrong
        with cloud.database.write() as connection:
            connection.execute(delete(leases))
    cloud.database.close()


def test_processes_are_told_apart_and_known_to_end() -> None:
    mine = this_process()
    assert len(mine) <= 64
    assert mine == this_process()
    assert not has_ended(mine)
    code = "from cloud.storage.holders import this_process; print(this_process(), flush=True)"
    child = subprocess.Popen(
        [sys.executable, "-c", code + "; input()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    theirs = child.stdout.readline().strip()
    assert theirs != mine
    assert not has_ended(theirs)
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert has_ended(theirs)  # though nobody has taken note of its end yet
    child.communicate()
    assert has_ended(theirs)


def test_what_runs_elsewhere_is_never_declared_dead() -> None:
    where, pid, started = this_process().split("/")
    assert not has_ended(f"{'0' * len(where)}/{pid}/1")
    assert has_ended(f"{where}/{pid}/{int(started) + 1}")  # the id was given out again
    for odd in ("", "someone", "a/b/c", f"{where}/-1/2"):
        assert not has_ended(odd)


class Clock:
    """Stands still until it is set."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


class Contest:
    """Processes that compete in one event loop, looking all the time."""

    def __init__(self, claim: Claim) -> None:
        self._claim, self.clock = claim, Clock()
        self.allowed = {"one": True, "two": True}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def enter(self, name: str) -> Leadership:
        made = Leadership(
            self._claim(name), SECONDS, 0.0, self.clock, may_lead=lambda: self.allowed[name]
        )
        made._renew_seconds = 0.0  # by the loop's turns, not by its clock
        self._tasks[name] = asyncio.create_task(made.compete())
        return made

    async def leave(self, name: str) -> None:
        task = self._tasks.pop(name)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task

    async def end(self) -> None:
        for name in list(self._tasks):
            await self.leave(name)


@pytest.fixture
async def contest(claim: Claim) -> AsyncIterator[Contest]:
    made = Contest(claim)
    yield made
    await made.end()


async def test_the_next_leads_when_the_first_leaves(contest: Contest) -> None:
    one = contest.enter("one")
    epoch = await one.wait()
    two = contest.enter("two")
    assert await one.still(epoch)
    assert two.epoch is None
    await contest.leave("one")
    assert one.epoch is None
    assert await two.wait() == epoch + 1
    assert not await one.still(epoch)


async def test_a_renewal_under_way_does_not_take_back_what_is_given_back(
    contest: Contest, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = contest.enter("one")
    await one.wait()
    begun, go_on = threading.Event(), threading.Event()
    real = one._lease.take

    def slowly(now: float) -> int | None:
        begun.set()
        go_on.wait()
        return real(now)

    monkeypatch.setattr(one._lease, "take", slowly)
    await asyncio.to_thread(begun.wait)
    leaving = asyncio.create_task(contest.leave("one"))
    await asyncio.sleep(0)
    go_on.set()
    await leaving
    two = contest.enter("two")
    assert await two.wait() == 2


async def test_a_process_whose_ticks_fail_lets_another_try(contest: Contest) -> None:
    one = contest.enter("one")
    epoch = await one.wait()
    two = contest.enter("two")
    await one.resign(60.0)
    assert not await one.still(epoch)
    assert await two.wait() == epoch + 1
    # It stays out for its time, even if nobody else is there.
    await contest.leave("two")
    for _ in range(20):
        await one._attempt()
    assert one.epoch is None
    contest.clock.now = 60.0
    assert await one.wait() == epoch + 2


async def test_a_process_that_may_not_lead_gives_the_lease_back(contest: Contest) -> None:
    one = contest.enter("one")
    await one.wait()
    contest.allowed["one"] = False
    two = contest.enter("two")
    assert await two.wait() == 2
    assert one.epoch is None
