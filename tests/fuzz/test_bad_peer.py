"""A bad peer costs its own session and nothing else: not the gateway's other phones, not the
phone's reports, not the next session."""

from __future__ import annotations

import os
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

import numpy as np

from cloud.gateway.connection import Connection
from device.actors import DomainError
from device.conditions import ScriptedConditions
from device.phone import Machine, Phone
from device.settings import Settings
from device.sync.channel import ChannelClosed
from device.vault import MemoryStorage, StaticProtector
from device.vault.anchor import MemoryAnchor
from privacy.streams import USAGE_DIMENSION
from protocol.messages import Plan
from protocol.rounds import seal_descriptor
from tests.device.conftest import Notes
from tests.device.sync.conftest import NOW, descriptor
from tests.fuzz.mutate import Mutator
from tests.protocol import delivery
from tests.protocol.delivery import Gateway, WatchedStorage
from tests.protocol.delivery_stores import CLOUD, LocalReports, MemoryStore

BAD_PHONES = 60
BAD_CLOUDS = 40
ROUNDS = (1, 2)
SPOILT_UP, SPOILT_DOWN = 0.2, 0.5
"""Shares of a bad peer's frames that are mutated."""


def _mutated(frame: bytes, rng: random.Random) -> bytes:
    seed = rng.randrange(1 << 30)
    return Mutator(seed, "a bad peer", [frame], "msgpack").frame(0)


class _BadPhone:
    """A phone with a good key whose frames are spoilt on their way, one frame a step."""

    def __init__(self, connection: Connection, storage: WatchedStorage, seed: int) -> None:
        self.connection = connection
        self._rng = random.Random(seed)
        self._phone = delivery.Phone(storage)
        self._frames = self._phone.start()
        self.spoilt = 0

    async def step(self) -> bool:
        """False when it has no more to say."""
        if not self._frames or self.connection.closed:
            return False
        frame = self._frames.pop(0)
        if self._rng.random() < SPOILT_UP:
            frame = _mutated(frame, self._rng)
            self.spoilt += 1
        for answer in await self.connection.receive(frame):
            assert len(answer) < 1 << 16
            # The phone of this model says so when it is refused; the gateway's part is asserted.
            with suppress(AssertionError):
                self._frames += self._phone.receive(answer)
        return True


async def test_bad_phones_cost_a_gateway_their_own_sessions_only() -> None:
    store = MemoryStore(frozenset(ROUNDS))
    gateway = Gateway(store)
    reports = LocalReports().make(*ROUNDS)
    storage = WatchedStorage()
    honest = delivery.Phone(storage, store)
    bodies = {report.report_id: honest.put(report) for report in reports}
    bad = [_BadPhone(gateway.connect(), storage.copy(), seed) for seed in range(BAD_PHONES)]
    connection = gateway.connect()
    up = honest.start()
    while up:
        # Between any two frames of the honest phone every bad one has its say.
        for peer in bad:
            await peer.step()
        for answer in await connection.receive(up.pop(0)):
            up += honest.receive(answer)
    assert honest.outbox.waiting() == []
    assert {report_id: body for report_id, (_, body, _) in store.rows.items()} == bodies
    assert sum(peer.spoilt for peer in bad) > BAD_PHONES / 4
    assert sum(peer.connection.closed for peer in bad) > BAD_PHONES / 4


class _Clock:
    def now(self) -> float:
        return NOW

    async def sleep(self, seconds: float, until: object = None) -> None: ...


class _Channel:
    def __init__(self, connection: Connection, change: Callable[[bytes], bytes]) -> None:
        self._connection, self._change = connection, change
        self._arrived: list[bytes] = []

    async def send(self, frame: bytes) -> None:
        self._arrived += map(self._change, await self._connection.receive(frame))

    async def receive(self) -> bytes:
        if not self._arrived:
            raise ChannelClosed("nothing more comes")
        return self._arrived.pop(0)


async def test_a_bad_cloud_costs_a_phone_the_session_only() -> None:
    opened = seal_descriptor(descriptor(dimension=USAGE_DIMENSION), CLOUD)
    store = MemoryStore(frozenset({1}))
    gateway = Gateway(store, plan=Plan(rounds=(opened,), releases=(), retry_after=0.0))
    changes: list[Callable[[bytes], bytes]] = [lambda frame: frame]

    @asynccontextmanager
    async def connect() -> AsyncIterator[_Channel]:
        yield _Channel(gateway.connect(), changes[0])

    machine = Machine(
        clock=_Clock(),
        bits=os.urandom,
        storage=MemoryStorage(),
        protector=StaticProtector(b"k" * 32),
        conditions=ScriptedConditions.always(lambda: NOW),
        rng=np.random.Generator(np.random.Philox(key=1)),
        connect=connect,
        observer=Notes(),
        anchor=MemoryAnchor(),
    )
    phone = await Phone.open(machine, Settings(budget="demo", cloud_key=CLOUD.public.hex()))
    failed = 0
    for seed in range(BAD_CLOUDS):
        rng = random.Random(seed)
        changes[0] = lambda frame, rng=rng: (  # type: ignore[misc]
            _mutated(frame, rng) if rng.random() < SPOILT_DOWN else frame
        )
        try:
            await phone.sync_now()
        except DomainError:
            failed += 1
        held = len(phone.outbox.waiting()) + len(store.rows)
        assert held in (0, 1), "the report of this round is here, or there, or not made yet"
    changes[0] = lambda frame: frame
    await phone.sync_now()
    assert phone.outbox.waiting() == []
    assert len(store.rows) == 1
    assert failed > BAD_CLOUDS / 4
    await phone.close()
