"""Structured logs as JSON lines on standard error. Nothing secret is ever handed to them."""

from __future__ import annotations

import logging
import sys

import structlog

__all__ = ["configure_logs"]


def configure_logs(level: str = "INFO") -> None:
    """Set up structlog for a process; the composition roots call it once."""
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelName(level)),
        logger_factory=structlog.WriteLoggerFactory(file=sys.stderr),
    )
