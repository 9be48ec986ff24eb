"""Receipts of the cloud against ledgers of phones, both ways.

A receipt says: the cloud had this report. A ledger says: this phone paid for that one. Each must
know of the other, or a report left unpaid, a ledger was cut, or the cloud forgot what it had.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from privacy.audit.books import Charge, LedgerAudit
from privacy.audit.evidence import FleetEvidence, RoundEvidence
from privacy.errors import ReceiptInvalid
from privacy.receipts import Receipt, open_receipt

__all__ = ["match_receipts"]

Report = Callable[[str, str, str], None]
"""(kind, where, what) of a finding."""

_Key = tuple[str, int]
_NOBODY = "a device without id"


def match_receipts(
    evidence: FleetEvidence,
    ledgers: Sequence[LedgerAudit],
    receipts_shown: bool,
    report: Report,
    notes: list[str],
) -> None:
    """Report every receipt that does not open, contradicts another, or contradicts a ledger."""
    for audit in ledgers:
        if not audit.sound:
            report("ledger", _name(audit), f"{audit.verdict} First: {audit.problems[0].what}")
    if not receipts_shown:
        notes.append("receipts name devices, so a public page shows none: give the database")
    receipts = _open_all(evidence, report)
    _check_single(receipts, report)
    for audit in ledgers:
        if receipts_shown:
            mine = [each for each in receipts if each.device == audit.device and audit.device]
            _check_paid(mine, audit, report)
            _check_known(mine, audit, report)
        _check_terms(evidence.rounds, audit, report)


def _open_all(evidence: FleetEvidence, report: Report) -> list[Receipt]:
    if not evidence.receipts:
        return []
    try:
        key = bytes.fromhex(evidence.cloud_key)
    except ValueError:
        key = b""
    if len(key) != 32:
        report("cloud-key", "fleet", "the cloud key shown is not a 32-byte key in hex")
        return []
    opened, forged = [], 0
    for blob in evidence.receipts:
        try:
            opened.append(open_receipt(blob, key))
        except ReceiptInvalid:
            forged += 1
    if forged:
        report("receipt", "fleet", f"{forged} receipts are not signed by the cloud's own key")
    return opened


def _check_single(receipts: Iterable[Receipt], report: Report) -> None:
    """One report a device and round: two receipts with two hashes are two releases."""
    known: dict[tuple[str, str, int], bytes] = {}
    for each in receipts:
        first = known.setdefault((each.device, each.task, each.round), each.sha256)
        if first != each.sha256:
            where = f"{each.task} round {each.round}"
            report("clone", where, f"device {each.device or _NOBODY} sent two different reports")


def _check_paid(receipts: Iterable[Receipt], audit: LedgerAudit, report: Report) -> None:
    """Every report the cloud had from this device was paid for, as it was sent."""
    charges = {(charge.task, charge.round): charge for charge in audit.charges}
    for each in receipts:
        charge = charges.get((each.task, each.round))
        where = f"{_name(audit)}, {each.task} round {each.round}"
        if charge is None:
            report("unpaid", where, "the cloud holds a report that this ledger never charged")
        elif not charge.committed:
            # A phone commits before it sends, even after a crash: this COMMIT was cut off.
            report("unpaid", where, "the cloud holds a report that this ledger never committed")
        elif charge.sha256 != each.sha256.hex():
            report("unpaid", where, "the cloud holds another report than the one committed")


def _check_known(receipts: Iterable[Receipt], audit: LedgerAudit, report: Report) -> None:
    """Every receipt in the ledger is one the cloud still owns up to."""
    cloud = {(each.task, each.round, each.sha256.hex()) for each in receipts}
    for seen in audit.receipts:
        if (seen.task, seen.round, seen.sha256) not in cloud:
            where = f"{_name(audit)}, {seen.task} round {seen.round}"
            report("forgotten", where, "the phone holds a receipt that the cloud does not know")


def _check_terms(rounds: Iterable[RoundEvidence], audit: LedgerAudit, report: Report) -> None:
    """The round a phone paid for is the round the cloud shows to everybody."""
    shown: dict[_Key, RoundEvidence] = {(each.task, each.round): each for each in rounds}
    for charge in audit.charges:
        each = shown.get((charge.task, charge.round))
        if each is None:
            continue
        wrong = _differing(charge, each)
        if wrong:
            where = f"{_name(audit)}, {charge.task} round {charge.round}"
            report("terms", where, f"the phone was told another {', '.join(wrong)} than is shown")


def _differing(charge: Charge, each: RoundEvidence) -> list[str]:
    names = (
        ("epsilon",) if charge.pure_epsilon else ("dimension", "scale", "clip", "sigma", "n_min")
    )
    return [name for name in names if charge.parameters.get(name) != getattr(each, name)]


def _name(audit: LedgerAudit) -> str:
    return f"ledger of {audit.device or _NOBODY}"
