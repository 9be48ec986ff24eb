"""Every acknowledged report is durable and counted exactly once; a bad one disturbs no other."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import func, select

from cloud.actors.intake import COMMITTED, Intake, UploadRow
from cloud.actors.rounds import Rounds
from cloud.identity import ensure_key
from cloud.randomness import SeededBits
from cloud.storage import Database
from cloud.storage.tables import uploads
from protocol.update import Report, decode_report, encode_report
from tests.cloud.world import DAY, START, raw_report, sqlite


def _round(folder: Path) -> Rounds:
    ensure_key(folder / "signing.key", SeededBits(1, "key"))
    rounds = Rounds(sqlite(folder), str(folder / "signing.key"), bytes(32), "demo")
    rounds.open_due(START)
    return rounds


@pytest.fixture
def rounds(tmp_path: Path) -> Iterator[Rounds]:
    made = _round(tmp_path)
    yield made
    made.close()


@pytest.fixture
def intake(tmp_path: Path, rounds: Rounds) -> Iterator[Intake]:
    made = Intake(sqlite(tmp_path))
    yield made
    made.close()


def row(number: int, *, upload: int | None = None, body: bytes | None = None) -> UploadRow:
    """Phone `number`'s report in upload `upload`."""
    upload_id = bytes([number if upload is None else upload]) * 16
    return UploadRow(upload_id, f"phone-{number}", body or raw_report(mark=number), START)


def codes(intake: Intake, *rows: UploadRow) -> list[str]:
    return [outcome.code for outcome in intake.commit(rows)]


def test_a_report_is_committed_and_known(intake: Intake) -> None:
    assert intake.known([("phone-1", row(1).upload_id)]) == [False]
    assert codes(intake, row(1)) == [COMMITTED]
    assert intake.known([("phone-1", row(1).upload_id)]) == [True]


def test_the_same_upload_again_is_committed_once(intake: Intake, tmp_path: Path) -> None:
    assert codes(intake, row(1), row(1)) == [COMMITTED, COMMITTED]
    assert codes(intake, row(1)) == [COMMITTED]
    assert _stored(tmp_path) == 1


def test_one_report_per_device_and_round(intake: Intake) -> None:
    other = row(1, upload=9, body=raw_report(mark=200))
    assert codes(intake, row(1), other) == [COMMITTED, "duplicate_report"]
    assert codes(intake, other) == ["duplicate_report"]


def test_a_report_id_cannot_be_copied(intake: Intake) -> None:
    copied = row(2, body=raw_report(mark=1))
    assert codes(intake, row(1), copied) == [COMMITTED, "duplicate_report"]
    assert codes(intake, copied) == ["duplicate_report"]


def test_an_upload_id_belongs_to_its_device_and_content(intake: Intake) -> None:
    assert codes(intake, row(1)) == [COMMITTED]
    assert codes(intake, row(2, upload=1)) == ["duplicate_report"]
    assert intake.known([("phone-2", row(1).upload_id)]) == [False]


def test_bad_reports_disturb_no_neighbour(intake: Intake) -> None:
    seed = encode_report(
        Report("usage", 1, bytes(16), decode_report(raw_report()).masked, b"short")
    )
    batch = [
        row(1),
        row(2, body=b"junk"),
        row(3, body=raw_report(mark=3, size=5)),
        row(4, body=raw_report(number=2, mark=4)),
        row(5, body=raw_report(task="router", mark=5)),
        row(6, body=seed),
        UploadRow(b"short id", "phone-7", raw_report(mark=7), START),
        row(8),
    ]
    refused = ["bad_message", "bad_message", "stale_round", "stale_round", *["bad_message"] * 2]
    assert codes(intake, *batch) == [COMMITTED, *refused, COMMITTED]


def test_a_late_report_is_stale(intake: Intake, rounds: Rounds) -> None:
    rounds.close_due(START + 2 * DAY)
    rounds.open_due(START + 2 * DAY)
    assert codes(intake, row(1)) == ["stale_round"]
    assert codes(intake, row(1, body=raw_report(number=2, mark=1))) == [COMMITTED]


def test_a_commit_in_the_round_survives_its_end(intake: Intake, rounds: Rounds) -> None:
    assert codes(intake, row(1)) == [COMMITTED]
    rounds.close_due(START + 2 * DAY)
    assert codes(intake, row(1)) == [COMMITTED]
    assert intake.known([("phone-1", row(1).upload_id)]) == [True]


def test_two_incarnations_of_the_actor_may_overlap(tmp_path: Path, rounds: Rounds) -> None:
    incarnations = [Intake(sqlite(tmp_path)) for _ in range(4)]
    calls = [(intake, row(number)) for number in range(40) for intake in incarnations]
    with ThreadPoolExecutor(len(incarnations)) as pool:
        answers = list(pool.map(lambda call: codes(call[0], call[1]), calls))
    assert answers == [[COMMITTED]] * len(calls)
    assert _stored(tmp_path) == 40
    for intake in incarnations:
        intake.close()


@settings(max_examples=15, deadline=None)
@given(
    calls=st.lists(
        st.lists(st.tuples(st.integers(0, 5), st.integers(0, 7)), max_size=6), max_size=6
    )
)
def test_any_order_and_repetition_counts_each_phone_once(
    calls: list[list[tuple[int, int]]],
) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        rounds, intake = _round(folder), Intake(sqlite(folder))
        owners: dict[int, int] = {}
        phones: dict[int, int] = {}
        for call in calls:
            outcomes = intake.commit([row(phone, upload=upload) for phone, upload in call])
            for (phone, upload), outcome in zip(call, outcomes, strict=True):
                fresh = upload not in owners and phone not in phones
                if fresh:
                    owners[upload], phones[phone] = phone, upload
                assert outcome.committed == (phones.get(phone) == upload)
        assert _stored(folder) == len(phones)
        intake.close()
        rounds.close()


def _stored(folder: Path) -> int:
    database = Database(sqlite(folder))
    with database.read() as connection:
        count = connection.execute(select(func.count()).select_from(uploads)).scalar_one()
    database.close()
    return count
