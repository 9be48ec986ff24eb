"""The sealed logs and the privacy budget, opened for reading only: a daemon may run meanwhile."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from device.conditions import Finding
from device.interfaces.doctor.life import store_is_held
from device.interfaces.doctor.patient import Patient
from device.interfaces.doctor.running import aside
from device.vault import (
    FolderStorage,
    KeyProtector,
    Keyring,
    SealedLog,
    Tampered,
    VaultError,
    store_folder,
)
from device.vault.anchor import FileAnchor, anchor_file
from device.vault.keyring import KEYRING
from device.vault.ledgers import LEDGER_LOG
from device.vault.segments import SegmentFiles
from privacy import BUDGETS, Ledger
from privacy.chain import Quarantine, Reserve
from privacy.errors import LedgerCorrupt

__all__ = ["budget", "newest_record", "sealed_logs"]


async def sealed_logs(patient: Patient) -> Sequence[Finding]:
    """Every log opened and read to its end."""
    protector = patient.protector
    if protector is None:
        return [patient.finding("store", "unknown", "store unread")]
    return await aside(lambda: _read_all(patient, protector))


def _read_all(patient: Patient, protector: KeyProtector) -> list[Finding]:
    if not (store_folder(patient.home) / KEYRING).is_file():
        return [patient.finding("store", "ok", "store empty")]
    storage = FolderStorage(store_folder(patient.home), read_only=True)
    try:
        ring = Keyring.open(storage, protector, os.urandom)
    except VaultError as error:
        return [patient.finding("store", "fault", "store shut", why=str(error))]
    damaged, records, torn = [], 0, 0
    for name in ring.logs:
        try:
            # A daemon writes meanwhile: what it has not finished is not torn.
            torn += 0 if store_is_held(patient.home) else _torn(storage, ring, name)
            records += sum(1 for _ in _open(storage, ring, name, patient.now).read())
        except Tampered:
            damaged.append(name)
    if damaged:
        return [patient.finding("store", "fault", "store damaged", names=", ".join(damaged))]
    found = [patient.finding("store", "ok", "store fine", logs=len(ring.logs), records=records)]
    if torn:
        found.append(patient.finding("store", "warning", "store torn", bytes=torn))
    return found


def _torn(storage: FolderStorage, ring: Keyring, name: str) -> int:
    """Bytes of a write that was cut off, in the one segment that takes appends."""
    segments = ring.log(name).segments
    if not segments or segments[-1].closed:
        return 0
    return SegmentFiles(storage, name, ring).torn(segments[-1])


def _open(storage: FolderStorage, ring: Keyring, name: str, now: float) -> SealedLog:
    return SealedLog.open(storage, name, ring, clock_now=lambda: now, read_only=True)


async def budget(patient: Patient) -> Sequence[Finding]:
    """What is left of the year, and whether the ledger is believed."""
    protector = patient.protector
    if protector is None:
        return [patient.finding("budget", "unknown", "store unread")]
    return await aside(lambda: _budget(patient, protector))


def _budget(patient: Patient, protector: KeyProtector) -> list[Finding]:
    limits = BUDGETS[patient.settings.budget]
    found = [] if limits.private else [patient.finding("budget", "warning", "budget demo")]
    try:
        log = _ledger_log(patient.home, protector, patient.now)
    except VaultError as error:
        return [*found, patient.finding("budget", "unknown", "store shut", why=str(error))]
    if log is None:
        return [*found, patient.finding("budget", "ok", "budget fine", left=1.0)]
    try:
        ledger = Ledger(log, limits, anchor=FileAnchor(anchor_file(patient.home, patient.environ)))
    except LedgerCorrupt:
        return [*found, patient.finding("budget", "fault", "ledger corrupt")]
    return [*found, *_believed(patient, ledger), _left(patient, ledger)]


def _believed(patient: Patient, ledger: Ledger) -> list[Finding]:
    if ledger.suspicion:
        return [patient.finding("ledger", "fault", "ledger suspicious", why=ledger.suspicion)]
    if ledger.quarantined_at is not None:
        reasons = [each.reason for each in ledger.entries() if isinstance(each, Quarantine)]
        return [patient.finding("ledger", "warning", "ledger quarantined", why=reasons[-1])]
    return []


def _left(patient: Patient, ledger: Ledger) -> Finding:
    left = ledger.remaining(patient.now)
    shares = {each.name: left[each.name] / each.yearly_cap for each in ledger.budget.streams}
    spent = [name for name, share in shares.items() if share <= 0]
    if spent:
        return patient.finding("budget", "warning", "budget out", names=", ".join(spent))
    return patient.finding("budget", "ok", "budget fine", left=min(shares.values()))


def newest_record(home: Path, protector: KeyProtector, now: float) -> float | None:
    """Unix seconds of the newest thing the store says it wrote; None when it says none.

    Raises VaultError.
    """
    if not (store_folder(home) / KEYRING).is_file():
        return None
    storage = FolderStorage(store_folder(home), read_only=True)
    ring = Keyring.open(storage, protector, os.urandom)
    written = [each.created for name in ring.logs for each in ring.log(name).segments]
    log = _ledger_log(home, protector, now)
    if log is not None:
        ledger = Ledger(log, BUDGETS["production"])  # whichever: it is read only
        written += [each.at for each in ledger.entries() if isinstance(each, Reserve | Quarantine)]
    return max(written, default=None)


def _ledger_log(home: Path, protector: KeyProtector, now: float) -> SealedLog | None:
    if not (store_folder(home) / KEYRING).is_file():
        return None
    storage = FolderStorage(store_folder(home), read_only=True)
    ring = Keyring.open(storage, protector, os.urandom)
    return _open(storage, ring, LEDGER_LOG, now)
