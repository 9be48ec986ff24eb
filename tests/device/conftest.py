"""A phone in RAM, for tests of the whole device."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable

import numpy as np
import pytest

from device.actors import Clock, SystemClock
from device.conditions import ConditionSource, ScriptedConditions
from device.observer import Observer, PhoneEvent
from device.phone import Machine, Phone
from device.recall.embedders import Embedder
from device.settings import Settings
from device.sync.channel import Connect
from device.vault import MemoryStorage, StaticProtector, Storage
from privacy.anchor import Anchor

OpenPhone = Callable[..., Awaitable[Phone]]


class Notes:
    """Keeps every event a phone lets us see."""

    def __init__(self) -> None:
        self.events: list[PhoneEvent] = []

    def on(self, event: PhoneEvent) -> None:
        self.events.append(event)

    def of(self, kind: type[PhoneEvent]) -> list[PhoneEvent]:
        return [event for event in self.events if type(event) is kind]


@pytest.fixture
async def open_phone() -> AsyncIterator[OpenPhone]:
    """Opens phones and closes them when the test ends. Pass `storage` to open one again."""
    phones: list[Phone] = []

    async def opener(
        *,
        storage: Storage | None = None,
        clock: Clock | None = None,
        conditions: ConditionSource | None = None,
        connect: Connect | None = None,
        observer: Observer | None = None,
        private_bytes: Callable[[], int | None] = lambda: None,
        embedder: Embedder | None = None,
        anchor: Anchor | None = None,
        seed: int = 1,
        **settings: object,
    ) -> Phone:
        time = clock or SystemClock()
        machine = Machine(
            clock=time,
            bits=os.urandom,
            storage=MemoryStorage() if storage is None else storage,
            protector=StaticProtector(b"k" * 32),
            conditions=conditions or ScriptedConditions.always(time.now),
            rng=np.random.Generator(np.random.Philox(key=seed)),
            connect=connect,
            observer=observer or Notes(),
            private_bytes=private_bytes,
            embedder=embedder,
            anchor=anchor,
        )
        phone = await Phone.open(machine, Settings(**{"budget": "demo", **settings}))
        phones.append(phone)
        return phone

    yield opener
    for phone in phones:
        await phone.close()
