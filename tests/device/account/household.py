"""Devices without the rest of a phone, for tests that need many exchanges."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from device.account.calls import AccountCalls
from device.account.exchange import Mailbox
from device.actors import ActorRef, ActorSystem
from device.memory import (
    Apply,
    Change,
    ChangeKind,
    ForgetItems,
    ItemsByIds,
    ListItems,
    RawMemory,
    StructuredMemory,
    Together,
)
from device.memory.records import EventState, Item, ItemKind
from device.vault import Keyring, MemoryStorage, SealedLog, StaticProtector
from protocol.identity import SigningKey
from tests.device.account.posts import RoughPost

START = 1_780_000_000.0
HOUR = 3600.0


class Time:
    def __init__(self) -> None:
        self.at = START

    def now(self) -> float:
        return self.at

    async def sleep(self, seconds: float, until: object = None) -> None:
        self.at += seconds


def event(number: int, text: str) -> Item:
    return Item(f"mem:{number}", ItemKind.EVENT, text, START, START, ())


@dataclass
class Device:
    """One device: its account, its structured layer, and how its owner acts on it."""

    account: AccountCalls
    structured: ActorRef
    storage: MemoryStorage
    box: Mailbox
    now: Callable[[], float]
    made: int = 0

    async def make(self, text: str) -> None:
        self.made += 1
        await self._apply(ChangeKind.CREATE, replace(event(self.made, text), updated=self.now()))

    async def edit(self, place: int, text: str) -> None:
        held = await self.shown()
        if held:
            await self._apply(
                ChangeKind.UPDATE, replace(held[place % len(held)], text=text, updated=self.now())
            )

    async def turn(self, place: int, state: EventState) -> None:
        held = await self.shown()
        if held:
            await self._apply(
                ChangeKind.UPDATE, replace(held[place % len(held)], state=state, updated=self.now())
            )

    async def erase(self, place: int) -> None:
        held = await self.shown()
        if held:
            await self.forget([held[place % len(held)].id])

    async def forget(self, ids: Sequence[str]) -> object:
        whole = [item.id for item in await self.structured.ask(Together(list(ids)))]
        self.account.erased(whole)
        return await self.structured.ask(ForgetItems(whole))

    async def shown(self) -> list[Item]:
        held = await self.structured.ask(ListItems())
        return sorted((i for i in held if not i.replaced_by), key=lambda i: (i.text, i.id))

    async def item(self, identifier: str) -> Item:
        return (await self.structured.ask(ItemsByIds([identifier])))[0]

    async def told(self) -> list[tuple[str, str, tuple[str, ...]]]:
        """What a reader sees: words, state, and the other versions of each."""
        held = await self.structured.ask(ListItems())
        beside: dict[str, list[str]] = {}
        for item in held:
            if item.replaced_by:
                beside.setdefault(item.replaced_by, []).append(item.text)
        return sorted(
            (i.text, i.state.value, tuple(sorted(beside.get(i.id, [])))) for i in await self.shown()
        )

    async def _apply(self, kind: ChangeKind, item: Item) -> None:
        await self.structured.ask(Apply([Change(kind, item)]))


class Household:
    def __init__(self, time: Time, post: RoughPost) -> None:
        self.time = time
        self.post = post
        self.system = ActorSystem(time)
        self.devices: list[Device] = []

    def device(self, storage: MemoryStorage | None = None, key: SigningKey | None = None) -> Device:
        store = storage or MemoryStorage()
        ring = Keyring.open(store, StaticProtector(b"k" * 32), os.urandom)
        logs = {
            name: SealedLog.open(store, name, ring, clock_now=self.time.now)
            for name in ("raw", "structured", "account")
        }
        number = len(self.devices)
        raw = self.system.spawn(f"raw{number}", lambda: RawMemory(logs["raw"]))
        structured = self.system.spawn(
            f"structured{number}", lambda: StructuredMemory(logs["structured"])
        )
        signer = key or SigningKey.generate(os.urandom)
        made: list[Device] = []

        async def forget(ids: Sequence[str]) -> object:
            return await made[0].forget(ids)

        account = AccountCalls(
            logs["account"], structured, raw, forget, signer, self.time, os.urandom
        )
        made.append(
            Device(account, structured, store, self.post.box(account.device), self.time.now)
        )
        self.devices.append(made[0])
        return made[0]

    async def pair(self, old: Device, new: Device) -> None:
        shown = await old.account.offer(old.box)
        await new.account.ask_in(new.box, shown.code, f"device {len(self.devices)}")
        assert await old.account.look_for_device(old.box) is not None
        assert await new.account.look_for_answer(new.box) is not None

    async def family(self, count: int) -> list[Device]:
        """Devices of one account."""
        devices = [self.device() for _ in range(count)]
        await devices[0].account.create("first")
        for new in devices[1:]:
            await self.pair(devices[0], new)
        return devices

    async def settle(self, devices: Sequence[Device], rounds: int = 5) -> None:
        """Days go by in which every device exchanges."""
        for _ in range(rounds):
            self.time.at += 25 * HOUR
            for device in devices:
                await device.account.exchange(device.box)


@asynccontextmanager
async def household(post: RoughPost | None = None) -> AsyncIterator[Household]:
    made = Household(Time(), post or RoughPost())
    try:
        yield made
    finally:
        await made.system.stop()
