"""Structured logs as JSON lines on standard error. Nothing of a user or a phone is in them.

Whoever logs gives counts, models, tasks and outcomes. Two nets hang below, for what libraries put
into errors: of an error that is not ours only its kind and place are written, since its message may
quote a row or a body; and whatever looks like an id or a secret becomes a short hash under a key
that lives as long as the process, enough to see that two lines speak of the same.
"""

from __future__ import annotations

import hmac
import logging
import os
import re
import sys
import traceback
from collections.abc import Callable, MutableMapping
from typing import Any, Final

import structlog

__all__ = ["LEVELS", "Masking", "configure_logs", "plain_errors"]

LEVELS: Final = ("debug", "info", "warning", "error")

_OURS: Final = ("cloud.", "protocol.", "privacy.")
_ID: Final = re.compile(r"(?<![0-9a-zA-Z])[0-9a-fA-F]{32,}(?![0-9a-zA-Z])")
"""Hex of 16 bytes and more: ids of phones and reports, keys, tokens. A request's id has 8."""
_DEEPEST: Final = 4
"""Nested values looked into."""
_CAUSES: Final = 5
"""Errors of a chain that are told."""
_FRAMES: Final = 30


class Masking:
    """A processor that leaves no id readable, under a key of its own."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def __call__(
        self, _logger: object, _method: str, line: MutableMapping[str, Any]
    ) -> MutableMapping[str, Any]:
        """The line with every id in its values replaced."""
        return {name: self._masked(value, 0) for name, value in line.items()}

    def _masked(self, value: Any, depth: int) -> Any:
        if isinstance(value, str):
            return _ID.sub(self._short, value)
        if isinstance(value, bytes | bytearray | memoryview):
            return f"{len(value)} bytes"
        if depth < _DEEPEST and isinstance(value, dict):
            return {str(name): self._masked(one, depth + 1) for name, one in value.items()}
        if depth < _DEEPEST and isinstance(value, list | tuple | set | frozenset):
            return [self._masked(one, depth + 1) for one in value]
        if value is None or isinstance(value, bool | int | float):
            return value
        return type(value).__name__

    def _short(self, found: re.Match[str]) -> str:
        digest = hmac.digest(self._key, found[0].lower().encode(), "sha256")
        return f"#{digest.hex()[:8]}"


def plain_errors(
    _logger: object, _method: str, line: MutableMapping[str, Any]
) -> MutableMapping[str, Any]:
    """A processor that writes an error as its kind, its place, and the message if it is ours."""
    given = line.pop("exc_info", None)
    if given is True:
        given = sys.exc_info()[1]
    if isinstance(given, tuple):
        given = given[1]
    if isinstance(given, BaseException):
        line["error"] = _told(given)
        line["at"] = _places(given)
    return line


def configure_logs(level: str = "info", bits: Callable[[int], bytes] = os.urandom) -> None:
    """Set up structlog for a process; the composition roots call it once.

    ``bits``: n -> n random bytes, for the key that ids are hashed under.

    Raises:
        ValueError: the level is none of `LEVELS`.
    """
    if level not in LEVELS:
        raise ValueError(f"a log level is one of {', '.join(LEVELS)}")
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            plain_errors,
            Masking(bits(32)),
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelName(level.upper())),
        logger_factory=structlog.WriteLoggerFactory(file=sys.stderr),
    )


def _told(error: BaseException) -> str:
    told: list[str] = []
    current: BaseException | None = error
    while current is not None and len(told) < _CAUSES:
        kind = type(current)
        # Messages of ours are written to be read by operators; others quote what they were given.
        mine = f"{kind.__module__}.".startswith(_OURS) and str(current)
        told.append(f"{kind.__qualname__}: {current}" if mine else kind.__qualname__)
        current = current.__cause__ or (
            None if current.__suppress_context__ else current.__context__
        )
    return " from ".join(told)


def _places(error: BaseException) -> list[str]:
    frames = traceback.extract_tb(error.__traceback__)[-_FRAMES:]
    return [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames]
