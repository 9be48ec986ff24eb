"""What is kept of texts for speed: the same answers, told apart where they differ, and let go."""

from __future__ import annotations

import importlib
import os
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np

import device
from device.actors import SystemClock
from device.conditions import ScriptedConditions
from device.language import content_tokens, find_attributes, find_times
from device.language.kept import KEPT_READINGS, LONGEST_TEXT, kept
from device.language.tokens import content_of
from device.phone import Machine, Phone
from device.readings import READERS, forget_readings, keep_readings
from device.settings import Settings
from device.vault import MemoryStorage, StaticProtector
from protocol.models import dedup_features, router_features
from protocol.models.queries import featured_queries

PACKAGE = Path(device.__file__).parent


def machine_of(**given: Any) -> Machine:
    clock = SystemClock()
    return Machine(
        clock=clock,
        bits=os.urandom,
        storage=MemoryStorage(),
        protector=StaticProtector(b"k" * 32),
        conditions=ScriptedConditions.always(clock.now),
        rng=np.random.Generator(np.random.Philox(key=0)),
        **given,
    )


def test_every_module_that_keeps_readings_is_known() -> None:
    keeping = {
        ".".join(("device", *path.relative_to(PACKAGE).with_suffix("").parts))
        for path in PACKAGE.rglob("*.py")
        if "\n@kept" in path.read_text(encoding="utf-8")
    }
    assert keeping == set(READERS)


def test_a_reading_is_kept_until_it_is_forgotten() -> None:
    reads: list[str] = []

    @kept
    def shout(text: str, mark: str = "!") -> str:
        reads.append(text)
        return text.upper() + mark

    assert [shout("a"), shout("a"), shout("a", mark="?")] == ["A!", "A!", "A?"]
    assert reads == ["a", "a"]
    shout.forget()
    assert shout("a") == "A!"
    assert reads == ["a", "a", "a"]


def test_long_texts_and_more_than_the_newest_are_not_kept() -> None:
    reads: list[str] = []

    @kept
    def length(text: str) -> int:
        reads.append(text)
        return len(text)

    long = "x" * (LONGEST_TEXT + 1)
    assert [length(long), length(long)] == [len(long)] * 2
    assert len(reads) == 2
    for number in range(KEPT_READINGS + 1):
        length(str(number))
    before = len(reads)
    length("0")
    assert len(reads) == before + 1


def test_forgetting_reaches_every_reader() -> None:
    content_tokens("the silver kettle")
    forget_readings()
    held = [
        each
        for name in READERS
        for each in vars(importlib.import_module(name)).values()
        if type(each) is type(content_of)
    ]
    assert len(held) > len(READERS)
    assert sum(each.held for each in held) == 0
    content_tokens("the silver kettle")
    assert content_of.held == 1


def test_an_answer_may_be_changed_by_who_gets_it() -> None:
    content_tokens("red kettle").append("spoilt")
    find_attributes("My name is Ann.").clear()
    router_features("where is my kettle")[:] = -1.0
    dedup_features("a kettle", "the kettle")[:] = -1.0
    assert content_tokens("red kettle") == ["red", "kettle"]
    assert [a.value for a in find_attributes("My name is Ann.")] == ["Ann"]
    assert router_features("where is my kettle").min() > -1.0
    assert dedup_features("a kettle", "the kettle").min() >= 0.0


def test_one_moment_in_two_zones_is_two_readings() -> None:
    here = datetime(2026, 3, 2, 23, 30, tzinfo=ZoneInfo("Europe/London"))
    there = here.astimezone(ZoneInfo("Asia/Shanghai"))
    assert here == there
    for text in ("dinner tomorrow", "明天吃饭"):
        first, second = (find_times(text, at)[0].start for at in (here, there))
        assert second - first == 16 * 3600.0  # the next local midnights


def test_a_process_of_many_phones_may_keep_more() -> None:
    content_tokens("the copper kettle")
    forget_readings()
    try:
        keep_readings(KEPT_READINGS + 5)
        assert content_of.room == featured_queries.room == KEPT_READINGS + 5
        content_tokens("the copper kettle")
        keep_readings(KEPT_READINGS + 5)
        assert content_of.held == 1  # the room it had already: nothing is lost
        for number in range(KEPT_READINGS + 4):
            content_tokens(f"kettle {number}")
        assert content_of.held == KEPT_READINGS + 5
    finally:
        keep_readings(None)
    assert (content_of.room, content_of.held) == (KEPT_READINGS, 0)
    assert featured_queries.room < KEPT_READINGS


async def test_a_phone_forgets_what_its_process_keeps_as_it_was_told_to() -> None:
    told: list[str] = []

    async def lives(machine: Machine) -> None:
        phone = await Phone.open(machine, Settings())
        try:
            turn = await phone.record("the tin kettle boils")
            await phone.recall("kettle")
            assert content_of.held
            await phone.forget([turn.id])
        finally:
            await phone.close()

    forget_readings()
    await lives(machine_of())
    assert content_of.held == 0  # a phone in a pocket
    await lives(machine_of(forget_readings=lambda: told.append("asked")))
    assert told == ["asked"]
    assert content_of.held > 0  # one of many
