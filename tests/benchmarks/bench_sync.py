"""Sync: what a phone's day costs on the wire, in CPU (a stand-in for energy) and in waiting.

The first session enrols, takes two models and hands in three reports; the other finds nothing new.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from device.phone import Phone
from device.sync.channel import Channel, binding_of
from simulator.quiet import quiet
from simulator.world import Options, run_world
from tests.benchmarks.row import Row
from tests.laws.world import world

_PHONES, _SEED = 8, 11
_FIRST_DAYS, _SETTLED_DAYS = 3, 14
_LAW_BYTES = 20_000.0
_ARTICLE_BYTES = 200_000.0
"""What the source article reports for an active user's day."""
_MS = 1e3
_FAST_ROUND_TRIPS = 3.0
"""Hello and challenge, proof and plan, bye: the least a session with nothing to do can take."""


@dataclass
class _Turns:
    """How often a phone stopped sending to wait for an answer, and the bytes of its frames."""

    waits: int = 0
    up: int = 0
    down: int = 0
    _sent: bool = field(default=False, repr=False)

    def watch(self, channel: Channel) -> Channel:
        return _Watched(channel, self)


class _Watched:
    def __init__(self, channel: Channel, turns: _Turns) -> None:
        self._channel, self._turns = channel, turns

    async def send(self, frame: bytes) -> None:
        self._turns.up += len(frame)
        self._turns._sent = True
        await self._channel.send(frame)

    async def receive(self) -> bytes:
        if self._turns._sent:
            self._turns.waits += 1
            self._turns._sent = False
        frame = await self._channel.receive()
        self._turns.down += len(frame)
        return frame

    @property
    def binding(self) -> bytes:
        return binding_of(self._channel)


def rows() -> Iterator[Row]:
    """The lines of this room."""
    quiet()
    for days, when in ((_FIRST_DAYS, "the first three"), (_SETTLED_DAYS, "a fortnight's")):
        spent = run_world(Options(phones=_PHONES, days=days, seed=_SEED, budget="production"))[
            "bytes_per_device_day"
        ]
        total = spent["up"] + spent["down"]
        name = f"sync: bytes of a device-day, {when}"
        yield Row(name, total, "B", "002's report", _ARTICLE_BYTES, target=_LAW_BYTES)
        yield Row(f"{name}, up", spent["up"], "B", bound=total)
    yield from asyncio.run(_sessions())


async def _sessions() -> list[Row]:
    """One phone, one cloud, no network: a first session, one with reports, one with nothing."""
    found: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        async with world(Path(folder)) as made:
            phone = await made.phone()
            for label in ("first, all in it", "nothing to do"):
                turns, seconds = await _one(phone)
                found += [
                    Row(f"sync: CPU of both ends, {label}", seconds * _MS, "ms"),
                    Row(
                        f"sync: round trips, {label}",
                        turns.waits,
                        "",
                        bound=_FAST_ROUND_TRIPS,
                    ),
                    Row(f"sync: frames, {label}", turns.up + turns.down, "B"),
                ]
    return found


async def _one(phone: Phone) -> tuple[_Turns, float]:
    turns, machine = _Turns(), phone._machine
    connect = machine.connect
    assert connect is not None

    @asynccontextmanager
    async def watched() -> AsyncIterator[Channel]:
        async with connect() as channel:
            yield turns.watch(channel)

    object.__setattr__(machine, "connect", watched)
    start = time.process_time()
    try:
        await phone.sync_now()
    finally:
        object.__setattr__(machine, "connect", connect)
    return turns, time.process_time() - start
