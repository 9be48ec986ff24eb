"""The database of record and the blob folder."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import func, insert, select
from sqlalchemy.exc import OperationalError

from cloud.storage import BlobMissing, Blobs, Database, DatabaseUnavailable, insert_once
from cloud.storage.database import read_only
from cloud.storage.tables import events, uploads
from tests.cloud.world import sqlite

LINE = {"key": "k", "at": 1.0, "kind": "test", "detail": {"n": 1}}


def _count(database: Database) -> int:
    with database.read() as connection:
        return connection.execute(select(func.count()).select_from(events)).scalar_one()


def test_a_row_is_written_once(tmp_path: Path) -> None:
    database = Database(sqlite(tmp_path))
    with database.write() as connection:
        assert insert_once(connection, events, LINE)
        assert not insert_once(connection, events, LINE)
    assert _count(database) == 1
    database.close()


def test_an_error_undoes_the_whole_transaction(tmp_path: Path) -> None:
    database = Database(sqlite(tmp_path))

    def fail() -> None:
        with database.write() as connection:
            insert_once(connection, events, LINE)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert _count(database) == 0
    database.close()


def test_commits_reach_the_disk_before_they_return(tmp_path: Path) -> None:
    database = Database(sqlite(tmp_path))
    with database.read() as connection:
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar_one() == 2
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar_one() == "wal"
    database.close()


def test_a_database_of_an_earlier_version_gets_its_new_columns(tmp_path: Path) -> None:
    Database(sqlite(tmp_path)).close()
    with closing(sqlite3.connect(tmp_path / "cloud.db")) as old, old:
        old.execute("ALTER TABLE uploads DROP COLUMN receipt")
        old.execute("ALTER TABLE uploads DROP COLUMN counted")
        old.execute(
            "INSERT INTO uploads (upload_id, device_id, task, round, report_id, sha256, body,"
            " received) VALUES (x'01', 'phone', 'usage', 1, x'02', x'03', x'', 1.0)"
        )
    database = Database(sqlite(tmp_path))
    with database.read() as connection:
        row = connection.execute(select(uploads)).one()
    assert (row.device_id, row.receipt, row.counted) == ("phone", b"", 0)
    database.close()


def test_a_reader_writes_nothing(tmp_path: Path) -> None:
    Database(sqlite(tmp_path)).close()
    engine = read_only(sqlite(tmp_path))
    with engine.connect() as connection, pytest.raises(OperationalError, match="readonly"):
        connection.execute(insert(events).values(**LINE))
    engine.dispose()


def test_an_unusable_database_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(DatabaseUnavailable, match="check that the folder exists"):
        Database(sqlite(tmp_path / "missing"))
    (tmp_path / "junk.db").write_bytes(b"this is no database" * 100)
    with pytest.raises(DatabaseUnavailable):
        Database(sqlite(tmp_path, "junk.db"))


def test_a_blob_is_named_by_its_content(tmp_path: Path) -> None:
    blobs = Blobs(tmp_path)
    key = blobs.put(b"content")
    assert blobs.put(b"content") == key
    assert blobs.get(key) == b"content"
    assert [path.name for path in tmp_path.iterdir()] == [key]


def test_damage_and_strange_keys_are_told(tmp_path: Path) -> None:
    blobs = Blobs(tmp_path)
    key = blobs.put(b"content")
    (tmp_path / key).write_bytes(b"c0ntent")
    for wrong in (key, "0" * 64, "../../etc/passwd", ""):
        with pytest.raises(BlobMissing):
            blobs.get(wrong)
