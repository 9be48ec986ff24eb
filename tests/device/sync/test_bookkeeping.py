"""Ledger and outbox in step: across crashes, with the cloud's receipts, and after a restore."""

from __future__ import annotations

import os
from collections.abc import Callable

import numpy as np
import pytest

from device.observer import Quarantined
from device.sync.bookkeeping import IN_QUARANTINE, NOT_PAID_FOR, Bookkeeper
from device.sync.outbox import Outbox
from device.vault.anchor import MemoryAnchor
from privacy import BUDGETS, Gate, Ledger, PrivateReport
from privacy.chain import Commit, ReceiptEntry
from privacy.receipts import Receipt, sign_receipt
from privacy.streams import USAGE_DIMENSION
from protocol.identity import DeviceKey, SigningKey
from tests.device.conftest import Notes
from tests.device.sync.conftest import NOW, Vault, descriptor

DEVICE = "device-1"


class Killed(BaseException):
    """The process ends here."""


class Clock:
    def now(self) -> float:
        return NOW

    async def sleep(self, seconds: float, until: object = None) -> None:
        raise NotImplementedError


class Phone:
    """A phone's books, which can be closed and opened again."""

    def __init__(self, vault: Vault, cloud_key: SigningKey, anchor: MemoryAnchor) -> None:
        self.notes = Notes()
        logs = vault.logs("ledger", "outbox")
        self.ledger = Ledger(
            logs["ledger"],
            BUDGETS["demo"],
            device_id=DEVICE,
            signer=DeviceKey(bytes(32)),
            anchor=anchor,
        )
        self.outbox = Outbox(logs["outbox"])
        self.books = Bookkeeper(self.ledger, self.outbox, cloud_key.public, Clock(), self.notes)
        self.gate = Gate(self.ledger, os.urandom)

    def report(
        self, round_: int, store: Callable[[PrivateReport], None] | None = None
    ) -> PrivateReport:
        about = descriptor(round_=round_, dimension=USAGE_DIMENSION)
        return self.gate.release(about, np.zeros(USAGE_DIMENSION), at=NOW, store=store or self.put)

    def put(self, report: PrivateReport) -> None:
        self.outbox.put(report)

    def kinds(self, kind: type) -> int:
        return sum(isinstance(entry, kind) for entry in self.ledger.entries())


def copy_of(vault: Vault) -> Vault:
    """The same folder somewhere else, or an old backup of it."""
    copied = Vault()
    for name in vault.storage.names():
        copied.storage.replace(name, vault.storage.read(name))
    return copied


@pytest.fixture
def anchor() -> MemoryAnchor:
    return MemoryAnchor()


@pytest.fixture
def phone(vault: Vault, cloud_key: SigningKey, anchor: MemoryAnchor) -> Phone:
    return Phone(vault, cloud_key, anchor)


def receipt(key: SigningKey, sha256: bytes, *, round_: int = 1, device: str = DEVICE) -> bytes:
    return sign_receipt(Receipt(device, "usage", round_, sha256, NOW), key)


def test_a_crash_between_store_and_commit_is_made_good(
    vault: Vault, cloud_key: SigningKey, anchor: MemoryAnchor, phone: Phone
) -> None:
    def store_and_die(report: PrivateReport) -> None:
        phone.outbox.put(report)
        raise Killed

    with pytest.raises(Killed):
        phone.report(1, store_and_die)
    again = Phone(vault, cloud_key, anchor)
    (waiting,) = again.outbox.waiting()
    assert again.kinds(Commit) == 0
    again.books.reconcile()
    again.books.reconcile()
    (commit,) = (entry for entry in again.ledger.entries() if isinstance(entry, Commit))
    assert commit.sha256 == waiting.digest.hex()
    assert commit.signature
    assert again.books.may_send(waiting) == ""
    assert again.outbox.waiting() == [waiting]


def test_a_receipt_becomes_an_entry_once(phone: Phone, cloud_key: SigningKey) -> None:
    made = phone.report(1)
    blob = receipt(cloud_key, made.sha256)
    assert phone.books.note_receipt(blob) == ""
    assert phone.books.note_receipt(blob) == ""
    assert phone.kinds(ReceiptEntry) == 1
    assert phone.notes.events == []


def test_a_strange_receipt_is_told_and_changes_nothing(phone: Phone, cloud_key: SigningKey) -> None:
    made = phone.report(1)
    stranger = SigningKey.generate(os.urandom)
    for blob in (
        b"",
        bytes(100),
        receipt(stranger, made.sha256),
        receipt(cloud_key, made.sha256, device="another"),
    ):
        assert phone.books.note_receipt(blob).startswith("a receipt was refused: ")
    assert phone.kinds(ReceiptEntry) == 0
    assert phone.ledger.quarantined_at is None


def test_a_phone_enrolled_just_now_takes_receipts_in_its_new_name(
    vault: Vault, cloud_key: SigningKey
) -> None:
    logs = vault.logs("ledger", "outbox")
    ledger = Ledger(logs["ledger"], BUDGETS["demo"], anchor=MemoryAnchor())
    outbox = Outbox(logs["outbox"])
    books = Bookkeeper(ledger, outbox, cloud_key.public, Clock(), Notes())
    books.enrolled(DEVICE)
    about = descriptor(dimension=USAGE_DIMENSION)
    made = Gate(ledger, os.urandom).release(
        about, np.zeros(USAGE_DIMENSION), at=NOW, store=lambda _: None
    )
    assert books.note_receipt(receipt(cloud_key, made.sha256)) == ""
    assert sum(isinstance(entry, ReceiptEntry) for entry in ledger.entries()) == 1


def test_a_restored_backup_is_told_once_and_sends_nothing_of_before(
    vault: Vault, cloud_key: SigningKey, anchor: MemoryAnchor, phone: Phone
) -> None:
    phone.report(1)
    backup, mark = copy_of(vault), anchor.read()
    lost = phone.report(2)
    # The anchor is restored with it, so that only the cloud can tell.
    assert mark is not None
    anchor.write(mark)
    restored = Phone(backup, cloud_key, anchor)
    assert restored.ledger.suspicion == ""
    assert restored.books.note_receipt(receipt(cloud_key, lost.sha256, round_=2)) == IN_QUARANTINE
    assert restored.books.news() == ""
    assert restored.notes.of(Quarantined) == [Quarantined(NOW)]
    assert set(restored.ledger.remaining(NOW).values()) == {0}
    (waiting,) = restored.outbox.waiting()
    assert restored.books.may_send(waiting) == NOT_PAID_FOR
    assert restored.outbox.waiting() == []


def test_a_copy_elsewhere_has_no_anchor_and_sends_nothing(
    vault: Vault, cloud_key: SigningKey, phone: Phone
) -> None:
    phone.report(1)
    clone = Phone(copy_of(vault), cloud_key, MemoryAnchor())
    assert clone.ledger.suspicion == "unmarked"
    clone.books.reconcile()
    (waiting,) = clone.outbox.waiting()
    assert clone.books.may_send(waiting) == NOT_PAID_FOR
    # The phone itself goes on.
    (own,) = phone.outbox.waiting()
    assert phone.books.may_send(own) == ""


def test_a_report_without_its_charge_is_dropped(
    vault: Vault, cloud_key: SigningKey, phone: Phone
) -> None:
    phone.report(1)
    for name in vault.storage.names("ledger"):
        vault.storage.delete(name)
    bare = Phone(vault, cloud_key, MemoryAnchor())
    bare.books.reconcile()
    (waiting,) = bare.outbox.waiting()
    assert bare.books.may_send(waiting) == NOT_PAID_FOR
    assert Outbox(vault.log("outbox")).waiting() == []
