"""The helper on a socket: `/v1/masks`, `/v1/key`, `/healthz`."""

from __future__ import annotations

from http import HTTPStatus

import structlog
from aiohttp import web

from cloud.actors.runtime import Ref
from cloud.helper_client import encode_refusal
from privacy.errors import BatchRefused
from privacy.secagg import Batch, MaskSum
from privacy.secagg.batch import LARGEST_BATCH_BYTES

__all__ = ["make_helper_app"]

log = structlog.get_logger("reverie.cloud.helper")

HELPER: web.AppKey[Ref] = web.AppKey("helper")
BINARY = "application/octet-stream"


def make_helper_app(helper: Ref) -> web.Application:
    """The routes around a HelperActor. Larger bodies than a full batch are refused unread."""
    app = web.Application(client_max_size=LARGEST_BATCH_BYTES)
    app[HELPER] = helper
    app.router.add_post("/v1/masks", _masks)
    app.router.add_get("/v1/key", _key)
    app.router.add_get("/healthz", _health)
    return app


async def _masks(request: web.Request) -> web.Response:
    body = await request.read()
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


async def _key(request: web.Request) -> web.Response:
    key: bytes = await request.app[HELPER].ask("public_key")
    return web.Response(body=key, content_type=BINARY)


async def _health(_request: web.Request) -> web.Response:
    return web.json_response({"status": "ok"})
