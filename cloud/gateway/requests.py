"""An id for every request and every device session, in the log and in the answer's header.

The id is random: it joins the lines of one request and says nothing of who sent it.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Final

import structlog
from aiohttp import web
from structlog.contextvars import bound_contextvars

from cloud.telemetry import span

__all__ = ["HEADER", "number_requests", "request_id"]

log = structlog.get_logger("reverie.cloud.gateway")

HEADER: Final = "X-Request-Id"
ID_BYTES: Final = 8
_NUMBER: ContextVar[str] = ContextVar("request_number", default="")
"""Of the request this connection answers; the next one on it has another."""
_QUIET: Final = frozenset({"/healthz", "/readyz", "/metrics"})
"""Asked every few seconds by machines: neither a line nor a span each."""
_SESSION: Final = "/v1/session"
_BITS: web.AppKey[Callable[[int], bytes]] = web.AppKey("request_bits")

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def number_requests(app: web.Application, bits: Callable[[int], bytes] = os.urandom) -> None:
    """Number what comes to `app` from now on; ``bits``: n -> n random bytes."""
    app[_BITS] = bits
    app.middlewares.append(_numbered)
    app.on_response_prepare.append(_show)


def request_id() -> str:
    """The id of the request being answered; "" outside of one."""
    return _NUMBER.get()


@web.middleware
async def _numbered(request: web.Request, handler: Handler) -> web.StreamResponse:
    # Not the simulator's path: it meets GatewayCore without any HTTP.
    number = request.app[_BITS](ID_BYTES).hex()
    _NUMBER.set(number)
    with bound_contextvars(request_id=number):
        route = _route(request)
        if route in _QUIET:
            return await handler(request)
        name = "session" if route == _SESSION else "request"
        with span(name, route=route, method=request.method) as current:
            status = 500
            try:
                response = await handler(request)
                status = response.status
            except web.HTTPException as answer:
                status = answer.status
                raise
            finally:
                current.set_attribute("status", status)
                log.debug("request", route=route, method=request.method, status=status)
        return response


async def _show(_request: web.Request, response: web.StreamResponse) -> None:
    if number := request_id():
        response.headers[HEADER] = number


def _route(request: web.Request) -> str:
    """The pattern of the address: what stands in its blanks may name a phone."""
    resource = request.match_info.route.resource
    return "unknown" if resource is None else resource.canonical
