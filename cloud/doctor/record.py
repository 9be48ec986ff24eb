"""The database of record: there, of this version, writable; who ticks; what asks for a look."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from sqlalchemy import Connection, inspect, make_url
from sqlalchemy.exc import ArgumentError

from cloud.actors.watch import standing
from cloud.doctor.findings import Finding, RecordUnread, Scene
from cloud.doctor.running import aside
from cloud.storage.facts import holder
from cloud.storage.migrations import head, steps, version_table
from cloud.storage.tables import CLOUD

__all__ = ["alarms", "database", "ticker"]

BUSY_SECONDS = 5.0
SHOWN_ALARMS = 5


async def database(scene: Scene) -> Sequence[Finding]:
    """Reachable, migrated to this version's last step, and open for writing."""
    return await aside(lambda: _database(scene))


def _database(scene: Scene) -> list[Finding]:
    try:
        backend = make_url(scene.config.database_url).get_backend_name()
        with scene.record() as connection:
            step = _step(connection)
            reads_only = backend == "postgresql" and _is_standby(connection)
    except ArgumentError:
        do = "remove storage.json and give --database-url again"
        return [Finding("database", "fault", "its URL cannot be read", do)]
    except RecordUnread as error:
        return [_unread(backend, error)]
    if step is None:
        do = "start `reverie-cloud serve --role all` once"
        return [Finding("database", "fault", "it holds no cloud yet", do)]
    found = [Finding("database", "ok", f"{backend} answers"), _migrated(step)]
    if reads_only:
        do = "point --database-url at the primary"
        return [*found, Finding("database", "fault", "this PostgreSQL is a standby", do)]
    if backend == "sqlite":
        found += _sqlite_writes(Path(make_url(scene.config.database_url).database or ""))
    return found


def _unread(backend: str, error: RecordUnread) -> Finding:
    if isinstance(error.__cause__, ModuleNotFoundError):
        do = "pip install 'reverie[postgresql]'"
        return Finding("database", "fault", "PostgreSQL's driver is missing", do)
    if backend == "sqlite":
        do = "check that the file is there and this user's; restore a backup if it is damaged"
        return Finding("database", "fault", "the SQLite file cannot be read", do)
    do = "check that the server runs, lets this machine in, and knows the user"
    return Finding("database", "fault", "PostgreSQL does not answer", do)


def _step(connection: Connection) -> str | None:
    """The newest migration the database has seen; None before the first."""
    table = version_table(CLOUD)
    if table not in inspect(connection).get_table_names():
        return None
    query = f"SELECT version_num FROM {table}"  # noqa: S608 - our own table's name
    found: str | None = connection.exec_driver_sql(query).scalar()
    return found


def _migrated(step: str) -> Finding:
    newest = head(CLOUD)
    if step == newest:
        return Finding("migration", "ok", f"at step {step}, this version's last")
    if step in steps(CLOUD):
        do = "back it up, then restart `serve --role all`: it upgrades by itself"
        said = f"at step {step}, this version's last is {newest}"
        return Finding("migration", "warning", said, do)
    said = f"at step {step}, this version knows up to {newest}: a newer version was at work"
    return Finding("migration", "fault", said, "upgrade this one, or restore a backup of before")


def _is_standby(connection: Connection) -> bool:
    return bool(connection.exec_driver_sql("SELECT pg_is_in_recovery()").scalar())


def _sqlite_writes(path: Path) -> list[Finding]:
    """The write lock, taken and given back: a write that waits for ever shows here."""
    try:
        where = f"file:{path}?mode=rw"
        with closing(sqlite3.connect(where, timeout=BUSY_SECONDS, uri=True)) as connection:
            connection.isolation_level = None
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("ROLLBACK")
    except sqlite3.OperationalError as error:
        if "locked" in str(error):
            said = f"another process has held its write lock for {BUSY_SECONDS:g} s"
            return [Finding("database", "warning", said, "see which process, and whether it hangs")]
        do = "make the file and its folder writable for this user"
        return [Finding("database", "fault", "it cannot be written", do)]
    return []


async def ticker(scene: Scene) -> Sequence[Finding]:
    """Whether a process of role `all` keeps its lease."""
    return await aside(lambda: [_ticker(scene)])


def _ticker(scene: Scene) -> Finding:
    do = "start a `reverie-cloud serve --role all`"
    with scene.record() as connection:
        held = holder(connection)
    if held is None:
        return Finding("ticker", "fault", "nobody has ever ticked", do)
    behind = scene.now - held["until"]
    if behind > 0:
        said = f"nobody ticks: the lease ran out {_span(behind)} ago"
        return Finding("ticker", "fault", said, do)
    return Finding("ticker", "ok", f"a process ticks (epoch {held['epoch']})")


async def alarms(scene: Scene) -> Sequence[Finding]:
    """What the watch has raised."""
    return await aside(lambda: [_alarms(scene)])


def _alarms(scene: Scene) -> Finding:
    with scene.record() as connection:
        keys = [alarm.key for alarm in standing(connection)]
    if not keys:
        return Finding("alarms", "ok", "none stands")
    named = ", ".join(keys[:SHOWN_ALARMS]) + (" …" if len(keys) > SHOWN_ALARMS else "")
    return Finding("alarms", "warning", f"{len(keys)}: {named}", "see `reverie-cloud alarms`")


def _span(seconds: float) -> str:
    for size, name in ((86_400.0, "days"), (3600.0, "hours"), (60.0, "minutes")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {name}"
    return f"{seconds:.0f} s"
