"""The long-running processes: a cloud, or a helper, until a signal ends it."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import signal
import ssl
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import structlog
from aiohttp import web

from cloud.actors.helper import HelperActor
from cloud.actors.ray_runtime import RayRuntime
from cloud.actors.runtime import InProcessRuntime, Runtime
from cloud.admin.desk import Desk
from cloud.config import CloudConfig
from cloud.gateway.app import DRAIN, Root, make_app
from cloud.gateway.garbage import settle
from cloud.gateway.listening import make_runner
from cloud.helper_app import make_helper_app
from cloud.helper_client import HelperIdentity
from cloud.helper_token import ensure_token
from cloud.loops import loop_name
from cloud.pacing import Pace, Pacer
from cloud.service import Cloud
from cloud.tls import Tls

__all__ = [
    "DRAIN_SECONDS",
    "LEASE_SECONDS",
    "REFRESH_SECONDS",
    "HelperListening",
    "HelperOptions",
    "Listening",
    "PortBusy",
    "ServeOptions",
    "serve_cloud",
    "serve_helper",
]

log = structlog.get_logger("reverie.cloud")

CLOSING_SECONDS = 5.0
"""How long the last requests may take once the sessions are over."""
REFRESH_SECONDS = 2.0
LEASE_SECONDS = 15.0
DRAIN_SECONDS = 20.0


class PortBusy(Exception):
    """The address cannot be listened on; the message is one line that says what to do."""


@dataclass(frozen=True)
class ServeOptions:
    """Where to listen, and how often to do what.

    `port` 0 takes a free one. Seconds: between two ticks; between two looks for what other
    processes have changed; until a process that ticks and falls silent is followed by another;
    for uploads that run when the process is told to stop.
    """

    host: str
    port: int
    tick_seconds: float
    runtime: str = "inproc"
    ray_address: str | None = None
    tls: Tls | None = None
    refresh_seconds: float = REFRESH_SECONDS
    drain_seconds: float = DRAIN_SECONDS
    lease_seconds: float = LEASE_SECONDS
    trainer_cpus: float = 0.0
    open_metrics: bool = False
    """Whether `/metrics` asks for no token: only where nobody else can reach it."""

    @property
    def pace(self) -> Pace:
        """What is done by the clock."""
        return Pace(self.tick_seconds, self.refresh_seconds, self.lease_seconds)


@dataclass(frozen=True)
class Listening:
    """What a started cloud tells its operator: its address, public key, a one-time token ("" from a
    gateway), and the keys of the helper it works with ("" in local mode and from a gateway)."""

    url: str
    public_key: str
    token: str
    helper_key: str
    helper_signing_key: str


@dataclass(frozen=True)
class HelperOptions:
    """The helper's own folder, address, floors, and where its leader's token lies."""

    state: Path
    host: str
    port: int
    budget: str
    token_file: Path


@dataclass(frozen=True)
class HelperListening:
    """What a started helper tells its operator. The token itself is shown nowhere."""

    url: str
    public_key: str
    signing_public_key: str
    budget: str
    token_file: str


async def serve_cloud(
    config: CloudConfig, options: ServeOptions, announce: Callable[[Listening], None]
) -> None:
    """Run a cloud's process until SIGINT or SIGTERM; then let running uploads end, say goodbye to
    everyone else, and stop. A second signal ends it at once.

    Raises:
        PortBusy and what `Cloud.start` raises.
    """
    stop = _on_signals()
    runtime = _runtime(options)
    tls = options.tls or Tls(None, b"")
    cloud = Cloud(
        config,
        runtime,
        bits=os.urandom,
        now=time.time(),
        binding=tls.binding,
        aside=asyncio.to_thread,
    )
    try:
        await cloud.start()
        pacer = Pacer(cloud, options.pace)
        app = make_app(
            cloud.endpoint(),
            _root(cloud),
            time.time,
            cloud.transparency,
            pacer.readiness,
            _desk(cloud, options),
        )
        runner = make_runner(app, cloud.metrics, shutdown_timeout=CLOSING_SECONDS)
        try:
            url = await _listen(runner, options.host, options.port, tls.context)
            settle()
            announce(await _listening(cloud, url))
            log.info(
                "cloud_listening",
                url=url,
                role=config.role,
                budget=config.budget,
                aggregation=config.aggregation,
                loop=loop_name(),
            )
            working = asyncio.create_task(pacer.run())
            await _either(stop.wait(), working)
            working.cancel()
            pacer.readiness.draining = True
            log.info("cloud_draining", seconds=options.drain_seconds)
            cut_off = await app[DRAIN].finish(options.drain_seconds)
            log.info("cloud_stopping", sessions_cut_off=cut_off)
            with contextlib.suppress(asyncio.CancelledError):
                await working  # raises what ended it, if that was not the signal
        finally:
            await runner.cleanup()
    finally:
        await cloud.stop()
        await runtime.stop()


async def serve_helper(options: HelperOptions, announce: Callable[[HelperListening], None]) -> None:
    """Run a helper until SIGINT or SIGTERM.

    Raises:
        PortBusy, DatabaseUnavailable, KeyFileUnusable, OSError: the address or folder is unusable.
    """
    stop = _on_signals()
    runtime = InProcessRuntime(inline=False)
    try:
        helper = runtime.spawn("helper", HelperActor, str(options.state), None, options.budget)
        token = ensure_token(options.token_file, os.urandom)
        runner = web.AppRunner(
            make_helper_app(helper, token), access_log=None, shutdown_timeout=CLOSING_SECONDS
        )
        try:
            url = await _listen(runner, options.host, options.port)
            identity: HelperIdentity = await helper.ask("identity")
            keys = (identity.sealing.hex(), identity.signing.hex())
            announce(HelperListening(url, *keys, options.budget, str(options.token_file)))
            log.info("helper_listening", url=url, budget=options.budget)
            await stop.wait()
        finally:
            await runner.cleanup()
    finally:
        await runtime.stop()


async def _either(stop: Coroutine[Any, Any, object], work: asyncio.Task[None]) -> None:
    """Wait until one of them ends."""
    stopping = asyncio.create_task(stop)
    await asyncio.wait({stopping, work}, return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()


def _desk(cloud: Cloud, options: ServeOptions) -> Desk:
    async def show() -> None:
        await cloud.refresh(time.time())

    return Desk(
        cloud.config,
        cloud.metrics,
        time.time,
        os.urandom,
        secure=options.tls is not None,
        open_metrics=options.open_metrics,
        changed=show,
    )


def _root(cloud: Cloud) -> Root:
    config = cloud.config
    return Root(cloud.public_key, config.budget, config.open_enrolment, cloud.root_sha256)


async def _listening(cloud: Cloud, url: str) -> Listening:
    """A gateway makes no token: those that join a running cloud are handed out where it is run."""
    token = await cloud.issue_token(time.time()) if cloud.config.role == "all" else ""
    keys = ("", "")
    if cloud.helper is not None:
        keys = (cloud.helper.sealing.hex(), cloud.helper.signing.hex())
    return Listening(url, cloud.public_key.hex(), token, *keys)


def _runtime(options: ServeOptions) -> Runtime:
    if options.runtime == "ray":
        return RayRuntime(options.ray_address, trainer_cpus=options.trainer_cpus)
    return InProcessRuntime(inline=False)


def _on_signals() -> asyncio.Event:
    """Set by the first signal. The second finds the system's own handler, and ends the process at
    once: all that was acknowledged is on the disk."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    numbers = (signal.SIGINT, signal.SIGTERM)

    def first() -> None:
        stop.set()
        for number in numbers:
            loop.remove_signal_handler(number)
            signal.signal(number, signal.SIG_DFL)

    for number in numbers:
        loop.add_signal_handler(number, first)
    return stop


async def _listen(
    runner: web.AppRunner, host: str, port: int, tls: ssl.SSLContext | None = None
) -> str:
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port, ssl_context=tls).start()
    except OSError as error:
        why = "is in use" if error.errno == errno.EADDRINUSE else f"fails ({error.strerror})"
        raise PortBusy(f"{host}:{port} {why}: choose another with --port") from None
    bound = runner.addresses[0][1]
    shown = f"[{host}]" if ":" in host else host
    return f"{'http' if tls is None else 'https'}://{shown}:{bound}"
