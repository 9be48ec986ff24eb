"""The gate: the order of its steps, and what a crash at each of them leaves behind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from privacy.audit.mechanisms.fleet import START, audit_round
from privacy.audit.mechanisms.phone import Fault, Phone, new_phone
from privacy.audit.mechanisms.release import exact_units
from privacy.audit.mechanisms.verdict import Context, Findings
from privacy.budget import DEMO, PRODUCTION
from privacy.errors import FloorViolated, PrivacyError, RoundAlreadyCharged, RoundRefused
from privacy.gate import LOCAL_SHARE_BYTES, PrivateReport
from privacy.secagg.helper import Helper, MemoryHelperStore
from privacy.secagg.mask import report_digest

__all__ = ["check_gate"]

_FAULTS = (
    "open-lost", "open-kept", "reserve-lost", "reserve-kept", "anchor-lost", "anchor-kept",
    "bits-lost", "bits-kept", "store-lost", "store-kept", "commit-lost", "commit-kept",
)  # fmt: skip

_BEFORE_THE_CHARGE = frozenset({"open-lost", "open-kept", "anchor-lost", "anchor-kept"})
"""The first anchor is written with the OPEN entry, before there is a charge."""

_RETRIES = 5


def check_gate(context: Context, findings: Findings) -> None:
    """Order, crashes, retries, refusals before any charge."""
    _check_order(context, findings)
    for fault in _FAULTS:
        _check_crash(context, findings, fault)
    _check_local(context, findings)
    _check_once(context, findings)
    _check_refusals(context, findings)
    _check_door(context, findings)
    findings.method("drills with a recording ledger, outbox and bit source; a crash at every step")
    findings.remark(f"{len(_FAULTS)} crashes")


def _cost(phone: Phone) -> int:
    return exact_units(audit_round(phone.budget, phone.task, 4, phone.helper_key))


def _check_order(context: Context, findings: Findings) -> None:
    """RESERVE and its mark, then bits, then the outbox, then COMMIT."""
    phone = new_phone(context, "gate")
    report = phone.release(1, 0)
    events = phone.events
    charged = events.index("reserve") if "reserve" in events else len(events)
    drawn = events.index("bits") if "bits" in events else len(events)
    findings.expect(charged < drawn, "a random bit is drawn before the charge is durable")
    findings.expect(
        "anchor" in events[charged:drawn], "a random bit is drawn before the charge is anchored"
    )
    kept = events.index("store") if "store" in events else len(events)
    findings.expect(
        "commit" in events[kept:] and "commit" not in events[:kept],
        "the COMMIT does not follow the durable report",
    )
    findings.expect("bits" not in events[kept:], "bits are drawn after the report is stored")
    findings.expect(phone.outbox == [report], "the outbox does not hold the report released")
    findings.expect(
        report.sha256
        == report_digest(
            report.task, report.round, report.report_id, report.share, report.sealed_seed
        ),
        "the hash committed is not that of the report",
    )
    findings.expect(
        report.sha256.hex().encode() in phone.payloads[-1], "the COMMIT is about another report"
    )
    findings.expect(
        sum(entry.rho for entry in phone.charges()) >= _cost(phone),
        "a release is charged less than it costs",
    )


def _check_local(context: Context, findings: Findings) -> None:
    """A local report keeps the same order, and the plan's epsilon is the most it may have."""
    phone = new_phone(context, "local")
    report = phone.release_local(1, 0)
    events = [event for event in phone.events if event not in ("open", "anchor")]
    drawn = [event for event in events if event != "bits"]
    findings.expect(
        drawn == ["reserve", "store", "commit"]
        and events[0] == "reserve"
        and "bits" not in events[events.index("store") :],
        "a local report is drawn before it is paid for, or after it is stored",
    )
    findings.expect(
        len(report.share) == LOCAL_SHARE_BYTES and report.sealed_seed == b"",
        "a local report carries more than its answers",
    )
    plan = phone.budget.local
    for what, epsilon, n_min in (
        ("twice the epsilon", 2 * plan.epsilon, plan.n_min),
        ("one phone", plan.epsilon, 1),
    ):
        other = new_phone(context, "local")
        ask = partial(other.release_local, 1, 0, epsilon=epsilon, n_min=n_min)
        _expect_refusal(findings, FloorViolated, ask, f"{what}, local")
        findings.expect(not other.charges(), f"a local round with {what} is charged")


def _check_crash(context: Context, findings: Findings, fault: str) -> None:
    """After a crash and a restart: never a second noise for one round, never a free report."""
    phone = new_phone(context, fault)
    phone.fault = fault
    try:
        phone.release(1, 0)
    except Fault:
        pass
    else:
        findings.expect(False, f"crash at {fault}: the gate goes on as if nothing had happened")
        return
    free = len(phone.outbox) * _cost(phone) > sum(entry.rho for entry in phone.charges())
    findings.expect(not free, f"crash at {fault}: a report without a durable charge")
    drew = "bits" in phone.events
    charged = len(phone.charges())
    findings.expect(charged == 1 or not drew, f"crash at {fault}: bits drawn without a charge")
    phone.events.clear()
    before = list(phone.outbox)
    granted = _granted(findings, phone, fault)
    if charged:
        findings.expect(
            not granted and "bits" not in phone.events and phone.outbox == before,
            f"crash at {fault}: the same round gets a second noise",
        )
    findings.expect(len(phone.charges()) == 1, f"crash at {fault}: one round, two charges")
    findings.expect(phone.tries(2, 1), f"crash at {fault}: the next round is refused")


def _granted(findings: Findings, phone: Phone, fault: str) -> bool:
    """The same round again, after the restart."""
    try:
        phone.release(1, 0)
    except RoundAlreadyCharged:
        return False
    except PrivacyError as refusal:
        findings.expect(False, f"crash at {fault}: then {type(refusal).__name__}")
        return False
    return True


def _check_once(context: Context, findings: Findings) -> None:
    """A round is charged and noised once; a retry has the outbox's bytes and nothing else."""
    phone = new_phone(context, "once")
    first = phone.release(1, 0)
    phone.events.clear()
    for _ in range(_RETRIES):
        again = phone.tries(1, 0)
        findings.expect(not again, "the same round is released twice")
    findings.expect("bits" not in phone.events, "a retry draws new noise")
    findings.expect(
        {report.sha256 for report in phone.outbox} == {first.sha256}, "a retry has other bytes"
    )
    findings.expect(not phone.tries(0, 1), "an earlier round is released after a later one")


def _check_refusals(context: Context, findings: Findings) -> None:
    """Below this phone's floors nothing is charged and nothing is drawn."""
    round_ = audit_round(PRODUCTION, "router", 4, new_phone(context, "gate").helper_key)
    refused = (
        ("half the noise", FloorViolated, replace(round_, sigma=round_.sigma / 2)),
        ("double the clip", FloorViolated, replace(round_, clip=round_.clip * 2)),
        ("a tenth of the phones", FloorViolated, replace(round_, n_min=round_.n_min // 10)),
        ("no lattice", RoundRefused, replace(round_, scale=1)),
        ("an unknown task", RoundRefused, replace(round_, task="everything")),
        ("a short helper key", RoundRefused, replace(round_, helper_key=b"short")),
    )
    for what, kind, changed in refused:
        phone = new_phone(context, "gate")
        _expect_refusal(findings, kind, partial(phone.release_round, changed, START), what)
        findings.expect(
            not phone.charges() and "bits" not in phone.events, f"a round with {what} is charged"
        )
    phone = new_phone(context, "gate")
    phone.release(1, 0)
    other = Helper(context.bits("other")(32), MemoryHelperStore(), context.bits("y"), PRODUCTION)
    pinned = replace(round_, round=2, helper_key=other.public_key)
    _expect_refusal(
        findings, RoundRefused, lambda: phone.release_round(pinned, START), "another helper's key"
    )


def _expect_refusal(
    findings: Findings, kind: type[PrivacyError], action: Callable[[], object], what: str
) -> None:
    try:
        action()
    except kind:
        return
    except PrivacyError as refusal:
        findings.expect(False, f"a round with {what} is refused as {type(refusal).__name__}")
    else:
        findings.expect(False, f"a round with {what} is released")


def _check_door(context: Context, findings: Findings) -> None:
    """Nobody else makes a report, and nobody changes one."""
    report = new_phone(context, "door", DEMO).release(1, 0)
    try:
        PrivateReport("router", 1, bytes(16), bytes(16), bytes(80))
    except TypeError:
        pass
    else:
        findings.expect(False, "a report can be made without the gate")
    try:
        report.share = b""
    except AttributeError:
        return
    findings.expect(False, "a report can be changed after the gate made it")
