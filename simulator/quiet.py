"""Logging in a fleet: only what needs attention, for a fleet makes millions of ordinary events."""

from __future__ import annotations

import logging
import sys

import structlog

__all__ = ["quiet"]


def quiet() -> None:
    """Drop everything below a warning; warnings go to standard error."""
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
