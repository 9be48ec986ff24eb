"""Law 3: an acknowledged thing is never lost or doubled, whichever frame the connection cuts at."""

from __future__ import annotations

from typing import Any

from device.sync.channel import ChannelClosed
from device.vault import MemoryStorage
from protocol.wire import decode
from tests.laws.conftest import OpenWorld
from tests.laws.world import Cut, Wire, World

QUORUM = 20
"""n_min of the demo budget."""
UPLOAD_FRAME = 2 * 6
"""Hello, enrol, proof and two fetches go up first: here the first report is on its way."""


async def usage_round(w: World) -> dict[str, Any]:
    report = await w.cloud.report()
    return next(r for r in report["rounds"] if r["task"] == "usage" and r["round"] == 1)


def cut_at(index: int) -> Wire:
    """A wire that breaks once: at frame `index // 2`, going up (even) or coming down (odd)."""
    wire = Wire()
    left = [index // 2]

    def trip(frame: bytes) -> None:
        left[0] -= 1
        if left[0] == -1:
            raise Cut

    if index % 2:
        wire.on_down = trip
    else:
        wire.on_up = trip
    return wire


async def test_cutting_at_every_frame_counts_each_report_once(open_world: OpenWorld) -> None:
    async with open_world() as w:
        cuts = 0
        for index in range(QUORUM + 4):
            phone = await w.phone(wire=cut_at(index))
            try:
                await phone.sync_now()
            except ChannelClosed:
                cuts += 1
                await phone.sync_now()
            assert phone.outbox.waiting() == []
        assert cuts > QUORUM / 2
        await w.next_day()
        closed = await usage_round(w)
        assert (closed["status"], closed["reports"]) == ("closed", QUORUM + 4)


async def test_a_lost_ack_is_answered_by_the_same_bytes_at_no_cost(open_world: OpenWorld) -> None:
    async with open_world() as w:
        wire = Wire()

        def lose_the_ack(frame: bytes) -> None:
            message = decode(frame)
            if message.type == "upload_ack" and message.committed:
                raise Cut

        wire.on_down = lose_the_ack
        phone = await w.phone(wire=wire)
        try:
            await phone.sync_now()
        except ChannelClosed:
            wire.on_down = lambda frame: None
        waiting = phone.outbox.waiting()
        spent = phone.ledger.spent()
        counted = (await w.cloud.report())["reports"]
        assert len(waiting) == 3
        assert counted == 1
        await phone.sync_now()
        assert phone.ledger.spent() == spent
        assert phone.outbox.waiting() == []
        assert (await w.cloud.report())["reports"] == 3


async def test_a_killed_phone_keeps_its_report_and_sends_it_after_the_restart(
    open_world: OpenWorld,
) -> None:
    async with open_world() as w:
        storage = MemoryStorage()
        wire = cut_at(UPLOAD_FRAME)
        phone = await w.phone(wire=wire, storage=storage)
        try:
            await phone.sync_now()
        except ChannelClosed:
            before = {entry.report_id: entry.body for entry in phone.outbox.waiting()}
        assert before
        # The first phone is never closed: its process is gone.
        again = await w.phone(storage=storage)
        assert {entry.report_id: entry.body for entry in again.outbox.waiting()} == before
        await again.sync_now()
        assert again.outbox.waiting() == []
