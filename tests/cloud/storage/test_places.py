"""One cloud on PostgreSQL and S3, and the commands that find both through its folder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cloud.actors.runtime import Runtime
from cloud.cli import app
from cloud.config import CloudConfig
from cloud.storage import Database, open_blobs
from cloud.storage.places import FILE, Places, PlacesUnreadable, name_places, places_of
from cloud.storage.work import report
from cloud.transparency import open_fleet
from protocol.messages import MAX_INTEGER
from protocol.records import canonical
from tests.cloud.postgres import PostgresServer
from tests.cloud.storage.conftest import untrained
from tests.cloud.world import START, Phone, connect

TELL = CliRunner()


def _told(*arguments: str) -> dict[str, object]:
    done = TELL.invoke(app, [*arguments, "--json"])
    assert done.exit_code == 0, done.output
    found: dict[str, object] = json.loads(done.output)
    return found


@pytest.mark.postgres
async def test_a_cloud_on_postgresql_and_s3(
    postgres: PostgresServer, bucket: str, inline: Runtime, tmp_path: Path
) -> None:
    state, url = tmp_path / "cloud", postgres.database()
    name_places(state, url, bucket)
    async with untrained(state, inline) as cloud:
        content = canonical([{"id": "f1", "text": "Platform 3 is 210 m", "language": "en"}])
        await cloud.library.ask("publish", "stations", content, START)
        assert await cloud.library.ask("blob", "knowledge/stations", 1, 0)
        assert await cloud.mailbox.ask("collect", "0" * 32, MAX_INTEGER, START) == []
        # Numbers a phone may name, and no column of 31 bits could even be compared with.
        assert await cloud.publisher.ask("blob", "router", MAX_INTEGER, 0) is None
        assert await cloud.library.ask("blob", "knowledge/stations", MAX_INTEGER, 0) is None
        phone = Phone(1)
        await connect(phone, cloud.endpoint())
    assert not (state / "cloud.db").exists()
    assert not (state / "blobs").exists()
    assert list(open_blobs(bucket).keys())
    assert open_fleet(str(state)).cloud_key == cloud.public_key.hex()
    shown = _told("status", "--state", str(state))
    assert shown["devices"] == {"enrolled": 1, "active": 1, "revoked": 0}
    taken = _told("backup", str(tmp_path / "cloud.tar"), "--state", str(state))
    assert taken["databases"] == ["helper/helper.db"]
    gone = _told("forget", phone.device_id, "--state", str(state))
    assert gone == {"forgotten": phone.device_id, "removed": 1, "unlinked": 0}
    said = TELL.invoke(app, ["backup", str(tmp_path / "again.tar"), "--state", str(state)]).output
    assert "not in it: the database at postgresql://" in " ".join(said.split())
    postgres.drop(url)


async def test_commands_take_a_backup_and_put_it_back(inline: Runtime, tmp_path: Path) -> None:
    state, file, new = tmp_path / "cloud", tmp_path / "cloud.tar", tmp_path / "new"
    async with untrained(state, inline) as cloud:
        await cloud.tick(START)
    taken = _told("backup", str(file), "--state", str(state))
    assert taken["wrote"] == str(file)
    restored = _told("restore", str(file), "--state", str(new))
    assert restored["databases"] == taken["databases"]
    database = Database(CloudConfig(state=new).database_url)
    assert [row["status"] for row in report(database)["rounds"]] == ["open"]
    database.close()
    again = TELL.invoke(app, ["restore", str(file), "--state", str(new)])
    assert again.exit_code == 2
    assert "is not empty" in again.stderr
    file.write_bytes(b"x" * 2000)
    for arguments in (
        ["restore", str(file), "--state", str(tmp_path / "other")],
        ["backup", str(tmp_path / "no" / "folder.tar"), "--state", str(state)],
        ["forget", "nobody", "--state", str(state)],
        ["forget", "nobody", "--state", str(tmp_path / "nothing")],
    ):
        done = TELL.invoke(app, arguments)
        assert done.exit_code == 2
        assert done.stderr.count("\n") == 1


def test_what_is_named_stays_named_and_private(tmp_path: Path) -> None:
    state = tmp_path / "cloud"
    name_places(state, None, None)
    assert not state.exists()
    name_places(state, "postgresql://me:hidden@host/name", None)
    name_places(state, None, "s3://bucket/x")
    config = CloudConfig(state=state)
    assert config.database_url == "postgresql://me:hidden@host/name"
    assert config.blobs_url == "s3://bucket/x"
    assert (state / FILE).stat().st_mode & 0o777 == 0o600
    given = CloudConfig(state=state, database="sqlite:///x.db", blob_store="elsewhere")
    assert (given.database_url, given.blobs_url) == ("sqlite:///x.db", "elsewhere")


def test_a_damaged_file_is_one_clear_line(tmp_path: Path) -> None:
    for damaged in ('{"database_url": "postgresql://me:hidden@h/n", "x": 1}', "", "[]", "nul\0"):
        (tmp_path / FILE).write_text(damaged)
        with pytest.raises(PlacesUnreadable, match="remove it") as shown:
            places_of(tmp_path)
        assert "hidden" not in str(shown.value)
    assert Places() == places_of(tmp_path / "absent")
