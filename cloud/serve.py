"""The long-running processes: a cloud, or a helper, until a signal ends it."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import ssl
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import structlog
from aiohttp import web

from cloud.actors.helper import HelperActor
from cloud.actors.ray_runtime import RayRuntime
from cloud.actors.runtime import InProcessRuntime, Runtime
from cloud.config import CloudConfig
from cloud.gateway.app import Root, make_app
from cloud.helper_app import make_helper_app
from cloud.helper_client import HelperIdentity
from cloud.helper_token import ensure_token
from cloud.service import Cloud
from cloud.tls import Tls

__all__ = [
    "HelperListening",
    "HelperOptions",
    "Listening",
    "PortBusy",
    "ServeOptions",
    "serve_cloud",
    "serve_helper",
    "ticking",
]

log = structlog.get_logger("reverie.cloud")

DRAIN_SECONDS = 5.0


class PortBusy(Exception):
    """The address cannot be listened on; the message is one line that says what to do."""


@dataclass(frozen=True)
class ServeOptions:
    """Where to listen and how often to tick (seconds); `port` 0 takes a free one."""

    host: str
    port: int
    tick_seconds: float
    runtime: str = "inproc"
    ray_address: str | None = None
    tls: Tls | None = None


@dataclass(frozen=True)
class Listening:
    """What a started cloud tells its operator: its address, public key, a one-time token, and the
    keys of the helper it works with ("" in local mode)."""

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
    """Run a cloud until SIGINT or SIGTERM; then finish what was taken and stop.

    Raises:
        PortBusy and what `Cloud.start` raises.
    """
    stop = _on_signals()
    runtime = _runtime(options)
    tls = options.tls or Tls(None, b"")
    cloud = Cloud(config, runtime, bits=os.urandom, now=time.time(), binding=tls.binding)
    try:
        await cloud.start()
        root = Root(cloud.public_key, config.budget, config.open_enrolment, cloud.root_sha256)
        runner = web.AppRunner(
            make_app(cloud.endpoint(), root, time.time, cloud.transparency),
            access_log=None,
            shutdown_timeout=DRAIN_SECONDS,
        )
        try:
            url = await _listen(runner, options.host, options.port, tls.context)
            token = await cloud.issue_token(time.time())
            keys = ("", "")
            if cloud.helper is not None:
                keys = (cloud.helper.sealing.hex(), cloud.helper.signing.hex())
            announce(Listening(url, cloud.public_key.hex(), token, *keys))
            log.info(
                "cloud_listening", url=url, budget=config.budget, aggregation=config.aggregation
            )
            ticks = asyncio.create_task(ticking(cloud, options.tick_seconds, stop))
            await stop.wait()
            log.info("cloud_stopping")
            await ticks
        finally:
            await runner.cleanup()
    finally:
        await cloud.stop()
        await runtime.stop()


async def ticking(cloud: Cloud, seconds: float, stop: asyncio.Event) -> None:
    """Tick at once and then every `seconds` until `stop`; a failed tick is tried again."""
    while not stop.is_set():
        begun = time.monotonic()
        # A tick in progress is given up at shutdown: the next start finishes it.
        if await _first(stop.wait(), _tick(cloud)):
            return
        cloud.metrics.ticks.observe(time.monotonic() - begun)
        await _first(stop.wait(), asyncio.sleep(seconds))


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
            make_helper_app(helper, token), access_log=None, shutdown_timeout=DRAIN_SECONDS
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


async def _tick(cloud: Cloud) -> None:
    try:
        await cloud.tick(time.time())
    except Exception as error:
        cloud.metrics.tick_failures.inc()
        log.error("tick_failed", exc_info=error)


async def _first(stop: Awaitable[object], work: Awaitable[None]) -> bool:
    """Wait for whichever ends first; True when it was `stop`. The other is cancelled."""
    stopping, working = asyncio.ensure_future(stop), asyncio.ensure_future(work)
    await asyncio.wait({stopping, working}, return_when=asyncio.FIRST_COMPLETED)
    stopped = stopping.done()
    for task in (stopping, working):
        task.cancel()
    await asyncio.gather(stopping, working, return_exceptions=True)
    return stopped


def _runtime(options: ServeOptions) -> Runtime:
    if options.runtime == "ray":
        return RayRuntime(options.ray_address)
    return InProcessRuntime(inline=False)


def _on_signals() -> asyncio.Event:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
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
