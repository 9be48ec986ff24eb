"""One contract of both databases."""

from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from threading import Barrier

import pytest
from sqlalchemy import func, insert, select, update
from sqlalchemy.exc import DBAPIError

from cloud.storage import Database, DatabaseUnavailable, insert_once
from cloud.storage.database import read_only
from cloud.storage.tables import HELPER, devices, events, uploads
from tests.cloud.postgres import PostgresServer
from tests.cloud.world import sqlite

LINE = {"key": "k", "at": 1.0, "kind": "test", "detail": {"n": 1}}


@pytest.fixture
def database(each_database: str) -> Database:
    return Database(each_database)


def _count(database: Database) -> int:
    with database.read() as connection:
        return connection.execute(select(func.count()).select_from(events)).scalar_one()


def test_a_row_is_written_once(database: Database) -> None:
    with database.write() as connection:
        assert insert_once(connection, events, LINE)
        assert not insert_once(connection, events, LINE)
    assert _count(database) == 1
    database.close()


def test_values_come_back_as_they_went(database: Database) -> None:
    detail = {"text": "日本 'quoted'", "nothing": None, "list": [1, 2.5, True]}
    key = bytes(range(32))
    with database.write() as connection:
        connection.execute(insert(events).values(**LINE | {"detail": detail, "at": 1.8e9 + 0.125}))
        connection.execute(
            insert(devices).values(device_id="d", public_key=key, enrolled=0.1, revoked=None)
        )
    with database.read() as connection:
        line = connection.execute(select(events)).one()
        device = connection.execute(select(devices)).one()
    assert (line.detail, line.at) == (detail, 1.8e9 + 0.125)
    assert type(device.public_key) is bytes
    assert (device.public_key, device.enrolled, device.revoked) == (key, 0.1, None)
    database.close()


def test_a_column_left_out_takes_its_default(database: Database) -> None:
    row = {"device_id": "phone", "task": "usage", "round": 1, "body": b"", "received": 1.0}
    row |= {"upload_id": b"1" * 16, "report_id": b"2" * 16, "sha256": b"3" * 32}
    names = ", ".join(f'"{name}"' for name in row)
    marks = ", ".join("'\\x31'" if type(row[name]) is bytes else f"'{row[name]}'" for name in row)
    with database.write() as connection:  # as a program that knows nothing of the newer columns
        connection.exec_driver_sql(f"INSERT INTO uploads ({names}) VALUES ({marks})")
    with database.read() as connection:
        found = connection.execute(select(uploads.c.receipt, uploads.c.counted)).one()
    assert tuple(found) == (b"", 0)
    database.close()


def test_an_error_undoes_the_whole_transaction(database: Database) -> None:
    def fail() -> None:
        with database.write() as connection:
            insert_once(connection, events, LINE)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert _count(database) == 0
    database.close()


def test_writers_side_by_side_lose_no_step(each_database: str) -> None:
    """Each reads, then writes what it read plus one: only alone is that right."""
    owners = [Database(each_database) for _ in range(4)]
    with owners[0].write() as connection:
        connection.execute(insert(events).values(**LINE))

    def step(owner: Database) -> None:
        with owner.write() as connection:
            count = connection.execute(select(events.c.detail)).scalar_one()["n"]
            connection.execute(update(events).values(detail={"n": count + 1}))

    with ThreadPoolExecutor(len(owners)) as pool:
        list(pool.map(step, owners * 10))
    with owners[0].read() as connection:
        assert connection.execute(select(events.c.detail)).scalar_one() == {"n": 41}
    for owner in owners:
        owner.close()


def test_a_reader_sees_one_moment(each_database: str) -> None:
    reader, writer = Database(each_database), Database(each_database)
    with reader.read() as connection:
        before = connection.execute(select(func.count()).select_from(events)).scalar_one()
        with writer.write() as other:
            insert_once(other, events, LINE)
        again = connection.execute(select(func.count()).select_from(events)).scalar_one()
    assert (before, again, _count(reader)) == (0, 0, 1)
    reader.close()
    writer.close()


def test_a_reader_writes_nothing(each_database: str) -> None:
    Database(each_database).close()
    engine = read_only(each_database)
    with engine.connect() as connection, pytest.raises(DBAPIError, match=r"read-?only"):
        connection.execute(insert(events).values(**LINE))
    engine.dispose()


def test_any_number_may_start_at_once(each_empty_database: str) -> None:
    together = Barrier(4)

    def start(_number: int) -> int:
        together.wait()
        database = Database(each_empty_database)
        count = _count(database)
        database.close()
        return count

    with ThreadPoolExecutor(together.parties) as pool:
        assert list(pool.map(start, range(together.parties))) == [0] * together.parties


def test_the_helper_has_a_database_of_its_own(each_empty_database: str) -> None:
    Database(each_empty_database).close()
    with pytest.raises(DatabaseUnavailable, match="must not share a database"):
        Database(each_empty_database, HELPER)


def test_commits_reach_the_disk_before_they_return(tmp_path: Path) -> None:
    database = Database(sqlite(tmp_path))
    with database.read() as connection:
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar_one() == 2
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar_one() == "wal"
    database.close()


@pytest.mark.postgres
def test_commits_reach_the_disk_whatever_the_server_says(postgres: PostgresServer) -> None:
    url = postgres.migrated()
    database = Database(url)
    name = url.rpartition("/")[2].partition("?")[0]
    with database.write() as connection:
        connection.exec_driver_sql(f'ALTER DATABASE "{name}" SET synchronous_commit = off')
    database.close()
    with database.write() as connection:
        assert connection.exec_driver_sql("SHOW synchronous_commit").scalar_one() == "on"
    database.close()
    postgres.drop(url)


@pytest.mark.postgres
def test_shared_writes_go_side_by_side_and_wait_for_the_others(postgres: PostgresServer) -> None:
    url = postgres.migrated()
    one, two, alone = (Database(f"{url}&options=-c%20lock_timeout%3D50") for _ in range(3))
    with one.write(shared=True) as first, two.write(shared=True) as second:
        insert_once(first, events, LINE)
        insert_once(second, events, LINE | {"key": "other"})
        with pytest.raises(DBAPIError, match="lock timeout"), alone.write():
            pass
    with alone.write(), pytest.raises(DBAPIError, match="lock timeout"), one.write(shared=True):
        pass
    assert _count(alone) == 2
    for each in (one, two, alone):
        each.close()
    postgres.drop(url)


@pytest.mark.postgres
def test_a_server_that_cut_its_connections_is_used_again(postgres: PostgresServer) -> None:
    url = postgres.migrated()
    database = Database(url)
    assert _count(database) == 0
    postgres.disconnect()
    assert _count(database) == 0
    with suppress(DBAPIError), database.write() as connection:
        insert_once(connection, events, LINE)
        postgres.disconnect()
        insert_once(connection, events, LINE | {"key": "other"})
    assert _count(database) == 0
    database.close()
    postgres.drop(url)


def test_an_unusable_database_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(DatabaseUnavailable, match="check that the folder exists"):
        Database(sqlite(tmp_path / "missing"))
    (tmp_path / "junk.db").write_bytes(b"this is no database" * 100)
    with pytest.raises(DatabaseUnavailable):
        Database(sqlite(tmp_path, "junk.db"))
    nobody = f"postgresql://someone:hidden@/name?host={tmp_path}"
    with pytest.raises(DatabaseUnavailable, match="check that the server runs") as shown:
        Database(nobody)
    assert "hidden" not in str(shown.value)
    for strange in ("no url", "mysql://host/name"):
        with pytest.raises(DatabaseUnavailable):
            Database(strange)
    with closing(sqlite3.connect(tmp_path / "newer.db")) as newer, newer:
        newer.execute("CREATE TABLE cloud_schema (version_num TEXT)")
        newer.execute("INSERT INTO cloud_schema VALUES ('9999')")
    with pytest.raises(DatabaseUnavailable, match="run the newer version"):
        Database(sqlite(tmp_path, "newer.db"))
