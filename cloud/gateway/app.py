"""The gateway on a real socket: aiohttp routes around GatewayCore."""

from __future__ import annotations

import asyncio
import contextlib
import math
import weakref
from collections.abc import Awaitable, Callable

import structlog
from aiohttp import WSCloseCode, WSMsgType, web

from cloud.gateway.core import Connection, GatewayCore
from cloud.transparency import PATH
from protocol.messages import VERSIONS
from protocol.wire import MAX_FRAME

__all__ = ["Root", "make_app"]

log = structlog.get_logger("reverie.cloud.gateway")

PROOF_SECONDS = 20.0
"""A stranger has so long for each of its first messages."""
SILENCE_SECONDS = 60.0
"""A phone that says nothing for so long has gone."""
SESSION_SECONDS = 900.0
"""Longer than the longest window in which a phone syncs."""
ANSWER_SECONDS = 30.0
"""What the cloud may take over one message."""
SEND_SECONDS = 30.0
"""A phone that does not read for so long has gone."""
RETRY_SECONDS = 60.0
STOPPING_RETRY_SECONDS = 30.0
MAX_RETRY_AFTER_SECONDS = 3_600
PROMETHEUS_TEXT = "text/plain; version=0.0.4; charset=utf-8"

CORE = web.AppKey("core", GatewayCore)
CLOCK: web.AppKey[Callable[[], float]] = web.AppKey("clock")
SOCKETS: web.AppKey[weakref.WeakKeyDictionary[web.WebSocketResponse, Connection]] = web.AppKey(
    "sockets"
)
ROOT: web.AppKey[Root] = web.AppKey("root")
PAGE: web.AppKey[Callable[[], Awaitable[bytes]]] = web.AppKey("transparency")


class Root:
    """What anyone may know of a cloud.

    Args:
        public_key: the Ed25519 key that signs rounds and releases; phones pin it.
        budget: "production" or "demo".
        open_enrolment: whether a phone may enrol without a token.
        root_sha256: hex hash of the first root of the release metadata; phones pin it too.
    """

    def __init__(
        self, public_key: bytes, budget: str, open_enrolment: bool, root_sha256: str = ""
    ) -> None:
        self.public_key, self.budget, self.open_enrolment = public_key, budget, open_enrolment
        self.root_sha256 = root_sha256

    def as_json(self) -> dict[str, object]:
        """The body of `/v1/root`."""
        return {
            "public_key": self.public_key.hex(),
            "versions": list(VERSIONS),
            "budget": self.budget,
            "open_enrolment": self.open_enrolment,
            "root_sha256": self.root_sha256,
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
    app[SOCKETS] = weakref.WeakKeyDictionary()
    app.on_shutdown.append(_say_goodbye)
    app.router.add_get("/v1/session", _session)
    app.router.add_get("/v1/releases/{model}/{version}/{base}", _release)
    app.router.add_get("/v1/root", _root)
    app.router.add_get("/healthz", _health)
    app.router.add_get("/metrics", _metrics)
    return app


async def _session(request: web.Request) -> web.StreamResponse:
    core, sockets = request.app[CORE], request.app[SOCKETS]
    if wait := core.door.enter(asyncio.get_running_loop().time()):
        # Said before the upgrade: turning a crowd away must cost next to nothing.
        core.metrics.refusals.labels(code="busy").inc()
        after = min(math.ceil(wait), MAX_RETRY_AFTER_SECONDS)
        raise web.HTTPServiceUnavailable(headers={"Retry-After": str(after)})
    core.metrics.open_sessions.inc()
    # Frames are small and masked reports look random: compression would cost 100 KiB a phone.
    socket = web.WebSocketResponse(
        max_msg_size=MAX_FRAME, compress=False, heartbeat=SILENCE_SECONDS / 2
    )
    try:
        await socket.prepare(request)
        connection = core.open_session(request.app[CLOCK]())
        sockets[socket] = connection
        await _converse(socket, connection, core)
    finally:
        core.metrics.open_sessions.dec()
        core.door.leave()
        sockets.pop(socket, None)
    return socket


async def _converse(
    socket: web.WebSocketResponse, connection: Connection, core: GatewayCore
) -> None:
    loop = asyncio.get_running_loop()
    ends = loop.time() + SESSION_SECONDS
    goodbyes: set[asyncio.Task[None]] = set()

    def send_goodbye() -> None:
        goodbye = loop.create_task(_hang_up(socket, connection.frames()))
        goodbyes.add(goodbye)
        goodbye.add_done_callback(goodbyes.discard)

    connection.on_frames = send_goodbye
    # A vanished device is not an error: it comes back with the same reports.
    with contextlib.suppress(ConnectionError, asyncio.TimeoutError):
        while not connection.closed:
            patience = SILENCE_SECONDS if connection.proven else PROOF_SECONDS
            frames = await _next(socket, connection, core, min(patience, ends - loop.time()))
            if frames is None:
                break
            await _send(socket, frames)
        await socket.close()
    connection.on_frames = None
    await asyncio.gather(*goodbyes)


async def _next(
    socket: web.WebSocketResponse, connection: Connection, core: GatewayCore, patience: float
) -> list[bytes] | None:
    """What to send after the next frame; None when the device has gone."""
    try:
        message = await socket.receive(timeout=max(0.0, patience))
    except TimeoutError:
        return connection.finish("nothing was heard for too long", RETRY_SECONDS)
    if message.type is WSMsgType.ERROR:  # a frame over the cap; aiohttp closed with 1009
        core.metrics.refusals.labels(code="too_large").inc()
    if message.type is not WSMsgType.BINARY:
        return None
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            return await connection.receive(message.data)
    except TimeoutError:
        core.metrics.refusals.labels(code="busy").inc()
        return connection.finish("the cloud takes too long to answer", RETRY_SECONDS)


async def _send(socket: web.WebSocketResponse, frames: list[bytes]) -> None:
    async with asyncio.timeout(SEND_SECONDS):
        for frame in frames:
            await socket.send_bytes(frame)


async def _hang_up(socket: web.WebSocketResponse, frames: list[bytes]) -> None:
    """Send the last frames and close; a device that is gone already is no error."""
    with contextlib.suppress(ConnectionError, asyncio.TimeoutError):
        await _send(socket, frames)
        await socket.close(code=WSCloseCode.GOING_AWAY, message=b"goodbye")


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


async def _say_goodbye(app: web.Application) -> None:
    """Every phone hears that the cloud stops, and each when to come back."""
    await asyncio.gather(
        *(
            _hang_up(socket, connection.finish("the cloud is stopping", STOPPING_RETRY_SECONDS))
            for socket, connection in list(app[SOCKETS].items())
        )
    )
