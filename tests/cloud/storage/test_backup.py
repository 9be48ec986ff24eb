"""A backup taken while phones report, put back elsewhere, goes on with the open round."""

from __future__ import annotations

import io
import json
import sqlite3
import tarfile
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import select

from cloud.actors.runtime import InProcessRuntime, Runtime
from cloud.service import Cloud
from cloud.storage import Database
from cloud.storage.backup import MANIFEST, BackupRefused, backup, restore
from cloud.storage.places import Places, remember
from cloud.storage.tables import aggregates
from privacy.budget import DEMO
from protocol.session import UploadCommitted
from tests.cloud.postgres import PostgresServer
from tests.cloud.storage.conftest import untrained
from tests.cloud.world import DAY, START, Phone, connect, descriptors, usage_answers

N_MIN = DEMO.terms("usage").n_min


async def _report(cloud: Cloud, phones: range) -> list[bytes]:
    """These phones report in the open usage round; gives their receipts."""
    descriptor = descriptors(cloud.endpoint(), cloud.public_key)["usage"]
    receipts = []
    for number in phones:
        phone = Phone(number)
        line, _ = await connect(phone, cloud.endpoint())
        line.client.upload(number.to_bytes(16, "big"), phone.report(descriptor, usage_answers()))
        receipts += [
            event.receipt for event in await line.exchange() if isinstance(event, UploadCommitted)
        ]
    assert len(receipts) == len(phones)
    return receipts


async def _summed(cloud: Cloud) -> int:
    """Reports in the usage round's sum once its time is over."""
    await cloud.tick(START + DAY)
    database = Database(cloud.config.database_url)
    with database.read() as connection:
        n = connection.scalar(select(aggregates.c.n).where(aggregates.c.task == "usage"))
    database.close()
    return int(n or 0)


async def test_a_restored_cloud_goes_on_with_its_round(inline: Runtime, tmp_path: Path) -> None:
    state = tmp_path / "cloud"
    async with untrained(state, inline) as cloud:
        await cloud.tick(START)
        before = await _report(cloud, range(N_MIN - 2))
        taken = backup(state, tmp_path / "cloud.tar")
        await _report(cloud, range(100, 103))  # lost with the disk
    assert taken.databases == ("cloud.db", "helper/helper.db")
    assert (tmp_path / "cloud.tar").stat().st_mode & 0o777 == 0o600
    elsewhere = tmp_path / "elsewhere"
    assert restore(tmp_path / "cloud.tar", elsewhere) == taken._replace(
        size=sum(file.stat().st_size for file in elsewhere.rglob("*") if file.is_file())
    )
    again = InProcessRuntime(inline=True)
    async with untrained(elsewhere, again) as cloud:
        # The phones whose acknowledgement was lost ask again, and have been counted already.
        assert await _report(cloud, range(N_MIN - 2)) == before
        await _report(cloud, range(N_MIN - 2, N_MIN))
        assert await _summed(cloud) == N_MIN
    await again.stop()


@pytest.mark.postgres
async def test_a_dump_and_a_backup_make_a_cloud_again(
    inline: Runtime, tmp_path: Path, postgres: PostgresServer
) -> None:
    state = tmp_path / "cloud"
    first, second = postgres.database(), postgres.database()
    dump = postgres.folder / "cloud.dump"
    remember(state, Places(database_url=first))
    async with untrained(state, inline) as cloud:
        await cloud.tick(START)
        await _report(cloud, range(N_MIN - 2))
        postgres.program("pg_dump", "--format=custom", f"--file={dump}", first)
        taken = backup(state, tmp_path / "cloud.tar")
    elsewhere = tmp_path / "elsewhere"
    restore(tmp_path / "cloud.tar", elsewhere)
    assert taken.databases == ("helper/helper.db",)
    postgres.program("pg_restore", f"--dbname={second}", str(dump))
    remember(elsewhere, Places(database_url=second))
    again = InProcessRuntime(inline=True)
    async with untrained(elsewhere, again) as cloud:
        await _report(cloud, range(N_MIN - 2, N_MIN))
        assert await _summed(cloud) == N_MIN
    await again.stop()
    for url in (first, second):
        postgres.drop(url)


@pytest.fixture
def taken(tmp_path: Path) -> Path:
    """A backup of a small folder."""
    state = tmp_path / "state"
    (state / "blobs").mkdir(parents=True)
    with closing(sqlite3.connect(state / "cloud.db")) as database, database:
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("CREATE TABLE t (x)")
        database.execute("INSERT INTO t VALUES (7)")
    (state / "signing.key").write_bytes(bytes(32))
    (state / "blobs" / ("a" * 64)).write_bytes(b"blob")
    (state / "blobs" / ".new-half").write_bytes(b"hal")
    backup(state, tmp_path / "taken.tar")
    return tmp_path / "taken.tar"


def test_what_is_kept_and_what_is_passing(taken: Path, tmp_path: Path) -> None:
    restore(taken, tmp_path / "new")
    names = {
        file.relative_to(tmp_path / "new").as_posix() for file in (tmp_path / "new").rglob("*")
    }
    assert names == {"cloud.db", "signing.key", "blobs", f"blobs/{'a' * 64}"}
    assert all(not file.stat().st_mode & 0o077 for file in (tmp_path / "new").rglob("*"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new", "state", "taken.tar"]
    with closing(sqlite3.connect(tmp_path / "new" / "cloud.db")) as database:
        assert database.execute("SELECT x FROM t").fetchall() == [(7,)]


def test_a_folder_in_use_is_left_alone(taken: Path, tmp_path: Path) -> None:
    before = (tmp_path / "state" / "cloud.db").read_bytes()
    with pytest.raises(BackupRefused, match="not empty"):
        restore(taken, tmp_path / "state")
    assert (tmp_path / "state" / "cloud.db").read_bytes() == before


def test_nothing_to_back_up_is_told(tmp_path: Path) -> None:
    with pytest.raises(BackupRefused, match="no cloud"):
        backup(tmp_path, tmp_path / "x.tar")
    assert not list(tmp_path.iterdir())


def test_a_torn_or_changed_backup_makes_no_folder(taken: Path, tmp_path: Path) -> None:
    whole = taken.read_bytes()
    for size in (0, 100, 512, len(whole) // 2, len(whole) - 10_240):
        taken.write_bytes(whole[:size])
        with pytest.raises(BackupRefused):
            restore(taken, tmp_path / "new")
    place = whole.index(b"blob", whole.index(b"a" * 64))
    taken.write_bytes(whole[:place] + b"glob" + whole[place + 4 :])
    with pytest.raises(BackupRefused, match="changed"):
        restore(taken, tmp_path / "new")
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("name", ["../escaped", "/escaped", "a/../../escaped", "link"])
def test_a_backup_cannot_write_elsewhere(tmp_path: Path, name: str) -> None:
    with tarfile.open(tmp_path / "evil.tar", "w") as archive:
        entry = tarfile.TarInfo(name)
        if name == "link":
            entry.type, entry.linkname = tarfile.SYMTYPE, "/etc"
        archive.addfile(entry, io.BytesIO())
        said = json.dumps({"format": "reverie/backup/1", "sha256": {}}).encode()
        last = tarfile.TarInfo(MANIFEST)
        last.size = len(said)
        archive.addfile(last, io.BytesIO(said))
    with pytest.raises(BackupRefused):
        restore(tmp_path / "evil.tar", tmp_path / "new")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["evil.tar"]
