"""The gateway on a real socket: aiohttp routes around GatewayCore."""

from __future__ import annotations

import asyncio
import contextlib
import weakref
from collections.abc import Awaitable, Callable

import structlog
from aiohttp import WSCloseCode, WSMsgType, web

from cloud.gateway.core import GatewayCore
from cloud.transparency import PATH
from protocol.messages import VERSIONS
from protocol.wire import MAX_FRAME

__all__ = ["Root", "make_app"]

log = structlog.get_logger("reverie.cloud.gateway")

SILENCE_SECONDS = 60.0  # a device that says nothing for so long has gone
MAX_SESSIONS = 10_000
PROMETHEUS_TEXT = "text/plain; version=0.0.4; charset=utf-8"

CORE = web.AppKey("core", GatewayCore)
CLOCK: web.AppKey[Callable[[], float]] = web.AppKey("clock")
SOCKETS: web.AppKey[weakref.WeakSet[web.WebSocketResponse]] = web.AppKey("sockets")
ROOT: web.AppKey[Root] = web.AppKey("root")
PAGE: web.AppKey[Callable[[], Awaitable[bytes]]] = web.AppKey("transparency")


class Root:
    """What anyone may know of a cloud.

    Args:
        public_key: the Ed25519 key that signs rounds and releases; phones pin it.
        budget: "production" or "demo".
        open_enrolment: whether a phone may enrol without a token.
    """

    def __init__(self, public_key: bytes, budget: str, open_enrolment: bool) -> None:
        self.public_key, self.budget, self.open_enrolment = public_key, budget, open_enrolment

    def as_json(self) -> dict[str, object]:
        """The body of `/v1/root`."""
        return {
            "public_key": self.public_key.hex(),
            "versions": list(VERSIONS),
            "budget": self.budget,
            "open_enrolment": self.open_enrolment,
        }


def make_app(
    core: GatewayCore,
    root: Root,
    clock: Callable[[], float],
    transparency: Callable[[], Awaitable[bytes]] | None = None,
) -> web.Application:
    """The routes: `/v1/session`, `/v1/releases/…`, `/v1/root`, `/healthz`, `/metrics`.

    `transparency` makes the public page of `/v1/transparency`; a gateway without it has none.
    """
    app = web.Application()
    if transparency is not None:
        app[PAGE] = transparency
        app.router.add_get(PATH, _transparency)
    app[CORE], app[ROOT], app[CLOCK] = core, root, clock
    app[SOCKETS] = weakref.WeakSet()
    app.on_shutdown.append(_hang_up)
    app.router.add_get("/v1/session", _session)
    app.router.add_get("/v1/releases/{model}/{version}/{base}", _release)
    app.router.add_get("/v1/root", _root)
    app.router.add_get("/healthz", _health)
    app.router.add_get("/metrics", _metrics)
    return app


async def _session(request: web.Request) -> web.StreamResponse:
    core, sockets = request.app[CORE], request.app[SOCKETS]
    if len(sockets) >= MAX_SESSIONS:
        raise web.HTTPServiceUnavailable(headers={"Retry-After": "60"})
    # Frames are small and masked reports look random: compression would cost 100 KiB a phone.
    socket = web.WebSocketResponse(
        max_msg_size=MAX_FRAME, compress=False, heartbeat=SILENCE_SECONDS / 2
    )
    await socket.prepare(request)
    sockets.add(socket)
    core.metrics.open_sessions.inc()
    try:
        await _converse(socket, core, request.app[CLOCK]())
    finally:
        core.metrics.open_sessions.dec()
        sockets.discard(socket)
    return socket


async def _converse(socket: web.WebSocketResponse, core: GatewayCore, now: float) -> None:
    connection = core.open_session(now)
    # A vanished device is not an error: it comes back with the same reports.
    with contextlib.suppress(ConnectionError, asyncio.TimeoutError):
        while not connection.closed:
            message = await socket.receive(timeout=SILENCE_SECONDS)
            if message.type is WSMsgType.ERROR:  # a frame over the cap; aiohttp closed with 1009
                core.metrics.refusals.labels(code="too_large").inc()
            if message.type is not WSMsgType.BINARY:
                break
            for frame in await connection.receive(message.data):
                await socket.send_bytes(frame)
        await socket.close()


async def _release(request: web.Request) -> web.Response:
    match = request.match_info
    try:
        version, base = int(match["version"]), int(match["base"])
    except ValueError:
        raise web.HTTPNotFound(text="no such release\n") from None
    blob = await request.app[CORE].blob(match["model"], version, base)
    if blob is None:
        raise web.HTTPNotFound(text="no such release\n")
    headers = {"Cache-Control": "public, max-age=31536000, immutable"}
    return web.Response(body=blob, content_type="application/octet-stream", headers=headers)


async def _root(request: web.Request) -> web.Response:
    return web.json_response(request.app[ROOT].as_json())


async def _transparency(request: web.Request) -> web.Response:
    body = await request.app[PAGE]()
    return web.Response(body=body, content_type="application/json")


async def _health(_request: web.Request) -> web.Response:
    return web.json_response({"status": "ok"})


async def _metrics(request: web.Request) -> web.Response:
    body = request.app[CORE].metrics.exposition()
    return web.Response(body=body, headers={"Content-Type": PROMETHEUS_TEXT})


async def _hang_up(app: web.Application) -> None:
    sockets: weakref.WeakSet[web.WebSocketResponse] = app[SOCKETS]
    for socket in list(sockets):
        await socket.close(code=WSCloseCode.GOING_AWAY, message=b"the cloud is stopping")
