"""The one door (law 1): order of steps, floors, and that nothing else makes a report."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from privacy import (
    DEMO,
    PRODUCTION,
    BudgetExceeded,
    FloorViolated,
    Gate,
    Ledger,
    PrivateReport,
    RoundAlreadyCharged,
    RoundRefused,
)
from privacy.accounting import pure_units
from privacy.chain import Commit, LocalMechanism, Reserve, decode_entry
from privacy.mechanisms import SubsetSelection
from privacy.secagg import Helper, MemoryHelperStore, report_digest, sharing_for
from tests.privacy.parts import (
    DAY,
    HELPER_KEY,
    START,
    LocalRound,
    MemoryLog,
    Round,
    batch_of,
    demo_reports,
    fingerprint,
    keep,
    new_gate,
    raw_helper_key,
    round_of,
    seeded_bits,
)

VECTOR = np.linspace(-0.1, 0.1, 40)


def kinds(log: MemoryLog) -> list[str]:
    return [decode_entry(payload).kind for payload in log.payloads]


class Recorder:
    """Bits, log and outbox that write down in which order they were used."""

    def __init__(self) -> None:
        self.log = MemoryLog()
        self.steps: list[str] = []
        self._bits = seeded_bits(5)

    def bits(self, size: int) -> bytes:
        reserves = [e for e in map(decode_entry, self.log.payloads) if isinstance(e, Reserve)]
        assert len(reserves) == 1, "a random bit was drawn before the charge was durable"
        assert reserves[0].round == 1
        self.steps.append("bits")
        return self._bits(size)

    def store(self, report: PrivateReport) -> None:
        assert kinds(self.log) == ["open", "reserve"], "the COMMIT came before the report's store"
        assert isinstance(report, PrivateReport)
        self.steps.append("store")


def test_the_charge_is_durable_before_a_bit_is_drawn_and_the_report_before_the_commit() -> None:
    recorder = Recorder()
    gate = Gate(Ledger(recorder.log, PRODUCTION), recorder.bits)
    report = gate.release(Round(), VECTOR, START, recorder.store)
    assert recorder.steps.count("store") == 1
    assert recorder.steps[-1] == "store"
    assert recorder.steps[0] == "bits"
    assert kinds(recorder.log) == ["open", "reserve", "commit"]
    commit = decode_entry(recorder.log.payloads[-1])
    assert isinstance(commit, Commit)
    assert commit.sha256 == report.sha256.hex()


def forbidden_bits(size: int) -> bytes:
    raise AssertionError("randomness was drawn for a refused round")


def forbidden_store(report: PrivateReport) -> None:
    raise AssertionError("something was stored for a refused round")


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"sigma": 3.0}, FloorViolated),
        ({"n_min": 20}, FloorViolated),
        ({"clip": 2.0}, FloorViolated),
        ({"dimension": 41}, RoundRefused),
        ({"helper_key": b"short"}, RoundRefused),
        ({"task": "location"}, RoundRefused),
        ({"scale": 1}, RoundRefused),
    ],
)
def test_a_refused_round_leaves_no_trace(change: dict[str, object], error: type[Exception]) -> None:
    log = MemoryLog()
    gate = Gate(Ledger(log, PRODUCTION), forbidden_bits)
    with pytest.raises(error):
        gate.release(replace(Round(), **change), VECTOR, START, forbidden_store)  # type: ignore[arg-type]
    assert log.payloads == []


def test_the_phones_own_floors_hold_whatever_the_descriptor_calls_its_budget() -> None:
    demo = replace(round_of(DEMO, "router"), budget="production")
    with pytest.raises(FloorViolated):
        Gate(Ledger(MemoryLog(), PRODUCTION), forbidden_bits).release(
            demo, VECTOR, START, forbidden_store
        )


def test_a_failed_charge_means_no_randomness() -> None:
    log = MemoryLog()
    log.fail_next = "lost"
    with pytest.raises(OSError):
        Gate(Ledger(log, PRODUCTION), forbidden_bits).release(
            Round(), VECTOR, START, forbidden_store
        )


def test_a_crash_while_storing_forfeits_the_charge_and_the_round() -> None:
    log = MemoryLog()

    def crash(report: PrivateReport) -> None:
        raise OSError("power lost")

    with pytest.raises(OSError):
        Gate(Ledger(log, PRODUCTION), seeded_bits(1)).release(Round(), VECTOR, START, crash)
    ledger = Ledger(log, PRODUCTION)
    assert ledger.spent().forfeited == 1
    with pytest.raises(RoundAlreadyCharged):
        Gate(ledger, forbidden_bits).release(Round(), VECTOR, START, forbidden_store)


def test_when_the_budget_is_spent_nothing_leaves() -> None:
    gate = new_gate(3)
    for number in range(1, 14):
        gate.release(Round(round=number), VECTOR, START, keep)
    with pytest.raises(BudgetExceeded):
        gate.release(Round(round=14), VECTOR, START, forbidden_store)


def test_only_the_gate_makes_a_report() -> None:
    report = new_gate(1).release(Round(), VECTOR, START, keep)
    fields = ("router", 1, report.report_id, report.share, report.sealed_seed)
    with pytest.raises(TypeError):
        PrivateReport(*fields)
    with pytest.raises(TypeError):
        PrivateReport(*fields, door=object())
    for copier in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError):
            copier(report)
    with pytest.raises(AttributeError):
        report.share = bytes(report.share)


def test_the_same_vector_twice_looks_different_every_time() -> None:
    gate = new_gate(1)
    first = gate.release(Round(round=1), VECTOR, START, keep)
    second = gate.release(Round(round=2), VECTOR, START, keep)
    assert first.report_id != second.report_id
    words = [np.frombuffer(report.share, "<u4") for report in (first, second)]
    assert not np.any(words[0] == words[1])


def test_a_vector_that_is_not_a_number_is_reported_as_zeros() -> None:
    report = new_gate(1).release(Round(), np.full(40, np.nan), START, keep)
    zeros = new_gate(1).release(Round(), np.zeros(40), START, keep)
    assert report.share == zeros.share


def test_what_leaves_is_masked_noise_of_the_stated_width_around_the_clipped_vector() -> None:
    """Through the real aggregation: clip to norm 1, share noise per phone, helper noise once."""
    round_ = round_of(DEMO, "router", dimension=1_000)
    vector = np.full(1_000, 50.0)
    reports = demo_reports(round_, np.tile(vector, (25, 1)))
    helper = Helper(HELPER_KEY, MemoryHelperStore(), seeded_bits(9), DEMO)
    sharing = sharing_for(round_)
    reply = helper.sum_masks(batch_of(round_, reports, helper.query_key("router", 1)))
    leader = sharing.total(sharing.read(r.share) for r in reports)
    values = sharing.join(leader, reply.vector, len(reports)) / round_.scale
    assert np.mean(values) == pytest.approx(25 / np.sqrt(1_000), rel=0.05)
    wanted = round_.sigma * np.sqrt(25 / 20 + 1)
    # 1,000 draws tell the width to 2.3 %; four of those
    assert np.std(values) == pytest.approx(wanted, rel=0.09)
    # uniform shares: the top byte of a value takes all values
    assert len(np.unique(np.frombuffer(reports[0].share, "<u4") >> 24)) > 230


def test_counts_are_shared_with_their_proof_and_clamped_into_the_provable_range() -> None:
    round_ = replace(round_of(DEMO, "usage", dimension=32), sigma=2.0 * 8**0.5)
    answers = np.zeros(32)
    answers[3] = 1.0
    reports = demo_reports(round_, np.tile(answers, (20, 1)))
    helper = Helper(HELPER_KEY, MemoryHelperStore(), seeded_bits(9), DEMO)
    sharing = sharing_for(round_)
    assert {len(report.share) for report in reports} == {sharing.share_bytes}
    reply = helper.sum_masks(batch_of(round_, reports, helper.query_key("usage", 1)))
    leader = sharing.total(sharing.read(r.share) for r in reports)
    counts = sharing.join(leader, reply.vector, len(reports)) / round_.scale
    assert abs(counts[3] - 20) < 5 * round_.sigma * 2**0.5


def test_the_digest_is_the_one_the_cloud_signs_receipts_for() -> None:
    report = new_gate(1).release(Round(), VECTOR, START, keep)
    fields = (report.task, report.round, report.report_id, report.share, report.sealed_seed)
    assert report.sha256 == report_digest(*fields)


def local_report(gate: Gate, round_: LocalRound, answer: str = "en") -> PrivateReport:
    return gate.release_local(round_, answer, START, keep)


def test_a_local_report_is_one_random_set_of_answers_and_costs_its_pure_epsilon() -> None:
    log = MemoryLog()
    gate = Gate(Ledger(log, PRODUCTION), seeded_bits(1))
    reports = [local_report(gate, LocalRound(round=number)) for number in range(1, 40)]
    entries = [decode_entry(payload) for payload in log.payloads]
    reserves = [entry for entry in entries if isinstance(entry, Reserve)]
    randomiser = SubsetSelection(4, PRODUCTION.local.epsilon)
    masks = [int.from_bytes(report.share, "little") for report in reports]
    assert {len(report.share) for report in reports} == {4}
    assert {mask.bit_count() for mask in masks} == {randomiser.size}
    assert len(set(masks)) > 1
    assert max(masks) < 16
    assert {report.sealed_seed for report in reports} == {b""}
    assert {entry.rho for entry in reserves} == {pure_units(PRODUCTION.local.epsilon)}
    mechanism = reserves[0].mechanism
    assert isinstance(mechanism, LocalMechanism)
    assert (mechanism.name, mechanism.bins, mechanism.size, mechanism.histogram) == (
        randomiser.name,
        4,
        randomiser.size,
        "language",
    )


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"epsilon": 0.2}, FloorViolated),
        ({"n_min": 99}, FloorViolated),
        ({"histogram": "diary"}, RoundRefused),
        ({"task": "usage"}, RoundRefused),
        ({"round": 0}, RoundRefused),
        ({"epsilon": float("nan")}, RoundRefused),
        ({"epsilon": -1.0}, RoundRefused),
        ({"closes": float("inf")}, RoundRefused),
        ({"opens": START - 91 * DAY}, RoundRefused),
    ],
)
def test_a_refused_local_round_leaves_no_trace(
    change: dict[str, object], error: type[Exception]
) -> None:
    log = MemoryLog()
    gate = Gate(Ledger(log, PRODUCTION), forbidden_bits)
    with pytest.raises(error):
        gate.release_local(replace(LocalRound(), **change), "en", START, forbidden_store)  # type: ignore[arg-type]
    with pytest.raises(ValueError) as caught:
        gate.release_local(LocalRound(), "my secret diary", START, forbidden_store)
    assert "diary" not in str(caught.value)
    assert log.payloads == []


def test_local_and_shared_counts_are_paid_from_one_purse() -> None:
    ledger = Ledger(MemoryLog(), PRODUCTION)
    gate = Gate(ledger, seeded_bits(1))
    for number in range(1, 27):
        local_report(gate, LocalRound(round=number))
        gate.release(round_of(PRODUCTION, "usage", number, 32), np.zeros(32), START, keep)
    with pytest.raises(BudgetExceeded):
        gate.release(round_of(PRODUCTION, "usage", 27, 32), np.zeros(32), START, forbidden_store)


@pytest.mark.parametrize("pinned", [b"", raw_helper_key().public_key().public_bytes_raw()])
def test_another_helper_than_the_trusted_one_is_refused(pinned: bytes) -> None:
    log = MemoryLog()
    Gate(Ledger(log, PRODUCTION), seeded_bits(1), pinned).release(Round(), VECTOR, START, keep)
    ledger = Ledger(log, PRODUCTION)  # the first helper is remembered across a restart
    assert ledger.helper_fingerprint == fingerprint(Round().helper_key)
    other = X25519PrivateKey.from_private_bytes(b"o" * 32).public_key().public_bytes_raw()
    with pytest.raises(RoundRefused, match="another helper"):
        Gate(ledger, forbidden_bits, pinned).release(
            Round(round=2, helper_key=other), VECTOR, START, forbidden_store
        )
    # the owner may trust another one from now on
    Gate(ledger, seeded_bits(2), other).release(
        Round(round=2, helper_key=other), VECTOR, START, keep
    )


def test_a_pinned_helper_holds_from_the_first_round_on() -> None:
    other = X25519PrivateKey.from_private_bytes(b"o" * 32).public_key().public_bytes_raw()
    with pytest.raises(RoundRefused, match="another helper"):
        Gate(Ledger(MemoryLog(), PRODUCTION), forbidden_bits, other).release(
            Round(), VECTOR, START, forbidden_store
        )


@pytest.mark.parametrize("days", [-400, -91, 98, 400])
def test_a_clock_far_from_the_rounds_own_dates_charges_nothing(days: int) -> None:
    log = MemoryLog()
    with pytest.raises(RoundRefused, match="clock"):
        Gate(Ledger(log, PRODUCTION), forbidden_bits).release(
            Round(), VECTOR, START + days * DAY, forbidden_store
        )
    assert log.payloads == []


@pytest.mark.parametrize(
    ("days", "earliest", "latest"), [(-30, -30, 7), (-1, -1, 7), (3, 0, 7), (30, 0, 30)]
)
def test_a_charge_is_dated_between_the_clock_and_the_round(
    days: int, earliest: int, latest: int
) -> None:
    log = MemoryLog()
    Gate(Ledger(log, PRODUCTION), seeded_bits(1)).release(Round(), VECTOR, START + days * DAY, keep)
    entry = decode_entry(log.payloads[1])
    assert isinstance(entry, Reserve)
    assert (entry.at, entry.latest) == (START + earliest * DAY, START + latest * DAY)
