"""The privacy ledger kept in step with the outbox and with what the cloud confirms."""

from __future__ import annotations

from device.actors import Clock
from device.observer import Observer, Quarantined
from device.sync.outbox import Outbox, Waiting
from privacy import Ledger
from privacy.errors import ReceiptInvalid

__all__ = ["Bookkeeper"]

IN_QUARANTINE = "the privacy ledger went into quarantine: `reverie-device status` says why"
NOT_PAID_FOR = "a report was dropped: this phone's ledger no longer vouches for it"


class Bookkeeper:
    """Of one phone. Whatever it finds is for the owner; the cloud is told nothing."""

    def __init__(
        self, ledger: Ledger, outbox: Outbox, cloud_key: bytes, clock: Clock, observer: Observer
    ) -> None:
        self._ledger = ledger
        self._outbox = outbox
        self._cloud_key = cloud_key
        self._clock = clock
        self._observer = observer
        self._known = ledger.quarantined_at

    def reconcile(self) -> None:
        """Before anything is sent: a report that a crash left without its COMMIT gets it."""
        for waiting in self._outbox.waiting():
            self._ledger.complete(waiting.task, waiting.round, waiting.digest)

    def enrolled(self, device_id: str) -> None:
        """The cloud gave this phone its name: receipts will carry it."""
        self._ledger.name_device(device_id)

    def note_receipt(self, receipt: bytes) -> str:
        """Put what the cloud confirms into the ledger; one line for the owner, or ""."""
        try:
            self._ledger.acknowledge(receipt, self._cloud_key, self._clock.now())
        except ReceiptInvalid as error:
            return f"a receipt was refused: {error}"
        return self.news()

    def may_send(self, waiting: Waiting) -> str:
        """Asked right before a report is sent: "" when it is paid for, else it is forgotten and
        this is the line for the owner."""
        if self._ledger.may_send(waiting.task, waiting.round, waiting.digest):
            return ""
        self._outbox.settle(waiting.report_id)
        return NOT_PAID_FOR

    def news(self) -> str:
        """A line for the owner when the ledger went into quarantine since the last call, or ""."""
        if self._ledger.quarantined_at == self._known:
            return ""
        self._known = self._ledger.quarantined_at
        self._observer.on(Quarantined(self._clock.now()))
        return IN_QUARANTINE
