"""The gateway beside a bare echo, the inbox beside bare SQLite: both ends in this process."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import time
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

import aiohttp
import psycopg
from aiohttp import WSMsgType, web

from cloud.actors.intake import Intake, UploadRow
from cloud.actors.rounds import Rounds
from cloud.actors.runtime import InProcessRuntime
from cloud.config import CloudConfig
from cloud.gateway.app import Root, make_app
from cloud.gateway.batcher import BATCH_ITEMS
from cloud.helper_client import HelperIdentity
from cloud.identity import ensure_key
from cloud.service import Cloud
from protocol.identity import DeviceKey
from protocol.session import ClientSession, PlanReceived, UploadCommitted
from protocol.update import Report, decode_report, encode_report
from tests.benchmarks.row import Row
from tests.cloud.postgres import PostgresServer, programs
from tests.cloud.world import START, raw_report, sqlite

SESSIONS = 300
AT_ONCE = 32
PASSES = 3
ROWS = 4096


def rows() -> Iterator[Row]:
    """Sessions a second and durable reports a second."""
    ours, echo = asyncio.run(_gateway())
    yield Row(
        "sync sessions (prove, plan, upload, durable ack)",
        ours,
        "1/s",
        peer="aiohttp echo of as many messages of the same sizes",
        peer_value=echo,
        target=echo / 6,
        better="high",
    )
    yield from _intakes()


async def _gateway() -> tuple[float, float]:
    with TemporaryDirectory() as name:
        config = CloudConfig(state=Path(name), budget="demo", open_enrolment=True)
        runtime = InProcessRuntime(inline=False)
        cloud = Cloud(config, runtime, bits=os.urandom, now=START)
        await cloud.start()
        await cloud.rounds.ask("open_due", START)
        await cloud.endpoint().refresh()
        app = make_app(cloud.endpoint(), Root(cloud.public_key, "demo", True), lambda: START)
        app.router.add_get("/echo", _echo)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        keys = [DeviceKey.generate(os.urandom) for _ in range(SESSIONS * PASSES)]
        ids = [await cloud.registry.ask("enrol", "x", key.public, START) for key in keys]
        turns: list[tuple[int, int]] = []
        best_ours = best_echo = float("inf")
        async with aiohttp.ClientSession(url, connector=aiohttp.TCPConnector(limit=0)) as http:
            for number in range(PASSES):
                phones = range(number * SESSIONS, (number + 1) * SESSIONS)

                async def sync(phone: int) -> None:
                    turns[:] = await _sync(http, keys[phone], ids[phone], phone)

                async def echo(_phone: int) -> None:
                    await _mirror(http, list(turns))

                best_ours = min(best_ours, await _timed(phones, sync))
                best_echo = min(best_echo, await _timed(phones, echo))
        await runner.cleanup()
        await cloud.stop()
        await runtime.stop()
    return SESSIONS / best_ours, SESSIONS / best_echo


async def _timed(phones: range, work: Callable[[int], Awaitable[None]]) -> float:
    limit = asyncio.Semaphore(AT_ONCE)

    async def one(phone: int) -> None:
        async with limit:
            await work(phone)

    begun = time.perf_counter()
    await asyncio.gather(*map(one, phones))
    return time.perf_counter() - begun


async def _sync(
    http: aiohttp.ClientSession,
    key: DeviceKey,
    device_id: str,
    phone: int,
) -> list[tuple[int, int]]:
    """One session; gives (bytes up, frames down) of each of its turns."""
    turns: list[tuple[int, int]] = []
    session = ClientSession(
        device_id=device_id, sign=key.sign, client_nonce=os.urandom(32), have={}
    )
    session.start()
    done = False
    async with http.ws_connect("/v1/session", compress=0) as socket:
        while not done:
            frames = session.frames_to_send()
            for frame in frames:
                await socket.send_bytes(frame)
            received = 0
            while not _has_more(session) and not done:
                events = session.receive(await socket.receive_bytes())
                received += 1
                for event in events:
                    if isinstance(event, PlanReceived):
                        session.upload(phone.to_bytes(16, "big"), _report(phone))
                    done = done or isinstance(event, UploadCommitted)
            turns.append((sum(map(len, frames)), received))
    return turns


def _has_more(session: ClientSession) -> bool:
    """Whether frames wait to be sent, without taking them."""
    return bool(session._outgoing)


async def _mirror(http: aiohttp.ClientSession, turns: list[tuple[int, int]]) -> None:
    async with http.ws_connect("/echo", compress=0) as socket:
        for size, frames in turns:
            await socket.send_bytes(bytes([frames]) + bytes(size))
            for _ in range(frames):
                await socket.receive_bytes()


async def _echo(request: web.Request) -> web.StreamResponse:
    socket = web.WebSocketResponse(compress=False)
    await socket.prepare(request)
    async for message in socket:
        if message.type is WSMsgType.BINARY:
            for _ in range(message.data[0]):
                await socket.send_bytes(message.data)
    return socket


def _report(number: int) -> bytes:
    """A distinct, well-formed usage report."""
    plain = decode_report(raw_report())
    report_id = number.to_bytes(16, "big")
    return encode_report(Report(plain.task, plain.round, report_id, plain.share, plain.sealed_seed))


def _intakes() -> Iterator[Row]:
    """The inbox on both databases, each beside bare inserts of the same rows into the same."""
    reports = [
        UploadRow(number.to_bytes(16, "big"), f"{number:032x}", _report(number), START)
        for number in range(ROWS)
    ]
    batches = [reports[start : start + BATCH_ITEMS] for start in range(0, ROWS, BATCH_ITEMS)]
    ours = min(_commit_all(batches) for _ in range(PASSES))
    bare = min(_insert_all(batches) for _ in range(PASSES))
    yield Row(
        "intake: durable reports, checked and deduplicated",
        ROWS / ours,
        "1/s",
        peer="bare sqlite3 insert, WAL, synchronous=FULL, same batches",
        peer_value=ROWS / bare,
        target=13_000,
        better="high",
    )
    if programs() is not None:
        yield from _postgresql(batches)


def _postgresql(batches: list[list[UploadRow]]) -> Iterator[Row]:
    server = PostgresServer(durable=True)
    try:
        bare = min(_insert_all_there(server, batches) for _ in range(PASSES))
        for intakes in (1, 2):
            ours = min(_commit_all(batches, server, intakes) for _ in range(PASSES))
            yield Row(
                f"intake on PostgreSQL, {intakes} side by side",
                ROWS / ours,
                "1/s",
                peer="bare psycopg executemany, fsync, same batches, 1 connection",
                peer_value=ROWS / bare,
                target=13_000,
                better="high",
            )
    finally:
        server.stop()


def _commit_all(
    batches: list[list[UploadRow]], server: PostgresServer | None = None, intakes: int = 1
) -> float:
    with TemporaryDirectory() as name:
        folder = Path(name)
        url = sqlite(folder) if server is None else server.migrated()
        ensure_key(folder / "signing.key", os.urandom)
        helper = HelperIdentity(bytes(32), bytes(32), "demo")
        rounds = Rounds(url, str(folder / "signing.key"), helper, "demo")
        rounds.open_due(START)
        owners = [Intake(url, str(folder / "signing.key")) for _ in range(intakes)]

        def commit(place: int) -> None:
            for batch in batches[place::intakes]:
                assert all(outcome.committed for outcome in owners[place].commit(batch))

        begun = time.perf_counter()
        with ThreadPoolExecutor(intakes) as pool:
            list(pool.map(commit, range(intakes)))
        seconds = time.perf_counter() - begun
        for owner in owners:
            owner.close()
        rounds.close()
    return seconds


def _insert_all_there(server: PostgresServer, batches: list[list[UploadRow]]) -> float:
    with psycopg.connect(server.database()) as connection:
        connection.execute(
            "CREATE TABLE t"
            " (id BYTEA PRIMARY KEY, device TEXT, sha BYTEA, body BYTEA, UNIQUE(device))"
        )
        connection.commit()
        begun = time.perf_counter()
        for batch in batches:
            connection.cursor().executemany(
                "INSERT INTO t VALUES (%s, %s, %s, %s)",
                [
                    (row.upload_id, row.device_id, sha256(row.body).digest(), row.body)
                    for row in batch
                ],
            )
            connection.commit()
        return time.perf_counter() - begun


def _insert_all(batches: list[list[UploadRow]]) -> float:
    with TemporaryDirectory() as name:
        connection = sqlite3.connect(Path(name) / "bare.db", isolation_level=None)
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute(
            "CREATE TABLE t (id BLOB PRIMARY KEY, device TEXT, sha BLOB, body BLOB, UNIQUE(device))"
        )
        begun = time.perf_counter()
        for batch in batches:
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany(
                "INSERT INTO t VALUES (?, ?, ?, ?)",
                [
                    (row.upload_id, row.device_id, sha256(row.body).digest(), row.body)
                    for row in batch
                ],
            )
            connection.execute("COMMIT")
        seconds = time.perf_counter() - begun
        connection.close()
    return seconds
