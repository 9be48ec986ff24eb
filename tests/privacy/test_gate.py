"""The one door (law 1): order of steps, floors, and that nothing else makes a report."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest

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
from privacy.chain import Commit, Reserve, decode_entry
from privacy.secagg import Helper, MemoryHelperStore, sum_masked, unmask
from tests.privacy.parts import (
    HELPER_KEY,
    START,
    MemoryLog,
    Round,
    batch_of,
    demo_reports,
    keep,
    new_gate,
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
    fields = ("router", 1, report.report_id, report.masked.copy(), report.sealed_seed)
    with pytest.raises(TypeError):
        PrivateReport(*fields)
    with pytest.raises(TypeError):
        PrivateReport(*fields, door=object())
    for copier in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError):
            copier(report)
    with pytest.raises(AttributeError):
        report.masked = report.masked.copy()
    with pytest.raises(ValueError):
        report.masked[0] = 0


def test_the_same_vector_twice_looks_different_every_time() -> None:
    gate = new_gate(1)
    first = gate.release(Round(round=1), VECTOR, START, keep)
    second = gate.release(Round(round=2), VECTOR, START, keep)
    assert first.report_id != second.report_id
    assert not np.any(first.masked == second.masked)


def test_a_vector_that_is_not_a_number_is_reported_as_zeros() -> None:
    report = new_gate(1).release(Round(), np.full(40, np.nan), START, keep)
    zeros = new_gate(1).release(Round(), np.zeros(40), START, keep)
    assert np.array_equal(report.masked, zeros.masked)


def test_what_leaves_is_masked_noise_of_the_stated_width_around_the_clipped_vector() -> None:
    """Through the real aggregation: clip to norm 1, share noise per phone, helper noise once."""
    round_ = round_of(DEMO, "router", dimension=1_000)
    vector = np.full(1_000, 50.0)
    reports = demo_reports(round_, np.tile(vector, (25, 1)))
    helper = Helper(HELPER_KEY, MemoryHelperStore(), seeded_bits(9))
    reply = helper.sum_masks(batch_of(round_, reports))
    total = unmask(sum_masked(r.masked for r in reports), reply.vector)
    values = total / round_.scale
    assert np.mean(values) == pytest.approx(25 / np.sqrt(1_000), rel=0.05)
    wanted = round_.sigma * np.sqrt(25 / 20 + 1)
    # 1,000 draws tell the width to 2.3 %; four of those
    assert np.std(values) == pytest.approx(wanted, rel=0.09)
    # uniform masks: the top byte of a masked report takes all values
    assert len(np.unique(reports[0].masked >> 24)) > 230
