"""Law 2: a phone dreams and syncs only inside its window, and always serves."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable

import numpy as np
import pytest

from device.conditions import Interval, ScriptedConditions
from device.observer import DreamEnded, DreamStarted, WindowClosed
from device.phone import Machine, Phone
from device.settings import Settings
from device.vault import MemoryStorage, StaticProtector
from simulator.virtual import VirtualClock, VirtualLoop
from tests.device.conftest import Notes

HOUR = 3600.0
ALL: dict[str, bool | None] = {"idle": True, "charging": True, "unmetered": True}


def live(
    script: list[Interval],
    notes: Notes,
    *,
    until: float,
    meanwhile: Callable[[Phone, VirtualClock], Awaitable[None]] | None = None,
) -> None:
    """One phone with its daemon under virtual time."""
    loop = VirtualLoop()
    clock = VirtualClock(loop, epoch=0.0)

    async def life() -> None:
        machine = Machine(
            clock=clock,
            bits=os.urandom,
            storage=MemoryStorage(),
            protector=StaticProtector(b"k" * 32),
            conditions=ScriptedConditions(script, clock.now),
            rng=np.random.Generator(np.random.Philox(key=1)),
            observer=notes,
        )
        phone = await Phone.open(machine, Settings(budget="demo"))
        daemon = asyncio.create_task(phone.run())
        if meanwhile is not None:
            await meanwhile(phone, clock)
        await clock.sleep(until - clock.now())
        daemon.cancel()
        await asyncio.gather(daemon, return_exceptions=True)
        await phone.close()

    loop.run_until_complete(life())
    loop.close()


def test_the_daemon_dreams_only_inside_the_window() -> None:
    windows = [(2 * HOUR, 5 * HOUR), (26 * HOUR, 26.5 * HOUR)]
    notes = Notes()
    live([Interval(start=opens, end=closes) for opens, closes in windows], notes, until=48 * HOUR)
    # One dream a window: with nothing new to take in, the later minutes are left alone.
    assert len(notes.of(DreamStarted)) == 2
    assert len(notes.of(WindowClosed)) == 2
    for event in notes.of(DreamStarted) + notes.of(DreamEnded):
        assert any(opens + 60.0 <= event.at <= closes + 1.0 for opens, closes in windows)


@pytest.mark.parametrize("missing", sorted(ALL))
@pytest.mark.parametrize("reading", [False, None], ids=["no", "unknown"])
def test_one_condition_missing_or_unknown_keeps_it_shut(missing: str, reading: bool | None) -> None:
    notes = Notes()
    conditions = ALL | {missing: reading}
    live([Interval(start=0.0, end=20 * HOUR, **conditions)], notes, until=24 * HOUR)
    assert notes.of(DreamStarted) == []


def test_memory_serves_while_the_window_is_shut() -> None:
    async def ask(phone: Phone, clock: VirtualClock) -> None:
        before = clock.now()
        await phone.record("The spare key hangs behind the blue door")
        answer = await phone.recall("where is the spare key")
        assert answer.hits
        assert clock.now() == before

    live([], Notes(), until=HOUR, meanwhile=ask)
