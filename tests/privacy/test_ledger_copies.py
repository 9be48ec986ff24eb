"""Restored, copied and cut ledgers: they find out, and what they spend stays within the year."""

from __future__ import annotations

import copy

import pytest

from privacy import BudgetExceeded, Ledger, Mark
from privacy.anchor import compared
from privacy.budget import YEAR
from privacy.chain import Quarantine, decode_entry
from tests.privacy.parts import (
    DAY,
    DEVICE,
    START,
    Key,
    MemoryAnchor,
    MemoryLog,
    gaussian,
    worst_year,
)
from tests.privacy.phones import CADENCE, SMALL, Cloud, Memory, Phone, Sent, really_spent

YEARS = 2


class Unreachable(Cloud):
    """The connection breaks before any report is through."""

    def receive(self, sent: Sent, now: float) -> bytes:
        raise ConnectionError


def copied(phone: Phone, *, marked: bool, anchored: bool = True) -> Phone:
    """The phone's folder on another phone; its anchor only if the whole disk was copied."""
    cells = copy.deepcopy(phone.cells)
    assert isinstance(cells, Memory)
    if not marked:
        cells.marked = None
    return Phone(cells, anchored=anchored, outbox=dict(phone.outbox))


def live(phones: list[Phone], cloud: Cloud, start: float, days: int, **how: bool) -> None:
    """Every phone syncs every other day, each on its own day."""
    for day in range(days):
        phones[day % len(phones)].session(cloud, start + day * DAY, **how)


def within_the_year(cloud: Cloud) -> bool:
    return all(
        worst_year(really_spent(cloud, stream.name)) <= stream.yearly_cap
        for stream in SMALL.streams
    )


def quarantines(phone: Phone) -> list[Quarantine]:
    entries = map(decode_entry, phone.cells.entries())
    return [entry for entry in entries if isinstance(entry, Quarantine)]


@pytest.mark.parametrize("silent", [False, True], ids=["receipts", "no receipts"])
def test_a_restored_folder_is_found_out_by_its_anchor_at_every_length(silent: bool) -> None:
    phone, cloud = Phone(Memory()), Cloud()
    live([phone], cloud, START, 100, silent=silent)
    whole = phone.cells.entries()
    for kept in range(len(whole)):
        restored = copied(phone, marked=True)
        assert isinstance(restored.cells, Memory)
        restored.cells.payloads = whole[:kept]
        assert restored.ledger.suspicion == "rolled back"
        assert set(restored.ledger.remaining(START).values()) == {0}
        later = copy.deepcopy(cloud)
        live([restored], later, START + 100 * DAY, 30, silent=silent)
        assert restored.ledger.suspicion == ""
        assert [each.reason for each in quarantines(restored)] == ["rolled back"]
        assert within_the_year(later)


@pytest.mark.parametrize("kept", [0, 1, 2, 5])
def test_a_restored_phone_without_an_anchor_is_found_out_by_the_cloud(kept: int) -> None:
    phone, cloud = Phone(Memory(), anchored=False), Cloud()
    live([phone], cloud, START, 100)
    before = dict(cloud.seen)
    phone.end()
    assert isinstance(phone.cells, Memory)
    del phone.cells.payloads[kept:]
    live([phone], cloud, START + 100 * DAY, 300)
    assert {each.reason for each in quarantines(phone)} <= {"rolled back", "cloned"}
    assert quarantines(phone)
    assert cloud.seen == before
    live([phone], cloud, START + 400 * DAY, 400)
    assert len(cloud.seen) > len(before)  # ... and reports again a year later
    assert within_the_year(cloud)


@pytest.mark.parametrize("anchored", [True, False])
@pytest.mark.parametrize("others", [1, 3])
def test_copies_that_all_go_on_spend_one_budget(anchored: bool, others: int) -> None:
    phone, cloud = Phone(Memory(), anchored=anchored), Cloud()
    live([phone], cloud, START, 25)
    phones = [phone] + [copied(phone, marked=False, anchored=anchored) for _ in range(others)]
    live(phones, cloud, START + 25 * DAY, int(YEARS * 365))
    assert within_the_year(cloud)
    reported = [(each.task, each.round) for each in cloud.seen.values()]
    assert len(set(reported)) == len(reported), "two copies reported the same round"
    assert any(quarantines(each) for each in phones)


def test_a_copy_of_the_whole_disk_is_found_out_by_the_cloud() -> None:
    phone, cloud = Phone(Memory()), Cloud()
    live([phone], cloud, START, 25)
    twin = copied(phone, marked=True)
    assert twin.ledger.suspicion == ""
    phone.session(cloud, START + CADENCE * 2)
    twin.session(cloud, START + CADENCE * 2 + DAY)
    assert [each.reason for each in quarantines(twin)] == ["rolled back"]
    assert not quarantines(phone)
    live([phone, twin], cloud, START + 3 * CADENCE, 900)
    assert within_the_year(cloud)


def test_a_quarantined_copy_does_not_send_what_it_had_ready() -> None:
    phone, cloud = Phone(Memory()), Cloud()
    phone.session(cloud, START)
    twin = copied(phone, marked=True)
    offline = Unreachable()  # the twin makes reports that reach nobody
    offline.newest = dict(cloud.newest)
    twin.session(offline, START + CADENCE)
    assert twin.outbox
    phone.session(cloud, START + CADENCE)
    seen = dict(cloud.seen)
    twin.session(cloud, START + CADENCE + DAY)
    assert cloud.seen == seen
    assert twin.outbox == {}


def test_what_the_anchor_says_of_a_ledger() -> None:
    log, anchor = MemoryLog(), MemoryAnchor()
    ledger = Ledger(log, SMALL, device_id=DEVICE, anchor=anchor)
    assert anchor.read() is None  # opening writes nothing
    ledger.reserve("usage", 1, gaussian(), 1, START)
    assert anchor.read() == ledger.head
    assert ledger.head[0] == 2
    entries = log.payloads
    assert compared(entries, None)[1] == ""
    assert compared(entries, anchor)[1] == ""
    assert compared([*entries, b"one more"], anchor)[1] == ""
    assert compared([], MemoryAnchor())[1] == ""
    assert compared(entries, MemoryAnchor())[1] == "unmarked"
    assert compared(entries[:1], anchor)[1] == "rolled back"
    assert compared([entries[0], b"another"], anchor)[1] == "cloned"
    assert compared(entries, MemoryAnchor(Mark(0, "0" * 64)))[1] == ""
    assert compared(entries, MemoryAnchor(Mark(0, "1" * 64)))[1] == "cloned"


def test_a_suspicion_outlives_every_crash_until_it_is_settled() -> None:
    """An OPEN may come before the QUARANTINE: it must not make the anchor fit again."""
    phone, cloud = Phone(Memory()), Cloud()
    phone.session(cloud, START)
    assert isinstance(phone.cells, Memory)
    for step in range(1, 12):
        for how in ("before", "after"):
            restored = copied(phone, marked=True)
            assert isinstance(restored.cells, Memory)
            del restored.cells.payloads[1:]
            restored.disk.fail_at, restored.disk.how = step, how
            restored.session(Cloud(), START + CADENCE)
            restored.end()
            restored.disk.fail_at = 0
            assert restored.ledger.suspicion or restored.ledger.quarantined_at is not None
            assert restored.ledger.remaining(START + CADENCE)["counts"] == 0


def test_the_lifetime_cap_is_charged_up_to_what_is_left() -> None:
    anchor = MemoryAnchor(Mark(99, "0" * 64))
    log = MemoryLog()
    cap = SMALL.stream("usage").yearly_cap
    for number in range(1, 120):
        ledger = Ledger(log, SMALL, device_id=DEVICE, anchor=anchor)
        try:
            ledger.reserve("usage", number, gaussian(), 1, START + number * 400 * DAY)
        except BudgetExceeded as error:
            if "for good" in str(error):
                break
        anchor.mark = Mark(10_000, "0" * 64)  # restored again and again
    assert number < 60
    assert ledger.spent().rho_units == SMALL.lifetime_cap
    assert sum(ledger.spent(START + (number - 1) * 400 * DAY).quarantined.values()) <= 2 * cap * 10
    assert set(ledger.remaining(START + 1000 * YEAR).values()) == {0}


def test_commits_are_signed_over_all_that_came_before() -> None:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    from privacy.chain import Commit, Open, commit_statement

    log = MemoryLog()
    ledger = Ledger(log, SMALL, device_id=DEVICE, signer=Key(7))
    ledger.commit(ledger.reserve("usage", 1, gaussian(), 1, START), bytes(32))
    opened, _, commit = ledger.entries()
    assert isinstance(opened, Open)
    assert isinstance(commit, Commit)
    key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(opened.key))
    key.verify(bytes.fromhex(commit.signature), commit_statement(commit))
    for change in ({"prev": "1" * 64}, {"sha256": "2" * 64}, {"reserve": 7}, {"seq": 9}):
        with pytest.raises(InvalidSignature):
            key.verify(
                bytes.fromhex(commit.signature),
                commit_statement(commit.model_copy(update=change)),
            )
