"""The database of record: SQLite in WAL mode by default, any SQLAlchemy URL by choice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

from sqlalchemy import (
    Connection,
    Engine,
    MetaData,
    Table,
    create_engine,
    event,
    inspect,
    make_url,
)
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import NullPool, QueuePool
from sqlalchemy.schema import CreateColumn

from cloud.storage.tables import CLOUD

__all__ = ["Database", "DatabaseUnavailable", "insert_once", "read_only"]

BUSY_TIMEOUT_MS = 30_000
_WRITES = "reverie_writes"


class DatabaseUnavailable(Exception):
    """The database cannot be opened; the message is one line that says what to do."""


class Database:
    """One owner's handle on the database.

    Args:
        url: SQLAlchemy URL, such as ``sqlite:////var/lib/reverie/cloud.db``.
        metadata: the tables to create if absent (the helper brings its own).

    Raises:
        DatabaseUnavailable: the file or server cannot be opened or written.
    """

    def __init__(self, url: str, metadata: MetaData = CLOUD) -> None:
        self.url = url
        self._engine = _engine(url)
        try:
            with self.write() as connection:
                metadata.create_all(connection)
                _add_missing_columns(connection, metadata)
        except SQLAlchemyError as error:
            self._engine.dispose()
            raise DatabaseUnavailable(
                f"cannot open the database at {_shown(self._engine)}: "
                "check that the folder exists and is writable"
            ) from error

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A transaction that takes the write lock at once; durable when the block ends."""
        with self._engine.connect() as connection:
            connection.execution_options(**{_WRITES: True})
            with connection.begin():
                yield connection

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A consistent snapshot."""
        with self._engine.connect() as connection, connection.begin():
            yield connection

    def close(self) -> None:
        """Give the file handles back; the object may still be used and reopens them."""
        self._engine.dispose()


def read_only(url: str) -> Engine:
    """An engine for someone who only looks: SQLite refuses every write, and creates no file."""
    parsed = make_url(url)
    if parsed.get_backend_name() != "sqlite":
        return create_engine(parsed, poolclass=NullPool)
    path = quote(parsed.database or "")
    return create_engine(f"sqlite:///file:{path}?mode=ro&uri=true", poolclass=NullPool)


def _add_missing_columns(connection: Connection, metadata: MetaData) -> None:
    """A database of an earlier version gets the columns added since; each has a server default."""
    present = inspect(connection)
    for table in metadata.sorted_tables:
        known = {column["name"] for column in present.get_columns(table.name)}
        for column in table.columns:
            if column.name not in known:
                definition = CreateColumn(column).compile(dialect=connection.dialect)
                connection.exec_driver_sql(f"ALTER TABLE {table.name} ADD COLUMN {definition}")


def insert_once(connection: Connection, table: Table, values: Mapping[str, Any]) -> bool:
    """Insert a row unless a unique constraint already holds one; True when it was written."""
    if connection.dialect.name == "postgresql":
        from sqlalchemy.dialects.postgresql import insert as pg_insert

        return bool(
            connection.execute(pg_insert(table).values(**values).on_conflict_do_nothing()).rowcount
        )
    from sqlalchemy.dialects.sqlite import insert as sqlite_insert

    return bool(
        connection.execute(sqlite_insert(table).values(**values).on_conflict_do_nothing()).rowcount
    )


def _engine(url: str) -> Engine:
    sqlite = url.startswith("sqlite")
    arguments: dict[str, Any] = {"check_same_thread": False} if sqlite else {}
    # One pooled connection is enough: an actor is one thread, and SQLite has one writer.
    pool: dict[str, Any] = {"poolclass": QueuePool, "pool_size": 1, "max_overflow": 4}
    if ":memory:" in url:
        pool = {"poolclass": NullPool}
    engine = create_engine(url, connect_args=arguments, **pool)
    if sqlite:
        event.listen(engine, "connect", _tune)
        event.listen(engine, "begin", _begin)
    return engine


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


def _shown(engine: Engine) -> str:
    return engine.url.render_as_string(hide_password=True)
