"""One call that puts the operators' side into a gateway's application."""

from __future__ import annotations

from aiohttp import web

from cloud.admin.api import add_api, guarded
from cloud.admin.desk import Desk
from cloud.admin.exposition import metrics_of
from cloud.admin.site import add_pages

__all__ = ["add_admin"]


def add_admin(app: web.Application, desk: Desk) -> None:
    """Add `/admin/`, `/v1/admin/` and `/metrics`.

    `/metrics` is open where the gateway listens on this machine only; elsewhere it asks for a
    viewer's token, as Prometheus sends it with `authorization: {credentials_file: …}`.
    """
    add_pages(app, desk)
    add_api(app, desk)
    shown = metrics_of(desk)
    app.router.add_get("/metrics", shown if desk.open_metrics else guarded(desk, shown))

    async def close(_app: web.Application) -> None:
        desk.close()

    app.on_cleanup.append(close)
