"""The ledger: charged before anything else, never twice, never refunded, never edited."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privacy import (
    DEMO,
    PRODUCTION,
    BudgetExceeded,
    Ledger,
    LedgerCorrupt,
    LedgerUnavailable,
    RoundAlreadyCharged,
    RoundRefused,
)
from privacy.accounting import rho_units
from privacy.budget import YEAR
from privacy.chain import Commit, GaussianMechanism, Reserve
from privacy.ledger import Reservation
from tests.privacy.parts import (
    DAY,
    START,
    MemoryLog,
    append_forged,
    forged_reserve,
    used_ledger,
)

USAGE = GaussianMechanism(
    clip=PRODUCTION.terms("usage").clip,
    sigma=PRODUCTION.terms("usage").sigma,
    scale=256,
    dimension=32,
    n_min=100,
)
COST = rho_units(USAGE.clip, USAGE.sigma)


def charge(ledger: Ledger, number: int, at: float = START, units: int = COST) -> Reservation:
    return ledger.reserve("usage", number, USAGE, units, at)


def test_a_reservation_survives_the_process_and_stays_spent_without_its_commit() -> None:
    log = MemoryLog()
    ledger = Ledger(log, PRODUCTION, device_id="phone-1")
    ledger.commit(charge(ledger, 1), b"h" * 32)
    charge(ledger, 2)  # the process dies before its report exists
    reopened = Ledger(log, PRODUCTION, device_id="phone-1")
    spending = reopened.spent()
    assert spending.rho == {"usage": 2 * COST}
    assert (spending.charges, spending.forfeited) == (2, 1)
    assert 0 < spending.epsilon < 1
    assert reopened.last_round("usage") == 2
    assert reopened.head == ledger.head
    with pytest.raises(RoundAlreadyCharged):
        charge(reopened, 2)
    assert [entry.kind for entry in reopened.entries()] == [
        "open",
        "reserve",
        "commit",
        "reserve",
    ]


def test_a_torn_reservation_was_never_charged_and_the_chain_goes_on() -> None:
    log = MemoryLog()
    ledger = Ledger(log, PRODUCTION)
    charge(ledger, 1)
    log.payloads.pop()  # what a sealed log does with a torn tail
    reopened = Ledger(log, PRODUCTION)
    assert reopened.spent().charges == 0
    charge(reopened, 1)
    assert Ledger(log, PRODUCTION).spent().charges == 1


@pytest.mark.parametrize(("failure", "charges"), [("lost", 0), ("kept", 1)])
def test_after_a_failed_write_nothing_goes_until_the_ledger_is_read_again(
    failure: str, charges: int
) -> None:
    log = MemoryLog()
    ledger = Ledger(log, PRODUCTION)
    ledger.commit(charge(ledger, 1), bytes(32))
    log.fail_next = failure
    with pytest.raises(OSError):
        charge(ledger, 2)
    with pytest.raises(LedgerUnavailable):
        charge(ledger, 3)
    assert Ledger(log, PRODUCTION).spent().charges == 1 + charges


@pytest.mark.parametrize(("failure", "charges"), [("lost", 0), ("kept", 1)])
def test_read_again_a_ledger_goes_on_from_what_the_log_holds(failure: str, charges: int) -> None:
    log = MemoryLog()
    ledger = Ledger(log, PRODUCTION)
    ledger.commit(charge(ledger, 1), bytes(32))
    log.fail_next = failure
    with pytest.raises(OSError):
        charge(ledger, 2)
    ledger.reopen()
    assert ledger.spent().charges == 1 + charges
    assert ledger.last_round("usage") == 1 + charges
    ledger.commit(charge(ledger, 3), bytes(32))
    again = Ledger(log, PRODUCTION)
    assert (again.head, again.suspicion) == (ledger.head, "")


@pytest.mark.parametrize("number", [5, 4, 1])
def test_rounds_strictly_increase_per_task(number: int) -> None:
    log = MemoryLog()
    ledger = Ledger(log, PRODUCTION)
    charge(ledger, 5)
    size = len(log.payloads)
    with pytest.raises(RoundAlreadyCharged):
        charge(ledger, number)
    assert len(log.payloads) == size
    ledger.reserve("router", number, USAGE, COST, START)  # another task counts on its own


def test_the_year_is_full_after_52_weeks_and_rolls() -> None:
    ledger = Ledger(MemoryLog(), PRODUCTION)
    for week in range(52):
        charge(ledger, week + 1, START + 7 * DAY * week)
    assert ledger.remaining(START + 51 * 7 * DAY)["counts"] == 0
    with pytest.raises(BudgetExceeded, match="this year"):
        charge(ledger, 53, START + 363 * DAY)
    with pytest.raises(BudgetExceeded):
        charge(ledger, 53, START + YEAR - 1)
    charge(ledger, 53, START + YEAR)  # the first week has left the window
    with pytest.raises(BudgetExceeded):
        charge(ledger, 54, START + YEAR + DAY)  # ... and only the first


def test_router_and_dedup_share_one_cap() -> None:
    terms = PRODUCTION.terms("router")
    cost = rho_units(terms.clip, terms.sigma)
    ledger = Ledger(MemoryLog(), PRODUCTION)
    for number in range(1, 14):
        task = "router" if number % 2 else "dedup"
        ledger.reserve(task, number, USAGE, cost, START)
    for task in ("router", "dedup"):
        with pytest.raises(BudgetExceeded):
            ledger.reserve(task, 99, USAGE, 1, START)
    charge(ledger, 1)  # counts have their own
    with pytest.raises(RoundRefused):
        ledger.reserve("location", 1, USAGE, 1, START)


def test_turning_the_clock_back_renews_nothing() -> None:
    ledger = Ledger(MemoryLog(), PRODUCTION)
    for week in range(52):
        charge(ledger, week + 1, START)
    for at in (START - 10 * YEAR, START, 0.0):
        with pytest.raises(BudgetExceeded):
            charge(ledger, 53, at)
    assert ledger.remaining(START - 10 * YEAR)["counts"] == 0


def test_a_runaway_clock_meets_the_lifetime_cap() -> None:
    ledger = Ledger(MemoryLog(), DEMO)
    terms = DEMO.terms("router")
    cost = rho_units(terms.clip, terms.sigma)
    affordable = DEMO.lifetime_cap // cost
    for number in range(1, affordable + 1):
        ledger.reserve("router", number, USAGE, cost, START + number * 2 * YEAR)
    with pytest.raises(BudgetExceeded, match="for good"):
        ledger.reserve("router", affordable + 1, USAGE, cost, START + 500 * YEAR)


@given(st.lists(st.tuples(st.integers(1, COST * 9), st.floats(0, 1e8)), max_size=40))
@settings(max_examples=60, deadline=None)
def test_no_window_is_ever_overspent(charges: list[tuple[int, float]]) -> None:
    log = MemoryLog()
    ledger = Ledger(log, PRODUCTION)
    cap = PRODUCTION.streams[0].yearly_cap
    for number, (units, at) in enumerate(charges, start=1):
        try:
            charge(ledger, number, at, units)
        except BudgetExceeded:
            continue
    kept = [entry for entry in Ledger(log, PRODUCTION).entries() if isinstance(entry, Reserve)]
    for end in kept:
        window = [e.rho for e in kept if end.at - YEAR < e.at <= end.at]
        assert sum(window) <= cap


def test_a_commit_needs_its_own_reservation_once() -> None:
    ledger = Ledger(MemoryLog(), PRODUCTION)
    mine = charge(ledger, 1)
    ledger.commit(mine, bytes(32))
    with pytest.raises(ValueError, match="already"):
        ledger.commit(mine, bytes(32))
    with pytest.raises(ValueError, match="no such"):
        ledger.commit(Reservation(99, "usage", 1, COST, START, START), bytes(32))


def edit(old: bytes, new: bytes) -> Callable[[MemoryLog], None]:
    def change(log: MemoryLog) -> None:
        at = next(i for i, payload in enumerate(log.payloads) if old in payload)
        log.payloads[at] = log.payloads[at].replace(old, new)

    return change


def drop(index: int) -> Callable[[MemoryLog], None]:
    def change(log: MemoryLog) -> None:
        del log.payloads[index]

    return change


def commit_without_reserve(log: MemoryLog) -> None:
    append_forged(log, lambda seq, prev: Commit(seq=seq, prev=prev, reserve=77, sha256="0" * 64))


def commit_twice(log: MemoryLog) -> None:
    append_forged(log, lambda seq, prev: Commit(seq=seq, prev=prev, reserve=1, sha256="0" * 64))


def round_twice(log: MemoryLog) -> None:
    append_forged(log, lambda s, p: forged_reserve(s, p, number=3, rho=COST, at=START + 30 * DAY))


def back_in_time(log: MemoryLog) -> None:
    append_forged(log, lambda s, p: forged_reserve(s, p, number=9, rho=COST, at=START))


TAMPERINGS = {
    "an edited cost": edit(b'"rho":', b'"rho":1'),
    "an edited date": edit(b'"latest":1', b'"latest":2'),
    "an edited round": edit(b'"round":2', b'"round":7'),
    "an edited hash": edit(b'"sha256":"', b'"sha256":"0'),
    "an entry dropped": drop(2),
    "the first entry dropped": drop(0),
    "two entries swapped": lambda log: log.payloads.insert(1, log.payloads.pop(2)),
    "an entry repeated": lambda log: log.payloads.append(log.payloads[-1]),
    "spaces added": edit(b'{"', b'{ "'),
    "no JSON": lambda log: log.payloads.append(b"\x00\xff"),
    "COMMIT without RESERVE": commit_without_reserve,
    "COMMIT twice": commit_twice,
    "a round twice": round_twice,
    "back in time": back_in_time,
}


@pytest.mark.parametrize("name", TAMPERINGS)
def test_a_tampered_ledger_does_not_open(name: str) -> None:
    log = used_ledger()
    Ledger(log, PRODUCTION)
    TAMPERINGS[name](log)
    with pytest.raises(LedgerCorrupt):
        Ledger(log, PRODUCTION)


def test_a_change_of_budget_or_device_is_written_down_before_the_next_charge() -> None:
    log = MemoryLog()
    charge(Ledger(log, DEMO), 1)
    ledger = Ledger(log, PRODUCTION, device_id="phone-1")
    size = len(log.payloads)
    assert ledger.spent().charges == 1  # reading alone writes nothing
    assert len(log.payloads) == size
    charge(ledger, 2)
    opened = [json.loads(payload) for payload in log.payloads if b'"open"' in payload]
    assert [(entry["budget"], entry["device"]) for entry in opened] == [
        ("demo", ""),
        ("production", "phone-1"),
    ]


def test_nonsense_charges_are_refused() -> None:
    ledger = Ledger(MemoryLog(), PRODUCTION)
    with pytest.raises(ValueError):
        charge(ledger, 1, float("nan"))
    with pytest.raises(ValueError):
        charge(ledger, 1, units=0)
