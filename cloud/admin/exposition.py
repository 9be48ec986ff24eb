"""`/metrics` of a gateway with a desk: its counters, and what the database knows of the fleet.

The gauges of the database are the same on every gateway: alert on `max`, not on `sum`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

import structlog
from aiohttp import web

from cloud.admin.desk import Counts, Desk
from cloud.gateway.metrics import Metrics
from cloud.storage.facts import newest_releases

__all__ = ["metrics_of"]

log = structlog.get_logger("reverie.cloud.admin")

PROMETHEUS_TEXT: Final = "text/plain; version=0.0.4; charset=utf-8"


def metrics_of(desk: Desk) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    """The handler of `/metrics`."""

    async def answer(_request: web.Request) -> web.StreamResponse:
        metrics = desk.metrics
        try:
            counts = await desk.counts()
            newest = await desk.read(newest_releases)
        except Exception as error:
            # Counters must be seen above all when the database is not.
            log.error("facts_unread", exc_info=error)
            metrics.database_up.set(0)
        else:
            metrics.database_up.set(1)
            _show(metrics, counts, desk.clock())
            for row in newest:
                shown = metrics.newest_version.labels(model=row["model"], status=row["status"])
                shown.set(row["version"])
        return web.Response(body=metrics.exposition(), headers={"Content-Type": PROMETHEUS_TEXT})

    return answer


def _show(metrics: Metrics, counts: Counts, now: float) -> None:
    for state in ("active", "revoked"):
        metrics.devices.labels(state=state).set(counts.fleet[state])
    for gauge in (metrics.round_fill, metrics.round_left):
        gauge.clear()
    for row in counts.open_rounds:
        metrics.round_fill.labels(task=row["task"]).set(row["filled"] / max(1, row["n_min"]))
        metrics.round_left.labels(task=row["task"]).set(row["seconds_left"])
    metrics.alarmed([str(row["kind"]).partition(":")[0] for row in counts.alarms])
    if counts.holder is not None:
        metrics.lease_left.set(counts.holder["until"] - now)
