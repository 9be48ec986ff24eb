"""The process ends at every write and every draw; the disk fills up; files tear."""

from __future__ import annotations

from pathlib import Path

import pytest

from privacy import Ledger
from privacy.chain import Commit, Reserve
from tests.privacy.parts import DAY, DEVICE, START, Key, worst_year
from tests.privacy.phones import CADENCE, SMALL, Cloud, Disk, Files, Memory, Phone, really_spent

SESSIONS = 3
"""Rounds a faultless phone would join, of each task."""


def live(phone: Phone, cloud: Cloud) -> None:
    """SESSIONS rounds, with time enough to try every one of them again."""
    for number in range(SESSIONS):
        for attempt in range(3):
            phone.session(cloud, START + number * CADENCE + attempt * DAY)


def steps_of_a_life() -> int:
    phone = Phone(Memory())
    live(phone, Cloud())
    return phone.disk.steps


STEPS = steps_of_a_life()


def check(phone: Phone, cloud: Cloud) -> None:
    ledger = phone.ledger
    entries = list(ledger.entries())
    reserves = [entry for entry in entries if isinstance(entry, Reserve)]
    commits = [entry for entry in entries if isinstance(entry, Commit)]
    rounds = [(entry.task, entry.round) for entry in reserves]
    assert len(set(rounds)) == len(rounds), "a round was charged twice"
    assert len({entry.reserve for entry in commits}) == len(commits)
    sent = [(each.task, each.round) for each in cloud.seen.values()]
    assert len(set(sent)) == len(sent), "a round was reported twice"
    assert set(sent) <= set(rounds), "a report left without a charge"
    assert phone.outbox == {}, "a paid report never left"
    # every report that was stored was sent: only a charge without a stored report is forfeited
    assert len(sent) >= 2 * SESSIONS - 1
    # a crash alone is no ground for suspicion
    assert ledger.suspicion == ""
    assert ledger.quarantined_at is None
    # each report has its COMMIT, and its receipt
    assert {each.sha256.hex() for each in cloud.seen.values()} == {e.sha256 for e in commits}
    for stream in SMALL.streams:
        assert worst_year(really_spent(cloud, stream.name)) <= stream.yearly_cap


@pytest.mark.parametrize("how", ["before", "after", "full"])
def test_an_end_at_any_step_loses_at_most_one_report_and_doubles_none(how: str) -> None:
    assert STEPS > 50
    for step in range(1, STEPS + 1):
        phone, cloud = Phone(Memory()), Cloud()
        phone.disk = Disk(step, how)
        live(phone, cloud)
        assert phone.disk.failed
        check(phone, cloud)


@pytest.mark.parametrize("how", ["before", "after", "torn"])
def test_the_same_on_real_files(how: str, tmp_path: Path) -> None:
    for step in range(1, STEPS + 1, 5):
        folder = tmp_path / str(step)
        folder.mkdir()
        phone, cloud = Phone(Files(folder)), Cloud()
        phone.disk = Disk(step, how)
        live(phone, cloud)
        check(phone, cloud)


def test_two_ends_in_a_row() -> None:
    """The second at every write of the recovery from the first."""
    for step in range(2, STEPS, 7):
        for again in range(1, 9):
            phone, cloud = Phone(Memory()), Cloud()
            phone.disk = Disk(step, "after")
            phone.session(cloud, START)
            phone.end()
            phone.disk = Disk(again, "before")
            phone.session(cloud, START + DAY)
            phone.end()
            phone.disk = Disk()
            phone.session(cloud, START + 2 * DAY)
            assert phone.ledger.quarantined_at is None
            sent = [(each.task, each.round) for each in cloud.seen.values()]
            assert len(set(sent)) == len(sent)


def test_a_stored_report_gets_its_commit_at_the_next_start_and_no_second_one() -> None:
    phone, cloud = Phone(Memory()), Cloud()
    phone.session(cloud, START)
    last = list(phone.ledger.entries())
    commit = next(entry for entry in last if isinstance(entry, Commit))
    phone = Phone(Memory())
    for step in range(1, STEPS):  # the step at which the first COMMIT is lost
        phone = Phone(Memory())
        phone.disk = Disk(step, "before")
        phone.session(Cloud(), START)
        kinds = [b'"commit"' in payload for payload in phone.cells.entries()]
        if phone.outbox and not any(kinds):
            break
    sent = next(iter(phone.outbox.values()))
    phone.disk = Disk()
    for _ in range(2):
        phone.end()
        found = [entry for entry in phone.ledger.entries() if isinstance(entry, Commit)]
        assert [(entry.reserve, entry.sha256) for entry in found] == [
            (commit.reserve, sent.sha256.hex())
        ]
    assert phone.ledger.may_send(sent.task, sent.round, sent.sha256)
    # a stranger's report gets none
    phone.ledger.complete("router", 77, bytes(32))
    phone.ledger.complete(sent.task, sent.round, bytes(32))
    assert not phone.ledger.may_send("router", 77, bytes(32))
    assert not phone.ledger.may_send(sent.task, sent.round, bytes(32))


def test_spending_never_decreases_whatever_happens() -> None:
    phone, cloud, spent = Phone(Memory()), Cloud(), 0
    for step in range(1, 40):
        phone.disk = Disk(step % 13 + 1, ("before", "after", "full")[step % 3])
        phone.session(cloud, START + step * 9 * DAY)
        phone.end()
        phone.disk = Disk()
        now = phone.ledger.spent().rho_units
        assert now >= spent
        spent = now
    assert spent > 0


def test_a_ledger_read_twice_is_the_same_ledger() -> None:
    phone, cloud = Phone(Memory()), Cloud()
    live(phone, cloud)
    payloads = phone.cells.entries()
    again = Ledger(_frozen(payloads), SMALL, device_id=DEVICE, signer=Key(7), anchor=None)
    assert (again.head, again.spent(), again.remaining(START)) == (
        phone.ledger.head,
        phone.ledger.spent(),
        phone.ledger.remaining(START),
    )


class _frozen:  # noqa: N801
    def __init__(self, payloads: list[bytes]) -> None:
        self._payloads = payloads

    def append(self, payload: bytes) -> int:
        raise AssertionError("reading writes nothing")

    def read(self):  # type: ignore[no-untyped-def]
        yield from enumerate(self._payloads)
