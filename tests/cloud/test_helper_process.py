"""The helper as a process of its own, over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import aiohttp
import pytest

from cloud.actors.runtime import Runtime
from cloud.helper_client import HelperUnavailable, RemoteHelper
from privacy.budget import DEMO
from privacy.errors import BatchRefused
from privacy.secagg import Batch
from privacy.secagg.batch import LARGEST_BATCH_BYTES
from protocol.session import UploadCommitted
from tests.cloud.conftest import running
from tests.cloud.processes import Process, running_process
from tests.cloud.world import DAY, START, Phone, connect, descriptors, usage_answers

N_MIN = DEMO.terms("usage").n_min


@pytest.fixture(scope="module")
def helper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    state = tmp_path_factory.mktemp("helper-process") / "helper"
    with running_process("helper", "--state", str(state), "--port", "0") as process:
        yield process


async def test_a_round_closes_through_the_helper_process(
    state: Path, inline: Runtime, helper: Process
) -> None:
    # Published models, but rounds sealed to this helper's key: the old ones expire first.
    async with running(state, inline, helper_url=helper.said["url"]) as cloud:
        await cloud.tick(START + DAY)
        usage = descriptors(cloud.endpoint(), cloud.public_key)["usage"]
        assert usage.helper_key.hex() == helper.said["public_key"]
        for number in range(N_MIN):
            phone = Phone(number)
            line, _ = await connect(phone, cloud.endpoint())
            line.client.upload(
                number.to_bytes(16, "big"), phone.report(usage, usage_answers(number % 2))
            )
            assert [type(each) for each in await line.exchange()] == [UploadCommitted]
        await cloud.tick(START + 2 * DAY)
        (aggregate,) = (await cloud.report())["aggregates"]
        assert (aggregate["task"], aggregate["round"], aggregate["n"]) == ("usage", 2, N_MIN)
        half = N_MIN / 2
        first = aggregate["estimates"]["histograms"][0]
        assert abs(first["estimate"] * N_MIN - half) < 6 * aggregate["sigma"]


async def test_a_silent_helper_delays_the_round_and_loses_nothing(
    state: Path, inline: Runtime
) -> None:
    async with running(state, inline) as cloud:
        usage = descriptors(cloud.endpoint(), cloud.public_key)["usage"]
        for number in range(N_MIN):
            phone = Phone(number)
            line, _ = await connect(phone, cloud.endpoint())
            line.client.upload(number.to_bytes(16, "big"), phone.report(usage, usage_answers()))
            await line.exchange()
        working = cloud._helper
        cloud._helper = RemoteHelper("http://127.0.0.1:9", 5.0)
        await cloud.tick(START + DAY)
        statuses = {
            (each["task"], each["round"]): each["status"]
            for each in (await cloud.report())["rounds"]
        }
        assert (statuses["usage", 1], statuses["usage", 2]) == ("closing", "open")
        await cloud._helper.close()
        cloud._helper = working
        await cloud.tick(START + DAY + 1)
        (aggregate,) = (await cloud.report())["aggregates"]
        assert aggregate["n"] == N_MIN


async def test_refusals_travel(helper: Process) -> None:
    remote = RemoteHelper(helper.said["url"], 10.0)
    batch = Batch(bytes(16), "usage", 1, 4, 256, 1.0, 1.0, 2, ())
    with pytest.raises(BatchRefused) as refused:
        await remote.sum_masks(batch)
    assert refused.value.reason == "too_few"
    await remote.close()


async def test_junk_and_floods_are_refused(helper: Process) -> None:
    async with aiohttp.ClientSession(helper.said["url"]) as http:
        async with http.post("/v1/masks", data=b"junk") as answer:
            assert answer.status == 400
        async with http.post("/v1/masks", data=bytes(LARGEST_BATCH_BYTES + 1)) as answer:
            assert answer.status == 413
        async with http.get("/healthz") as answer:
            assert answer.status == 200


async def test_an_absent_helper_is_one_clear_line() -> None:
    remote = RemoteHelper("http://127.0.0.1:9", 5.0)
    with pytest.raises(HelperUnavailable, match="does not answer"):
        await remote.public_key()
    await remote.close()
