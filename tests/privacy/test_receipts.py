"""Receipts: signed, bounded, canonical; and what the ledger makes of them."""

from __future__ import annotations

from dataclasses import replace

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privacy import (
    PRODUCTION,
    BudgetExceeded,
    Ledger,
    Mark,
    Receipt,
    ReceiptInvalid,
    RoundAlreadyCharged,
    open_receipt,
    sign_receipt,
)
from privacy.budget import YEAR
from privacy.chain import Open, Quarantine, ReceiptEntry
from privacy.receipts import LARGEST_RECEIPT
from tests.privacy.parts import DAY, DEVICE, START, Key, MemoryAnchor, MemoryLog, gaussian

CLOUD = Key(1)
COST = PRODUCTION.streams[0].yearly_cap // 52
SHA = b"s" * 32


def receipt(number: int = 1, sha256: bytes = SHA, received: float = START) -> Receipt:
    return Receipt(DEVICE, "usage", number, sha256, received)


def signed(number: int = 1, sha256: bytes = SHA, received: float = START) -> bytes:
    return sign_receipt(receipt(number, sha256, received), CLOUD)


def used(log: MemoryLog, rounds: int = 3) -> Ledger:
    """A ledger with charges a week apart, each committed to SHA."""
    ledger = Ledger(log, PRODUCTION, device_id=DEVICE)
    for number in range(1, rounds + 1):
        charge(ledger, number)
    return ledger


def charge(ledger: Ledger, number: int, at: float | None = None) -> None:
    when = START + 7 * DAY * (number - 1) if at is None else at
    ledger.commit(ledger.reserve("usage", number, gaussian(), COST, when), SHA)


names = st.text(min_size=1, max_size=60)
receipts = st.builds(
    Receipt,
    names,
    names,
    st.integers(1, (1 << 63) - 1),
    st.binary(min_size=32, max_size=32),
    st.floats(0, 253_402_300_799.0),
)


@given(receipts)
def test_a_receipt_comes_back_as_it_was_signed(given_receipt: Receipt) -> None:
    blob = sign_receipt(given_receipt, CLOUD)
    assert open_receipt(blob, CLOUD.public) == given_receipt
    assert len(blob) <= LARGEST_RECEIPT


@given(st.binary(max_size=600))
def test_any_other_bytes_are_refused(blob: bytes) -> None:
    with pytest.raises(ReceiptInvalid):
        open_receipt(blob, CLOUD.public)
    with pytest.raises(ReceiptInvalid):
        open_receipt(blob + CLOUD.sign(blob), CLOUD.public)


@given(st.integers(0, 150), st.integers(1, 255))
def test_one_changed_bit_is_refused(place: int, change: int) -> None:
    blob = bytearray(signed())
    blob[place % len(blob)] ^= change
    with pytest.raises(ReceiptInvalid):
        open_receipt(bytes(blob), CLOUD.public)


def test_receipts_of_others_are_refused() -> None:
    with pytest.raises(ReceiptInvalid):
        open_receipt(signed(), Key(2).public)
    with pytest.raises(ReceiptInvalid):
        open_receipt(signed(), b"short")
    for fields in (
        ["reverie/other/1", DEVICE, "usage", 1, SHA, START],
        ["reverie/receipt/1", DEVICE, "usage", 1, SHA],
        ["reverie/receipt/1", DEVICE, "usage", True, SHA, START],
        ["reverie/receipt/1", DEVICE, "usage", 1, SHA, float("nan")],
        ["reverie/receipt/1", "", "usage", 1, SHA, START],
        ["reverie/receipt/1", DEVICE, "usage", 0, SHA, START],
    ):
        payload = msgpack.packb(fields)
        with pytest.raises(ReceiptInvalid):
            open_receipt(payload + CLOUD.sign(payload), CLOUD.public)
    loose = msgpack.packb(["reverie/receipt/1", DEVICE, "usage", 1, SHA, START]).replace(
        b"\x01\xc4", b"\xcc\x01\xc4"
    )
    with pytest.raises(ReceiptInvalid, match="canonical"):
        open_receipt(loose + CLOUD.sign(loose), CLOUD.public)
    with pytest.raises(ReceiptInvalid):
        replace(receipt(), sha256=b"short")


def test_a_receipt_for_what_was_committed_becomes_one_entry() -> None:
    log = MemoryLog()
    ledger = used(log)
    before = ledger.remaining(START + 30 * DAY)
    for _ in range(3):
        ledger.acknowledge(signed(2), CLOUD.public, START + 30 * DAY)
    entries = list(ledger.entries())
    assert [entry.kind for entry in entries].count("receipt") == 1
    last = entries[-1]
    assert isinstance(last, ReceiptEntry)
    assert bytes.fromhex(last.blob) == signed(2)
    assert ledger.remaining(START + 30 * DAY) == before
    assert ledger.quarantined_at is None
    reopened = Ledger(log, PRODUCTION, device_id=DEVICE)
    reopened.acknowledge(signed(2), CLOUD.public, START + 31 * DAY)
    assert reopened.head == ledger.head


def test_receipts_for_another_device_or_before_any_name_are_refused() -> None:
    for device in ("phone-2", ""):
        log = MemoryLog()
        ledger = Ledger(log, PRODUCTION, device_id=device)
        with pytest.raises(ReceiptInvalid):
            ledger.acknowledge(signed(), CLOUD.public, START)
        assert log.payloads == []


def test_a_name_given_at_enrolment_is_written_down_and_its_receipts_taken() -> None:
    log = MemoryLog()
    ledger = Ledger(log, PRODUCTION)
    charge(ledger, 1)
    ledger.name_device(DEVICE)
    ledger.acknowledge(signed(1), CLOUD.public, START)
    entries = list(Ledger(log, PRODUCTION, device_id=DEVICE).entries())
    assert [entry.kind for entry in entries] == ["open", "reserve", "commit", "open", "receipt"]
    assert isinstance(entries[3], Open)
    assert entries[3].device == DEVICE
    assert ledger.quarantined_at is None


@pytest.mark.parametrize(
    ("blob", "reason", "last"),
    [
        (signed(4), "rolled back", 4),
        (signed(9), "rolled back", 9),
        (signed(2, b"x" * 32), "cloned", 3),
    ],
    ids=["the next round", "a later round", "another report"],
)
def test_evidence_of_unknown_charges_fills_the_year_of_every_stream(
    blob: bytes, reason: str, last: int
) -> None:
    log = MemoryLog()
    ledger = used(log)
    now = START + 30 * DAY
    left = ledger.remaining(now)
    ledger.acknowledge(blob, CLOUD.public, now)
    ledger.acknowledge(blob, CLOUD.public, now + DAY)
    quarantines = [entry for entry in ledger.entries() if isinstance(entry, Quarantine)]
    assert [(entry.reason, entry.units, entry.at) for entry in quarantines] == [(reason, left, now)]
    assert set(ledger.remaining(now).values()) == {0}
    assert ledger.last_round("usage") == last
    assert ledger.spent().quarantined == left
    reopened = Ledger(log, PRODUCTION, device_id=DEVICE)
    assert reopened.quarantined_at == now
    for number, error in ((last, RoundAlreadyCharged), (last + 1, BudgetExceeded)):
        with pytest.raises(error):
            charge(reopened, number, now + YEAR - 1)
    charge(reopened, last + 1, now + YEAR)


def test_a_round_that_was_skipped_here_is_evidence_too() -> None:
    ledger = Ledger(MemoryLog(), PRODUCTION, device_id=DEVICE)
    charge(ledger, 5)
    ledger.acknowledge(signed(3), CLOUD.public, START + 40 * DAY)
    assert [e.reason for e in ledger.entries() if isinstance(e, Quarantine)] == ["cloned"]


def test_a_charge_that_was_never_committed_is_not_what_the_cloud_has() -> None:
    ledger = Ledger(MemoryLog(), PRODUCTION, device_id=DEVICE)
    ledger.reserve("usage", 1, gaussian(), COST, START)
    ledger.acknowledge(signed(1), CLOUD.public, START + DAY)
    assert ledger.quarantined_at == START + DAY


def test_charges_with_a_receipt_free_the_year_as_ever_the_others_wait() -> None:
    ledger = used(MemoryLog(), rounds=52)
    ledger.acknowledge(signed(1, received=START), CLOUD.public, START)
    now = START + 52 * 7 * DAY
    ledger.acknowledge(signed(99, received=now), CLOUD.public, now)
    assert ledger.remaining(now)["counts"] == 0
    assert ledger.remaining(START + YEAR)["counts"] == COST  # round 1, which the cloud has
    assert ledger.remaining(START + YEAR + 30 * DAY)["counts"] == COST
    assert ledger.remaining(now + YEAR)["counts"] == PRODUCTION.streams[0].yearly_cap


def test_a_charge_that_may_be_over_a_year_old_waits_too() -> None:
    """Whoever made the missed charges may have counted it as gone."""
    ledger = Ledger(MemoryLog(), PRODUCTION, device_id=DEVICE)
    doubt = START + 30 * DAY
    ledger.commit(ledger.reserve("usage", 1, gaussian(), COST, START, doubt), SHA)
    ledger.acknowledge(signed(1), CLOUD.public, START)
    now = START + YEAR + 10 * DAY
    ledger.acknowledge(signed(9, received=now), CLOUD.public, now)
    assert ledger.remaining(doubt + YEAR)["counts"] == 0
    assert ledger.remaining(now + YEAR)["counts"] == PRODUCTION.streams[0].yearly_cap


def test_evidence_older_than_a_quarantine_adds_nothing_newer_extends_it() -> None:
    ledger = used(MemoryLog())
    now = START + 30 * DAY
    ledger.acknowledge(signed(4, received=now), CLOUD.public, now)
    ledger.acknowledge(signed(5, received=now - DAY), CLOUD.public, now + DAY)
    assert ledger.quarantined_at == now
    ledger.acknowledge(signed(6, received=now + 2 * DAY), CLOUD.public, now + 2 * DAY)
    assert ledger.quarantined_at == now + 2 * DAY
    assert ledger.remaining(now + YEAR + DAY)["counts"] == 0
    assert ledger.remaining(now + YEAR + 3 * DAY)["counts"] > 0
    assert ledger.spent().rho_units <= PRODUCTION.yearly_cap  # an extension costs nothing twice


def test_the_date_of_unknown_reports_holds_whatever_the_clock_says() -> None:
    ledger = used(MemoryLog())
    later = START + 300 * DAY
    ledger.acknowledge(signed(9, received=later), CLOUD.public, 0.0)
    assert ledger.quarantined_at == later
    assert ledger.remaining(later + YEAR - 1)["counts"] == 0


def test_the_date_of_a_known_report_decides_nothing() -> None:
    ledger = used(MemoryLog())
    ledger.acknowledge(signed(1, received=START + 300 * DAY), CLOUD.public, START)
    assert ledger.quarantined_at is None


def test_a_suspicion_waits_for_a_charge_that_knows_how_late_it_may_be() -> None:
    """A clock set back must not date the quarantine before what the lost tail spent."""
    log, anchor = MemoryLog(), MemoryAnchor(Mark(99, "0" * 64))
    used(log)
    ledger = Ledger(log, PRODUCTION, device_id=DEVICE, anchor=anchor)
    ledger.acknowledge(signed(1), CLOUD.public, START)
    ledger.acknowledge(signed(8, received=START + 50 * DAY), CLOUD.public, START)
    ledger = Ledger(log, PRODUCTION, device_id=DEVICE, anchor=anchor)
    assert ledger.suspicion == "rolled back"
    assert not any(isinstance(entry, Quarantine) for entry in ledger.entries())
    assert not ledger.may_send("usage", 3, SHA)
    with pytest.raises(BudgetExceeded):
        ledger.reserve("usage", 9, gaussian(), COST, START, START + 80 * DAY)
    assert ledger.suspicion == ""
    assert ledger.quarantined_at == START + 80 * DAY
    assert anchor.mark == ledger.head


def test_reports_charged_before_a_quarantine_are_not_sent_after_it() -> None:
    ledger = used(MemoryLog())
    assert ledger.may_send("usage", 3, SHA)
    assert not ledger.may_send("usage", 3, b"x" * 32)
    assert not ledger.may_send("usage", 4, SHA)
    now = START + 30 * DAY
    ledger.acknowledge(signed(9, received=now), CLOUD.public, now)
    assert not ledger.may_send("usage", 3, SHA)
    charge(ledger, 10, now + YEAR + 1)
    assert ledger.may_send("usage", 10, SHA)


def test_the_bytes_of_a_receipt_are_verified_once(monkeypatch: pytest.MonkeyPatch) -> None:
    log = MemoryLog()
    ledger = Ledger(log, PRODUCTION, device_id=DEVICE)
    charge(ledger, 1)
    ledger.acknowledge(signed(1), CLOUD.public, START)
    reopened = Ledger(log, PRODUCTION, device_id=DEVICE)
    seen: list[bytes] = []

    def verified(blob: bytes, key: bytes) -> Receipt:
        seen.append(blob)
        return open_receipt(blob, key)

    monkeypatch.setattr("privacy.ledger.open_receipt", verified)
    for one in (ledger, reopened):
        one.acknowledge(signed(1), CLOUD.public, START + DAY)
        with pytest.raises(ReceiptInvalid):
            one.acknowledge(signed(1)[:-1] + b"!", CLOUD.public, START + DAY)
    assert seen == [signed(1)[:-1] + b"!"] * 2
