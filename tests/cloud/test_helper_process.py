"""The helper as a process of its own, over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path

import aiohttp
import pytest

from cloud.actors.runtime import Runtime
from cloud.helper_client import (
    HelperChanged,
    HelperIdentity,
    HelperUnavailable,
    HelperUnsuitable,
    RemoteHelper,
    TokenRefused,
    allows,
    decode_identity,
)
from cloud.service import Cloud
from privacy.budget import DEMO
from privacy.errors import BatchRefused
from privacy.secagg import Batch
from privacy.secagg.batch import LARGEST_BATCH_BYTES
from protocol.session import UploadCommitted
from tests.cloud.conftest import running
from tests.cloud.processes import Process, running_process
from tests.cloud.world import DAY, START, Phone, connect, descriptors, usage_answers

N_MIN = DEMO.terms("usage").n_min
BATCH = Batch(bytes(16), "usage", 1, 4, 256, 1.0, 1.0, 2, ())


@pytest.fixture(scope="module")
def helper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    state = str(tmp_path_factory.mktemp("helper-process") / "helper")
    with running_process("helper", "--state", state, "--port", "0", "--budget", "demo") as process:
        yield process


@pytest.fixture
async def remote(helper: Process) -> AsyncIterator[RemoteHelper]:
    made = RemoteHelper(helper.said["url"], 10.0, token_of(helper))
    yield made
    await made.close()


def _mode(path: str) -> int:
    return Path(path).stat().st_mode & 0o777


def token_of(helper: Process) -> str:
    return Path(helper.said["token_file"]).read_text().strip()


async def _fill(cloud: Cloud) -> None:
    usage = descriptors(cloud.endpoint(), cloud.public_key)["usage"]
    for number in range(N_MIN):
        phone = Phone(number)
        line, _ = await connect(phone, cloud.endpoint())
        body = phone.report(usage, usage_answers(number % 2))
        line.client.upload(number.to_bytes(16, "big"), body)
        assert [type(each) for each in await line.exchange()] == [UploadCommitted]


async def test_a_round_closes_through_the_helper_process(
    state: Path, inline: Runtime, helper: Process
) -> None:
    # Published models, but rounds sealed to this helper's key: the old ones expire first.
    settings = {"helper_url": helper.said["url"], "helper_token_file": helper.said["token_file"]}
    async with running(state, inline, **settings, new_helper=True) as cloud:
        await cloud.tick(START + DAY)
        usage = descriptors(cloud.endpoint(), cloud.public_key)["usage"]
        assert usage.helper_key.hex() == helper.said["public_key"]
        await _fill(cloud)
        await cloud.tick(START + 2 * DAY)
        (aggregate,) = (await cloud.report())["aggregates"]
        assert (aggregate["task"], aggregate["round"], aggregate["n"]) == ("usage", 2, N_MIN)
        half = N_MIN / 2
        first = aggregate["estimates"]["histograms"][0]
        assert abs(first["estimate"] * N_MIN - half) < 6 * aggregate["sigma"]


async def test_another_helper_than_the_trusted_one_is_an_error(
    state: Path, inline: Runtime, helper: Process
) -> None:
    settings = {"helper_url": helper.said["url"], "helper_token_file": helper.said["token_file"]}
    with pytest.raises(HelperChanged, match="restore the helper's key file"):
        async with running(state, inline, **settings):
            pass


async def test_a_silent_helper_delays_the_round_and_loses_nothing(
    state: Path, inline: Runtime
) -> None:
    async with running(state, inline) as cloud:
        await _fill(cloud)
        working = cloud._ticker
        assert working is not None
        silent = RemoteHelper("http://127.0.0.1:9", 5.0, "token")
        cloud._ticker = replace(working, helper=silent)
        await cloud.tick(START + DAY)
        statuses = {
            (each["task"], each["round"]): each["status"]
            for each in (await cloud.report())["rounds"]
        }
        assert (statuses["usage", 1], statuses["usage", 2]) == ("closing", "open")
        await silent.close()
        cloud._ticker = working
        await cloud.tick(START + DAY + 1)
        (aggregate,) = (await cloud.report())["aggregates"]
        assert aggregate["n"] == N_MIN


async def test_a_known_helper_may_be_silent_at_the_start(
    state: Path, inline: Runtime, tmp_path: Path
) -> None:
    token = tmp_path / "token"
    token.write_text("ab" * 32)
    settings = {"helper_url": "http://127.0.0.1:9", "helper_token_file": token}
    async with running(state, inline, **settings) as cloud:
        assert "usage" in descriptors(cloud.endpoint(), cloud.public_key)


async def test_refusals_travel(remote: RemoteHelper) -> None:
    with pytest.raises(BatchRefused) as refused:
        await remote.sum_masks(BATCH)
    assert refused.value.reason == "too_few"


async def test_the_identity_and_query_keys_travel(helper: Process, remote: RemoteHelper) -> None:
    identity = await remote.identity()
    assert identity.sealing.hex() == helper.said["public_key"]
    assert identity.signing.hex() == helper.said["signing_public_key"]
    assert identity.budget == "demo"
    assert await remote.query_key("usage", 1) == await remote.query_key("usage", 1)
    assert await remote.query_key("usage", 1) != await remote.query_key("usage", 2)


async def test_a_wrong_token_is_one_clear_line(helper: Process) -> None:
    stranger = RemoteHelper(helper.said["url"], 10.0, "0" * 64)
    for call in (
        stranger.identity(),
        stranger.query_key("usage", 1),
        stranger.sum_masks(BATCH),
    ):
        with pytest.raises(TokenRefused, match="--helper-token-file"):
            await call
    await stranger.close()


@pytest.mark.parametrize("header", ["", "Bearer ", "Bearer é", "Basic {token}", "{token}"])
async def test_nothing_is_answered_without_the_token(helper: Process, header: str) -> None:
    headers = {"Authorization": header.format(token=token_of(helper))} if header else {}
    async with aiohttp.ClientSession(helper.said["url"], headers=headers) as http:
        async with http.get("/v1/query/usage/1") as answer:
            assert answer.status == 401
        async with http.post("/v1/masks", data=BATCH.encode()) as answer:
            assert answer.status == 401
            assert token_of(helper) not in await answer.text()


async def test_the_key_is_public(helper: Process) -> None:
    async with aiohttp.ClientSession(helper.said["url"]) as http:
        async with http.get("/v1/key") as answer:
            said = decode_identity(await answer.read())
        async with http.get("/healthz") as answer:
            assert answer.status == 200
    assert said.sealing.hex() == helper.said["public_key"]


async def test_junk_and_floods_are_refused(helper: Process) -> None:
    headers = {"Authorization": f"Bearer {token_of(helper)}"}
    async with aiohttp.ClientSession(helper.said["url"], headers=headers) as http:
        async with http.post("/v1/masks", data=b"junk") as answer:
            assert answer.status == 400
        async with http.post("/v1/masks", data=_endless(LARGEST_BATCH_BYTES + 1)) as answer:
            assert answer.status == 413
        for path in ("local_usage/1", "usage/0", "usage/x", "usage/²", f"usage/{2**60}"):
            async with http.get(f"/v1/query/{path}") as answer:
                assert answer.status == 404


async def _endless(size: int) -> AsyncIterator[bytes]:
    """A body that does not say how long it is."""
    for _ in range(0, size, 1 << 16):
        yield bytes(1 << 16)


async def _connection(
    helper: Process,
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    port = int(helper.said["url"].rsplit(":", 1)[1])
    return await asyncio.open_connection("127.0.0.1", port)


async def test_a_large_body_is_refused_before_it_is_sent(helper: Process) -> None:
    length = LARGEST_BATCH_BYTES + 1
    head = f"POST /v1/masks HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n"
    statuses = []
    for token in ("", f"Authorization: Bearer {token_of(helper)}\r\n"):
        reader, writer = await _connection(helper)
        writer.write((head + token + "\r\n").encode())  # and not one byte of the body
        statuses.append((await reader.readline()).split()[1])
        writer.close()
    assert statuses == [b"401", b"413"]


async def test_the_token_file_is_private_and_its_content_unsaid(tmp_path: Path) -> None:
    state = tmp_path / "helper"
    tokens = set()
    for _ in range(2):
        with running_process("helper", "--state", str(state), "--port", "0") as process:
            assert process.said["budget"] == "production"
            tokens.add(token_of(process))
            said = str(process.said)
            _, errors = process.end()
        assert _mode(process.said["token_file"]) == 0o600
        assert not any(token in said + errors for token in tokens)
    assert len(tokens) == 1


def test_floors_that_would_refuse_every_round_are_told_at_the_start() -> None:
    strict = HelperIdentity(bytes(32), bytes(32), "production")
    allows(strict, "production")
    allows(strict._replace(budget="demo"), "production")
    with pytest.raises(HelperUnsuitable, match="run both with the same --budget"):
        allows(strict, "demo")
    with pytest.raises(HelperUnsuitable):
        allows(strict._replace(budget="another"), "demo")


async def test_an_absent_helper_is_one_clear_line() -> None:
    remote = RemoteHelper("http://127.0.0.1:9", 5.0, "token")
    with pytest.raises(HelperUnavailable, match="does not answer"):
        await remote.identity()
    await remote.close()


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"public_key":"zz"}', b"\xff"])
def test_a_strange_identity_is_no_identity(body: bytes) -> None:
    with pytest.raises(ValueError):
        decode_identity(body)
