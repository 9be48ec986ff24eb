"""A, C: inside a long window new turns are merged every five minutes; fading has its own pace."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable

import numpy as np

from device.conditions import ScriptedConditions
from device.observer import DreamStarted, PhoneEvent
from device.phone import Machine, Phone
from device.settings import Settings
from device.vault import MemoryStorage, StaticProtector
from simulator.virtual import VirtualClock, VirtualLoop

MINUTE, HOUR, DAY = 60.0, 3600.0, 86_400.0


class Notes:
    def __init__(self) -> None:
        self.dreams: list[float] = []

    def on(self, event: PhoneEvent) -> None:
        if isinstance(event, DreamStarted):
            self.dreams.append(event.at)


def live(
    owner: Callable[[Phone, VirtualClock], Awaitable[None]], notes: Notes, **settings: object
) -> None:
    """A phone whose window never closes, its daemon, and its owner, under virtual time."""
    loop = VirtualLoop()
    clock = VirtualClock(loop, epoch=0.0)

    async def life() -> None:
        machine = Machine(
            clock=clock,
            bits=os.urandom,
            storage=MemoryStorage(),
            protector=StaticProtector(b"k" * 32),
            conditions=ScriptedConditions.always(clock.now),
            rng=np.random.Generator(np.random.Philox(key=1)),
            observer=notes,
        )
        phone = await Phone.open(machine, Settings(**{"budget": "demo", **settings}))
        daemon = asyncio.create_task(phone.run())
        await owner(phone, clock)
        daemon.cancel()
        await asyncio.gather(daemon, return_exceptions=True)
        await phone.close()

    loop.run_until_complete(life())
    loop.close()


def test_new_turns_are_merged_every_five_minutes_while_dreaming() -> None:
    notes = Notes()

    async def owner(phone: Phone, clock: VirtualClock) -> None:
        await clock.sleep(HOUR)
        for n in range(3):
            await phone.record(f"I like thing{n}")
            await clock.sleep(5 * MINUTE + 1.0)
            assert len(await phone.items()) == n + 1
        await clock.sleep(2 * HOUR)

    live(owner, notes)
    first, *later = notes.dreams
    assert len(later) == 3, "with nothing new there is nothing to do"
    assert all((at - first) % (5 * MINUTE) < 1.0 for at in later)


def test_the_merge_interval_is_the_owners_to_set() -> None:
    async def owner(phone: Phone, clock: VirtualClock) -> None:
        await clock.sleep(HOUR)
        await phone.record("I like plums")
        await clock.sleep(31.0)
        assert await phone.items()

    live(owner, Notes(), merge_interval_seconds=30.0)


def test_fading_has_its_own_pace() -> None:
    notes = Notes()

    async def owner(phone: Phone, clock: VirtualClock) -> None:
        await phone.record("I bought a walnut desk at the market yesterday")
        await clock.sleep(19 * DAY)
        assert len(await phone.items()) == 1
        await clock.sleep(3 * DAY)
        assert await phone.items() == []
        assert len(await phone.archived()) == 1

    live(owner, notes, forget_interval_seconds=DAY)
    assert 21 <= len(notes.dreams) <= 24


def test_the_owners_thresholds_are_those_that_fade() -> None:
    async def owner(phone: Phone, clock: VirtualClock) -> None:
        await phone.record("I bought a walnut desk at the market yesterday")
        await clock.sleep(3 * DAY)
        assert await phone.items() == []

    live(owner, Notes(), archive_below=0.5, delete_below=0.0, base_decay=0.9)
