"""What a supervisor and a balancer ask: is it alive, may phones be sent here, which version is it.

None of the three says anything that must not be known, and none asks the database.
"""

from __future__ import annotations

import asyncio
from importlib.metadata import PackageNotFoundError, version

from aiohttp import web

from cloud.gateway.readiness import Readiness
from protocol.messages import VERSIONS

__all__ = ["READINESS", "add_health"]

READINESS: web.AppKey[Readiness] = web.AppKey("readiness")
_DISTRIBUTION = "reverie"


def add_health(app: web.Application, readiness: Readiness) -> None:
    """The routes `/healthz`, `/readyz` and `/version`."""
    app[READINESS] = readiness
    app.router.add_get("/healthz", _health)
    app.router.add_get("/readyz", _ready)
    app.router.add_get("/version", _version)


async def _health(_request: web.Request) -> web.Response:
    return web.json_response({"status": "ok"})


async def _ready(request: web.Request) -> web.Response:
    reason = request.app[READINESS].objection(asyncio.get_running_loop().time())
    if reason:
        return web.json_response({"status": "not ready", "reason": reason}, status=503)
    return web.json_response({"status": "ready"})


async def _version(_request: web.Request) -> web.Response:
    return web.json_response({"version": _installed(), "protocol": list(VERSIONS)})


def _installed() -> str:
    try:
        return version(_DISTRIBUTION)
    except PackageNotFoundError:  # run from a source tree
        return "unknown"
