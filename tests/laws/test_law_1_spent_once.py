"""Law 1: no budget is spent twice, whoever restores or copies a phone, with a helper or without."""

from __future__ import annotations

import pytest

from device.observer import Quarantined, Released, UploadAcked
from device.vault import MemoryStorage, StorageFull
from device.vault.anchor import MemoryAnchor
from privacy.chain import ReceiptEntry
from protocol.update import decode_report
from protocol.wire import decode
from tests.device.conftest import Notes
from tests.laws.conftest import OpenWorld
from tests.laws.world import Wire

REPORTS = 3
"""One for each task."""


def copy_of(storage: MemoryStorage) -> MemoryStorage:
    copied = MemoryStorage()
    for name in storage.names():
        copied.replace(name, storage.read(name))
    return copied


def sent(wire: Wire) -> list[str]:
    return [decode(frame).type for frame in wire.up]


async def test_every_acknowledged_report_leaves_a_receipt_in_the_ledger(
    open_world: OpenWorld,
) -> None:
    async with open_world() as w:
        notes = Notes()
        phone = await w.phone(observer=notes)
        report = await phone.sync_now()
        assert report.problems == []
        entries = list(phone.ledger.entries())
        assert sum(isinstance(entry, ReceiptEntry) for entry in entries) == REPORTS
        assert len(notes.of(UploadAcked)) == REPORTS
        # The plan repeats them; nothing is added.
        await phone.sync_now()
        assert len(list(phone.ledger.entries())) == len(entries)
        assert notes.of(Quarantined) == []


async def test_a_phone_restored_with_its_anchor_is_found_out_by_receipts(
    open_world: OpenWorld,
) -> None:
    async with open_world() as w:
        storage, anchor = MemoryStorage(), MemoryAnchor()
        phone = await w.phone(storage=storage, anchor=anchor)
        await phone.sync_now()
        backup, mark = copy_of(storage), anchor.read()
        await w.next_day()
        assert len((await phone.sync_now()).rounds_joined) == REPORTS
        assert mark is not None
        anchor.write(mark)
        notes, wire = Notes(), Wire()
        restored = await w.phone(storage=backup, anchor=anchor, observer=notes, wire=wire)
        assert restored.ledger.suspicion == ""
        await w.next_day()
        told = await restored.sync_now()
        assert told.rounds_joined == []
        assert any("quarantine" in problem for problem in told.problems)
        assert len(notes.of(Quarantined)) == 1
        assert notes.of(Released) == []
        status = await restored.status()
        assert status.budget.quarantine == "rolled back"
        assert {stream.left for stream in status.budget.streams.values()} == {0.0}
        # The cloud sees a session like any other, without an upload.
        assert sent(wire) == ["hello", "prove", "bye"]


async def test_a_copy_of_the_folder_sends_nothing_and_the_phone_goes_on(
    open_world: OpenWorld,
) -> None:
    async with open_world() as w:
        storage = MemoryStorage()
        phone = await w.phone(storage=storage)
        await phone.sync_now()
        await w.next_day()
        notes, wire = Notes(), Wire()
        clone = await w.phone(storage=copy_of(storage), observer=notes, wire=wire)
        assert (await clone.status()).budget.suspicion == "unmarked"
        told = await clone.sync_now()
        assert told.rounds_joined == []
        assert len(notes.of(Quarantined)) == 1
        assert sent(wire) == ["hello", "prove", "bye"]
        assert len((await phone.sync_now()).rounds_joined) == REPORTS


class Disk(MemoryStorage):
    """A disk on which nothing more fits of what `full` names."""

    def __init__(self) -> None:
        super().__init__()
        self.full = "nothing"

    def append(self, name: str, data: bytes) -> None:
        if name.startswith(self.full):
            raise StorageFull("no space left; free some and try again")
        super().append(name, data)


@pytest.mark.parametrize("full", ["ledger", "outbox"])
async def test_a_full_disk_stops_reports_and_nothing_else(open_world: OpenWorld, full: str) -> None:
    async with open_world() as w:
        disk, anchor, wire = Disk(), MemoryAnchor(), Wire()
        phone = await w.phone(storage=disk, anchor=anchor, wire=wire)
        disk.full = full
        dreamt = await phone.dream()
        assert "no space left" in dreamt.problem
        assert "no space left" in (await phone.status()).problems[0]
        assert "upload_begin" not in sent(wire)
        await phone.record("I moved to Lisbon")
        assert (await phone.recall("Lisbon")).hits
        forfeited = phone.ledger.spent().charges
        assert forfeited == (0 if full == "ledger" else 1)
        disk.full = "nothing"
        again = await w.phone(storage=disk, anchor=anchor, wire=wire)
        report = await again.sync_now()
        assert report.uploads_acked == REPORTS - forfeited
        assert again.ledger.spent().charges == REPORTS
        assert again.ledger.spent().forfeited == forfeited
        assert (await again.status()).budget.suspicion == ""


async def test_without_a_helper_each_phone_sends_one_randomised_answer(
    open_world: OpenWorld,
) -> None:
    async with open_world(local=True) as w:
        wire = Wire()
        phone = await w.phone(wire=wire)
        report = await phone.sync_now()
        assert report.problems == []
        assert report.rounds_joined == ["local_usage/1"]
        assert report.uploads_acked == 1
        bodies = [
            message.data for message in map(decode, wire.up) if message.type == "upload_chunk"
        ]
        (body,) = bodies
        made = decode_report(body)
        assert (made.task, len(made.share), made.sealed_seed) == ("local_usage", 4, b"")
        assert (await phone.sync_now()).rounds_joined == []
