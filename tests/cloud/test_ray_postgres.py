"""Both large parts together: actors on Ray, their state of record in PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from cloud.actors.ray_runtime import RayRuntime
from cloud.storage.places import Places, remember
from privacy.budget import DEMO
from protocol.session import UploadCommitted
from tests.cloud.conftest import running
from tests.cloud.postgres import PostgresServer
from tests.cloud.world import DAY, START, Phone, connect, descriptors, usage_answers

N_MIN = DEMO.terms("usage").n_min


@pytest.mark.ray
@pytest.mark.postgres
async def test_the_loop_turns_on_ray_over_postgresql(
    tmp_path: Path, postgres: PostgresServer, ray_cluster: Callable[[], RayRuntime]
) -> None:
    url = postgres.migrated()
    remember(tmp_path, Places(database_url=url))
    runtime = ray_cluster()
    async with running(tmp_path, runtime) as cloud:
        await cloud.tick(START)
        usage = descriptors(cloud.endpoint(), cloud.public_key)["usage"]
        for number in range(N_MIN):
            phone = Phone(number)
            line, _ = await connect(phone, cloud.endpoint())
            line.client.upload(number.to_bytes(16, "big"), phone.report(usage, usage_answers()))
            assert [type(each) for each in await line.exchange()] == [UploadCommitted]
        await cloud.tick(START + DAY)
        report = await cloud.report()
    await runtime.stop()
    postgres.drop(url)
    assert [(each["task"], each["n"]) for each in report["aggregates"]] == [("usage", N_MIN)]
    models = {each["model"] for each in report["releases"] if each["status"] == "published"}
    assert models == {"router", "dedup"}
    rounds = {(each["task"], each["round"]): each["status"] for each in report["rounds"]}
    assert (rounds["usage", 1], rounds["usage", 2]) == ("closed", "open")
