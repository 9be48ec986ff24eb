"""What operators look at, each with a bound: a fleet has a million phones and years of rounds.

Lists come in pages, newest first, each with the cursor of the next; counts go over the few rounds
that can hold what is counted. All give plain JSON values; times are unix seconds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple

from sqlalchemy import Column, Connection, CursorResult, and_, func, or_, select

from cloud.documents.tables import documents
from cloud.releases.tables import rollouts
from cloud.storage.tables import (
    aggregates,
    alarms,
    devices,
    events,
    leases,
    releases,
    rounds,
    uploads,
)

__all__ = [
    "PAGE",
    "Page",
    "alarms_page",
    "devices_page",
    "documents_page",
    "events_page",
    "fleet",
    "holder",
    "newest_releases",
    "open_rounds",
    "recent_reports",
    "release",
    "releases_page",
    "rounds_page",
    "stuck_rounds",
    "usage_series",
    "version_before",
]

PAGE: Final = 50
DAY: Final = 86_400.0
WEEK: Final = 7 * DAY
USAGE_TASKS: Final = ("usage", "local_usage")
_UNENDED: Final = ("open", "closing")

_ROUND: Final = (
    "task", "round", "status", "reason", "reports", "n_min", "sigma", "clip", "budget",
    "histogram", "epsilon", "base_version", "opens", "closes", "ended",
)  # fmt: skip
_RELEASE: Final = (
    "id", "model", "version", "parent", "status", "reason", "metrics", "epsilon", "delta",
    "created", "published", "approved", "policy", "card",
)  # fmt: skip


_LARGEST: Final = 2**63 - 1


class Page(NamedTuple):
    """Rows, and what to give as `after` for those behind them; None when there are no more."""

    rows: list[dict[str, Any]]
    after: str | None


def fleet(connection: Connection) -> dict[str, int]:
    """How many phones are enrolled, and how many of them are not revoked."""
    counted = select(func.count(), func.count(devices.c.revoked)).select_from(devices)
    enrolled, revoked = connection.execute(counted).one()
    return {"enrolled": enrolled, "active": enrolled - revoked, "revoked": revoked}


def recent_reports(connection: Connection, now: float) -> dict[str, int]:
    """Reports taken within the last day and week.

    Only rounds that had not ended a week ago can hold one, and each is counted over its own part
    of an index.
    """
    alive = or_(rounds.c.ended.is_(None), rounds.c.ended >= now - WEEK)
    found = connection.execute(select(rounds.c.task, rounds.c.round).where(alive)).all()
    today = this_week = 0
    for row in found:
        here = (uploads.c.task == row.task) & (uploads.c.round == row.round)
        counted = select(
            func.count().filter(uploads.c.received >= now - DAY),
            func.count().filter(uploads.c.received >= now - WEEK),
        ).where(here)
        day, week = connection.execute(counted).one()
        today, this_week = today + day, this_week + week
    return {"day": today, "week": this_week}


def open_rounds(connection: Connection, now: float) -> list[dict[str, Any]]:
    """Rounds that have not ended: reports so far as `filled`, seconds until they close."""
    query = select(*_columns(rounds.c, _ROUND)).where(rounds.c.status.in_(_UNENDED))
    shown = []
    for row in connection.execute(query.order_by(rounds.c.task, rounds.c.round)):
        here = (uploads.c.task == row.task) & (uploads.c.round == row.round)
        filled = connection.execute(select(func.count()).where(here)).scalar_one()
        left = max(0.0, row.closes - now)
        shown.append({**row._mapping, "filled": filled, "seconds_left": left})
    return shown


def stuck_rounds(connection: Connection) -> list[dict[str, Any]]:
    """Rounds whose time is over and that wait for the helper, or for who runs it."""
    query = select(*_columns(rounds.c, _ROUND)).where(rounds.c.status == "closing")
    return _plain(connection.execute(query.order_by(rounds.c.closes)))


def rounds_page(connection: Connection, after: str = "", limit: int = PAGE) -> Page:
    """Rounds by opening, newest first. `after`: "opens:task:round" of the last row seen."""
    query = select(*_columns(rounds.c, _ROUND))
    if after:
        said, task, number = _cursor(after, 3)
        opens, last = _moment(said), _number(number)
        behind = or_(
            rounds.c.opens < opens,
            and_(rounds.c.opens == opens, rounds.c.task > task),
            and_(rounds.c.opens == opens, rounds.c.task == task, rounds.c.round < last),
        )
        query = query.where(behind)
    query = query.order_by(rounds.c.opens.desc(), rounds.c.task, rounds.c.round.desc())
    return _page(
        connection.execute(query.limit(limit + 1)),
        limit,
        lambda row: f"{row['opens']!r}:{row['task']}:{row['round']}",
    )


def newest_releases(connection: Connection) -> list[dict[str, Any]]:
    """Of each model the newest version everyone may take, and what is staged, waits or was last
    rejected above it."""
    shown = []
    models = connection.scalars(select(releases.c.model).distinct().order_by(releases.c.model))
    for model in models.all():
        for status in ("published", "staged", "candidate"):
            query = _releases().where(releases.c.model == model, releases.c.status == status)
            row = connection.execute(query.order_by(releases.c.version.desc()).limit(1)).first()
            if row is not None:
                shown.append(dict(row._mapping))
    return shown


def releases_page(connection: Connection, after: str = "", limit: int = PAGE) -> Page:
    """Candidates and releases, newest first. `after`: the id of the last row seen."""
    query = _releases()
    if after:
        query = query.where(releases.c.id < _number(_cursor(after, 1)[0]))
    rows = connection.execute(query.order_by(releases.c.id.desc()).limit(limit + 1))
    return _page(rows, limit, lambda row: str(row["id"]))


def release(connection: Connection, model: str, version: int) -> dict[str, Any] | None:
    """One candidate or release."""
    here = (releases.c.model == model) & (releases.c.version == version)
    row = connection.execute(_releases().where(here)).first()
    return None if row is None else dict(row._mapping)


def version_before(connection: Connection, model: str, version: int) -> int | None:
    """The newest version below this one that every phone may take."""
    older = (releases.c.model == model) & (releases.c.version < version)
    query = select(func.max(releases.c.version)).where(older, releases.c.status == "published")
    found: int | None = connection.execute(query).scalar_one()
    return found


def usage_series(connection: Connection, limit: int) -> list[dict[str, Any]]:
    """Estimates of the newest `limit` usage rounds, oldest first, with their number of phones and
    the noise in each count."""
    names = ("id", "task", "round", "n", "sigma", "estimates", "created")
    query = select(*_columns(aggregates.c, names)).where(aggregates.c.task.in_(USAGE_TASKS))
    newest = connection.execute(query.order_by(aggregates.c.id.desc()).limit(limit))
    return _plain(newest)[::-1]


def alarms_page(connection: Connection, limit: int = PAGE) -> list[dict[str, Any]]:
    """Alarms: those that hold first, then the newest cleared ones."""
    query = select(alarms).order_by(alarms.c.cleared.is_not(None), alarms.c.seen.desc())
    return _plain(connection.execute(query.limit(limit)))


def events_page(connection: Connection, after: str = "", limit: int = PAGE) -> Page:
    """The journal, newest first. `after`: the id of the last line seen."""
    query = select(events.c.id, events.c.at, events.c.kind, events.c.detail)
    if after:
        query = query.where(events.c.id < _number(_cursor(after, 1)[0]))
    rows = connection.execute(query.order_by(events.c.id.desc()).limit(limit + 1))
    return _page(rows, limit, lambda row: str(row["id"]))


def devices_page(connection: Connection, after: str = "", limit: int = PAGE) -> Page:
    """Enrolled phones by id. `after`: the id of the last one seen."""
    query = select(devices.c.device_id, devices.c.enrolled, devices.c.revoked)
    if after:
        query = query.where(devices.c.device_id > _cursor(after, 1)[0])
    rows = connection.execute(query.order_by(devices.c.device_id).limit(limit + 1))
    return _page(rows, limit, lambda row: str(row["device_id"]))


def documents_page(connection: Connection, after: str = "", limit: int = PAGE) -> Page:
    """The newest version of each published document, by name. `after`: the last name seen."""
    newest = select(documents.c.name, func.max(documents.c.version).label("version"))
    if after:
        newest = newest.where(documents.c.name > _cursor(after, 1)[0])
    top = newest.group_by(documents.c.name).order_by(documents.c.name).limit(limit + 1).subquery()
    names = ("name", "version", "size", "records", "published", "expires")
    query = select(*_columns(documents.c, names)).join(
        top, (documents.c.name == top.c.name) & (documents.c.version == top.c.version)
    )
    rows = connection.execute(query.order_by(documents.c.name))
    return _page(rows, limit, lambda row: str(row["name"]))


def holder(connection: Connection, name: str = "tick") -> dict[str, Any] | None:
    """Who holds a lease, its epoch, and until when; None when nobody ever did."""
    row = connection.execute(select(leases).where(leases.c.name == name)).first()
    return None if row is None else dict(row._mapping)


# --- helpers ----------------------------------------------------------------------------------


def _releases() -> Any:
    same = (rollouts.c.model == releases.c.model) & (rollouts.c.version == releases.c.version)
    stage = (rollouts.c.percent, rollouts.c.started, rollouts.c.since)
    return select(*_columns(releases.c, _RELEASE), *stage).outerjoin(rollouts, same)


def _columns(columns: Any, names: Iterable[str]) -> list[Column[Any]]:
    return [columns[name] for name in names]


def _plain(rows: CursorResult[Any]) -> list[dict[str, Any]]:
    return [dict(row._mapping) for row in rows]


def _page(rows: CursorResult[Any], limit: int, cursor: Callable[[dict[str, Any]], str]) -> Page:
    """Of ``limit + 1`` rows asked for, the page, and its cursor when one more came."""
    found = _plain(rows)
    shown: list[dict[str, Any]] = found[:limit]
    return Page(shown, cursor(shown[-1]) if len(found) > limit else None)


def _cursor(after: str, parts: int) -> list[str]:
    """The parts of a cursor. Raises ValueError for what is none of ours."""
    said = after.split(":")
    if len(after) > 128 or len(said) != parts or "\0" in after:
        raise ValueError("that is no cursor of this list")
    return said


def _number(said: str) -> int:
    """A number of a cursor, as a column holds one. Raises ValueError for another."""
    number = int(said)
    if not 0 <= number <= _LARGEST:
        raise ValueError("no row of this list has that number")
    return number


def _moment(said: str) -> float:
    """A time of a cursor, unix seconds. Raises ValueError for what is none."""
    moment = float(said)
    if not math.isfinite(moment):
        raise ValueError("no row of this list has that time")
    return moment
