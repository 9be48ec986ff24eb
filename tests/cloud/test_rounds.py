"""The leader: rounds open, close, expire and settle; only sums remain."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import select

from cloud.actors.helper import HelperActor
from cloud.actors.intake import Intake, UploadRow
from cloud.actors.rounds import Rounds
from cloud.identity import ensure_key, signing_key
from cloud.randomness import SeededBits
from cloud.storage import Database
from cloud.storage.tables import aggregates, uploads
from cloud.storage.tables import rounds as rounds_table
from privacy.budget import DEMO
from privacy.errors import BatchRefused
from privacy.secagg import MaskSum
from privacy.streams import USAGE_CLIP, USAGE_DIMENSION
from protocol.rounds import RoundDescriptor, open_descriptor
from protocol.update import Report, decode_report, encode_report
from tests.cloud.world import DAY, START, Phone, sqlite, usage_answers

N_MIN = DEMO.terms("usage").n_min
CLOSE = START + DAY


@dataclass
class Leader:
    rounds: Rounds
    intake: Intake
    helper: HelperActor
    database: Database
    folder: Path

    @property
    def descriptor(self) -> RoundDescriptor:
        key = signing_key(self.folder / "signing.key").public
        return open_descriptor(self.rounds.descriptors()[0], key)

    def send(self, phones: int) -> None:
        """Reports of this many phones, each answering with bin `number`."""
        rows = []
        for number in range(phones):
            body = Phone(number).report(self.descriptor, usage_answers(number % 2))
            rows.append(UploadRow(number.to_bytes(16, "big"), f"phone-{number}", body, START))
        assert all(outcome.committed for outcome in self.intake.commit(rows))

    def status(self, number: int = 1) -> str:
        query = select(rounds_table.c.status).where(rounds_table.c.round == number)
        with self.database.read() as connection:
            return str(connection.execute(query).scalar_one())

    def bodies(self) -> list[bytes]:
        with self.database.read() as connection:
            return list(connection.scalars(select(uploads.c.body)))

    def totals(self) -> list[np.ndarray[tuple[int], np.dtype[np.int64]]]:
        with self.database.read() as connection:
            found = connection.scalars(select(aggregates.c.total)).all()
        return [np.frombuffer(total, dtype="<i8") for total in found]


@pytest.fixture
def leader(tmp_path: Path) -> Iterator[Leader]:
    ensure_key(tmp_path / "signing.key", SeededBits(1, "key"))
    helper = HelperActor(str(tmp_path / "helper"), seed=3)
    url, key = sqlite(tmp_path), str(tmp_path / "signing.key")
    rounds = Rounds(url, key, helper.public_key(), "demo")
    made = Leader(rounds, Intake(url), helper, Database(url), tmp_path)
    rounds.open_due(START)
    yield made
    for part in (made.rounds, made.intake, made.helper, made.database):
        part.close()


def test_the_descriptor_says_what_the_budget_says(leader: Leader) -> None:
    descriptor, terms = leader.descriptor, DEMO.terms("usage")
    assert (descriptor.task, descriptor.round, descriptor.base_version) == ("usage", 1, 0)
    assert (descriptor.sigma, descriptor.n_min) == (terms.sigma, terms.n_min)
    assert descriptor.scale == terms.scale
    assert (descriptor.dimension, descriptor.clip) == (USAGE_DIMENSION, USAGE_CLIP)
    assert (descriptor.opens, descriptor.closes) == (START, START + terms.cadence)
    assert descriptor.helper_key == leader.helper.public_key()
    DEMO.check(descriptor)


def test_opening_twice_opens_once(leader: Leader) -> None:
    assert leader.rounds.open_due(START) == []
    assert len(leader.rounds.descriptors()) == 1


def test_a_round_stays_open_until_its_time(leader: Leader) -> None:
    assert leader.rounds.close_due(CLOSE - 1) == []
    assert leader.status() == "open"


def test_the_sum_is_the_phones_sum_within_its_noise(leader: Leader) -> None:
    n = N_MIN + 5
    leader.send(n)
    assert leader.rounds.close_due(CLOSE) == [("usage", 1, "closing")]
    (batch,) = leader.rounds.batches()
    assert leader.rounds.settle("usage", 1, leader.helper.sum_masks(batch), CLOSE) == "closed"
    truth = np.sum([usage_answers(number % 2) for number in range(n)], axis=0)
    (total,) = leader.totals()
    with leader.database.read() as connection:
        row = connection.execute(select(aggregates)).one()
    error = total / row.scale - truth
    assert np.abs(error).max() < 6 * row.sigma
    assert error.std() > row.sigma / 3  # the noise is really there
    assert row.n == n
    for bin_, share in zip(row.estimates["histograms"], truth / n, strict=True):
        assert bin_["low"] <= bin_["high"]
        assert abs(bin_["estimate"] - share) < 6 * row.sigma / n


def test_nothing_of_a_phone_outlives_its_round(leader: Leader) -> None:
    leader.send(N_MIN)
    assert all(leader.bodies())
    leader.rounds.close_due(CLOSE)
    (batch,) = leader.rounds.batches()
    leader.rounds.settle("usage", 1, leader.helper.sum_masks(batch), CLOSE)
    assert set(leader.bodies()) == {b""}


def test_too_few_reports_expire(leader: Leader) -> None:
    leader.send(N_MIN - 1)
    assert leader.rounds.close_due(CLOSE) == [("usage", 1, "expired")]
    assert leader.rounds.batches() == []
    assert set(leader.bodies()) == {b""}
    assert leader.rounds.open_due(CLOSE) == [("usage", 2)]
    assert leader.descriptor.round == 2


def test_settling_twice_counts_once(leader: Leader) -> None:
    leader.send(N_MIN)
    leader.rounds.close_due(CLOSE)
    (batch,) = leader.rounds.batches()
    answer = leader.helper.sum_masks(batch)
    assert leader.rounds.settle("usage", 1, answer, CLOSE) == "closed"
    assert leader.rounds.settle("usage", 1, answer, CLOSE) == "closed"
    assert len(leader.totals()) == 1


def test_a_crash_after_the_helper_answered_costs_nothing(leader: Leader, tmp_path: Path) -> None:
    leader.send(N_MIN)
    leader.rounds.close_due(CLOSE)
    (batch,) = leader.rounds.batches()
    lost = leader.helper.sum_masks(batch)
    leader.helper.close()
    restarted = HelperActor(str(tmp_path / "helper"))  # no seed: fresh noise would differ
    (again,) = leader.rounds.batches()
    assert again == batch
    assert restarted.sum_masks(again).encode() == lost.encode()
    restarted.close()


def test_a_badly_sealed_report_is_left_out(leader: Leader) -> None:
    leader.send(N_MIN)
    body = decode_report(Phone(99).report(leader.descriptor, usage_answers()))
    bad = encode_report(Report(body.task, body.round, body.report_id, body.masked, bytes(80)))
    leader.intake.commit([UploadRow(b"z" * 16, "phone-99", bad, START)])
    leader.rounds.close_due(CLOSE)
    (batch,) = leader.rounds.batches()
    with pytest.raises(BatchRefused) as refused:
        leader.helper.sum_masks(batch)
    assert refused.value.report_ids == (body.report_id,)
    said = (refused.value.reason, list(refused.value.report_ids), CLOSE)
    assert leader.rounds.drop("usage", 1, *said) == "closing"
    smaller = leader.rounds.batch("usage", 1)
    assert len(smaller.shares) == N_MIN
    answer = leader.helper.sum_masks(smaller)
    assert leader.rounds.settle("usage", 1, answer, CLOSE) == "closed"


def test_dropping_below_n_min_expires_the_round(leader: Leader) -> None:
    leader.send(N_MIN)
    leader.rounds.close_due(CLOSE)
    (batch,) = leader.rounds.batches()
    assert leader.rounds.drop("usage", 1, "seal", batch.report_ids[:1], CLOSE) == "expired"


def test_a_refusal_that_names_no_report_ends_the_round(leader: Leader) -> None:
    leader.send(N_MIN)
    leader.rounds.close_due(CLOSE)
    assert leader.rounds.drop("usage", 1, "replay", [], CLOSE) == "refused"
    assert leader.status() == "refused"


def test_an_answer_to_another_batch_is_not_believed(leader: Leader) -> None:
    leader.send(N_MIN)
    leader.rounds.close_due(CLOSE)
    (batch,) = leader.rounds.batches()
    vector = np.zeros(USAGE_DIMENSION, dtype=np.uint32)
    wrong = MaskSum(batch.batch_id, bytes(32), len(batch.shares), vector)
    assert leader.rounds.settle("usage", 1, wrong, CLOSE) == "refused"
    assert leader.totals() == []


def test_the_fleet_that_came_sets_the_next_batch(leader: Leader) -> None:
    n = 2 * N_MIN
    leader.send(n)
    leader.rounds.close_due(CLOSE)
    (batch,) = leader.rounds.batches()
    leader.rounds.settle("usage", 1, leader.helper.sum_masks(batch), CLOSE)
    leader.rounds.open_due(CLOSE)
    assert leader.descriptor.n_min == DEMO.terms("usage", n).n_min > N_MIN


def test_the_helper_answers_no_report_twice(leader: Leader) -> None:
    leader.send(N_MIN + 1)
    leader.rounds.close_due(CLOSE)
    (batch,) = leader.rounds.batches()
    leader.helper.sum_masks(batch)
    leader.rounds.drop("usage", 1, "seal", batch.report_ids[:1], CLOSE)
    with pytest.raises(BatchRefused, match="overlap"):
        leader.helper.sum_masks(leader.rounds.batch("usage", 1))
