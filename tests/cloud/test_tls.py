"""Real sockets: the channel's certificate in both proofs, goodbyes, and a window that closes."""

from __future__ import annotations

import asyncio
import datetime
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession as HttpSession
from aiohttp import WSMsgType, web
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from websockets.asyncio.client import connect

from cloud.gateway import app as gateway_app
from cloud.gateway.app import Root, make_app
from cloud.gateway.limits import Door, Limits
from cloud.tls import TlsUnusable, load_tls
from device.sync.channel import Channel, CloudUnreachable, binding_of
from device.sync.conversation import Conversation, SyncFailed
from device.sync.websocket import CLOSE_TIMEOUT, websocket
from protocol.messages import MAX_CHUNK
from protocol.session import ClientSession, UploadCommitted
from tests.cloud.gateway_world import CLOUD_KEY, Caller, World, upload_id
from tests.cloud.world import START

BODY = bytes(range(256)) * 1_000
"""Eight chunks."""


@dataclass(frozen=True)
class Certificate:
    """A self-signed certificate for this machine, as files."""

    chain: Path
    key: Path
    binding: bytes


def certificate(folder: Path, name: str) -> Certificate:
    key = ec.generate_private_key(ec.SECP256R1())
    named = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    today = datetime.datetime.now(datetime.UTC)
    day = datetime.timedelta(days=1)
    built = (
        x509.CertificateBuilder()
        .subject_name(named)
        .issuer_name(named)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(today - day)
        .not_valid_after(today + day)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem, der = serialization.Encoding.PEM, serialization.Encoding.DER
    chain, secret = folder / f"{name}.pem", folder / f"{name}.key"
    chain.write_bytes(built.public_bytes(pem))
    form, plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    secret.write_bytes(key.private_bytes(pem, form, plain))
    return Certificate(chain, secret, sha256(built.public_bytes(der)).digest())


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    made = World(tmp_path)
    yield made
    made.close()


@asynccontextmanager
async def served(app: web.Application, tls: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    """The application on a free port of this machine."""
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls).start()
    scheme = "http" if tls is None else "https"
    try:
        yield f"{scheme}://localhost:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


def gateway(world: World) -> web.Application:
    root = Root(CLOUD_KEY.public, "demo", open_enrolment=True)
    return make_app(world.core, root, lambda: START)


def session(caller: Caller, channel: Channel, **changes: Any) -> ClientSession:
    fields: dict[str, Any] = {
        "device_id": caller.device_id,
        "sign": caller.key.sign,
        "client_nonce": caller.world.bits(32),
        "have": {},
        "cloud_key": CLOUD_KEY.public,
        "binding": binding_of(channel),
    }
    return ClientSession(**(fields | changes))


def trusting(*certificates: Certificate) -> ssl.SSLContext:
    context = ssl.create_default_context()
    for each in certificates:
        context.load_verify_locations(each.chain)
    return context


def relay(upstream: str, trust: ssl.SSLContext) -> web.Application:
    """Someone in between who hands every frame on, both ways."""

    async def carry(request: web.Request) -> web.StreamResponse:
        down = web.WebSocketResponse()
        await down.prepare(request)
        url = upstream.replace("https", "wss") + "/v1/session"
        async with connect(url, ssl=trust, compression=None, proxy=None) as up:

            async def back() -> None:
                async for frame in up:
                    assert isinstance(frame, bytes)
                    await down.send_bytes(frame)
                await down.close()

            backwards = asyncio.create_task(back())
            async for message in down:
                if message.type is WSMsgType.BINARY:
                    await up.send(message.data)
            backwards.cancel()
        return down

    app = web.Application()
    app.router.add_get("/v1/session", carry)
    return app


async def test_both_ends_sign_the_certificate_of_their_channel(
    world: World, tmp_path: Path
) -> None:
    ours = certificate(tmp_path, "cloud")
    tls = load_tls(ours.chain, ours.key)
    assert tls.binding == ours.binding
    world.core.binding = tls.binding
    async with (
        served(gateway(world), tls.context) as url,
        websocket(url, trusting(ours))() as channel,
    ):
        assert binding_of(channel) == ours.binding
        talk = Conversation(session(world.phone(), channel), channel)
        _, plan = await talk.begin()
        assert plan.version == 2
        assert isinstance(await talk.deliver(b"u" * 16, b"body"), UploadCommitted)
        await talk.end()


async def test_someone_in_between_is_refused_by_both_ends(world: World, tmp_path: Path) -> None:
    """The phone trusts the certificate of the one in between, and frames pass unchanged: only
    the proofs tell that the two channels are not one."""
    ours, theirs = certificate(tmp_path, "cloud"), certificate(tmp_path, "between")
    tls, between = load_tls(ours.chain, ours.key), load_tls(theirs.chain, theirs.key)
    world.core.binding = tls.binding
    async with (
        served(gateway(world), tls.context) as url,
        served(relay(url, trusting(ours)), between.context) as middle,
    ):
        dial = websocket(middle, trusting(ours, theirs))
        async with dial() as channel:
            assert binding_of(channel) == theirs.binding
            with pytest.raises(SyncFailed, match="bad_proof"):
                await Conversation(session(world.phone(), channel), channel).begin()
        assert world.core.metrics.value("reverie_plans_total") == 0
        # A phone that pins no key would go on: then it is the cloud that refuses.
        async with dial() as channel:
            with pytest.raises(SyncFailed, match="bad_proof"):
                await Conversation(session(world.phone(), channel, cloud_key=b""), channel).begin()
        refusals = world.core.metrics.value("reverie_refusals_total", code="bad_proof")
        assert refusals == 1
        assert world.core.metrics.value("reverie_plans_total") == 0


async def test_a_certificate_nobody_vouches_for_opens_no_channel(
    world: World, tmp_path: Path
) -> None:
    ours = certificate(tmp_path, "cloud")
    async with served(gateway(world), load_tls(ours.chain, ours.key).context) as url:
        with pytest.raises(CloudUnreachable):
            async with websocket(url)():
                pass


def test_tls_files_that_do_not_fit_are_one_line(tmp_path: Path) -> None:
    ours, theirs = certificate(tmp_path, "a"), certificate(tmp_path, "b")
    assert load_tls(ours.chain, None).context is None, "a proxy in front ends TLS"
    assert load_tls(ours.chain, None).binding == ours.binding
    for chain, key, line in (
        (ours.chain, theirs.key, "--tls-key"),
        (ours.key, ours.key, "--tls-cert"),
        (tmp_path / "none", ours.key, "--tls-cert"),
        (ours.chain, tmp_path / "none", "--tls-key"),
    ):
        with pytest.raises(TlsUnusable, match=line):
            load_tls(chain, key)


async def test_a_full_cloud_turns_phones_away_before_the_upgrade_and_says_for_how_long(
    world: World,
) -> None:
    world.core.door = Door(Limits(open_sessions=0, starts_per_second=0.1), lambda: 0.0)
    async with served(gateway(world)) as url:
        with pytest.raises(CloudUnreachable, match="full") as refused:
            async with websocket(url)():
                pass
        assert refused.value.retry_after == 10.0


async def test_what_is_no_cloud_is_named(world: World) -> None:
    async with served(web.Application()) as url:
        with pytest.raises(CloudUnreachable, match="404") as refused:
            async with websocket(url)():
                pass
        assert refused.value.retry_after == 0.0


async def test_a_newer_session_ends_the_older_over_its_socket(world: World) -> None:
    phone = world.phone()
    async with served(gateway(world)) as url, websocket(url)() as older:
        first = Conversation(session(phone, older), older)
        await first.begin()
        async with websocket(url)() as newer:
            await Conversation(session(phone, newer), newer).begin()
            with pytest.raises(SyncFailed, match="newer session") as ended:
                await first.collect(0)
            assert ended.value.retry_after >= 60.0
        assert world.core.metrics.value("reverie_sessions_superseded_total") == 1


async def test_a_cloud_that_stops_says_goodbye_and_when_to_come_back(world: World) -> None:
    async with websocket_over(world) as (url, stop), websocket(url)() as channel:
        talk = Conversation(session(world.phone(), channel), channel)
        await talk.begin()
        await stop()
        with pytest.raises(SyncFailed, match="stopping") as ended:
            await talk.collect(0)
        assert ended.value.retry_after >= 30.0


@asynccontextmanager
async def websocket_over(world: World) -> AsyncIterator[tuple[str, Callable[[], Awaitable[None]]]]:
    runner = web.AppRunner(gateway(world), access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}", runner.shutdown
    finally:
        await runner.cleanup()


async def test_silence_and_slowness_end_in_a_goodbye(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gateway_app, "PROOF_SECONDS", 0.01)
    async with served(gateway(world)) as url, websocket(url)() as channel:
        talk = Conversation(session(world.phone(), channel), channel)
        (closed,) = talk.session.receive(await channel.receive())
        assert "nothing was heard" in closed.reason  # type: ignore[union-attr]
    monkeypatch.setattr(gateway_app, "PROOF_SECONDS", 20.0)

    async def never(*_: object) -> None:
        await asyncio.Event().wait()

    async with served(gateway(world)) as url, websocket(url)() as channel:
        talk = Conversation(session(world.phone(), channel), channel)
        await talk.begin()
        monkeypatch.setattr(gateway_app, "ANSWER_SECONDS", 0.05)
        monkeypatch.setattr(world.mailbox, "ask", never)
        with pytest.raises(SyncFailed, match="too long to answer"):
            await talk.collect(0)


async def test_an_idle_phone_is_asked_whether_it_is_there(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gateway_app, "SILENCE_SECONDS", 1.6)
    phone = world.phone()
    client = ClientSession(
        device_id=phone.device_id, sign=phone.key.sign, client_nonce=bytes(32), have={}
    )
    async with (
        served(gateway(world)) as url,
        HttpSession(url) as http,
        http.ws_connect("/v1/session", autoping=False) as socket,
    ):
        client.start()
        while frames := client.frames_to_send():
            for frame in frames:
                await socket.send_bytes(frame)
            client.receive(await socket.receive_bytes())
        for _ in range(2):  # an answer makes it wait anew
            ping = await socket.receive()
            assert ping.type is WSMsgType.PING
            await socket.pong(ping.data)
        assert (await socket.receive()).type is WSMsgType.PING
        (closed,) = client.receive(await socket.receive_bytes())
        assert "nothing was heard" in closed.reason  # type: ignore[union-attr]


async def test_an_upload_cancelled_on_the_wire_goes_on_where_it_stopped(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A window that closes cancels the sync; what the cloud has of the body stays there."""
    phone, name = world.phone(), upload_id(BODY)
    enough = asyncio.Event()
    keep = world.core.keep

    async def kept(piece: Any) -> bool:
        done = await keep(piece)
        if piece.place >= 4 * MAX_CHUNK:
            enough.set()
            await asyncio.Event().wait()  # the rest never gets through
        return done

    monkeypatch.setattr(world.core, "keep", kept)

    async def sync(url: str) -> None:
        async with websocket(url)() as channel:
            talk = Conversation(session(phone, channel), channel)
            await talk.begin()
            await talk.deliver(name, BODY)

    async with served(gateway(world)) as url:
        syncing = asyncio.create_task(sync(url))
        async with asyncio.timeout(20.0):
            await enough.wait()
        syncing.cancel()
        await asyncio.gather(syncing, return_exceptions=True)
        assert syncing.cancelled()
        # The one wait on the way out: the law leaves a phone a second to stop.
        assert CLOSE_TIMEOUT <= 0.5
        monkeypatch.setattr(world.core, "keep", keep)
        await sync(url)
    assert world.inbox.bodies == {name: BODY}
    resumed = world.core.metrics.value("reverie_resumed_bytes_total")
    assert resumed == 5 * MAX_CHUNK
