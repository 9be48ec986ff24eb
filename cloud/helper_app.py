"""The helper on a socket: `/v1/masks`, `/v1/query/…`, `/v1/key`, `/healthz`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from http import HTTPStatus

import structlog
from aiohttp import web

from cloud.actors.runtime import Ref
from cloud.helper_client import HelperIdentity, encode_identity, encode_refusal
from cloud.helper_token import TokenCheck
from privacy.errors import BatchRefused
from privacy.secagg import Batch, MaskSum
from privacy.secagg.batch import LARGEST_BATCH_BYTES
from protocol.messages import MAX_INTEGER
from protocol.rounds import SHARED_TASKS

__all__ = ["make_helper_app"]

log = structlog.get_logger("reverie.cloud.helper")

HELPER: web.AppKey[Ref] = web.AppKey("helper")
TOKEN: web.AppKey[TokenCheck] = web.AppKey("token")
BINARY = "application/octet-stream"
_PUBLIC = frozenset({"/v1/key", "/healthz"})

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def make_helper_app(helper: Ref, token: TokenCheck) -> web.Application:
    """The routes around a HelperActor.

    Sums and query keys are for the bearer of the token alone. Who it is and how large a body says
    to be is decided before a byte of the body is read.
    """
    app = web.Application(client_max_size=LARGEST_BATCH_BYTES, middlewares=[_guard])
    app[HELPER], app[TOKEN] = helper, token
    app.router.add_post("/v1/masks", _masks)
    app.router.add_get("/v1/query/{task}/{round}", _query)
    app.router.add_get("/v1/key", _key)
    app.router.add_get("/healthz", _health)
    return app


@web.middleware
async def _guard(request: web.Request, handler: Handler) -> web.StreamResponse:
    presented = request.headers.get("Authorization", "")
    # A wrong token is an error everywhere: a leader learns of it before it needs a sum.
    needed = bool(presented) or request.path not in _PUBLIC
    if needed and not request.app[TOKEN].accepts(presented):
        log.warning("token_refused")
        raise web.HTTPUnauthorized(
            headers={"WWW-Authenticate": "Bearer", "Connection": "close"},
            text="the token is not the one in this helper's token file\n",
        )
    if (request.content_length or 0) > LARGEST_BATCH_BYTES:
        raise web.HTTPRequestEntityTooLarge(
            max_size=LARGEST_BATCH_BYTES,
            actual_size=request.content_length or 0,
            headers={"Connection": "close"},
        )
    return await handler(request)


async def _masks(request: web.Request) -> web.Response:
    body = await request.read()  # a body without a length is cut off at client_max_size
    try:
        batch = Batch.decode(body)
        answer: MaskSum = await request.app[HELPER].ask("sum_masks", batch)
    except BatchRefused as refusal:
        log.warning("batch_refused", reason=refusal.reason, reports=len(refusal.report_ids))
        malformed = refusal.reason == "malformed"
        status = HTTPStatus.BAD_REQUEST if malformed else HTTPStatus.CONFLICT
        return web.Response(status=status, body=encode_refusal(refusal), content_type=BINARY)
    log.info("batch_summed", task=batch.task, round=batch.round, reports=answer.count)
    return web.Response(body=answer.encode(), content_type=BINARY)


async def _query(request: web.Request) -> web.Response:
    task, number = request.match_info["task"], request.match_info["round"]
    digits = number.isascii() and number.isdigit() and len(number) <= len(str(MAX_INTEGER))
    if task not in SHARED_TASKS or not digits or not 1 <= int(number) <= MAX_INTEGER:
        raise web.HTTPNotFound(text="no such round\n")
    key: bytes = await request.app[HELPER].ask("query_key", task, int(number))
    headers = {"Cache-Control": "no-store"}
    return web.Response(body=key, content_type=BINARY, headers=headers)


async def _key(request: web.Request) -> web.Response:
    identity: HelperIdentity = await request.app[HELPER].ask("identity")
    return web.json_response(encode_identity(identity))


async def _health(_request: web.Request) -> web.Response:
    return web.json_response({"status": "ok"})
