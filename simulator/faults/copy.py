"""A second phone that runs from a copy of the first one's folder (`cloned_phone`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from device.phone import Machine, Phone
from device.settings import Settings
from device.vault.anchor import MemoryAnchor
from privacy import BitSource
from simulator.faults.disk import Disk, Handle
from simulator.invariants import PhoneWatch
from simulator.network import Network
from simulator.randomness import generator

__all__ = ["PhoneCopy"]


class PhoneCopy:
    """Has the same identity and reports, no anchor, and nobody who talks to it.

    Args:
        files: the copied folder.
        machine, settings: the original's.
        original: the original's watch: the copy spends the same budget.
        bits: randomness of its own.
        network: watch -> a way to the cloud of its own.
    """

    def __init__(
        self,
        files: dict[str, bytes],
        machine: Machine,
        settings: Settings,
        *,
        original: PhoneWatch,
        bits: BitSource,
        network: Callable[[PhoneWatch], Network],
    ) -> None:
        self._disk = Disk(files)
        self._settings = settings
        self._watch = original.of_copy()
        handle = Handle(self._disk, generator(0, "copy"))
        self._machine = replace(
            machine,
            storage=handle,
            anchor=MemoryAnchor(),
            bits=bits,
            connect=network(self._watch).connect,
            observer=self._watch,
        )
        self._phone: Phone | None = None

    async def run(self) -> None:
        """Dream and sync until cancelled; a copy of an empty folder does nothing."""
        if not self._disk.names(""):
            return
        self._phone = await Phone.open(self._machine, self._settings)
        self._watch.ledger_round = self._phone.ledger.last_round
        for waiting in self._phone.outbox.waiting():
            self._watch.released.setdefault(waiting.report_id, waiting.sha256)
        await self._phone.run()

    async def end(self) -> PhoneWatch:
        """Close it; what it was seen to do."""
        if self._phone is not None:
            await self._phone.close()
        self._watch.scan(self._disk.copy())
        return self._watch
