"""What the helper must never forget."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from cloud.actors.helper import HelperActor, SqlHelperStore
from cloud.storage import Database
from cloud.storage.tables import HELPER
from privacy.errors import BatchRefused
from tests.cloud.world import database_in

IDS = [bytes([number]) * 16 for number in range(200)]


@pytest.fixture
def store(each_empty_database: str, tmp_path: Path) -> Iterator[SqlHelperStore]:
    database = Database(database_in(tmp_path), HELPER)
    yield SqlHelperStore(database)
    database.close()


def test_what_is_recorded_is_seen_after_a_restart(store: SqlHelperStore, tmp_path: Path) -> None:
    store.record(b"batch", IDS[:3], b"reply")
    again = SqlHelperStore(Database(database_in(tmp_path), HELPER))
    assert again.reply_for(b"batch") == b"reply"
    assert again.reply_for(b"other") is None
    assert sorted(again.seen(IDS)) == IDS[:3]


@pytest.mark.parametrize(
    ("batch", "ids", "reason"), [(b"one", [3], "replay"), (b"two", [2, 3], "overlap")]
)
def test_a_refused_record_leaves_no_trace(
    store: SqlHelperStore, batch: bytes, ids: list[int], reason: str
) -> None:
    store.record(b"one", IDS[:3], b"reply")
    with pytest.raises(BatchRefused) as refused:
        store.record(batch, [IDS[number] for number in ids], b"other")
    assert refused.value.reason == reason
    assert store.reply_for(b"two") is None
    assert not store.seen([IDS[3]])


def test_the_key_is_private_and_stays(tmp_path: Path) -> None:
    first = HelperActor(str(tmp_path / "helper"))
    second = HelperActor(str(tmp_path / "helper"))
    assert first.identity() == second.identity()
    assert first.query_key("usage", 1) == second.query_key("usage", 1)
    assert first.query_key("usage", 1) != first.query_key("usage", 2)
    assert (tmp_path / "helper" / "helper.key").stat().st_mode & 0o777 == 0o600
    first.close()
    second.close()
