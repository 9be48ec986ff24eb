"""A phone in RAM that plays one dialogue: the real phone, with nothing of the machine's own.

Its clock stands where the script puts it, its random bytes are counted out, its storage is RAM and
it has no cloud. So a probe's outcome follows from the code and the parameters alone, and playing
it inside a running phone touches nothing of that phone.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache

import numpy as np

from device.conditions import ScriptedConditions
from device.memory import EndTask, Lookup, Remember
from device.memory.records import Answer, Hit, Item, Turn, TurnDraft
from device.phone import Machine, Phone
from device.probing.schema import Dialogue, RouterKind
from device.probing.steps import (
    Chatter,
    Dream,
    Forget,
    ForgetWords,
    Restart,
    Say,
    Step,
    Task,
    TaskEnded,
    Use,
)
from device.probing.watching import WatchedModels
from device.readings import shared_readings
from device.recall.floors import FLOOR
from device.settings import Settings
from device.sync.adoption import Models
from device.vault import MemoryStorage, StaticProtector
from protocol.models import ROUTER
from protocol.params import Parameters

__all__ = ["Stage", "stage"]

CHATTER = ("嗯", "ok", "哈哈", "sure", "好吧", "right")
KEY = b"a key that protects nothing real"
SEARCHED, SKIPPED = 0.9, FLOOR / 2
"""Outputs of a router made for one layer."""


class StandingClock:
    """Time stands until the script moves it."""

    __slots__ = ("at",)

    def __init__(self, at: float) -> None:
        self.at = at

    def now(self) -> float:
        """Unix seconds."""
        return self.at

    async def sleep(self, seconds: float, until: object = None) -> None:  # noqa: ARG002
        """Move on by `seconds`."""
        self.at += seconds


class CountedBits:
    """Bytes that look random and are the same in every run; they protect scripts only."""

    __slots__ = ("_calls",)

    def __init__(self) -> None:
        self._calls = 0

    def __call__(self, count: int) -> bytes:
        self._calls += 1
        return hashlib.shake_128(self._calls.to_bytes(8, "big")).digest(count)


class Stage:
    """One dialogue's phone. Made by `stage`, which also opens and closes it."""

    def __init__(self, dialogue: Dialogue, models: Models) -> None:
        self._dialogue = dialogue
        self._router = _router(dialogue.router, models.router)
        # A policy belongs to the router it came with; one made for a dialogue has none.
        self._policy = models.policy if dialogue.router is RouterKind.GIVEN else {}
        self._dedup = models.dedup
        self._models = WatchedModels()
        self._waiting = list(reversed(dialogue.timeline))
        self._storage = MemoryStorage()
        self._bits = CountedBits()
        self._clock = StandingClock(dialogue.timeline[0][0])
        self._phone: Phone | None = None
        self.turns: list[str] = []
        """Ids of the turns said so far."""

    @property
    def read(self) -> set[str]:
        """Names of the models whose weights the phone has looked into."""
        return self._models.read

    @property
    def routed(self) -> bool:
        """Whether the phone has a router of its own."""
        return self._router is not None

    @property
    def phone(self) -> Phone:
        """The phone, open."""
        assert self._phone is not None
        return self._phone

    async def open(self) -> None:
        """Open the phone on what its storage holds."""
        machine = Machine(
            clock=self._clock,
            bits=self._bits,
            storage=self._storage,
            protector=StaticProtector(KEY),
            conditions=ScriptedConditions.always(self._clock.now),
            rng=np.random.Generator(np.random.Philox(key=0)),
            forget_readings=shared_readings,
            models=self._models,
        )
        settings = Settings(budget="demo", timezone=self._dialogue.tz.key)
        self._phone = await Phone.open(machine, settings)
        if self._router is not None:
            self._phone.shelf.lend(self._router, self._policy)
        if self._dedup is not None:
            self._phone.shelf.lend(self._dedup)

    async def close(self) -> None:
        """Close the phone, if it is open."""
        phone, self._phone = self._phone, None
        if phone is not None:
            await phone.close()

    async def play_until(self, at: float) -> None:
        """Play the steps up to unix time `at`, which becomes now."""
        while self._waiting and self._waiting[-1][0] <= at:
            moment, step = self._waiting.pop()
            self._clock.at = moment
            await self._play(step)
        self._clock.at = at

    async def ask(self, query: str, k: int) -> Answer:
        """What the phone answers now."""
        return await self.phone.recall(query, k)

    async def items(self) -> list[Item]:
        """Its structured memories."""
        return await self.phone.items()

    async def archived(self) -> list[Item]:
        """What lies in its cold archive."""
        return await self.phone.archived()

    async def values(self) -> dict[str, str]:
        """Its working values, by key."""
        return {value.key: value.value for value in await self.phone.values()}

    async def recent(self, query: str) -> list[Hit]:
        """What the working layer by itself answers."""
        return await self.phone._working.ask(Lookup(query))

    def ids(self, numbers: tuple[int, ...]) -> tuple[str, ...]:
        """Ids of turns by their number in the script; one not said yet has none."""
        return tuple(self.turns[n - 1] if n <= len(self.turns) else "" for n in numbers)

    async def _play(self, step: Step) -> None:
        match step:
            case Say():
                turn = await self._say(step)
                self.turns.append(turn.id)
            case Chatter(chatter=count):
                now = self._clock.now()
                drafts = [TurnDraft(now, "user", CHATTER[n % len(CHATTER)]) for n in range(count)]
                await self.phone.record_many(drafts)
            case Dream():
                await self.phone.dream()
            case Forget(forget=numbers):
                await self.phone.forget(self.ids(numbers))
            case ForgetWords(forget_words=words):
                await self.phone.forget_query(words)
            case Use(use=query, helped=number):
                answer = await self.phone.recall(query)
                (turn_id,) = self.ids((number,))
                used = [hit.id for hit in answer.hits if turn_id in (hit.id, *hit.turns)]
                await self.phone.feedback(answer, used)
            case Task(task=name, state=state):
                now = self._clock.now()
                await self.phone._working.ask(Remember(f"task:{name}", state, "", now))
            case TaskEnded(ended=name):
                await self.phone._working.ask(EndTask(f"task:{name}", self._clock.now()))
            case Restart():
                await self.close()
                await self.open()

    async def _say(self, step: Say) -> Turn:
        return await self.phone.record(
            step.say, speaker=step.by, session=step.session, source=step.source, kind=step.kind
        )


@asynccontextmanager
async def stage(dialogue: Dialogue, models: Models) -> AsyncIterator[Stage]:
    """The phone of `dialogue`, open, nothing said yet."""
    made = Stage(dialogue, models)
    await made.open()
    try:
        yield made
    finally:
        await made.close()


def _router(kind: RouterKind, given: Parameters | None) -> Parameters | None:
    if kind is RouterKind.GIVEN:
        return given
    return None if kind is RouterKind.NONE else _constant(kind)


@cache
def _constant(kind: RouterKind) -> Parameters:
    """A router that says the same of every query: only its last bias speaks."""
    weights = {name: np.zeros(shape, np.float32) for name, shape in ROUTER.shapes.items()}
    outputs = np.array([SEARCHED if o == kind.value else SKIPPED for o in ROUTER.outputs])
    weights[f"b{ROUTER.depth}"] = np.log(outputs / (1.0 - outputs)).astype(np.float32)
    return Parameters.of(weights, ROUTER, version=1)
