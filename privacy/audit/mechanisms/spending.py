"""The ledger: attempts to spend twice, and whether each of them is paid for or refused.

Every drill goes through a gate that is started anew, so what is tested is what is on disk. How
much was really released is counted in the outbox, not believed.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from privacy.accounting import gdp_epsilon
from privacy.audit.mechanisms.copies import drill_copies
from privacy.audit.mechanisms.fleet import START, audit_round
from privacy.audit.mechanisms.phone import Fault, Phone, new_phone
from privacy.audit.mechanisms.release import claimed_mu, exact_units
from privacy.audit.mechanisms.verdict import Context, Findings
from privacy.budget import DAY, PRODUCTION
from privacy.errors import PrivacyError

__all__ = ["check_ledger"]

_YEAR = 365.0
"""Days."""

_LATE = 340.0
"""A day late in a calendar year: a window that tumbles would forget it within a month."""


def check_ledger(context: Context, findings: Findings) -> None:
    """Windows, composition, clocks, cut and copied ledgers, receipts, faults of the disk."""
    drills = (
        _drill_windows, _drill_lifetime, _drill_composition, _drill_clocks, drill_copies,
        _drill_faults, _drill_unfinished,
    )  # fmt: skip
    for drill in drills:
        drill(context, findings)
    findings.method("drills through gates started anew")
    findings.remark(
        "windows, lifetime, composition, clocks by 30 and 400 days, cut tail, old backup, clone, "
        "receipts, edits, failing disk, missing COMMIT"
    )


def _yearly(phone: Phone) -> int:
    return phone.budget.stream(phone.task).yearly


def _cost(phone: Phone) -> int:
    """What a release costs by the auditor's own reckoning."""
    return exact_units(audit_round(phone.budget, phone.task, 4, phone.helper_key))


def _full(context: Context, label: str, day: float = 0.0) -> Phone:
    """A phone whose year is spent, one report a day from ``day`` on."""
    phone = new_phone(context, label)
    phone.fill(_yearly(phone), day)
    return phone


def _drill_windows(context: Context, findings: Findings) -> None:
    """The cap holds in every 365 days, across a calendar year; then the oldest report leaves."""
    phone = _full(context, "windows", _LATE)
    yearly = _yearly(phone)
    findings.expect(len(phone.outbox) == yearly, "a year holds fewer reports than planned")
    for number, day in enumerate((_LATE + yearly, 366.0, 380.0, 500.0, _LATE + 364.0)):
        findings.expect(
            not phone.tries(50 + number, day), "a cap is renewed before 365 days have passed"
        )
    day = _LATE + _YEAR + 0.75  # the first report is a year old, counted from its round's end
    findings.expect(phone.tries(60, day), "a report of more than a year ago still counts")
    findings.expect(not phone.tries(61, day + 0.1), "one report left the year, two came in")
    _expect_caps(findings, phone)


def _expect_caps(findings: Findings, phone: Phone) -> None:
    """Real spending of what was released, over every window that ends with a report."""
    dates = [entry.at for entry in phone.charges()]
    most = max(sum(end - _YEAR * DAY < at <= end for at in dates) for end in dates)
    stream = phone.budget.stream(phone.task)
    findings.expect(
        most * _cost(phone) <= stream.yearly_cap, f"{most} reports within 365 days: overspent"
    )


def _drill_lifetime(context: Context, findings: Findings) -> None:
    """The backstop: a year's worth of everything in all, however many years pass."""
    budget = replace(PRODUCTION, lifetime_years=1)
    phone = new_phone(context, "lifetime", budget)
    yearly = _yearly(phone)
    for year in range(4):
        phone.fill(yearly, 400.0 * year, first=1 + yearly * year)
    findings.expect(
        len(phone.outbox) * _cost(phone) <= budget.lifetime_cap, "the lifetime cap is passed"
    )
    findings.expect(len(phone.outbox) > yearly, "a second year is refused for no reason")


def _drill_composition(context: Context, findings: Findings) -> None:
    """Charges add up, and so does what the ledger says of them."""
    phone = new_phone(context, "composition")
    count = 7
    phone.fill(count, 0.0)
    spent = phone.open().spent()
    owed = count * _cost(phone)
    findings.expect(
        spent.rho_units >= owed and sum(spent.rho.values()) >= owed,
        "charges are not added up: composition is forgotten",
    )
    exact = gdp_epsilon(claimed_mu(owed), phone.budget.delta)
    findings.expect(
        spent.epsilon >= exact * (1 - 1e-9), "the ledger states less epsilon than was spent"
    )
    findings.expect(
        all(entry.rho >= _cost(phone) for entry in phone.charges()),
        "a report is charged less than its noise costs",
    )
    stream = phone.budget.stream(phone.task)
    left = phone.open().remaining(START + DAY * count)[stream.name]
    findings.expect(left <= stream.yearly_cap - owed, "more is left of a year than was not spent")
    findings.bound(spent.epsilon, exact)


def _drill_clocks(context: Context, findings: Findings) -> None:
    """No clock renews a budget alone, neither the phone's nor the cloud's."""
    now = 13.0
    lies = (
        ("the phone's clock set back 30 days", now - 30, now - 30),
        ("the phone's clock set back 400 days", now - 400, now - 400),
        ("only the phone's clock set back 400 days", now - 400, now),
        ("the phone's clock set forward 30 days", now + 30, now),
        ("the phone's clock set forward 400 days", now + 400, now),
        ("a cloud that opens a round 30 days ahead", now, now + 30),
        ("a cloud that opens a round 400 days ahead", now, now + 400),
    )
    for what, clock, opens in lies:
        phone = _full(context, what)
        findings.expect(
            not phone.tries(90, clock, opens=opens), f"{what} renews a budget that is spent"
        )
        findings.expect(not phone.tries(91, now), f"{what}, and back again, renews a budget")
    for what, clock, opens in lies:
        phone = new_phone(context, what)
        phone.fill(5, 0.0)
        granted = int(phone.tries(40, clock, opens=opens))
        granted += phone.fill(_yearly(phone), now, first=41)
        findings.expect(granted <= _yearly(phone) - 5, f"{what} makes reports leave the year")
        dates = [entry.at for entry in phone.charges()]
        findings.expect(dates == sorted(dates), f"{what}: charges go back in time")
    phone = _full(context, "honest")
    findings.expect(phone.tries(90, now + 400), "400 honest days renew nothing")


def _drill_faults(context: Context, findings: Findings) -> None:
    """A write that fails is a charge that may stand: the ledger refuses until it is read anew."""
    for fault in ("reserve-lost", "reserve-kept", "anchor-lost", "anchor-kept"):
        phone = new_phone(context, fault)
        phone.fill(1, 0.0)
        ledger = phone.open()
        entry = phone.charges()[0]
        phone.fault = fault
        for attempt, number in enumerate((2, 3)):
            try:
                ledger.reserve(phone.task, number, entry.mechanism, entry.rho, entry.at)
            except (Fault, PrivacyError):
                continue
            findings.expect(attempt == 0, f"after {fault} a ledger goes on charging")
            findings.expect(False, f"{fault} is not noticed")
        phone.fill(_yearly(phone) + 1, 2.0, first=4)
        _expect_caps(findings, phone)
        charged = sum(charge.rho for charge in phone.charges())
        findings.expect(
            len(phone.outbox) * _cost(phone) <= charged, f"after {fault} a report is free"
        )


def _drill_unfinished(context: Context, findings: Findings) -> None:
    """A report whose COMMIT a crash prevented waits for it; a forged one waits forever."""
    phone = new_phone(context, "unfinished")
    phone.fault = "commit-lost"
    with suppress(Fault):
        phone.release(1, 0.0)
    if not findings.expect(len(phone.outbox) == 1, "a report is committed before it is stored"):
        return
    report = phone.outbox[0]
    terms = (report.task, report.round, report.sha256)
    findings.expect(not phone.open().may_send(*terms), "a report without its COMMIT may be sent")
    phone.open().complete(*terms)
    findings.expect(phone.open().may_send(*terms), "a stored report is never committed")
    phone.open().complete(report.task, report.round, bytes(32))
    findings.expect(
        not phone.open().may_send(report.task, report.round, bytes(32))
        and not phone.open().may_send(report.task, report.round + 1, report.sha256),
        "a report that was never paid for may be sent",
    )
