"""The Python interface, on a phone opened here and through a daemon."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from device.agent import Ask, Outcome, Run, Step, UnknownSkill
from device.agent.agent import AgentMemory
from device.interfaces.home import open_phone
from device.interfaces.memory import Memory
from device.interfaces.remote_agent import RemoteAgent
from device.interfaces.service import Refused, serving
from device.settings import Settings, SettingsInvalid, save_settings
from device.vault import create_protector
from tests.device.agent.parts import skill

NOW = time.time()


@pytest.fixture(params=["here", "through a daemon"])
async def memory(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Memory]:
    create_protector("keyfile", tmp_path, bits=os.urandom)
    save_settings(tmp_path, Settings())
    async with AsyncExitStack() as stack:
        if request.param != "here":
            phone = await stack.enter_async_context(open_phone(tmp_path))
            await stack.enter_async_context(serving(phone, tmp_path))
        opened = await stack.enter_async_context(Memory.open(str(tmp_path)))
        kind = AgentMemory if request.param == "here" else RemoteAgent
        assert isinstance(opened.agent, kind)
        yield opened


async def test_record_recall_feedback_forget(memory: Memory) -> None:
    turn = await memory.record("I moved to 12 Elm Road", session="s")
    answer = await memory.recall("where do I live?")
    assert turn.id in answer.hits[0].turns
    await memory.feedback(answer, [answer.hits[0].id])
    assert (await memory.why(turn.id)).reasons[0].sources == (turn,)
    assert (await memory.forget([turn.id])).turns == 1
    assert (await memory.recall("where do I live?")).hits == ()


async def test_learning_from_a_run_and_being_told(memory: Memory) -> None:
    target = "click on the search icon at the bottom of the screen"
    run = Run("t", "find a lamp", "shop", (Step(NOW, "click", target),), Outcome.SUCCESS, NOW)
    report = await memory.record_run(run)
    (known,) = await memory.facts_for(["shop"])
    assert report.changed == (known.id,)
    block = await memory.context(["shop"], "find a lamp")
    assert known.fact.content in block.text
    assert block.facts == (known.id,)
    assert await memory.phone.items() != []
    assert (await memory.permission("pay the bill")).ask is Ask.ALWAYS


async def test_skills(memory: Memory) -> None:
    kept = await memory.agent.add_skill(skill("search"))
    assert await memory.skill("search") == await memory.skill(kept.id)
    with pytest.raises((UnknownSkill, Refused), match="no skill is called"):
        await memory.skill("nothing")


async def test_the_exploration_phase_is_told(memory: Memory) -> None:
    assert "name" in await memory.exploring()
    await memory.record("My name is Lin")
    assert "name" not in await memory.exploring()


async def test_a_folder_without_a_phone(tmp_path: Path) -> None:
    with pytest.raises(SettingsInvalid, match="init"):
        async with Memory.open(tmp_path):
            pass


async def test_forgetting_a_run_forgets_what_was_learnt_from_it_alone(memory: Memory) -> None:
    target = "click on the search icon at the bottom of the screen"
    run = Run("t", "find a lamp", "shop", (Step(NOW, "click", target),), Outcome.SUCCESS, NOW)
    report = await memory.record_run(run)
    assert (await memory.forget([report.id])).items >= 2
    assert await memory.facts_for(["shop"]) == []
