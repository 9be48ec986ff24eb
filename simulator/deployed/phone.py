"""One virtual phone on a deployed cloud: the phone's real code, its owner and its window."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Final

from device.machine import Machine
from device.phone import Phone
from device.probing import Examiner
from device.settings import Settings
from device.sync.channel import Connect
from device.sync.modelpool import ModelPool
from device.vault import MemoryStorage, StaticProtector
from device.vault.anchor import MemoryAnchor
from privacy import BitSource
from privacy.budget import BUDGETS
from simulator.deployed.clock import SpedClock
from simulator.deployed.line import Line, Meter
from simulator.invariants import PhoneWatch
from simulator.laws import KEPT
from simulator.lives import Life
from simulator.owner import Owner
from simulator.phone_result import Left, left_by
from simulator.randomness import generator
from simulator.senses import WindowConditions
from simulator.tracks import Track

__all__ = ["SLACK_SECONDS", "LoadedPhone", "Shared", "stretched"]

SLACK_SECONDS: Final = 2.0
"""Real seconds after its window in which a phone may still be seen at work: the one that law 2
gives it, and as long for a machine that plays hundreds of phones to come to this one's turn."""
_KEY_BYTES: Final = 32


class Shared:
    """What the phones of one load test have in common."""

    def __init__(self, reach: Connect, clock: SpedClock, bits: BitSource, at_once: int) -> None:
        self.reach, self.clock, self.bits = reach, clock, bits
        self.start = clock.now()
        self.meter, self.room = Meter(), asyncio.Semaphore(at_once)
        self.examiner, self.models = Examiner(), ModelPool()


class LoadedPhone:
    """Opens, lives and ends within one real loop."""

    def __init__(
        self, number: int, seed: int, life: Life, settings: Settings, shared: Shared
    ) -> None:
        clock = shared.clock
        self.number, self._clock, self._settings = number, clock, settings
        self.watch = PhoneWatch(
            f"phone {number}",
            window=stretched(life.truth.window, SLACK_SECONDS * clock.speed),
            settle=settings.settle_seconds,
            canary=life.person.canary,
            cloud_key=bytes.fromhex(settings.cloud_key),
            caps=partial(_cap, settings.budget),
        )
        self._storage, self._anchor = MemoryStorage(), MemoryAnchor()
        line = Line(shared.reach, self.watch, clock, shared.meter, shared.room)
        self._machine = Machine(
            clock=clock,
            bits=shared.bits,
            storage=self._storage,
            protector=StaticProtector(shared.bits(_KEY_BYTES)),
            conditions=WindowConditions(life.truth, clock, shared.start),
            rng=generator(seed, "phone", number),
            anchor=self._anchor,
            connect=line.connect,
            observer=self.watch,
            examiner=shared.examiner,
            models=shared.models,
        )
        self.owner = Owner(life.person, clock, patient=False)
        self._phone: Phone | None = None

    async def open(self) -> Phone:
        """Open the phone; it does nothing yet."""
        self._phone = await Phone.open(self._machine, self._settings)
        self.watch.ledger_round = self._phone.ledger.last_round
        return self._phone

    async def live(self) -> None:
        """Let its owner and its daemon run until cancelled."""
        assert self._phone is not None
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._phone.run())
            tasks.create_task(self.owner.use(self._phone))

    async def end(self) -> Left:
        """Close the phone and hold its books against what was seen; after `live` was cancelled."""
        assert self._phone is not None
        left = await left_by(self._phone)
        names = self._storage.names()
        self.watch.scan({name: self._storage.read(name) for name in names})
        self.watch.audit(
            suspicion=left.suspicion, committed=left.committed, receipted=left.receipted
        )
        self.watch.close(self._clock.now())
        owner = self.owner
        said = f"{owner.records} of {owner.tried} acknowledged, {left.turns} kept"
        holds = owner.records <= left.turns <= owner.tried
        self.watch.tally.check(KEPT, holds, self.watch.name, said)
        return left


def stretched(window: Track, seconds: float) -> Track:
    """The window, with every opening longer by `seconds`."""
    spans: list[tuple[float, float]] = []
    for start, end in window.spans:
        if spans and start <= spans[-1][1]:
            spans[-1] = (spans[-1][0], end + seconds)
        else:
            spans.append((start, end + seconds))
    return Track(tuple(spans))


def _cap(budget: str, task: str) -> tuple[str, int]:
    """The stream that pays for `task`, and what it may spend within a year."""
    stream = BUDGETS[budget].stream(task)
    return stream.name, stream.yearly_cap
