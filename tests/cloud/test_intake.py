"""Every acknowledged report is durable and counted exactly once; a bad one disturbs no other."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import func, insert, select

from cloud.actors.intake import COMMITTED, Intake, UploadRow
from cloud.actors.rounds import Rounds
from cloud.actors.sums import HISTOGRAMS
from cloud.helper_client import HelperIdentity
from cloud.identity import ensure_key, signing_key
from cloud.randomness import SeededBits
from cloud.storage import Database
from cloud.storage.tables import uploads
from privacy.mechanisms.local import SubsetSelection
from privacy.receipts import Receipt, open_receipt
from privacy.secagg.mask import report_digest
from protocol.messages import MAX_RECEIPT
from protocol.rounds import LocalRound, open_descriptor
from protocol.update import Report, decode_report, encode_report
from tests.cloud.world import DAY, START, USAGE_SHARE, database_in, raw_report

HELPER = HelperIdentity(bytes(32), bytes(32), "demo")


def _round(folder: Path, helper: HelperIdentity | None = HELPER) -> Rounds:
    ensure_key(folder / "signing.key", SeededBits(1, "key"))
    rounds = Rounds(database_in(folder), str(folder / "signing.key"), helper, "demo")
    rounds.open_due(START)
    return rounds


def _intake(folder: Path) -> Intake:
    return Intake(database_in(folder), str(folder / "signing.key"))


@pytest.fixture
def rounds(each_database: str, tmp_path: Path) -> Iterator[Rounds]:
    made = _round(tmp_path)
    yield made
    made.close()


@pytest.fixture
def intake(tmp_path: Path, rounds: Rounds) -> Iterator[Intake]:
    made = _intake(tmp_path)
    yield made
    made.close()


def row(number: int, *, upload: int | None = None, body: bytes | None = None) -> UploadRow:
    """Phone `number`'s report in upload `upload`."""
    upload_id = bytes([number if upload is None else upload]) * 16
    return UploadRow(upload_id, f"phone-{number}", body or raw_report(mark=number), START)


def codes(intake: Intake, *rows: UploadRow) -> list[str]:
    return [outcome.code for outcome in intake.commit(rows)]


def test_a_report_is_committed_and_known(intake: Intake) -> None:
    offer = ("phone-1", row(1).upload_id)
    assert intake.known([offer]) == [None]
    (outcome,) = intake.commit([row(1)])
    assert outcome.code == COMMITTED
    assert intake.known([("phone-9", b"?" * 16), offer]) == [None, outcome.receipt]


def test_a_receipt_says_who_reported_what_when(intake: Intake, tmp_path: Path) -> None:
    (outcome,) = intake.commit([row(1)])
    receipt = open_receipt(outcome.receipt, signing_key(tmp_path / "signing.key").public)
    report = decode_report(row(1).body)
    digest = report_digest("usage", 1, report.report_id, report.share, report.sealed_seed)
    assert receipt == Receipt("phone-1", "usage", 1, digest, START)
    assert len(outcome.receipt) <= MAX_RECEIPT


def test_the_same_upload_again_gives_the_same_receipt(intake: Intake) -> None:
    first, second = intake.commit([row(1), replace(row(1), received=START + 9)])
    (third,) = intake.commit([replace(row(1), received=START + 99)])
    assert first == second == third
    assert first.receipt


def test_the_newest_receipt_of_every_task(intake: Intake, rounds: Rounds, tmp_path: Path) -> None:
    public = signing_key(tmp_path / "signing.key").public
    intake.commit([row(1), row(2)])
    rounds.close_due(START + 2 * DAY)
    rounds.open_due(START + 2 * DAY)
    intake.commit([row(1, upload=9, body=raw_report(number=2, mark=7))])
    one, nobody, two = intake.newest(["phone-1", "phone-3", "phone-2"])
    assert [open_receipt(each, public).round for each in one] == [2]
    assert [open_receipt(each, public).round for each in two] == [1]
    assert nobody == []
    with Database(database_in(tmp_path)).write() as connection:  # as a router report would
        copied = select(uploads).where(uploads.c.device_id == "phone-2")
        values = connection.execute(copied).one()._asdict()
        values |= {"upload_id": b"r" * 16, "task": "router", "receipt": b"router's"}
        connection.execute(insert(uploads).values(**values))
    assert intake.newest(["phone-2"]) == [[b"router's", *two]]


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
    assert intake.known([("phone-2", row(1).upload_id)]) == [None]


def test_bad_reports_disturb_no_neighbour(intake: Intake) -> None:
    seed = encode_report(Report("usage", 1, bytes(16), decode_report(raw_report()).share, b"short"))
    # A word that is no field element: its sum would not be the sum of its bits.
    odd = encode_report(Report("usage", 1, bytes(16), b"\xff" * USAGE_SHARE, bytes(80)))
    batch = [
        row(1),
        row(2, body=b"junk"),
        row(3, body=raw_report(mark=3, size=40)),
        row(4, body=raw_report(number=2, mark=4)),
        row(5, body=raw_report(task="router", mark=5)),
        row(6, body=seed),
        row(9, body=odd),
        UploadRow(b"short id", "phone-7", raw_report(mark=7), START),
        row(8),
    ]
    refused = ["bad_message", "bad_message", "stale_round", "stale_round", *["bad_message"] * 3]
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
    assert intake.known([("phone-1", row(1).upload_id)]) != [None]


def test_two_incarnations_of_the_actor_may_overlap(tmp_path: Path, rounds: Rounds) -> None:
    incarnations = [_intake(tmp_path) for _ in range(4)]
    calls = [(intake, row(number)) for number in range(40) for intake in incarnations]
    with ThreadPoolExecutor(len(incarnations)) as pool:
        answers = list(pool.map(lambda call: codes(call[0], call[1]), calls))
    assert answers == [[COMMITTED]] * len(calls)
    assert _stored(tmp_path) == 40
    for intake in incarnations:
        intake.close()


def test_two_intakes_at_once_count_each_phone_once(tmp_path: Path, rounds: Rounds) -> None:
    """Overlapping batches in opposite orders, from machines that share nothing but the database."""
    intakes = [_intake(tmp_path) for _ in range(4)]
    phones = range(40)
    for start in phones[::8]:
        batch = [row(number) for number in range(start, start + 8)]
        turned = [replace(each, upload_id=each.upload_id[::-1]) for each in reversed(batch)]
        rivals = [
            replace(each, upload_id=b"rival" + each.upload_id[5:]) for each in reversed(batch)
        ]
        with ThreadPoolExecutor(len(intakes)) as pool:
            given = list(
                pool.map(
                    lambda each: each[0].commit(each[1]),
                    zip(intakes, (batch, turned, rivals, rivals), strict=True),
                )
            )
        committed: dict[str, set[bytes]] = {}
        for rows, outcomes in zip((batch, turned, rivals, rivals), given, strict=True):
            for each, outcome in zip(rows, outcomes, strict=True):
                assert outcome.code in (COMMITTED, "duplicate_report")
                if outcome.committed:
                    committed.setdefault(each.device_id, set()).add(outcome.receipt)
        assert {len(receipts) for receipts in committed.values()} == {1}
        assert len(committed) == len(batch)
    assert _stored(tmp_path) == len(phones)
    for intake in intakes:
        intake.close()


def test_a_round_number_no_column_can_hold_is_stale(intake: Intake) -> None:
    for number in (1 << 31, (1 << 53) - 1):
        strange = row(2, body=raw_report(number=number, mark=2))
        assert codes(intake, strange, row(1)) == ["stale_round", COMMITTED]


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
        rounds, intake = _round(folder), _intake(folder)
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


def local_row(number: int, share: bytes, sealed: bytes = b"") -> UploadRow:
    body = encode_report(Report("local_usage", 1, bytes([number]) * 16, share, sealed))
    return UploadRow(bytes([number]) * 16, f"phone-{number}", body, START)


def test_a_local_report_is_a_set_the_randomiser_can_give(tmp_path: Path) -> None:
    rounds, intake = _round(tmp_path, helper=None), _intake(tmp_path)
    descriptor = open_descriptor(
        rounds.descriptors()[0], signing_key(tmp_path / "signing.key").public
    )
    assert isinstance(descriptor, LocalRound)
    bins = len(HISTOGRAMS[descriptor.histogram].bins)
    size = SubsetSelection(bins, descriptor.epsilon).size
    fair = (1 << size) - 1
    masks = [fair, fair << (bins - size), fair | 1 << size, 0, 1 << bins]
    rows = [local_row(number, mask.to_bytes(4, "little")) for number, mask in enumerate(masks)]
    rows += [local_row(9, fair.to_bytes(8, "little")), local_row(10, rows[0].body[:4], bytes(80))]
    assert codes(intake, *rows) == [COMMITTED] * 2 + ["bad_message"] * 5
    intake.close()
    rounds.close()


def _stored(folder: Path) -> int:
    database = Database(database_in(folder))
    with database.read() as connection:
        count = connection.execute(select(func.count()).select_from(uploads)).scalar_one()
    database.close()
    return count
