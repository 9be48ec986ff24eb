"""The database of record: SQLite in WAL mode by default, PostgreSQL by its URL.

Both give the actors the same promises. A write sees everything written before it and is alone,
or shares its place with writes of its own kind that unique constraints keep apart; it is on the
disk when its block ends. A read is one snapshot. SQLite has its write lock for that; PostgreSQL
is given one advisory lock, taken as the first statement of every writing transaction, so that
two gateways, two incarnations of an actor or two machines never act on what the other changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final
from urllib.parse import quote

from sqlalchemy import (
    URL,
    Connection,
    Engine,
    Insert,
    MetaData,
    Table,
    create_engine,
    event,
    make_url,
)
from sqlalchemy.dialects.postgresql import insert as pg_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert
from sqlalchemy.exc import ArgumentError, SQLAlchemyError
from sqlalchemy.pool import NullPool, QueuePool

from cloud.storage.migrations import SchemaRefused, upgrade
from cloud.storage.tables import CLOUD

__all__ = ["Database", "DatabaseUnavailable", "insert_new", "insert_once", "read_only"]

BUSY_TIMEOUT_MS: Final = 30_000
"""How long a write waits for the writers before it."""
IDLE_TIMEOUT_MS: Final = 300_000
"""A frozen process gives the write lock back after this long in PostgreSQL."""
CONNECT_TIMEOUT_S: Final = 10
WRITE_LOCK: Final = 0x5265_7665_7269_6531
"""The advisory lock every writer of one PostgreSQL database takes."""
_WRITES = "reverie_writes"


class DatabaseUnavailable(Exception):
    """The database cannot be opened; the message is one line that says what to do."""


class Database:
    """One owner's handle on the database, its schema brought up to date.

    Args:
        url: SQLAlchemy URL, such as ``sqlite:////var/lib/reverie/cloud.db`` or
            ``postgresql://reverie@db.internal/reverie``.
        metadata: whose tables it holds: the cloud's, or the helper's.

    Raises:
        DatabaseUnavailable: the file or server cannot be opened or written, or a newer version
            has been at work there.
    """

    def __init__(self, url: str, metadata: MetaData = CLOUD) -> None:
        self.url = url
        self._engine = _engine(url)
        try:
            with self.write() as connection:
                upgrade(connection, metadata)
        except SchemaRefused as error:
            self._engine.dispose()
            raise DatabaseUnavailable(f"{_shown(self._engine.url)}: {error}") from error
        except SQLAlchemyError as error:
            self._engine.dispose()
            raise DatabaseUnavailable(_advice(self._engine.url)) from error

    @contextmanager
    def write(self, *, shared: bool = False) -> Iterator[Connection]:
        """A transaction that takes the write lock at once; durable when the block ends.

        Args:
            shared: beside other shared writes, where the database can do that. Rows that another
                one adds meanwhile show as an IntegrityError: unique constraints must keep them
                apart.
        """
        with self._engine.connect() as connection:
            connection.execution_options(**{_WRITES: True})
            with connection.begin():
                if connection.dialect.name == "postgresql":
                    take = "pg_advisory_xact_lock" + ("_shared" if shared else "")
                    connection.exec_driver_sql(f"SELECT {take}({WRITE_LOCK})")
                yield connection

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A consistent snapshot."""
        with self._engine.connect() as connection:
            if connection.dialect.name == "postgresql":
                connection.execution_options(
                    isolation_level="REPEATABLE READ", postgresql_readonly=True
                )
            with connection.begin():
                yield connection

    def close(self) -> None:
        """Give the handles back; the object may still be used and reopens them."""
        self._engine.dispose()


def read_only(url: str) -> Engine:
    """An engine for someone who only looks: the database refuses every write, and no file is
    made."""
    parsed = _parsed(url)
    if parsed.get_backend_name() != "sqlite":
        only = f"-c default_transaction_read_only=on {_options(parsed)}"
        return create_engine(parsed, connect_args={"options": only}, poolclass=NullPool)
    path = quote(parsed.database or "")
    return create_engine(f"sqlite:///file:{path}?mode=ro&uri=true", poolclass=NullPool)


def insert_once(connection: Connection, table: Table, values: Mapping[str, Any]) -> bool:
    """Insert a row unless a unique constraint already holds one; True when it was written."""
    once = _insert(connection, table).values(**values)
    # A count is kept only where asked for: else it is -1, "unknown", in PostgreSQL.
    return connection.execute(once, execution_options={"preserve_rowcount": True}).rowcount == 1


def insert_new(connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert those rows for which no unique constraint holds one already."""
    if rows:
        connection.execute(_insert(connection, table), [dict(row) for row in rows])


def _insert(connection: Connection, table: Table) -> Insert:
    """An insert that passes over a row for which a unique constraint holds one already."""
    make = pg_insert if connection.dialect.name == "postgresql" else sqlite_insert
    return make(table).on_conflict_do_nothing()


def _parsed(url: str) -> URL:
    """The URL with the driver we bring where it names none."""
    parsed = make_url(url)
    if parsed.drivername in ("postgresql", "postgres"):
        return parsed.set(drivername="postgresql+psycopg")
    return parsed


def _engine(url: str) -> Engine:
    try:
        parsed = _parsed(url)
    except ArgumentError:
        raise DatabaseUnavailable(
            "the database URL cannot be read: it looks like postgresql://user@host/name"
        ) from None
    if parsed.get_backend_name() not in ("sqlite", "postgresql"):
        raise DatabaseUnavailable(f"{_shown(parsed)}: only sqlite and postgresql are supported")
    # One pooled connection is enough: an actor is one thread, and a database has one writer.
    # What a statement carries, such as a report, is in no error's text.
    pool: dict[str, Any] = {"poolclass": QueuePool, "pool_size": 1, "max_overflow": 4}
    try:
        if parsed.get_backend_name() == "postgresql":
            return _postgresql(parsed, pool)
    except ModuleNotFoundError:
        raise DatabaseUnavailable(
            "PostgreSQL needs its driver: pip install 'reverie[postgresql]'"
        ) from None
    if ":memory:" in url:
        pool = {"poolclass": NullPool}
    engine = create_engine(
        parsed, connect_args={"check_same_thread": False}, hide_parameters=True, **pool
    )
    event.listen(engine, "connect", _tune)
    event.listen(engine, "begin", _begin)
    return engine


def _postgresql(url: URL, pool: Mapping[str, Any]) -> Engine:
    arguments = {
        "connect_timeout": CONNECT_TIMEOUT_S,
        "options": (
            # What is acknowledged is on the disk, whatever the server's own default.
            f"-c synchronous_commit=on -c lock_timeout={BUSY_TIMEOUT_MS}"
            f" -c idle_in_transaction_session_timeout={IDLE_TIMEOUT_MS} {_options(url)}"
        ),
    }
    # Asked before use: a server that was restarted costs a new connection, not a failed call.
    return create_engine(
        url, connect_args=arguments, pool_pre_ping=True, hide_parameters=True, **pool
    )


def _options(url: URL) -> str:
    """What the operator's URL asks of the session; it has the last word."""
    said = url.query.get("options", "")
    return said if isinstance(said, str) else " ".join(said)


def _tune(connection: Any, _record: object) -> None:
    # The driver's own implicit BEGIN would take the write lock too late (SQLITE_BUSY upgrades).
    connection.isolation_level = None
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout={BUSY_TIMEOUT_MS}")
    cursor.execute("PRAGMA journal_mode=WAL")
    cursor.execute("PRAGMA synchronous=FULL")
    cursor.close()


def _begin(connection: Connection) -> None:
    writes = connection.get_execution_options().get(_WRITES, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _advice(url: URL) -> str:
    wanted = (
        "check that the folder exists and is writable"
        if url.get_backend_name() == "sqlite"
        else "check that the server runs, and that the user may make tables in the database"
    )
    return f"cannot open the database at {_shown(url)}: {wanted}"


def _shown(url: URL) -> str:
    return url.render_as_string(hide_password=True)
