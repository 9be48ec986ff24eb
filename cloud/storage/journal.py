"""Lines an operator or a report can read: what happened, once, with counts and no one's data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection

from cloud.storage.database import insert_once
from cloud.storage.tables import events

__all__ = ["note"]


def note(connection: Connection, key: str, kind: str, at: float, detail: Mapping[str, Any]) -> None:
    """Write one event in the caller's transaction; a second one under the same key is dropped."""
    insert_once(connection, events, {"key": key, "at": at, "kind": kind, "detail": dict(detail)})
