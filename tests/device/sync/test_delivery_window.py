"""The window closes in the middle of an upload: the phone falls silent within a second, and goes on
from the offset where it stopped when the window opens again."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from unittest.mock import patch

import numpy as np

from cloud.gateway import connection
from cloud.gateway.connection import Connection
from device.conditions import Interval, ScriptedConditions
from device.observer import WindowClosed
from device.phone import Machine, Phone
from device.settings import Settings
from device.sync.channel import ChannelClosed
from device.vault import MemoryStorage, StaticProtector
from device.vault.anchor import MemoryAnchor
from privacy.streams import USAGE_DIMENSION
from protocol import session_transfers, wire
from protocol.messages import Message, Plan, UploadAccept, UploadAck, UploadChunk
from protocol.rounds import seal_descriptor
from simulator.virtual import VirtualClock, VirtualLoop
from tests.device.conftest import Notes
from tests.device.sync.conftest import descriptor
from tests.protocol.delivery import Gateway
from tests.protocol.delivery_stores import CLOUD, MemoryStore

EPOCH = 1_780_000_000.0
CHUNK = 512
"""Bytes: the smallest report then takes a dozen chunks or so."""
FRAME_SECONDS = 0.7
"""What a frame takes on this slow link, each way up."""
SHUT = 900.0
"""Seconds between the two windows."""
SETTLING = 60.0
"""Seconds for which a window's conditions must hold before work begins."""


@dataclass
class Wire:
    """Frames with the time at which they left."""

    up: list[tuple[float, Message]] = field(default_factory=list)
    down: list[tuple[float, Message]] = field(default_factory=list)

    def chunks(self) -> list[tuple[float, UploadChunk]]:
        return [(at, sent) for at, sent in self.up if isinstance(sent, UploadChunk)]


class _SlowChannel:
    def __init__(self, connection: Connection, clock: VirtualClock, carried: Wire) -> None:
        self._connection = connection
        self._clock, self._carried = clock, carried
        self._arrived: list[bytes] = []

    async def send(self, frame: bytes) -> None:
        self._carried.up.append((self._clock.now(), wire.decode(frame)))
        await self._clock.sleep(FRAME_SECONDS)
        answers = await self._connection.receive(frame)
        self._carried.down += [(self._clock.now(), wire.decode(each)) for each in answers]
        self._arrived += answers

    async def receive(self) -> bytes:
        if not self._arrived:
            raise ChannelClosed("nothing more comes")
        return self._arrived.pop(0)


def _plan() -> Plan:
    """One open round of counts."""
    opened = descriptor(dimension=USAGE_DIMENSION)
    return Plan(rounds=(seal_descriptor(opened, CLOUD),), releases=(), retry_after=60.0)


def _live(intervals: Callable[[float], list[Interval]], seconds: float) -> tuple[Wire, Notes, int]:
    """A gateway and a phone with its daemon for that long: what went over the wire, what the phone
    noted, and how many reports are left in its outbox."""
    loop = VirtualLoop()
    clock = VirtualClock(loop, epoch=EPOCH)
    carried, notes = Wire(), Notes()

    async def life() -> int:
        gateway = Gateway(MemoryStore(frozenset({1})), plan=_plan())

        @asynccontextmanager
        async def connect() -> AsyncIterator[_SlowChannel]:
            yield _SlowChannel(gateway.connect(), clock, carried)

        machine = Machine(
            clock=clock,
            bits=os.urandom,
            storage=MemoryStorage(),
            protector=StaticProtector(b"k" * 32),
            conditions=ScriptedConditions(intervals(clock.now()), clock.now),
            rng=np.random.Generator(np.random.Philox(key=1)),
            connect=connect,
            observer=notes,
            anchor=MemoryAnchor(),
        )
        phone = await Phone.open(machine, Settings(budget="demo", cloud_key=CLOUD.public.hex()))
        daemon = asyncio.create_task(phone.run())
        await clock.sleep(seconds)
        daemon.cancel()
        await asyncio.gather(daemon, return_exceptions=True)
        waiting = len(phone.outbox.waiting())
        await phone.close()
        return waiting

    with (
        patch.object(session_transfers, "MAX_CHUNK", CHUNK),
        patch.object(connection, "LEAST_KEPT", CHUNK),
    ):
        waiting = loop.run_until_complete(life())
    loop.close()
    return carried, notes, waiting


def test_a_window_that_closes_mid_upload_stops_it_within_a_second_and_it_resumes() -> None:
    carried, _, waiting = _live(lambda now: [Interval(start=now, end=now + 5000.0)], 600.0)
    chunks = carried.chunks()
    assert waiting == 0
    assert len(chunks) > 8
    # In the middle of the first body's chunks, while one of them is on its way.
    first = [at for at, chunk in chunks if chunk.upload_id == chunks[0][1].upload_id]
    assert len(first) > 4
    closes = first[len(first) // 2] + FRAME_SECONDS / 2

    carried, notes, waiting = _live(
        lambda now: [
            Interval(start=now, end=closes),
            Interval(start=closes + SHUT, end=closes + SHUT + 5000.0),
        ],
        closes - EPOCH + SHUT + 600.0,
    )
    sent = [at for at, _ in carried.up]
    assert [at for at in sent if closes + 1.0 < at < closes + SHUT + SETTLING] == []
    shut = notes.of(WindowClosed)[0]
    assert closes <= shut.at <= closes + 1.0
    assert waiting == 0, "the second window hands everything in"
    held = max(
        message.offset
        for at, message in carried.down
        if isinstance(message, UploadAck) and not message.committed and at <= closes + 1.0
    )
    resumed = next(
        message
        for at, message in carried.down
        if isinstance(message, UploadAccept) and at > closes + SHUT
    )
    assert resumed.offset == held > 0
    again = [chunk for at, chunk in carried.chunks() if at > closes + SHUT]
    of_it = [chunk.offset for chunk in again if chunk.upload_id == resumed.upload_id]
    assert of_it[0] == held, "no byte that the cloud holds is sent again"
