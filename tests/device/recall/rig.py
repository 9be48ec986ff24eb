"""A phone's memory room over real sealed logs, with a recaller on top."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from device.actors import ActorRef, ActorSystem
from device.memory import RawMemory, StructuredMemory, WorkingMemory
from device.recall import Recaller, Router
from device.recall.public import PublicLayer
from device.vault import Keyring, MemoryStorage, SealedLog, StaticProtector

__all__ = ["Rig", "StillClock", "open_rig"]

START = 1_780_000_000.0


@dataclass
class StillClock:
    """Time stands until it is moved."""

    at: float = START

    def now(self) -> float:
        return self.at

    async def sleep(self, seconds: float, until: object = None) -> None:
        self.at += seconds


def counting_bits() -> Callable[[int], bytes]:
    counter = iter(range(10**9))
    return lambda count: bytes((next(counter) * 37 + 11) % 256 for _ in range(count))


@dataclass
class Rig:
    clock: StillClock
    raw: ActorRef
    structured: ActorRef
    working: ActorRef
    recaller: Recaller
    router: Router = field(default_factory=lambda: Router(None))


@asynccontextmanager
async def open_rig(
    *, clarifying_rounds: int = 2, public: PublicLayer | None = None
) -> AsyncIterator[Rig]:
    clock = StillClock()
    bits = counting_bits()
    storage = MemoryStorage()
    keyring = Keyring.open(storage, StaticProtector(b"s" * 32), bits)

    def log(name: str) -> SealedLog:
        return SealedLog.open(storage, name, keyring, clock_now=clock.now)

    logs = {name: log(name) for name in ("raw", "structured", "working")}
    system = ActorSystem(clock)
    raw = system.spawn("raw", lambda: RawMemory(logs["raw"]))
    structured = system.spawn("structured", lambda: StructuredMemory(logs["structured"]))
    working = system.spawn("working", lambda: WorkingMemory(logs["working"]))
    holder: list[Rig] = []
    recaller = Recaller(
        raw,
        structured,
        working,
        lambda: holder[0].router,
        clock,
        clarifying_rounds=clarifying_rounds,
        public=public,
    )
    holder.append(Rig(clock, raw, structured, working, recaller))
    try:
        yield holder[0]
    finally:
        await system.stop()
        for each in logs.values():
            each.close()
