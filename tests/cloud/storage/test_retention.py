"""A phone is forgotten when it asks, and after a set time; what all phones taught stays."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import func, insert, select

from cloud.actors.intake import COMMITTED, Intake, UploadRow
from cloud.actors.registry import EnrolmentRefused, Registry
from cloud.actors.rounds import Rounds
from cloud.helper_client import HelperIdentity
from cloud.identity import ensure_key
from cloud.randomness import SeededBits
from cloud.storage import Database, insert_once
from cloud.storage.migrations.check import every_table
from cloud.storage.retention import forget_device, forget_old
from cloud.storage.tables import CLOUD, aggregates, devices, events, rounds, tokens, uploads
from tests.cloud.world import DAY, START, database_in, raw_report

KEEP = 30 * DAY
PHONES = [f"{number:032x}" for number in range(3)]


class Fleet:
    """Three phones that reported in a round that was summed and in the one that is open."""

    def __init__(self, folder: Path) -> None:
        ensure_key(folder / "signing.key", SeededBits(1, "key"))
        url, key = database_in(folder), str(folder / "signing.key")
        self.database = Database(url)
        self.registry = Registry(url)
        self.rounds = Rounds(url, key, HelperIdentity(bytes(32), bytes(32), "demo"), "demo")
        self.intake = Intake(url, key)
        with self.database.write() as connection:
            for number, phone in enumerate(PHONES):
                row = {"device_id": phone, "public_key": bytes([number]) * 32, "enrolled": START}
                connection.execute(insert(devices).values(**row))
                token = {"sha256": phone * 2, "created": START, "expires": START + DAY}
                connection.execute(insert(tokens).values(**token, device_id=phone, used=START))
        self.rounds.open_due(START)
        assert self.report(1) == [COMMITTED] * 3
        self._close()
        self.rounds.open_due(START + 2 * DAY)
        assert self.report(2) == [COMMITTED] * 3

    def report(self, number: int, phones: list[str] = PHONES) -> list[str]:
        rows = [
            UploadRow(
                bytes([number, place]) * 8, phone, raw_report(number=number, mark=place), START
            )
            for place, phone in enumerate(phones)
        ]
        return [outcome.code for outcome in self.intake.commit(rows)]

    def _close(self) -> None:
        with self.database.write() as connection:
            connection.execute(
                rounds.update().values(status="closed", ended=START + DAY, reports=3)
            )
            connection.execute(uploads.update().values(body=b"", counted=1))
            row = {"task": "usage", "round": 1, "base_version": 0, "n": 3, "scale": 1, "clip": 1.0}
            row |= {"sigma": 1.0, "total": bytes(8), "estimates": {}, "created": START + DAY}
            connection.execute(insert(aggregates).values(**row))

    def ids(self, number: int) -> list[bytes]:
        here = (uploads.c.round == number) & (uploads.c.task == "usage")
        with self.database.read() as connection:
            return list(
                connection.scalars(
                    select(uploads.c.report_id).where(here).order_by(uploads.c.report_id)
                )
            )

    def everything(self) -> str:
        with self.database.read() as connection:
            return "\n".join(
                repr(connection.execute(select(table)).all()) for table in CLOUD.sorted_tables
            )

    def close(self) -> None:
        for each in (self.database, self.registry, self.rounds, self.intake):
            each.close()


@pytest.fixture
def fleet(each_database: str, tmp_path: Path) -> Fleet:
    return Fleet(tmp_path)


def test_nothing_that_names_a_forgotten_phone_is_left(fleet: Fleet) -> None:
    before = fleet.ids(1)
    gone = forget_device(fleet.database, PHONES[1])
    assert gone == (3, 1)  # device, token and the report of the open round; the summed one
    assert PHONES[1] not in fleet.everything()
    assert fleet.ids(1) == before  # what the round's certificate names
    assert len(fleet.ids(2)) == 2
    with fleet.database.read() as connection:
        assert connection.scalar(select(func.count()).select_from(aggregates)) == 1
        assert connection.scalar(select(func.sum(uploads.c.counted))) == 3
    assert fleet.intake.newest([PHONES[1]]) == [[]]
    assert [len(each) for each in fleet.intake.newest(PHONES)] == [1, 0, 1]
    assert fleet.registry.lookup(PHONES[1]) is None
    assert forget_device(fleet.database, PHONES[1]) == (0, 0)
    fleet.close()


def test_a_spent_token_does_not_come_back_to_life(fleet: Fleet) -> None:
    forget_device(fleet.database, PHONES[0])
    with pytest.raises(EnrolmentRefused):
        fleet.registry.enrol("any", bytes(32), START)
    with fleet.database.read() as connection:
        unused = select(func.count()).select_from(tokens).where(tokens.c.device_id.is_(None))
        assert connection.scalar(unused) == 0
    fleet.close()


def test_every_table_that_names_a_device_is_emptied_of_it(fleet: Fleet) -> None:
    """Whatever tables are added: where a column is called device_id, its rows go."""
    every_table()
    for table in CLOUD.sorted_tables:
        names = [column.name for column in table.c if "device" in column.name]
        assert names in ([], ["device_id"]), f"{table.name}: call the column device_id"
    fleet.close()


def test_after_a_set_time_reports_name_nobody(fleet: Fleet) -> None:
    before, ids = fleet.everything(), fleet.ids(1)
    assert forget_old(fleet.database, START + KEEP, KEEP) == (0, 0)
    assert fleet.everything() == before
    removed, unlinked = forget_old(fleet.database, START + DAY + KEEP + 1, KEEP)
    assert (removed, unlinked) == (3, 3)  # the tokens
    assert fleet.ids(1) == ids
    with fleet.database.read() as connection:
        old = select(uploads.c.device_id, uploads.c.receipt, uploads.c.sha256, uploads.c.received)
        rows = connection.execute(old.where(uploads.c.round == 1)).all()
        young = connection.scalars(select(uploads.c.device_id).where(uploads.c.round == 2)).all()
    assert all(row.device_id.startswith("forgotten-") for row in rows)
    assert {tuple(row[1:]) for row in rows} == {(b"", b"", 0.0)}
    assert sorted(young) == PHONES
    assert forget_old(fleet.database, START + DAY + KEEP + 1, KEEP) == (0, 0)
    assert len(fleet.registry.devices()) == len(PHONES)
    fleet.close()


def test_the_journal_is_pruned_but_not_what_steps_look_up(fleet: Fleet) -> None:
    with fleet.database.write() as connection:
        for kind in ("round_ended", "nothing_learnt"):
            line = {"key": kind, "at": START, "kind": kind, "detail": {"aggregate": 1}}
            insert_once(connection, events, line)
    forget_old(fleet.database, START + KEEP + 1, KEEP)
    with fleet.database.read() as connection:
        assert list(connection.scalars(select(events.c.kind))) == ["nothing_learnt"]
    fleet.close()


def test_a_forgotten_phone_in_a_closing_round_is_still_summed(fleet: Fleet) -> None:
    fleet.rounds.close_due(START + 9 * DAY)
    with fleet.database.write() as connection:
        connection.execute(rounds.update().where(rounds.c.round == 2).values(status="closing"))
    before = fleet.rounds.batch("usage", 2)
    assert forget_device(fleet.database, PHONES[0]).unlinked == 2
    assert fleet.rounds.batch("usage", 2) == before
    fleet.close()
