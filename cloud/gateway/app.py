"""The gateway on a real socket: aiohttp routes around GatewayCore."""

from __future__ import annotations

import asyncio
import contextlib
import math
import re
import weakref
from collections.abc import Awaitable, Callable

import structlog
from aiohttp import WSCloseCode, WSMessage, WSMsgType, web
from aiohttp.typedefs import Handler

from cloud.admin.desk import Desk
from cloud.admin.wiring import add_admin
from cloud.faults import outage
from cloud.gateway.core import Connection, GatewayCore
from cloud.gateway.draining import Drain
from cloud.gateway.health import add_health
from cloud.gateway.patience import Patience
from cloud.gateway.readiness import Readiness
from cloud.gateway.requests import number_requests
from cloud.transparency import PATH
from protocol.messages import VERSIONS
from protocol.wire import MAX_FRAME

__all__ = ["DRAIN", "Root", "make_app"]

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
MAX_RETRY_AFTER_SECONDS = 3_600
_NUMBER = re.compile(r"[0-9]{1,15}", re.ASCII)
"""Of a version: what every database holds, and a message may carry."""
PROMETHEUS_TEXT = "text/plain; version=0.0.4; charset=utf-8"

CORE = web.AppKey("core", GatewayCore)
CLOCK: web.AppKey[Callable[[], float]] = web.AppKey("clock")
SOCKETS: web.AppKey[weakref.WeakKeyDictionary[web.WebSocketResponse, Connection]] = web.AppKey(
    "sockets"
)
ROOT: web.AppKey[Root] = web.AppKey("root")
DRAIN: web.AppKey[Drain] = web.AppKey("drain")
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
    readiness: Readiness | None = None,
    admin: Desk | None = None,
) -> web.Application:
    """The routes: `/v1/session`, `/v1/releases/…`, `/v1/root`, `/healthz`, `/readyz`, `/version`,
    `/metrics`.

    `transparency` makes the public page of `/v1/transparency`; a gateway without it has none.
    Without `readiness` it is always ready. `app[DRAIN]` ends the sessions. With `admin` there are
    `/admin/` and `/v1/admin/` too.
    """
    app = web.Application(middlewares=[_say_busy])
    number_requests(app)
    if transparency is not None:
        app[PAGE] = transparency
        app.router.add_get(PATH, _transparency)
    app[CORE], app[ROOT], app[CLOCK] = core, root, clock
    sockets = app[SOCKETS] = weakref.WeakKeyDictionary()
    app[DRAIN] = Drain(core, sockets, _hang_up)
    add_health(app, readiness or Readiness(math.inf, 0.0))
    app.on_shutdown.append(_say_goodbye)
    app.router.add_get("/v1/session", _session)
    app.router.add_get("/v1/releases/{model}/{version}/{base}", _release)
    app.router.add_get("/v1/root", _root)
    if admin is None:
        app.router.add_get("/metrics", _metrics)
    else:
        add_admin(app, admin)
    return app


async def _session(request: web.Request) -> web.StreamResponse:
    core, sockets, drain = request.app[CORE], request.app[SOCKETS], request.app[DRAIN]
    if wait := drain.refusal() or core.door.enter(asyncio.get_running_loop().time()):
        # Said before the upgrade: turning a crowd away must cost next to nothing.
        core.metrics.refusals.labels(code="busy").inc()
        after = min(math.ceil(wait), MAX_RETRY_AFTER_SECONDS)
        raise web.HTTPServiceUnavailable(headers={"Retry-After": str(after)})
    core.metrics.open_sessions.inc()
    # Frames are small and masked reports look random: compression would cost 100 KiB a phone.
    # Pings are ours, too: aiohttp would move a timer with every message.
    socket = web.WebSocketResponse(max_msg_size=MAX_FRAME, compress=False, autoping=False)
    connection: Connection | None = None
    try:
        await socket.prepare(request)
        connection = core.open_session(request.app[CLOCK]())
        sockets[socket] = connection
        await _converse(socket, connection, core, drain)
    finally:
        core.metrics.open_sessions.dec()
        core.door.leave()
        sockets.pop(socket, None)
        if connection is not None:
            connection.gone()
        drain.left()
    return socket


async def _converse(
    socket: web.WebSocketResponse, connection: Connection, core: GatewayCore, drain: Drain
) -> None:
    loop = asyncio.get_running_loop()
    ends = loop.time() + SESSION_SECONDS
    goodbyes: list[asyncio.Task[None]] = []
    connection.on_frames = lambda: goodbyes.append(
        loop.create_task(_hang_up(socket, connection.frames()))
    )
    patience = Patience()
    # A vanished device is not an error: it comes back with the same reports.
    with contextlib.suppress(ConnectionError, asyncio.TimeoutError):
        try:
            while not connection.closed:
                frames = await _next(socket, connection, core, patience, ends)
                if frames is None:
                    break
                await _send(socket, frames + drain.last_words(connection), patience)
        finally:
            patience.stop()
        await socket.close()
    connection.on_frames = None
    if goodbyes:
        await asyncio.gather(*goodbyes)


async def _next(
    socket: web.WebSocketResponse,
    connection: Connection,
    core: GatewayCore,
    patience: Patience,
    ends: float,
) -> list[bytes] | None:
    """What to send after the next frame; None when the device has gone."""
    message = await _heard(socket, connection, patience, ends)
    if message is None:
        return connection.finish("nothing was heard for too long", RETRY_SECONDS)
    if message.type is WSMsgType.TEXT:
        connection.reject("bad_message", "every frame is binary")
        return connection.frames()
    if message.type is WSMsgType.ERROR:  # aiohttp has closed: a frame over the cap, or none at all
        large = message.data.code == WSCloseCode.MESSAGE_TOO_BIG
        core.metrics.refusals.labels(code="too_large" if large else "bad_message").inc()
    if message.type is not WSMsgType.BINARY:
        return None
    patience.within(ANSWER_SECONDS)
    try:
        return await connection.receive(message.data)
    except asyncio.CancelledError:
        if not patience.spent():
            raise
        core.metrics.refusals.labels(code="busy").inc()
        return connection.finish("the cloud takes too long to answer", RETRY_SECONDS)


async def _heard(
    socket: web.WebSocketResponse, connection: Connection, patience: Patience, ends: float
) -> WSMessage | None:
    """The next message that is no ping; None when the device says nothing for too long. Halfway a
    device that has proven itself is asked whether it is there."""
    asked = False
    patience.within(SILENCE_SECONDS / 2 if connection.proven else PROOF_SECONDS, ends)
    while True:
        try:
            message = await socket.receive()
            if message.type is WSMsgType.PING:
                await socket.pong(message.data)
            elif message.type is not WSMsgType.PONG:
                return message
            if connection.beats():
                return None
            asked = False
        except asyncio.CancelledError:
            if not patience.spent():
                raise
            if asked or not connection.proven or patience.over(ends):
                return None
            await socket.ping()
            asked = True
        if connection.proven:
            patience.within(SILENCE_SECONDS / 2, ends)


async def _send(socket: web.WebSocketResponse, frames: list[bytes], patience: Patience) -> None:
    patience.within(SEND_SECONDS)
    try:
        for frame in frames:
            await socket.send_bytes(frame)
    except asyncio.CancelledError:
        if not patience.spent():
            raise
        raise TimeoutError from None


async def _hang_up(socket: web.WebSocketResponse, frames: list[bytes]) -> None:
    """Send the last frames and close; a device that is gone already is no error."""
    with contextlib.suppress(ConnectionError, asyncio.TimeoutError):
        async with asyncio.timeout(SEND_SECONDS):
            for frame in frames:
                await socket.send_bytes(frame)
        await socket.close(code=WSCloseCode.GOING_AWAY, message=b"goodbye")


async def _release(request: web.Request) -> web.Response:
    core, match = request.app[CORE], request.match_info
    blob = None
    if _NUMBER.fullmatch(match["version"]) and _NUMBER.fullmatch(match["base"]):
        named = (match["model"], int(match["version"]), int(match["base"]))
        blob = await core.blob(*named)
    if blob is None:
        core.metrics.refusals.labels(code="unknown_release").inc()
        raise web.HTTPNotFound(text="no such release\n")
    headers = {"Cache-Control": "public, max-age=31536000, immutable"}
    return web.Response(body=blob, content_type="application/octet-stream", headers=headers)


@web.middleware
async def _say_busy(request: web.Request, handler: Handler) -> web.StreamResponse:
    """A page that needs what does not answer just now says when to come back."""
    try:
        return await handler(request)
    except Exception as error:
        if not (reason := outage(error)):
            raise
        resource = request.match_info.route.resource
        page = "" if resource is None else resource.canonical  # names nobody's id
        log.warning("request_refused", request=page, reason=reason)
        after = request.app[CORE].spread(RETRY_SECONDS)
        raise web.HTTPServiceUnavailable(
            text="the cloud cannot answer now\n", headers={"Retry-After": str(math.ceil(after))}
        ) from None


async def _root(request: web.Request) -> web.Response:
    return web.json_response(request.app[ROOT].as_json())


async def _transparency(request: web.Request) -> web.Response:
    body = await request.app[PAGE]()
    return web.Response(body=body, content_type="application/json")


async def _metrics(request: web.Request) -> web.Response:
    body = request.app[CORE].metrics.exposition()
    return web.Response(body=body, headers={"Content-Type": PROMETHEUS_TEXT})


async def _say_goodbye(app: web.Application) -> None:
    """Every phone that is still here hears that the cloud stops, and each when to come back."""
    await app[DRAIN].dismiss_all()
