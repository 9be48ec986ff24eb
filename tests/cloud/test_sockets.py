"""The gateway on a real socket: aiohttp on one end, websockets on the other."""

from __future__ import annotations

from collections.abc import AsyncIterator

import aiohttp
import pytest
from aiohttp import web
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from cloud.gateway.app import Root, make_app
from cloud.service import Cloud
from privacy.receipts import open_receipt
from protocol.messages import Hello, Refusal
from protocol.models.spec import SPECS
from protocol.release import open_manifest, open_release
from protocol.session import (
    ClientSession,
    Enrolled,
    Event,
    PlanReceived,
    ReleaseReceived,
    UploadCommitted,
)
from protocol.wire import MAX_FRAME, decode, encode
from tests.cloud.world import START, Phone, descriptors, usage_answers


@pytest.fixture
async def url(cloud: Cloud) -> AsyncIterator[str]:
    root = Root(cloud.public_key, "demo", open_enrolment=True, root_sha256=cloud.root_sha256)
    app = make_app(cloud.endpoint(), root, lambda: START, cloud.transparency)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    await runner.cleanup()


def _socket(url: str) -> connect:
    return connect(url.replace("http", "ws") + "/v1/session", compression=None, proxy=None)


async def _until(
    socket: ClientConnection, session: ClientSession, kind: type[Event]
) -> list[Event]:
    """Drive the session over the socket until an event of this kind comes."""
    events: list[Event] = []
    while not any(isinstance(event, kind) for event in events):
        for frame in session.frames_to_send():
            await socket.send(frame)
        frame = await socket.recv(decode=False)
        assert isinstance(frame, bytes)
        events += session.receive(frame)
    return events


async def test_enrol_prove_plan_upload_ack_fetch(url: str, cloud: Cloud) -> None:
    phone = Phone(1)
    session = phone.session()
    async with _socket(url) as socket:
        events = await _until(socket, session, PlanReceived)
        assert isinstance(events[0], Enrolled)
        plan = events[-1]
        assert isinstance(plan, PlanReceived)
        assert plan.server_time == START
        usage = descriptors(cloud.endpoint(), cloud.public_key)["usage"]
        session.upload(b"u" * 16, phone.report(usage, usage_answers()))
        (committed,) = await _until(socket, session, UploadCommitted)
        assert isinstance(committed, UploadCommitted)
        assert open_receipt(committed.receipt, cloud.public_key).task == "usage"
        manifest = open_manifest(plan.releases[0], cloud.public_key)
        session.fetch(manifest.model, manifest.version, 0, manifest.full.size)
        (fetched,) = await _until(socket, session, ReleaseReceived)
        assert isinstance(fetched, ReleaseReceived)
        open_release(manifest, fetched.blob, None, SPECS[manifest.model])
        session.finish()
        for frame in session.frames_to_send():
            await socket.send(frame)
        with pytest.raises(ConnectionClosed):
            await socket.recv()
        assert socket.close_code == 1000
    assert (await cloud.report())["reports"] == 1


async def test_an_oversize_frame_closes_with_1009_and_is_counted(url: str, cloud: Cloud) -> None:
    async with _socket(url) as socket:
        await socket.send(bytes(MAX_FRAME + 100))
        with pytest.raises(ConnectionClosed):
            await socket.recv()
        assert socket.close_code == 1009
    assert cloud.metrics.value("reverie_refusals_total", code="too_large") == 1


async def test_text_frames_and_vanishing_devices_harm_nobody(url: str, cloud: Cloud) -> None:
    async with _socket(url) as socket:
        await socket.send("text")
        refused = decode(await socket.recv(decode=False))
        assert isinstance(refused, Refusal)
        assert refused.code == "bad_message"
        with pytest.raises(ConnectionClosed):
            await socket.recv()
    async with _socket(url) as socket:
        hello = Hello(versions=(1,), device_id="x", client_nonce=bytes(32))
        await socket.send(encode(hello))
        socket.transport.abort()
    phone = Phone(2)
    async with _socket(url) as socket:
        await _until(socket, phone.session(), PlanReceived)


async def test_the_open_pages(url: str, cloud: Cloud) -> None:
    manifest = open_manifest(cloud.endpoint().snapshot.releases[0][2], cloud.public_key)
    async with aiohttp.ClientSession(url) as http:
        async with http.get("/healthz") as answer:
            assert await answer.json() == {"status": "ok"}
        async with http.get("/v1/root") as answer:
            assert await answer.json() == {
                "public_key": cloud.public_key.hex(),
                "versions": [1, 2],
                "budget": "demo",
                "open_enrolment": True,
                "root_sha256": cloud.root_sha256,
            }
        async with http.get("/metrics") as answer:
            assert "reverie_sessions_total" in await answer.text()
        async with http.get(f"/v1/releases/{manifest.model}/{manifest.version}/0") as answer:
            blob = await answer.read()
            open_release(manifest, blob, None, SPECS[manifest.model])
        for path in (f"{manifest.model}/99/0", "nothing/1/0", "router/x/0"):
            async with http.get(f"/v1/releases/{path}") as answer:
                assert answer.status == 404
