"""How the gateway listens: what HTTP itself does with strangers that are slow, huge or no HTTP.

What aiohttp cannot read never reaches a handler: it answers 400 and writes a line, with the
peer's address and a piece of what it sent. Here such a peer is counted instead.
"""

from __future__ import annotations

import logging
from typing import Final

import structlog
from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError, LineTooLong

from cloud.gateway.metrics import Metrics

__all__ = ["IDLE_SECONDS", "make_runner"]

log = structlog.get_logger("reverie.cloud.gateway")

IDLE_SECONDS: Final = 75.0
"""A connection without a whole request for so long is closed, however slowly one is coming in;
longer than a reverse proxy keeps one between two requests."""


def make_runner(
    app: web.Application,
    metrics: Metrics,
    *,
    shutdown_timeout: float = 5.0,
    idle_seconds: float = IDLE_SECONDS,
) -> web.AppRunner:
    """A runner of a gateway's application; `shutdown_timeout` is what the last requests may take
    when it stops, seconds."""
    # Of our own, in no hierarchy: two gateways of one process count apart.
    logger = logging.Logger("reverie.cloud.http")
    logger.addHandler(_Counting(metrics))
    return web.AppRunner(
        app,
        access_log=None,
        shutdown_timeout=shutdown_timeout,
        keepalive_timeout=idle_seconds,
        logger=logger,
    )


class _Counting(logging.Handler):
    """Counts what was no request; a fault of ours is written as any other."""

    def __init__(self, metrics: Metrics) -> None:
        super().__init__()
        self._metrics = metrics

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        if isinstance(error, HttpProcessingError):
            code = "too_large" if isinstance(error, LineTooLong) else "bad_message"
            self._metrics.refusals.labels(code=code).inc()
        elif record.levelno >= logging.ERROR:
            log.error("answer_failed", exc_info=error)
