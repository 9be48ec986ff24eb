"""Loggers that load their library at the first line, and it without what no phone shows.

structlog's development console loads `rich` and `pygments` for tracebacks wherever it finds them:
4 MB of a process that may have 50 (law 8).
"""

from __future__ import annotations

import sys
from typing import Any

__all__ = ["Logger", "get_logger"]


class Logger:
    """Stands for a structlog logger until something is logged."""

    __slots__ = ("_name", "_real")

    def __init__(self, name: str) -> None:
        self._name = name
        self._real: Any = None

    def __getattr__(self, method: str) -> Any:
        if self._real is None:
            self._real = _structlog().get_logger(self._name)
        return getattr(self._real, method)


def get_logger(name: str) -> Logger:
    """As `structlog.get_logger`."""
    return Logger(name)


def _structlog() -> Any:
    if "structlog" not in sys.modules and "rich" not in sys.modules:
        # A None in `sys.modules` is Python's own way to say "not here".
        sys.modules["rich"] = None  # type: ignore[assignment]
        try:
            import structlog
        finally:
            del sys.modules["rich"]
        return structlog
    import structlog

    return structlog
