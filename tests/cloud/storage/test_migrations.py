"""The steps lead to the tables exactly, from nothing and from what versions without steps made."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Column, Integer, MetaData, Table, create_engine, inspect, select

from cloud.storage import Database
from cloud.storage.migrations import __main__ as writing
from cloud.storage.migrations import alembic_config, head, steps, upgrade
from cloud.storage.migrations.check import differences, every_table
from cloud.storage.tables import CLOUD, HELPER, uploads
from tests.cloud.world import sqlite

WRITE_A_STEP = 'write the step that is missing: python -m cloud.storage.migrations "what changed"'
OLD = Path(__file__).parent / "before_steps.sql"
"""The cloud's tables, with a row in each that matters, as a version without receipts made them."""


@pytest.mark.parametrize("which", [0, 1], ids=["cloud", "helper"])
def test_the_steps_make_exactly_the_tables(each_empty_database: str, which: int) -> None:
    metadata = every_table()[which]
    database = Database(each_empty_database, metadata)
    with database.write() as connection:
        assert differences(connection, metadata) == [], WRITE_A_STEP
    database.close()


@pytest.mark.parametrize("metadata", [CLOUD, HELPER], ids=["cloud", "helper"])
def test_the_files_number_one_line_of_descent(metadata: MetaData) -> None:
    from alembic.script import ScriptDirectory

    script = ScriptDirectory.from_config(alembic_config(metadata))
    descent = [step.revision for step in script.walk_revisions()]
    assert tuple(reversed(descent)) == steps(metadata)
    assert script.get_heads() == [head(metadata)]


def test_a_table_without_a_step_is_told(each_database: str) -> None:
    metadata = MetaData(info=CLOUD.info)
    for table in CLOUD.sorted_tables:
        table.to_metadata(metadata)
    Table("added", metadata, Column("id", Integer, primary_key=True))
    metadata.tables["events"].append_column(Column("more", Integer))
    database = Database(each_database)
    with database.write() as connection:
        found = differences(connection, metadata)
    assert sorted(change[0] for change in found) == ["add_column", "add_table"]
    database.close()


def test_a_database_from_before_the_steps_is_completed(tmp_path: Path) -> None:
    """Those versions knew SQLite only."""
    with closing(sqlite3.connect(tmp_path / "cloud.db")) as old, old:
        old.executescript(OLD.read_text())
    database = Database(sqlite(tmp_path), every_table()[0])
    with database.write() as connection:
        assert differences(connection, CLOUD) == []
        row = connection.execute(select(uploads)).one()
    assert (row.device_id, row.body, row.receipt, row.counted) == ("phone", b"\x01", b"", 0)
    database.close()


def test_letters_are_never_numbered_twice(tmp_path: Path) -> None:
    """SQLite reuses the highest number of a row that was removed, unless told not to."""
    from cloud.storage.mail_tables import mail

    engine = create_engine(f"sqlite:///{tmp_path / 'numbers.db'}")
    with engine.begin() as connection:
        upgrade(connection, CLOUD)
        made = connection.exec_driver_sql(
            "SELECT sql FROM sqlite_master WHERE name = 'mail'"
        ).scalar_one()
    engine.dispose()
    assert mail.dialect_options["sqlite"]["autoincrement"]
    assert "AUTOINCREMENT" in made


def test_the_command_writes_nothing_where_nothing_changed() -> None:
    for metadata in every_table():
        assert writing.write_step(metadata, "nothing") is None


def test_the_command_writes_the_missing_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = Path(writing.__file__).parent
    (tmp_path / "helper").mkdir()
    for name in ("env.py", "script.py.mako", "helper"):
        source = package / name
        for file in [source] if source.is_file() else source.glob("*.py"):
            (tmp_path / file.relative_to(package)).write_text(file.read_text())
    monkeypatch.setattr("cloud.storage.migrations._HERE", tmp_path)
    changed = MetaData(info=HELPER.info)
    Table("added", changed, Column("id", Integer, primary_key=True))
    for table in HELPER.sorted_tables:
        table.to_metadata(changed)
    steps.cache_clear()
    written = writing.write_step(changed, "One more table!")
    assert written is not None
    assert written.name == "step_0002_one_more_table.py"
    engine = create_engine(f"sqlite:///{tmp_path / 'now.db'}")
    with engine.begin() as connection:
        upgrade(connection, changed)
        assert "added" in inspect(connection).get_table_names()
        assert differences(connection, changed) == []
    engine.dispose()
    steps.cache_clear()


def test_an_actor_that_finds_the_newest_step_imports_no_alembic(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'cloud.db'}"
    Database(url).close()
    code = (
        "import sys; from cloud.storage import Database; "
        f"Database({url!r}).close(); sys.exit('alembic' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
