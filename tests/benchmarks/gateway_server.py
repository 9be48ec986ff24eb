"""The servers that the gateway's benchmark measures, each in a process of its own on one core.

One is a real cloud as `reverie-cloud serve` makes it, the other a bare aiohttp echo. Both answer
over a pipe what they have used: CPU seconds, and memory that is theirs.
"""

from __future__ import annotations

import asyncio
import gc
import os
import resource
from contextlib import AsyncExitStack
from dataclasses import dataclass
from hashlib import sha256
from multiprocessing import get_context
from multiprocessing.connection import Connection as Pipe
from pathlib import Path
from typing import Literal

from aiohttp import WSMsgType, web

from cloud.actors.registry import device_id_of
from cloud.actors.runtime import InProcessRuntime
from cloud.config import CloudConfig
from cloud.gateway.app import Root, make_app
from cloud.gateway.garbage import settle
from cloud.gateway.limits import Door, Limits
from cloud.logs import configure_logs
from cloud.loops import run
from cloud.service import Cloud
from cloud.storage import Database
from cloud.storage.tables import devices
from cloud.tls import Tls, load_tls
from protocol.identity import DeviceKey
from tests.cloud.world import START

__all__ = ["Plan", "Server", "device_key", "open_files"]

Kind = Literal["cloud", "echo"]
BACKLOG = 4096
OPEN_SESSIONS = 50_000
STARTS_PER_SECOND = 1e6
"""The door's own rate is not what is measured here."""
KIB = 1024


@dataclass(frozen=True)
class Plan:
    """What a server is started with: the folder is empty or its own, `core` the CPU it runs on."""

    kind: Kind
    folder: Path
    phones: int = 0
    core: int = 0
    certificate: Path | None = None
    key: Path | None = None


class Server:
    """A server process, once it listens."""

    def __init__(self, plan: Plan) -> None:
        spawn = get_context("spawn")
        self._pipe, theirs = spawn.Pipe()
        self._process = spawn.Process(target=_main, args=(plan, theirs), daemon=True)
        self._process.start()
        theirs.close()
        self.port: int = self._pipe.recv()
        """Where it listens."""

    def cpu(self) -> float:
        """Seconds of processor time it has used."""
        return self._ask("cpu")

    def memory(self) -> float:
        """Bytes that are its own (unique set size), after a collection of garbage."""
        return self._ask("memory")

    def stop(self) -> None:
        """End it in good order."""
        self._pipe.send("stop")
        self._process.join()

    def _ask(self, what: str) -> float:
        self._pipe.send(what)
        said: float = self._pipe.recv()
        return said


def device_key(number: int) -> DeviceKey:
    """The key of a phone: both processes know it."""
    return DeviceKey(sha256(b"gateway benchmark %d" % number).digest())


def open_files() -> None:
    """As many sockets as the machine lets a process have."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _main(plan: Plan, pipe: Pipe) -> None:
    os.sched_setaffinity(0, {plan.core})
    open_files()
    configure_logs()
    run(_serve(plan, pipe))


async def _serve(plan: Plan, pipe: Pipe) -> None:
    async with AsyncExitStack() as stack:
        tls = Tls(None, b"")
        if plan.certificate is not None:
            tls = load_tls(plan.certificate, plan.key)
        app = await _cloud(plan, tls, stack) if plan.kind == "cloud" else _echo_app()
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
        await runner.setup()
        stack.push_async_callback(runner.cleanup)
        site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls.context, backlog=BACKLOG)
        await site.start()
        settle()
        pipe.send(runner.addresses[0][1])
        loop, stop = asyncio.get_running_loop(), asyncio.Event()

        def asked() -> None:
            try:
                question = pipe.recv()
            except EOFError:  # whoever started this process is gone
                question = "stop"
            match question:
                case "stop":
                    stop.set()
                case "cpu":
                    used = resource.getrusage(resource.RUSAGE_SELF)
                    pipe.send(used.ru_utime + used.ru_stime)
                case _:
                    pipe.send(_memory())

        loop.add_reader(pipe.fileno(), asked)
        await stop.wait()
        loop.remove_reader(pipe.fileno())


async def _cloud(plan: Plan, tls: Tls, stack: AsyncExitStack) -> web.Application:
    config = CloudConfig(state=plan.folder, budget="demo", open_enrolment=True)
    runtime = InProcessRuntime(inline=False)
    stack.push_async_callback(runtime.stop)
    cloud = Cloud(config, runtime, bits=os.urandom, now=START, binding=tls.binding)
    stack.push_async_callback(cloud.stop)
    await cloud.start()
    await cloud.rounds.ask("open_due", START)
    core = cloud.endpoint()
    await core.refresh()
    limits = Limits(open_sessions=OPEN_SESSIONS, starts_per_second=STARTS_PER_SECOND)
    core.door = Door(limits, lambda: 0.0)
    _enrol(config.database_url, plan.phones)
    root = Root(cloud.public_key, "demo", open_enrolment=True, root_sha256=cloud.root_sha256)
    return make_app(core, root, lambda: START)


def _enrol(url: str, phones: int) -> None:
    """Enrolment is not measured: the phones are simply there."""
    keys = [device_key(number).public for number in range(phones)]
    rows = [{"device_id": device_id_of(key), "public_key": key, "enrolled": START} for key in keys]
    database = Database(url)
    with database.write() as connection:
        connection.execute(devices.insert(), rows)
    database.close()


def _echo_app() -> web.Application:
    app = web.Application()
    app.router.add_get("/v1/session", _echo)
    return app


async def _echo(request: web.Request) -> web.StreamResponse:
    """Each message says how long its answers shall be: a length of two bytes for each."""
    socket = web.WebSocketResponse(compress=False)
    await socket.prepare(request)
    async for message in socket:
        if message.type is WSMsgType.BINARY:
            data = message.data
            for place in range(1, 1 + 2 * data[0], 2):
                await socket.send_bytes(bytes(int.from_bytes(data[place : place + 2], "big")))
    return socket


def _memory() -> float:
    gc.collect()
    rollup = Path("/proc/self/smaps_rollup").read_text("ascii")
    fields = {line.split(":")[0]: line.split()[1] for line in rollup.splitlines()[1:]}
    return float((int(fields["Private_Clean"]) + int(fields["Private_Dirty"])) * KIB)
