"""Anything is killed at any moment under load: no acknowledged upload is lost, and none doubled.

REVERIE_KILLS sets how often (a handful by default, and then in the small world alone). The order
of the victims comes from a seed, REVERIE_CHAOS_SEED, which is printed; moments are counted in
frames, and in seconds only when nothing moves.
"""

from __future__ import annotations

import json
import os
import random
import sys
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from sqlalchemy import select

from cloud.actors.runtime import InProcessRuntime
from cloud.storage.places import Places, remember
from cloud.storage.tables import aggregates, releases, rounds, uploads
from privacy.budget import DEMO
from tests.cloud.chaos import Backing, World
from tests.cloud.conftest import running
from tests.cloud.crowd import Acknowledged, Crowd
from tests.cloud.postgres import INSTALL, PostgresServer, programs
from tests.cloud.ray_head import RayHead
from tests.cloud.world import START, database_in

KILLS = int(os.environ.get("REVERIE_KILLS", "4"))
SEED = int(os.environ.get("REVERIE_CHAOS_SEED", "7"))
N_MIN = DEMO.terms("usage").n_min
PHONES = N_MIN + 4
THREADS = 4
MOST_FRAMES = 120
PATIENCE_SECONDS = 15.0
"""The next kill comes after so long even if no frame moves: everything may be dead."""
FINISH_SECONDS = 120.0
LOOKS = 1_200
SIGMAS = 6
LIMIT_SECONDS = 300 + 60 * KILLS
"""A kill costs as long as the dead process takes to start again on a busy machine."""

pytestmark = pytest.mark.timeout(LIMIT_SECONDS)


@pytest.fixture
def small(state: Path, tmp_path: Path) -> Iterator[World]:
    """One process over SQLite with its actors inside."""
    made = World(state, tmp_path, database_in(state), Backing())
    yield made
    made.stop()


@pytest.fixture
async def large(tmp_path: Path) -> AsyncIterator[World]:
    """Two processes over PostgreSQL, their actors on a Ray cluster of two nodes."""
    if programs() is None:
        pytest.skip(f"PostgreSQL is not installed: {INSTALL}")
    state, postgres = tmp_path / "cloud", PostgresServer(durable=True)
    ray: RayHead | None = None
    made: World | None = None
    try:
        state.mkdir()
        url = postgres.migrated()
        remember(state, Places(database_url=url))
        inline = InProcessRuntime(inline=True)
        async with running(state, inline) as cloud:
            await cloud.tick(START)
        await inline.stop()
        ray = RayHead()
        backing = Backing(postgres, ray)
        backing.node = ray.add_node()
        made = World(state, tmp_path, url.replace("postgresql", "postgresql+psycopg", 1), backing)
        yield made
    finally:
        if made is not None:
            made.stop()
        if ray is not None:
            ray.stop()
        postgres.stop()


def test_one_process_over_sqlite_survives_a_storm(small: World) -> None:
    _storm(small, KILLS)


@pytest.mark.ray
@pytest.mark.postgres
@pytest.mark.skipif("REVERIE_KILLS" not in os.environ, reason="minutes: set REVERIE_KILLS")
def test_two_processes_over_postgresql_and_ray_survive_a_storm(large: World) -> None:
    _storm(large, KILLS)


def _storm(world: World, kills: int) -> None:
    sys.stdout.write(f"REVERIE_CHAOS_SEED={SEED}\n")
    begun, moments = time.monotonic(), random.Random(SEED)
    # The rounds of before were sealed to another helper.
    world.close_rounds("usage", "router", "dedup")
    public, helper = world.found()
    crowd = Crowd(world.urls, public, helper, PHONES, THREADS, SEED)
    crowd.start()
    try:
        for _ in range(kills):
            world.revive()
            crowd.wait_steps(moments.randrange(1, MOST_FRAMES), PATIENCE_SECONDS)
            world.kill(moments.choice(world.victims()), moments.random())
            _end_day_if_full(world, crowd)
            assert crowd.faults == []
        world.revive()
        crowd.finish(FINISH_SECONDS)
    finally:
        crowd.quit()
    world.close_rounds("usage")
    world.until_settled(threading.Event(), LOOKS)
    assert crowd.faults == []
    closed = _check(world, crowd.acknowledged)
    figures = {
        "kills": sum(world.kills.values()),
        "by_victim": dict(sorted(world.kills.items())),
        "acknowledged": len(crowd.acknowledged),
        "rounds_closed": closed,
        "seconds": round(time.monotonic() - begun, 1),
    }
    sys.stdout.write(json.dumps(figures) + "\n")


def _end_day_if_full(world: World, crowd: Crowd) -> None:
    """A round's time is over when enough phones were told that their report is in."""
    query = select(rounds.c.round).where(rounds.c.task == "usage", rounds.c.status == "open")
    for (number,) in world.rows(query):
        if crowd.in_round(number) >= N_MIN:
            world.close_rounds("usage")


def _check(world: World, acknowledged: list[Acknowledged]) -> int:
    """What must hold after any storm; gives how many rounds were summed."""
    ended = {row.round: row for row in world.rows(select(rounds).where(rounds.c.task == "usage"))}
    stored = {row.upload_id: row for row in world.rows(select(uploads))}
    sums = {
        row.round: row for row in world.rows(select(aggregates).where(aggregates.c.task == "usage"))
    }
    assert acknowledged
    counted: Counter[int] = Counter()
    first: Counter[int] = Counter()
    assert len({each.sent.upload_id for each in acknowledged}) == len(acknowledged)
    for each in acknowledged:
        row = stored.get(each.sent.upload_id)
        assert row is not None, f"lost: an acknowledged report of round {each.sent.round}"
        assert (row.device_id, row.round) == (each.device, each.sent.round)
        if ended[row.round].status == "closed":
            assert row.counted == 1, f"not counted in round {row.round}"
        counted[row.round] += 1
        first[row.round] += each.sent.choice == 0
    for number, told in counted.items():
        status = ended[number].status
        # Fewer than the floor may never be summed, acknowledged or not; the storm waits for more.
        assert status == "closed" or (status == "expired" and told < N_MIN), (number, status)
    for number, row in sums.items():
        here = [each for each in stored.values() if (each.task, each.round) == ("usage", number)]
        assert len({each.device_id for each in here}) == len(here)
        assert row.n == sum(each.counted for each in here)
        assert row.n == counted[number], f"round {number}: {row.n} counted, {counted[number]} told"
        estimate = row.estimates["histograms"][0]["estimate"] * row.n
        assert abs(estimate - first[number]) < SIGMAS * row.sigma
    open_now = [row for row in ended.values() if row.status == "open"]
    assert len(open_now) <= 1
    assert all(row.status in ("open", "closed", "expired") for row in ended.values())
    versions = world.rows(select(releases.c.model, releases.c.version).order_by(releases.c.id))
    for model in {row.model for row in versions}:
        published = [row.version for row in versions if row.model == model and row.version]
        assert published == sorted(set(published))
    return len(sums)
