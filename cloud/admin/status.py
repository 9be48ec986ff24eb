"""The state of the whole service at one moment, for `status` and for `/v1/admin/status`."""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import Connection

from cloud.storage.facts import (
    alarms_page,
    fleet,
    holder,
    newest_releases,
    open_rounds,
    recent_reports,
)

__all__ = ["status_of"]

ALARMS: Final = 200


def status_of(connection: Connection, now: float) -> dict[str, Any]:
    """Phones, reports of the last day and week, open rounds, newest releases, alarms that hold, and
    who ticks."""
    return {
        "devices": fleet(connection),
        "reports": recent_reports(connection, now),
        "rounds": open_rounds(connection, now),
        "releases": newest_releases(connection),
        "alarms": [row for row in alarms_page(connection, ALARMS) if row["cleared"] is None],
        "lease": holder(connection),
    }
