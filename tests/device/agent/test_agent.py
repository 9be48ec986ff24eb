"""The agent's memory over a real structured layer: sections G to J together."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from datetime import UTC
from typing import Any

import pytest

from device.actors import ActorRef, ActorSystem, LoopClock
from device.agent.agent import AgentMemory, SkillRefused, UnknownSkill
from device.agent.distillation import Distiller, ExactDistiller, Marks
from device.agent.keeping import learnt_only_from
from device.agent.permission import Ask
from device.agent.policy import AgentPolicy
from device.agent.records import Confirmation, Outcome, Run, Step
from device.agent.trajectories import prepared
from device.memory import ForgetItems, ListArchived, ListItems, StructuredMemory
from device.memory.records import ItemKind
from device.vault import MemoryStorage
from tests.device.agent.parts import DAY, NOW, run, skill
from tests.device.vault.conftest import open_log

SEARCH = "Click on the search icon at the bottom of the screen"
FILTER = "click on the filter button"


class Clock(LoopClock):
    """A clock the test moves."""

    def __init__(self) -> None:
        super().__init__(0.0)
        self.at = NOW

    def now(self) -> float:
        return self.at


class World:
    """A structured layer and an agent's memory over it, which can be opened again."""

    def __init__(self, policy: AgentPolicy) -> None:
        self.clock = Clock()
        self.storage = MemoryStorage()
        self.policy = policy
        self.distiller: Distiller = ExactDistiller()
        self.lives = 0

    def open(self) -> None:
        log = open_log(self.storage, "structured", seed=self.lives)
        self.lives += 1
        self.actors = ActorSystem(self.clock)
        self.structured: ActorRef = self.actors.spawn("structured", lambda: StructuredMemory(log))
        self.agent = AgentMemory(
            self.structured,
            policy=self.policy,
            distiller=self.distiller,
            clock=self.clock,
            zone=UTC,
        )

    def run(self, *targets: str, **with_: Any) -> Run:
        """A run that ends now."""
        made = run(*targets, **with_)
        steps = tuple(replace(step, at=self.clock.at) for step in made.steps)
        return replace(made, started=self.clock.at, steps=steps)

    async def reopen(self) -> None:
        await self.actors.stop()
        self.open()


@pytest.fixture
async def world() -> AsyncIterator[World]:
    world = World(AgentPolicy())
    world.open()
    yield world
    await world.actors.stop()


async def test_a_successful_run_teaches_facts_that_are_injected_and_told(world: World) -> None:
    report = await world.agent.record_run(world.run(SEARCH, FILTER))
    assert report.written == 2
    block = await world.agent.inject(["shop"], "find a lamp")
    assert "- The search icon is at the bottom of the screen." in block.text
    assert set(block.facts) == set(report.changed)
    assert block.left_out == 0
    assert (await world.agent.inject(["bank"])).text == ""


async def test_everything_survives_a_restart(world: World) -> None:
    await world.agent.record_run(world.run(SEARCH, FILTER), Confirmation.CONFIRMED)
    await world.agent.add_skill(skill("find things"))
    before = (
        await world.agent.facts_for(["shop"]),
        await world.agent.skills(),
        await world.agent.habits("search for a lamp"),
    )
    assert all(before)
    await world.reopen()
    assert before == (
        await world.agent.facts_for(["shop"]),
        await world.agent.skills(),
        await world.agent.habits("search for a lamp"),
    )


async def test_failed_runs_give_no_facts_and_no_pattern(world: World) -> None:
    report = await world.agent.record_run(world.run(SEARCH, outcome=Outcome.FAILURE))
    assert report.written == 0
    assert await world.agent.facts_for(["shop"]) == []
    assert await world.agent.habits("find a lamp") == []


async def test_three_failed_uses_drop_a_fact_for_good(world: World) -> None:
    report = await world.agent.record_run(world.run(SEARCH))
    (identifier,) = report.changed
    for _ in range(2):
        await world.agent.report(failed=[identifier])
    marks = await world.agent.report(failed=[identifier])
    assert marks.dropped == (identifier,)
    assert await world.agent.facts_for(["shop"]) == []
    await world.reopen()
    assert await world.agent.facts_for(["shop"]) == []


async def test_one_app_cools_down_300_seconds_and_3_distillations_a_day(world: World) -> None:
    await world.agent.record_run(world.run(SEARCH))
    world.clock.at += 299
    assert (await world.agent.record_run(world.run(FILTER, SEARCH))).written == 0
    world.clock.at += 1
    more = await world.agent.record_run(
        world.run("click on the menu button at the top of the screen")
    )
    assert more.written == 1
    world.clock.at += 3_600
    third = await world.agent.record_run(
        world.run("click on the home tab at the bottom of the screen")
    )
    assert third.written == 1
    world.clock.at += 3_600
    fourth = await world.agent.record_run(
        world.run("click on the cart icon at the top of the screen")
    )
    assert fourth.written == 0, "three distillations of one app and task a day"
    world.clock.at += DAY
    assert (
        await world.agent.record_run(world.run("click on the cart icon at the top of the screen"))
    ).written


class Sees(ExactDistiller):
    """A distiller with judgement: every fact it is shown held, or did not."""

    async def marks(self, run: Run, held: Mapping[str, str]) -> Marks:
        return Marks(tuple(held), tuple(held))


async def test_injected_facts_are_confirmed_by_success_and_refuted_by_failure(
    world: World,
) -> None:
    world.distiller = Sees()
    await world.reopen()
    (identifier,) = (await world.agent.record_run(world.run(SEARCH))).changed
    world.clock.at += 3_600
    await world.agent.record_run(world.run(SEARCH), injected=[identifier, "mem:404"])
    (known,) = await world.agent.facts_for(["shop"])
    assert known.fact.confirmations == 2, "by the marks, and by being seen again"
    assert len(known.fact.sources) == 2
    await world.agent.record_run(world.run(SEARCH, outcome=Outcome.FAILURE), injected=[identifier])
    (known,) = await world.agent.facts_for(["shop"])
    assert (known.fact.confirmations, known.fact.refutations) == (2, 1)
    await world.agent.record_run(world.run(SEARCH, outcome=Outcome.ABORTED), injected=[identifier])
    assert [known] == await world.agent.facts_for(["shop"])


async def test_a_run_is_kept_without_typed_text(world: World) -> None:
    typed = Step(NOW, "type", "hunter2 is my password")
    await world.agent.record_run(world.run(steps=(typed,)))
    stored = b"".join(world.storage.read(name) for name in world.storage.names())
    assert b"hunter2" not in stored
    (item,) = await world.structured.ask(ListItems(ItemKind.RUN))
    assert "hunter2" not in repr(item)


async def test_runs_are_let_go_after_7_days_and_their_facts_stay(world: World) -> None:
    await world.agent.record_run(world.run(SEARCH))
    world.clock.at += 8 * DAY
    assert await world.agent.maintain() >= 1
    assert await world.structured.ask(ListItems(ItemKind.RUN)) == []
    assert len(await world.agent.facts_for(["shop"])) == 1


async def test_facts_unused_for_90_days_are_archived_not_injected(world: World) -> None:
    await world.agent.record_run(world.run(SEARCH))
    world.clock.at += 91 * DAY
    assert (await world.agent.inject(["shop"])).facts == ()
    await world.agent.maintain()
    assert await world.agent.facts_for(["shop"]) == []
    archived = await world.structured.ask(ListArchived())
    assert [item.kind for item in archived] == [ItemKind.FACT]


async def test_facts_unverified_for_7_days_are_to_be_verified(world: World) -> None:
    await world.agent.record_run(world.run(SEARCH))
    assert await world.agent.to_verify(["shop"]) == []
    world.clock.at += 8 * DAY
    (stale,) = await world.agent.to_verify(["shop"])
    await world.agent.report(worked=[stale.id])
    assert await world.agent.to_verify(["shop"]) == []


async def test_forgetting_a_run_names_the_facts_learnt_from_it_alone(world: World) -> None:
    first = await world.agent.record_run(world.run(SEARCH))
    world.clock.at += 3_600
    second = await world.agent.record_run(world.run(SEARCH, FILTER))
    (shared,) = first.changed
    assert shared in second.changed, "seen again: confirmed, with both runs as sources"
    facts = await world.structured.ask(ListItems())
    gone = {
        runs: {item.id for item in learnt_only_from(runs, facts)}
        for runs in ((first.id,), (second.id,), (first.id, second.id))
    }
    (alone,) = set(second.changed) - {shared}
    assert list(gone.values()) == [set(), {alone}, {shared, alone}]


async def test_repeated_truncation_asks_for_a_clean_up(world: World) -> None:
    world.policy = AgentPolicy(block_characters=60)
    await world.reopen()
    await world.agent.record_run(world.run(SEARCH, FILTER))
    due = [(await world.agent.inject(["shop"])).clean_up for _ in range(3)]
    await world.agent.maintain()
    due.append((await world.agent.inject(["shop"])).clean_up)
    assert due == [False, False, True, False]


async def test_skills_are_found_by_trigger_loaded_by_name_and_switched_off(world: World) -> None:
    kept = await world.agent.add_skill(skill("find things"))
    assert await world.agent.find_skills(["shop"]) == [await world.agent.skill("find things")]
    block = await world.agent.inject(["shop"])
    assert block.skills == (kept.id,)
    await world.agent.set_skill("find things", False)
    assert await world.agent.find_skills(["shop"]) == []
    with pytest.raises(UnknownSkill):
        await world.agent.skill("no such")


async def test_a_skill_that_pays_is_refused(world: World) -> None:
    with pytest.raises(SkillRefused, match="never pays"):
        await world.agent.add_skill(skill("buy", "open the cart", "tap Pay"))
    assert await world.agent.skills() == []


async def test_a_skill_much_like_another_becomes_one_with_it(world: World) -> None:
    first = await world.agent.add_skill(skill("a"))
    second = await world.agent.add_skill(replace(skill("b"), successes=3))
    assert second.id == first.id
    (one,) = await world.agent.skills()
    assert one.skill.successes == 3


async def test_20_skills_are_kept(world: World) -> None:
    for number in range(22):
        world.clock.at += 1
        words = [f"open page{number}", f"tap row{number}"]
        await world.agent.add_skill(skill(f"s{number}", *words))
    assert len(await world.agent.skills()) <= 21
    await world.agent.maintain()
    assert len(await world.agent.skills()) == 20


async def test_outcomes_count_for_skills(world: World) -> None:
    kept = await world.agent.add_skill(skill())
    await world.agent.report(worked=[kept.id], steps=8)
    await world.agent.report(failed=[kept.id], steps=12)
    known = (await world.agent.skill(kept.id)).skill
    assert (known.successes, known.failures, known.average_steps) == (1, 1, 10.0)


async def test_history_never_spares_the_question_before_a_payment(world: World) -> None:
    for _ in range(12):
        paid = run(SEARCH, intents=("payment",), goal="pay the bill")
        await world.agent.record_run(paid, Confirmation.NOT_NEEDED)
    (habit,) = await world.agent.habits("pay the bill")
    assert habit.confirmation is Confirmation.NOT_NEEDED
    assert (await world.agent.permission("tap Pay", "pay the bill")).ask is Ask.ALWAYS
    for _ in range(12):
        played = run(SEARCH, intents=("play_media",), goal="play a song")
        await world.agent.record_run(played, Confirmation.NOT_NEEDED)
    assert (await world.agent.permission("tap play", "play a song")).ask is Ask.HINT


async def test_patterns_hold_no_content_and_expire(world: World) -> None:
    goal = "Send a message to Melanie about the surprise"
    await world.agent.record_run(world.run(SEARCH, goal=goal, intents=()))
    (item,) = await world.structured.ask(ListItems(ItemKind.PATTERN))
    assert "Melanie" not in repr(item)
    assert item.text == "send_message · shop"
    world.clock.at += 31 * DAY
    await world.agent.maintain()
    assert await world.structured.ask(ListItems(ItemKind.PATTERN)) == []


async def test_a_correction_turns_a_habit(world: World) -> None:
    for app, times in (("a", 3), ("b", 2)):
        for _ in range(times):
            await world.agent.record_run(world.run(SEARCH, app=app, goal="play a song", intents=()))
    (habit,) = await world.agent.habits("play a song")
    assert habit.apps[0][0] == "a"
    for _ in range(2):
        assert await world.agent.correct("play a song", "a") == 1
    (habit,) = await world.agent.habits("play a song")
    assert habit.apps[0][0] == "b"


async def test_the_owner_forgets_a_fact_as_any_other_memory(world: World) -> None:
    report = await world.agent.record_run(world.run(SEARCH))
    await world.structured.ask(ForgetItems(list(report.changed)))
    assert await world.agent.facts_for(["shop"]) == []
    await world.reopen()
    assert await world.agent.facts_for(["shop"]) == []


async def test_skills_are_written_by_people_unless_the_owner_says_otherwise(world: World) -> None:
    done = prepared(world.run(SEARCH, FILTER))
    assert await world.agent.propose_skill(done) is None
    with pytest.raises(SkillRefused, match="written by people"):
        await world.agent.add_skill(skill(distilled=True))
    world.policy = AgentPolicy(skills_distilled=True)
    await world.reopen()
    offered = await world.agent.propose_skill(done)
    assert offered is not None
    assert offered.steps == ("search icon", "filter button")
    assert await world.agent.skills() == [], "an offer is kept by nobody until it is verified"
    kept = await world.agent.add_skill(offered)
    assert kept.skill.distilled
    paid = world.run(SEARCH, "tap the pay button", goal="pay the bill")
    assert await world.agent.propose_skill(replace(paid, intents=("payment",))) is None
