"""Ledgers that were cut, restored, copied or edited, and receipts that tell of it."""

from __future__ import annotations

from collections.abc import Iterator

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from privacy.audit.mechanisms.fleet import START
from privacy.audit.mechanisms.phone import Phone, new_phone
from privacy.audit.mechanisms.verdict import Context, Findings
from privacy.budget import DAY
from privacy.chain import Quarantine, decode_entry
from privacy.errors import LedgerCorrupt, ReceiptInvalid
from privacy.gate import PrivateReport

__all__ = ["drill_copies"]


class _Cloud:
    """A signing key: receipts are its word."""

    def __init__(self, secret: bytes) -> None:
        self._key = Ed25519PrivateKey.from_private_bytes(secret)

    @property
    def public(self) -> bytes:
        return self._key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)

    def sign(self, message: bytes, /) -> bytes:
        return self._key.sign(message)


def drill_copies(context: Context, findings: Findings) -> None:
    """Cut tail, old backup, clone, receipts, edits."""
    _drill_cut_tail(context, findings)
    _drill_backup(context, findings)
    _drill_clone(context, findings)
    _drill_receipts(context, findings)
    _drill_edit(context, findings)


def _drill_cut_tail(context: Context, findings: Findings) -> None:
    """A ledger shorter than its mark is believed to have spent its year."""
    for cut in (1, 2, 5, 100):
        phone = new_phone(context, "tail")
        phone.fill(4, 0.0)
        phone.payloads = phone.payloads[:-cut]
        _expect_quarantine(findings, phone, f"a ledger with its last {cut} entries cut off")


def _expect_quarantine(findings: Findings, phone: Phone, what: str) -> None:
    released = len(phone.outbox)
    try:
        suspicion = phone.open().suspicion
    except LedgerCorrupt:
        return  # found out even earlier
    findings.expect(bool(suspicion), f"{what} is not suspected")
    for number in range(3):
        findings.expect(not phone.tries(70 + number, 20.0 + number), f"{what} goes on releasing")
    findings.expect(len(phone.outbox) == released, f"{what} goes on releasing")
    findings.expect(_quarantined(phone), f"{what} is not quarantined")


def _quarantined(phone: Phone) -> bool:
    return any(isinstance(decode_entry(payload), Quarantine) for payload in phone.payloads)


def _drill_backup(context: Context, findings: Findings) -> None:
    """An old backup put back, with the newer mark beside it, or with none."""
    phone = new_phone(context, "backup")
    phone.fill(2, 0.0)
    backup = phone.copy()
    phone.fill(3, 2.0, first=3)
    restored = phone.copy()
    restored.payloads = list(backup.payloads)
    _expect_quarantine(findings, restored, "a ledger restored from an old backup")
    moved = phone.copy()
    moved.mark = None
    _expect_quarantine(findings, moved, "a ledger moved to a phone without its mark")
    forked = phone.copy()
    forked.payloads = list(backup.payloads)
    forked.mark = backup.mark
    forked.fill(3, 2.0, first=3)
    forked.mark = phone.mark
    _expect_quarantine(findings, forked, "a ledger that parted from its mark")


def _drill_clone(context: Context, findings: Findings) -> None:
    """Folder and mark copied whole: the cloud's receipts tell the copies apart."""
    cloud = _Cloud(context.bits("cloud")(32))
    first = new_phone(context, "clone")
    first.fill(2, 0.0)
    second = first.copy()
    second.bits = context.bits("clone", "second")
    report, other = first.release(3, 3.0), second.release(3, 3.0)
    blob = first.receipt(report, cloud, 3.0)
    findings.expect(
        not _acknowledge(first, blob, cloud, 3.1), "a phone's own receipt quarantines it"
    )
    findings.expect(
        _acknowledge(second, blob, cloud, 3.1), "a clone takes the other's receipt for its own"
    )
    findings.expect(not second.tries(4, 4.0), "a clone goes on releasing")
    findings.expect(
        not second.open().may_send(other.task, other.round, other.sha256),
        "a clone may still send what it released before it was found out",
    )


def _acknowledge(phone: Phone, blob: bytes, cloud: _Cloud, day: float) -> bool:
    """Hand a receipt over; whether the ledger is quarantined after it."""
    phone.open().acknowledge(blob, cloud.public, START + DAY * day)
    return _quarantined(phone)


def _drill_receipts(context: Context, findings: Findings) -> None:
    """Receipts only ever raise what is spent, and only this cloud's word counts."""
    cloud, stranger = _Cloud(context.bits("cloud")(32)), _Cloud(context.bits("stranger")(32))
    phone = new_phone(context, "receipts")
    phone.fill(2, 0.0)
    past = phone.copy()
    report = phone.release(3, 3.0)
    blob = phone.receipt(report, cloud, 3.0)
    spent = phone.open().spent().rho_units
    _acknowledge(phone, blob, cloud, 3.1)
    length = len(phone.payloads)
    _acknowledge(phone, blob, cloud, 3.2)
    findings.expect(len(phone.payloads) == length, "a repeated receipt is written twice")
    findings.expect(phone.open().spent().rho_units >= spent, "a receipt lowers what is spent")
    findings.expect(
        _acknowledge(past, blob, cloud, 3.1),
        "a receipt for a round that was never charged here is ignored",
    )
    findings.expect(not past.tries(4, 4.0), "a restored phone goes on releasing")
    for what, forged in _forgeries(phone, report, blob, stranger):
        victim = phone.copy()
        refused = False
        try:
            victim.open().acknowledge(forged, cloud.public, START + DAY * 3.3)
        except ReceiptInvalid:
            refused = True
        findings.expect(
            refused and victim.payloads == phone.payloads, f"{what} is taken for a receipt"
        )


def _forgeries(
    phone: Phone, report: PrivateReport, blob: bytes, stranger: _Cloud
) -> Iterator[tuple[str, bytes]]:
    flipped = bytearray(blob)
    flipped[len(blob) // 2] ^= 1
    yield "a receipt that was changed", bytes(flipped)
    yield "another cloud's signature", phone.receipt(report, stranger, 3.0)
    yield "an empty message", b""


def _drill_edit(context: Context, findings: Findings) -> None:
    """Any entry changed, dropped or swapped, and the ledger does not open."""
    phone = new_phone(context, "edit")
    phone.fill(3, 0.0)
    whole = list(phone.payloads)
    cheaper = [entry.replace(b'"rho":', b'"rho":1') for entry in whole]
    for what, payloads in (
        ("a changed charge", [*whole[:1], cheaper[1], *whole[2:]]),
        ("a dropped entry", [*whole[:2], *whole[3:]]),
        ("two swapped entries", [whole[0], whole[2], whole[1], *whole[3:]]),
    ):
        edited = phone.copy()
        edited.payloads = payloads
        edited.mark = None
        try:
            edited.open()
        except LedgerCorrupt:
            continue
        findings.expect(False, f"a ledger with {what} is opened")
