from __future__ import annotations

import random
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest

from device.actors import ActorRef, ActorSystem, SystemClock
from device.memory import RawMemory, StructuredMemory, WorkingMemory
from device.vault import Keyring, MemoryStorage, SealedLog, StaticProtector

KEK = bytes(range(32))


@dataclass
class Store:
    """A phone's three memories on a storage that outlives them."""

    storage: MemoryStorage = field(default_factory=MemoryStorage)
    opened: int = 0
    logs: dict[str, SealedLog] = field(default_factory=dict)
    system: ActorSystem = field(default_factory=lambda: ActorSystem(SystemClock()))

    async def open(self) -> tuple[ActorRef, ActorRef, ActorRef]:
        """Open (again): raw, structured, working."""
        await self.system.stop()
        self.opened += 1
        bits = random.Random(self.opened).randbytes
        keyring = Keyring.open(self.storage, StaticProtector(KEK), bits)
        self.logs = {
            name: SealedLog.open(self.storage, name, keyring, clock_now=lambda: 0.0)
            for name in ("raw", "structured", "working")
        }
        self.system = ActorSystem(SystemClock())
        return (
            self.system.spawn("raw", lambda: RawMemory(self.logs["raw"])),
            self.system.spawn("structured", lambda: StructuredMemory(self.logs["structured"])),
            self.system.spawn("working", lambda: WorkingMemory(self.logs["working"], 16)),
        )


@pytest.fixture
async def store() -> AsyncIterator[Store]:
    opened = Store()
    yield opened
    await opened.system.stop()
