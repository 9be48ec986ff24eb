"""The watch: looks after every tick at what an operator should look at, and remembers it.

    drift:<histogram>      the fleet's use is not what it was (drift.py)
    refusals:<model>       phones refuse a release, surely more than a quarter of those that tried
    rounds_failing:<task>  two rounds in a row came to nothing
    rejected:<model>       three candidates in a row were not worth a release

An alarm is raised once, `seen` as long as it holds, and cleared only when what raised it is well
past: between the two it stays as it is. What it says is codes and numbers, for pages in any
language. Everything is worked out anew from the database, so every step may run twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, insert, select, update

from cloud.actors.findings import Finding, drifts, failing_rounds, refused, rejections
from cloud.storage import Database
from cloud.storage.journal import note
from cloud.storage.tables import alarms
from privacy import BUDGETS

__all__ = ["KINDS", "Alarm", "Watch", "standing"]

KINDS = ("drift", "refusals", "rounds_failing", "rejected")
"""Of alarms; what one is about stands after the colon of its key."""


class Alarm(NamedTuple):
    """One alarm; times in unix seconds, ``cleared`` None while it stands.

    ``detail`` has what it is about under "subject", codes, and numbers.
    """

    key: str
    kind: str
    raised: float
    seen: float
    cleared: float | None
    detail: Mapping[str, Any]


class Watch:
    """Owner of the alarms table.

    Args:
        database_url: SQLAlchemy URL.
        budget: whose cadence says how many rounds a year has.
    """

    def __init__(self, database_url: str, budget: str) -> None:
        self._database = Database(database_url)
        self._cadence = BUDGETS[budget].terms("usage").cadence

    def step(self, now: float) -> list[Alarm]:
        """Raise, confirm and clear; gives the alarms that stand."""
        with self._database.read() as connection:
            found = [
                *drifts(connection, self._cadence),
                *refused(connection),
                *failing_rounds(connection),
                *rejections(connection),
            ]
            stand = {alarm.key for alarm in standing(connection)}
        news = [one for one in found if one.level == "raised" or one.key in stand]
        if not news:
            return []
        with self._database.write() as connection:
            for finding in news:
                _settle(connection, finding, now)
            return standing(connection)

    def close(self) -> None:
        """Give back the database's file handles."""
        self._database.close()


def standing(connection: Connection, *, past: bool = False) -> list[Alarm]:
    """The alarms that stand, the oldest first; with ``past`` the cleared ones too."""
    query = select(alarms).order_by(alarms.c.raised, alarms.c.key)
    if not past:
        query = query.where(alarms.c.cleared.is_(None))
    return [Alarm(**row._asdict()) for row in connection.execute(query)]


def _settle(connection: Connection, finding: Finding, now: float) -> None:
    here = alarms.c.key == finding.key
    row = connection.execute(select(alarms).where(here)).first()
    stands = row is not None and row.cleared is None
    if finding.level == "raised" and not stands:
        _raise(connection, finding, row, now)
    elif stands and finding.level == "calm":
        connection.execute(update(alarms).where(here).values(cleared=now))
        _note(connection, finding, "alarm_cleared", now)
    elif stands:
        values = {"seen": now, "detail": dict(finding.detail)}
        connection.execute(update(alarms).where(here).values(**values))


def _raise(connection: Connection, finding: Finding, row: Row[Any] | None, now: float) -> None:
    values = {"raised": now, "seen": now, "cleared": None, "detail": dict(finding.detail)}
    if row is None:
        connection.execute(insert(alarms).values(key=finding.key, kind=finding.kind, **values))
    else:
        connection.execute(update(alarms).where(alarms.c.key == finding.key).values(**values))
    _note(connection, finding, "alarm_raised", now)


def _note(connection: Connection, finding: Finding, what: str, now: float) -> None:
    note(connection, f"{what}:{finding.key}:{now}", what, now, {"alarm": finding.key})
