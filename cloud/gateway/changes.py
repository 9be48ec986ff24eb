"""Whether what phones are shown has changed, asked cheaply: three small queries, one snapshot.

Releases and documents count from when they are listed, which every change of them ends with: a
phone takes nothing that is not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from sqlalchemy import func, select, text

from cloud.actors.openings import shown_until
from cloud.releases.tables import role_files
from cloud.storage.database import Database
from cloud.storage.tables import aggregates, rounds

__all__ = ["Mark", "clock_offset", "mark_of"]

Mark: TypeAlias = tuple[object, ...]
"""Equal for equal states; nothing else may be read from it."""


def mark_of(database: Database, now: float) -> Mark:
    """The mark of what is shown at `now` (unix seconds)."""
    live = select(rounds.c.task, rounds.c.round, rounds.c.status, rounds.c.opens, rounds.c.closes)
    live = live.where(rounds.c.status.in_(("open", "closing")))
    files = select(role_files.c.role, role_files.c.version)
    with database.read() as connection:
        found = connection.execute(live.order_by(rounds.c.task, rounds.c.round)).all()
        listing = connection.execute(files.order_by(role_files.c.role, role_files.c.version)).all()
        sums = connection.scalar(select(func.max(aggregates.c.id)))
    return (
        *((row.task, row.round, row.status, now < shown_until(*row[3:])) for row in found),
        *map(tuple, listing),
        sums,
    )


def clock_offset(database: Database, clock: Callable[[], float]) -> float:
    """Seconds by which `clock` (unix seconds) is ahead of the database server's; 0 on SQLite, which
    has no other clock than ours."""
    with database.read() as connection:
        if connection.dialect.name != "postgresql":
            return 0.0
        theirs = connection.scalar(text("SELECT extract(epoch FROM clock_timestamp())::float8"))
        return clock() - float(theirs or 0.0)
