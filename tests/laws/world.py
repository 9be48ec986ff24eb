"""A small real world for the laws: one cloud in process, phones in RAM, a network that can cut."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np

from cloud.actors.runtime import InProcessRuntime
from cloud.config import DAY, CloudConfig
from cloud.service import Cloud
from device.conditions import ScriptedConditions
from device.observer import PhoneEvent
from device.phone import Machine, Phone
from device.settings import Settings
from device.sync.adoption import Examiner
from device.sync.channel import ChannelClosed
from device.vault import MemoryStorage, StaticProtector
from device.vault.anchor import MemoryAnchor
from privacy.anchor import Anchor

START = 1_780_000_000.0
Aggregation: TypeAlias = Literal["two-server", "local"]


class Clock:
    """Time that stands still until it is moved."""

    def __init__(self) -> None:
        self.at = START

    def now(self) -> float:
        return self.at

    async def sleep(self, seconds: float, until: object = None) -> None:
        await asyncio.sleep(0)


class Cut(Exception):
    """Raised by a wire's hook to break the connection at that frame."""


@dataclass
class Wire:
    """Every frame that crossed, and hooks that may cut before (up) or after (down) the gateway."""

    up: list[bytes] = field(default_factory=list)
    down: list[bytes] = field(default_factory=list)
    on_up: Callable[[bytes], None] = lambda frame: None
    on_down: Callable[[bytes], None] = lambda frame: None
    change: Callable[[bytes], bytes] | None = None
    """What an attacker makes of a frame on its way down."""


class _Channel:
    def __init__(self, world: World, wire: Wire) -> None:
        self._connection = world.cloud.endpoint().open_session(world.clock.now())
        self._wire = wire
        self._arrived: list[bytes] = []

    async def send(self, frame: bytes) -> None:
        self._wire.up.append(frame)
        try:
            self._wire.on_up(frame)
            answers = await self._connection.receive(frame)
            self._wire.down.extend(answers)
            for answer in answers:
                self._wire.on_down(answer)
        except Cut:
            raise ChannelClosed("cut by the test") from None
        change = self._wire.change
        self._arrived.extend(map(change, answers) if change else answers)

    async def receive(self) -> bytes:
        if not self._arrived:
            raise ChannelClosed("nothing more comes")
        return self._arrived.pop(0)


class World:
    """Use `async with world(tmp_path) as w`."""

    def __init__(self, folder: Path, aggregation: Aggregation) -> None:
        self.clock = Clock()
        self.runtime = InProcessRuntime(inline=True)
        config = CloudConfig(
            state=folder, budget="demo", open_enrolment=True, seed=5, aggregation=aggregation
        )
        self.cloud = Cloud(config, self.runtime, bits=os.urandom, now=START, sleep=self.clock.sleep)
        self.phones: list[Phone] = []
        self.folder = folder

    async def phone(
        self,
        *,
        wire: Wire | None = None,
        storage: MemoryStorage | None = None,
        observer: object | None = None,
        budget: Literal["production", "demo"] = "demo",
        examiner: Examiner | None = None,
        anchor: Anchor | None = None,
    ) -> Phone:
        way = wire or Wire()

        @asynccontextmanager
        async def connect() -> AsyncIterator[_Channel]:
            yield _Channel(self, way)

        machine = Machine(
            clock=self.clock,
            bits=os.urandom,
            storage=storage or MemoryStorage(),
            protector=StaticProtector(b"k" * 32),
            conditions=ScriptedConditions.always(self.clock.now),
            rng=np.random.Generator(np.random.Philox(key=len(self.phones))),
            connect=connect,
            observer=observer or _Nobody(),  # type: ignore[arg-type]
            examiner=examiner,
            anchor=MemoryAnchor() if anchor is None else anchor,
        )
        settings = Settings(budget=budget, cloud_key=self.cloud.public_key.hex())
        phone = await Phone.open(machine, settings)
        self.phones.append(phone)
        return phone

    async def next_day(self) -> None:
        self.clock.at += DAY + 1
        await self.cloud.tick(self.clock.at)


class _Nobody:
    def on(self, event: PhoneEvent) -> None: ...


@asynccontextmanager
async def world(folder: Path, aggregation: Aggregation = "two-server") -> AsyncIterator[World]:
    """A started cloud over `folder` that has ticked once; everything is closed at the end."""
    made = World(folder, aggregation)
    await made.cloud.start()
    await made.cloud.tick(made.clock.at)
    try:
        yield made
    finally:
        for phone in made.phones:
            await phone.close()
        await made.cloud.stop()
        await made.runtime.stop()
