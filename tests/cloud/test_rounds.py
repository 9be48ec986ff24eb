"""The leader: rounds open, close, expire and settle; only sums remain."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import insert, select

from cloud.actors.helper import HelperActor
from cloud.actors.intake import Intake, UploadRow
from cloud.actors.rounds import WAITING, Rounds
from cloud.helper_client import HelperChanged
from cloud.identity import ensure_key, signing_key
from cloud.randomness import SeededBits
from cloud.storage import Database
from cloud.storage.tables import aggregates, releases, uploads
from cloud.storage.tables import rounds as rounds_table
from privacy.budget import DEMO
from privacy.errors import BatchRefused
from privacy.estimation import total_noise
from privacy.secagg import Batch, MaskSum
from privacy.secagg.certificate import BatchCertificate, reports_digest
from privacy.secagg.sharing import sharing_for
from privacy.streams import USAGE_CLIP, USAGE_DIMENSION
from protocol.rounds import RoundDescriptor, open_descriptor
from protocol.update import Report, decode_report, encode_report
from tests.cloud.world import DAY, START, Phone, crafted, database_in, usage_answers

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
        opened = open_descriptor(self.rounds.descriptors()[0], key)
        assert isinstance(opened, RoundDescriptor)
        return opened

    def send(self, phones: int, upload: bytes = b"upload  ") -> None:
        """Reports of this many phones, each answering with bin `number`."""
        rows, seed = [], self.descriptor.round
        for number in range(phones):
            body = Phone(number, seed).report(self.descriptor, usage_answers(number % 2))
            upload_id = upload + number.to_bytes(8, "big")
            rows.append(UploadRow(upload_id, f"phone-{number}", body, START))
        assert all(outcome.committed for outcome in self.intake.commit(rows))

    def ask(self) -> Batch:
        """The question of the one closing round."""
        ((task, number, missing),) = self.rounds.closing()
        if missing:
            self.rounds.keep_query(task, number, self.helper.query_key(task, number))
        return self.rounds.batch(task, number)

    def settle(self, batch: Batch, answer: MaskSum | None = None) -> str:
        """Settle with the helper's answer to the question, or with another."""
        answer = answer or self.helper.sum_masks(batch)
        return self.rounds.settle(batch.task, batch.round, batch.digest(), answer, CLOSE)

    def status(self, number: int = 1) -> str:
        query = select(rounds_table.c.status).where(rounds_table.c.round == number)
        with self.database.read() as connection:
            return str(connection.execute(query).scalar_one())

    def reason(self, number: int = 1) -> str:
        query = select(rounds_table.c.reason).where(rounds_table.c.round == number)
        with self.database.read() as connection:
            return str(connection.execute(query).scalar_one())

    def scale(self) -> int:
        return DEMO.terms("usage").scale

    def sigma(self) -> float:
        return DEMO.terms("usage").sigma

    def bodies(self) -> list[bytes]:
        with self.database.read() as connection:
            return list(connection.scalars(select(uploads.c.body)))

    def totals(self) -> list[np.ndarray[tuple[int], np.dtype[np.int64]]]:
        with self.database.read() as connection:
            found = connection.scalars(select(aggregates.c.total)).all()
        return [np.frombuffer(total, dtype="<i8") for total in found]


@pytest.fixture
def leader(each_database: str, tmp_path: Path) -> Iterator[Leader]:
    ensure_key(tmp_path / "signing.key", SeededBits(1, "key"))
    helper = HelperActor(str(tmp_path / "helper"), seed=3, budget="demo")
    url, key = database_in(tmp_path), str(tmp_path / "signing.key")
    rounds = Rounds(url, key, helper.identity(), "demo")
    made = Leader(rounds, Intake(url, key), helper, Database(url), tmp_path)
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
    assert descriptor.helper_key == leader.helper.identity().sealing
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
    batch = leader.ask()
    assert leader.settle(batch) == "closed"
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
    batch = leader.ask()
    leader.settle(batch)
    assert set(leader.bodies()) == {b""}


def test_too_few_reports_expire(leader: Leader) -> None:
    leader.send(N_MIN - 1)
    assert leader.rounds.close_due(CLOSE) == [("usage", 1, "expired")]
    assert leader.rounds.closing() == []
    assert set(leader.bodies()) == {b""}
    assert leader.rounds.open_due(CLOSE) == [("usage", 2)]
    assert leader.descriptor.round == 2


def test_settling_twice_counts_once(leader: Leader) -> None:
    leader.send(N_MIN)
    leader.rounds.close_due(CLOSE)
    batch = leader.ask()
    answer = leader.helper.sum_masks(batch)
    assert leader.settle(batch, answer) == "closed"
    assert leader.settle(batch, answer) == "closed"
    assert len(leader.totals()) == 1


def test_a_crash_after_the_helper_answered_costs_nothing(leader: Leader, tmp_path: Path) -> None:
    leader.send(N_MIN)
    leader.rounds.close_due(CLOSE)
    batch = leader.ask()
    lost = leader.helper.sum_masks(batch)
    leader.helper.close()
    restarted = HelperActor(
        str(tmp_path / "helper"), budget="demo"
    )  # no seed: fresh noise would differ
    again = leader.ask()
    assert again == batch
    assert restarted.sum_masks(again).encode() == lost.encode()
    restarted.close()


def test_a_badly_sealed_report_is_left_out(leader: Leader) -> None:
    leader.send(N_MIN)
    body = decode_report(Phone(99).report(leader.descriptor, usage_answers()))
    bad = encode_report(Report(body.task, body.round, body.report_id, body.share, bytes(80)))
    leader.intake.commit([UploadRow(b"z" * 16, "phone-99", bad, START)])
    leader.rounds.close_due(CLOSE)
    batch = leader.ask()
    with pytest.raises(BatchRefused) as refused:
        leader.helper.sum_masks(batch)
    assert refused.value.report_ids == (body.report_id,)
    said = (refused.value.reason, list(refused.value.report_ids), CLOSE)
    assert leader.rounds.drop("usage", 1, *said) == "closing"
    smaller = leader.ask()
    assert len(smaller.shares) == N_MIN
    assert leader.settle(smaller) == "closed"


def test_dropping_twice_is_dropping_once(leader: Leader) -> None:
    leader.send(N_MIN + 1)
    leader.rounds.close_due(CLOSE)
    batch = leader.ask()
    said = ("seal", batch.report_ids[:1], CLOSE)
    for _ in range(2):  # the actor was killed after its commit, and asked again
        assert leader.rounds.drop("usage", 1, *said) == "closing"
    assert len(leader.ask().report_ids) == N_MIN


def test_dropping_below_n_min_expires_the_round(leader: Leader) -> None:
    leader.send(N_MIN)
    leader.rounds.close_due(CLOSE)
    batch = leader.ask()
    assert leader.rounds.drop("usage", 1, "seal", batch.report_ids[:1], CLOSE) == "expired"


def test_a_refusal_that_names_no_report_ends_the_round(leader: Leader) -> None:
    leader.send(N_MIN)
    leader.rounds.close_due(CLOSE)
    assert leader.rounds.drop("usage", 1, "replay", [], CLOSE) == "refused"
    assert leader.status() == "refused"


def test_an_answer_to_another_batch_is_not_believed(leader: Leader) -> None:
    leader.send(N_MIN + 1)
    leader.rounds.close_due(CLOSE)
    batch = leader.ask()
    other = leader.helper.sum_masks(replace(batch, shares=batch.shares[:N_MIN]))
    assert leader.settle(batch, other) == "refused"
    assert leader.totals() == []
    assert leader.reason() == "the helper answered another batch"


def test_a_sum_changed_on_its_way_is_not_believed(leader: Leader) -> None:
    leader.send(N_MIN)
    leader.rounds.close_due(CLOSE)
    batch = leader.ask()
    answer = leader.helper.sum_masks(batch)
    shifted = replace(answer, vector=answer.vector + answer.vector.dtype.type(1))
    assert leader.settle(batch, shifted) == "refused"
    assert leader.totals() == []


def test_an_answer_the_trusted_helper_did_not_sign_costs_no_report(
    leader: Leader, tmp_path: Path
) -> None:
    leader.send(N_MIN)
    leader.rounds.close_due(CLOSE)
    batch = leader.ask()
    honest = leader.helper.sum_masks(batch)
    said = BatchCertificate.open(honest.certificate, leader.helper.identity().signing)
    forged = replace(honest, certificate=said.sign(bytes(range(32))))
    for wrong in (forged, replace(honest, certificate=b"junk")):
        with pytest.raises(HelperChanged, match="--new-helper"):
            leader.settle(batch, wrong)
    assert leader.status() == "closing"
    assert all(leader.bodies())
    assert leader.settle(batch, honest) == "closed"


def test_a_sum_of_another_shape_is_not_believed(leader: Leader) -> None:
    leader.send(N_MIN)
    leader.rounds.close_due(CLOSE)
    batch = leader.ask()
    answer = leader.helper.sum_masks(batch)
    assert leader.settle(batch, replace(answer, vector=answer.vector[1:])) == "refused"
    assert leader.totals() == []


def test_errors_survive_the_way_between_processes() -> None:
    error = pickle.loads(pickle.dumps(HelperChanged()))
    assert type(error) is HelperChanged
    assert str(error) == str(HelperChanged())


def test_the_certificate_is_kept_beside_the_sum(leader: Leader) -> None:
    leader.send(N_MIN + 1)
    leader.rounds.close_due(CLOSE)
    leader.settle(leader.ask())
    with leader.database.read() as connection:
        row = connection.execute(select(aggregates)).one()
        ids = connection.scalars(select(uploads.c.report_id).where(uploads.c.counted == 1)).all()
    assert row.helper_key == leader.helper.identity().signing
    said = BatchCertificate.open(row.certificate, row.helper_key)
    assert (said.count, said.reports_digest) == (N_MIN + 1, reports_digest(ids))


def test_a_forged_proof_is_left_out_and_the_honest_are_summed(leader: Leader) -> None:
    leader.send(N_MIN)
    bits = SeededBits(1, "liar")
    wild = np.full(USAGE_DIMENSION, sharing_for(leader.descriptor).bound - 1)
    liars = [
        crafted(leader.descriptor, wild, bits, forge=True),
        crafted(leader.descriptor, wild, bits, forge=True),
    ]
    for number, body in enumerate(liars):
        row = UploadRow(bytes([90 + number]) * 16, f"liar-{number}", body, START)
        assert leader.intake.commit([row])[0].committed
    leader.rounds.close_due(CLOSE)
    with pytest.raises(BatchRefused) as refused:
        leader.helper.sum_masks(leader.ask())
    assert refused.value.reason == "invalid"
    named = set(refused.value.report_ids)
    assert named == {decode_report(body).report_id for body in liars}
    assert leader.rounds.drop("usage", 1, "invalid", sorted(named), CLOSE) == "closing"
    assert leader.settle(leader.ask()) == "closed"
    (total,) = leader.totals()
    truth = np.sum([usage_answers(number % 2) for number in range(N_MIN)], axis=0)
    sigma = total_noise(leader.sigma(), N_MIN, N_MIN)
    assert np.abs(total / leader.scale() - truth).max() < 6 * sigma


def test_the_first_query_key_of_a_round_stays(leader: Leader) -> None:
    leader.send(N_MIN)
    leader.rounds.close_due(CLOSE)
    first = leader.ask()
    leader.rounds.keep_query("usage", 1, b"another key that a helper gave  ")
    assert leader.rounds.closing() == [("usage", 1, False)]
    assert leader.ask() == first


@pytest.mark.parametrize("reason", ["floor", "malformed"])
def test_what_only_the_operator_can_mend_costs_no_report(leader: Leader, reason: str) -> None:
    leader.send(N_MIN)
    leader.rounds.close_due(CLOSE)
    assert leader.rounds.drop("usage", 1, reason, [], CLOSE) == WAITING
    assert (leader.status(), leader.reason()) == ("closing", reason)
    assert leader.settle(leader.ask()) == "closed"
    assert leader.reason() == ""


def test_a_helper_with_stricter_floors_refuses(leader: Leader, tmp_path: Path) -> None:
    leader.send(N_MIN)
    leader.rounds.close_due(CLOSE)
    strict = HelperActor(str(tmp_path / "helper"), budget="production")
    with pytest.raises(BatchRefused) as refused:
        strict.sum_masks(leader.ask())
    assert refused.value.reason == "floor"
    strict.close()


def test_a_repeated_report_id_costs_its_sender_alone(leader: Leader) -> None:
    leader.send(N_MIN)
    leader.rounds.close_due(CLOSE)
    batch = leader.ask()
    leader.settle(batch)
    leader.rounds.open_due(CLOSE)
    again = crafted(
        leader.descriptor,
        np.zeros(USAGE_DIMENSION, dtype=np.int64),
        SeededBits(1, "again"),
        report_id=batch.report_ids[0],
    )
    leader.send(leader.descriptor.n_min, upload=b"second  ")
    assert leader.intake.commit([UploadRow(b"again" + bytes(11), "again", again, START)])
    leader.rounds.close_due(CLOSE + DAY)
    with pytest.raises(BatchRefused) as refused:
        leader.helper.sum_masks(leader.ask())
    assert (refused.value.reason, refused.value.report_ids) == ("overlap", batch.report_ids[:1])
    assert leader.rounds.drop("usage", 2, "overlap", batch.report_ids[:1], CLOSE) == "closing"
    assert leader.settle(leader.ask()) == "closed"


def test_the_fleet_that_came_sets_the_next_batch(leader: Leader) -> None:
    n = 2 * N_MIN
    leader.send(n)
    leader.rounds.close_due(CLOSE)
    batch = leader.ask()
    leader.settle(batch)
    leader.rounds.open_due(CLOSE)
    assert leader.descriptor.n_min == DEMO.terms("usage", n).n_min > N_MIN


def test_the_helper_answers_no_report_twice(leader: Leader) -> None:
    leader.send(N_MIN + 1)
    leader.rounds.close_due(CLOSE)
    batch = leader.ask()
    leader.helper.sum_masks(batch)
    leader.rounds.drop("usage", 1, "seal", batch.report_ids[:1], CLOSE)
    with pytest.raises(BatchRefused, match="overlap"):
        leader.helper.sum_masks(leader.ask())


def _router_round(leader: Leader) -> RoundDescriptor:
    """An open router round beside the usage one."""
    row = {"model": "router", "version": 1, "parent": 0, "status": "published", "metrics": {}}
    row |= {"parameters": "", "sha256": b"", "epsilon": 0.0, "delta": 0.0, "created": START}
    with leader.database.write() as connection:
        connection.execute(insert(releases).values(**row))
    assert leader.rounds.open_due(START) == [("router", 1)]
    opened = open_descriptor(
        leader.rounds.descriptors()[1], signing_key(leader.folder / "signing.key").public
    )
    assert isinstance(opened, RoundDescriptor)
    return opened


def _sum_updates(leader: Leader, garbage: int) -> str:
    """N_MIN phones that update nothing and one that sends `garbage` everywhere; the status."""
    descriptor, bits = _router_round(leader), SeededBits(1, "updates")
    values = [np.zeros(descriptor.dimension, dtype=np.int64)] * N_MIN
    values.append(np.full(descriptor.dimension, garbage))
    for number, noisy in enumerate(values):
        body = crafted(descriptor, noisy, bits)
        row = UploadRow(bytes([number]) * 16, f"phone-{number}", body, START)
        assert leader.intake.commit([row])[0].committed
    leader.rounds.close_due(CLOSE)
    return leader.settle(leader.ask())


@pytest.mark.parametrize("garbage", [1 << 30, -(1 << 20), 1 << 14])
def test_an_update_out_of_all_bounds_makes_the_sum_implausible(
    leader: Leader, garbage: int
) -> None:
    assert _sum_updates(leader, garbage) == "refused"
    query = select(rounds_table).where(rounds_table.c.task == "router")
    with leader.database.read() as connection:
        assert connection.execute(query).one().reason == "implausible"
    assert leader.totals() == []
    assert set(leader.bodies()) == {b""}


def test_an_honest_sum_of_updates_is_plausible(leader: Leader) -> None:
    assert _sum_updates(leader, 1) == "closed"
    assert len(leader.totals()) == 1
