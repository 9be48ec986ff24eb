"""Law 1 across crashes: the process dies at any write of ledger, anchor, outbox or receipt, and
nothing is sent unpaid, sent in two versions, or paid for twice; nor is anybody suspected."""

from __future__ import annotations

import random
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np

from device.sync.bookkeeping import Bookkeeper
from device.sync.outbox import Outbox
from device.vault import Keyring, SealedLog, StaticProtector
from privacy import BUDGETS, Gate, Ledger, PrivateReport
from privacy.anchor import Mark
from privacy.chain import Commit, ReceiptEntry, Reserve
from privacy.receipts import Receipt, sign_receipt
from privacy.streams import USAGE_DIMENSION
from protocol.identity import DeviceKey, SigningKey
from protocol.update import decode_report
from tests.device.conftest import Notes
from tests.device.sync.conftest import NOW, descriptor
from tests.device.sync.test_bookkeeping import DEVICE, Clock
from tests.device.vault.power_loss import PowerLossError, PowerLossStorage

TRIALS = 40
LIVES = 5
LONGEST_FUSE = 60
"""Writes; a life of two rounds makes about fifty."""
CLOUD = SigningKey(bytes(range(32)))


class StorageAnchor:
    """An anchor on a disk of its own kind, whose power fails with the rest."""

    def __init__(self, storage: PowerLossStorage) -> None:
        self._storage = storage

    def read(self) -> Mark | None:
        if not self._storage.names("anchor"):
            return None
        length, head = self._storage.read("anchor").decode().split()
        return Mark(int(length), head)

    def write(self, mark: Mark) -> None:
        self._storage.replace("anchor", f"{mark.length} {mark.head}".encode())


@dataclass
class Cloud:
    """What has reached it, by round."""

    bodies: dict[int, bytes] = field(default_factory=dict)
    digests: dict[int, bytes] = field(default_factory=dict)

    def take(self, round_: int, body: bytes, digest: bytes) -> bytes:
        """Keep an upload; the receipt for it."""
        assert self.bodies.setdefault(round_, body) == body, "a retry with other bytes"
        self.digests[round_] = digest
        return sign_receipt(Receipt(DEVICE, "usage", round_, digest, NOW), CLOUD)


class Life:
    """One process of the phone, from opening to death."""

    def __init__(self, storage: PowerLossStorage, rng: random.Random) -> None:
        keyring = Keyring.open(storage, StaticProtector(b"k" * 32), rng.randbytes)
        ledger, outbox = (
            SealedLog.open(storage, name, keyring, clock_now=lambda: NOW)
            for name in ("ledger", "outbox")
        )
        self.ledger = Ledger(
            ledger,
            BUDGETS["demo"],
            device_id=DEVICE,
            signer=DeviceKey(bytes(32)),
            anchor=StorageAnchor(storage),
        )
        self.outbox = Outbox(outbox)
        self.notes = Notes()
        self.books = Bookkeeper(self.ledger, self.outbox, CLOUD.public, Clock(), self.notes)
        self._gate = Gate(self.ledger, rng.randbytes)

    def check(self, cloud: Cloud) -> None:
        """What must hold whenever the phone comes up."""
        assert self.ledger.suspicion == ""
        entries = list(self.ledger.entries())
        charged = {entry.seq: entry.round for entry in entries if isinstance(entry, Reserve)}
        assert len(set(charged.values())) == len(charged), "a round was charged twice"
        paid = {
            charged[entry.reserve]: bytes.fromhex(entry.sha256)
            for entry in entries
            if isinstance(entry, Commit)
        }
        for round_, digest in cloud.digests.items():
            assert paid[round_] == digest, "a report left that the ledger does not hold"
        for waiting in self.outbox.waiting():
            assert waiting.round in charged.values(), "a report waits that was never charged"

    def sync(self, cloud: Cloud, rounds: range) -> None:
        self.books.reconcile()
        for round_ in rounds:
            if round_ > self.ledger.last_round("usage"):
                about = descriptor(round_=round_, dimension=USAGE_DIMENSION)
                self._gate.release(about, np.ones(USAGE_DIMENSION), at=NOW, store=self._put)
        for waiting in self.outbox.waiting():
            assert self.books.may_send(waiting) == "", "a paid report was dropped"
            assert decode_report(waiting.body).round == waiting.round
            receipt = cloud.take(waiting.round, waiting.body, waiting.digest)
            assert self.books.note_receipt(receipt) == ""
            self.outbox.settle(waiting.report_id)

    def _put(self, report: PrivateReport) -> None:
        self.outbox.put(report)


def test_death_at_any_write_neither_leaks_nor_doubles_nor_accuses() -> None:
    deaths = completed = receipts = 0
    for trial in range(TRIALS):
        rng = random.Random(trial)
        storage, cloud = PowerLossStorage(rng), Cloud()
        for life in range(LIVES):
            storage.fuse = rng.randint(1, LONGEST_FUSE)
            with suppress(PowerLossError):
                phone = Life(storage, rng)
                phone.check(cloud)
                phone.sync(cloud, range(2 * life + 1, 2 * life + 3))
                completed += 1
            deaths += storage.fuse <= 0
            storage = storage.after_death()
        storage.fuse = None
        last = Life(storage, rng)
        last.check(cloud)
        last.sync(cloud, range(100, 101))
        last.check(cloud)
        assert 100 in cloud.bodies
        assert last.notes.events == []
        receipts += sum(isinstance(entry, ReceiptEntry) for entry in last.ledger.entries())
    assert deaths > TRIALS
    assert completed > TRIALS
    assert receipts > TRIALS
