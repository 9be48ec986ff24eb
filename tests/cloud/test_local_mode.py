"""A fleet without a helper, end to end: real gates, a real gateway, one histogram a week."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from cloud.actors.runtime import InProcessRuntime, Ref, Runtime
from cloud.actors.sums import HISTOGRAMS
from cloud.config import CloudConfig
from cloud.service import Cloud
from cloud.storage import Database
from cloud.storage.tables import aggregates, uploads
from privacy.budget import DEMO
from privacy.streams import USAGE_HISTOGRAMS
from protocol.rounds import LocalRound
from protocol.session import UploadCommitted
from tests.cloud.conftest import running
from tests.cloud.world import START, Phone, connect, shown_rounds

PLAN = DEMO.local
WEEK = PLAN.cadence


@pytest.fixture
async def local(state: Path, inline: Runtime) -> Any:
    async with running(state, inline, aggregation="local") as cloud:
        await cloud.tick(START)
        yield cloud


def shown(cloud: Cloud) -> LocalRound:
    (opened,) = shown_rounds(cloud.endpoint(), cloud.public_key)
    assert isinstance(opened, LocalRound)
    return opened


async def fill(cloud: Cloud, phones: int, answer: int = 0) -> None:
    """Phones that all give one answer, hidden by their own randomiser."""
    opened = shown(cloud)
    bins = HISTOGRAMS[opened.histogram].bins
    for number in range(phones):
        phone = Phone(number, seed=opened.round)
        line, _ = await connect(phone, cloud.endpoint())
        body = phone.local_report(opened, bins[answer % len(bins)], opened.opens)
        line.client.upload(opened.round.to_bytes(8, "big") + number.to_bytes(8, "big"), body)
        assert [type(each) for each in await line.exchange()] == [UploadCommitted]


async def status(cloud: Cloud, number: int) -> str:
    (found,) = [
        each["status"]
        for each in (await cloud.report())["rounds"]
        if (each["task"], each["round"]) == ("local_usage", number)
    ]
    return str(found)


async def test_only_local_rounds_are_shown_and_no_helper_is_made(local: Cloud) -> None:
    opened = shown(local)
    assert (opened.histogram, opened.epsilon) == (USAGE_HISTOGRAMS[0].name, PLAN.epsilon)
    assert (opened.n_min, opened.closes - opened.opens) == (PLAN.n_min, WEEK)
    assert local.helper is None
    assert CloudConfig(state=local.config.state, aggregation="local").revisit_after <= WEEK


async def test_a_round_is_summed_from_bit_masks(local: Cloud) -> None:
    n = max(PLAN.n_min, 60)
    await fill(local, n, answer=1)
    await local.tick(START + WEEK)
    assert await status(local, 1) == "closed"
    (found,) = (await local.report())["aggregates"]
    assert (found["task"], found["n"], found["sigma"]) == ("local_usage", n, 0.0)
    bins = found["estimates"]["histograms"]
    assert [each["bin"] for each in bins] == list(USAGE_HISTOGRAMS[0].bins)
    assert max(bins, key=lambda each: each["estimate"])["bin"] == USAGE_HISTOGRAMS[0].bins[1]
    for each in bins:
        assert each["low"] <= min(max(each["estimate"], 0.0), 1.0) <= each["high"]
    database = Database(local.config.database_url)
    with database.read() as connection:
        assert set(connection.scalars(select(uploads.c.body))) == {b""}
        assert set(connection.scalars(select(uploads.c.counted))) == {1}
        assert connection.scalar(select(aggregates.c.certificate)) == b""
    database.close()


async def test_too_few_expire_and_the_histograms_take_turns(local: Cloud) -> None:
    await fill(local, PLAN.n_min - 1)
    names = []
    for week in range(1, 10):
        names.append(shown(local).histogram)
        await local.tick(START + week * WEEK)
    assert await status(local, 1) == "expired"
    assert (await local.report())["aggregates"] == []
    assert names == [*(each.name for each in USAGE_HISTOGRAMS), USAGE_HISTOGRAMS[0].name]


async def test_the_rounds_of_two_servers_wait_for_the_way_back(
    state: Path, inline: Runtime
) -> None:
    async with running(state, inline) as cloud:
        before = shown_rounds(cloud.endpoint(), cloud.public_key)
    runtime = InProcessRuntime(inline=True)
    async with running(state, runtime, aggregation="local") as cloud:
        await cloud.tick(START + 1)
        shown(cloud)
    await runtime.stop()
    again = InProcessRuntime(inline=True)
    async with running(state, again) as cloud:
        assert shown_rounds(cloud.endpoint(), cloud.public_key) == before
    await again.stop()


async def test_no_helper_is_spawned(state: Path) -> None:
    class Watching(InProcessRuntime):
        def spawn(self, name: str, cls: Any, *args: Any, **kwargs: Any) -> Ref:
            assert name != "helper"
            return super().spawn(name, cls, *args, **kwargs)

    runtime = Watching(inline=True)
    async with running(state, runtime, aggregation="local"):
        pass
    await runtime.stop()
