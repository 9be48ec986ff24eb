"""What a phone's agent knows and learns: the only writer of facts, skills, patterns and runs.

All of it lies in the structured layer's sealed log as items, so listing, provenance and forgetting
are those of every other memory. Calls are served one at a time; each reads, decides by the pure
rules of this room, and applies one batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo

from device.actors import ActorRef, Clock, DomainError
from device.agent import facts as fact_rules
from device.agent import patterns as pattern_rules
from device.agent import skills as skill_rules
from device.agent.book import Book, Facts
from device.agent.checks import skill_refusal
from device.agent.distillation import Distiller
from device.agent.injection import Injection, inject
from device.agent.intents import intents_of
from device.agent.keeping import fact_item, pattern_item, skill_item
from device.agent.lessons import RunReport, Teacher, mark
from device.agent.patterns import Habit
from device.agent.permission import Permission, permission
from device.agent.policy import AgentPolicy
from device.agent.records import Confirmation, Fact, Run, Skill
from device.agent.skills import SkillIndex
from device.agent.upkeep import keep_up
from device.agent.writing import Writing
from device.language import language_of

__all__ = ["AgentMemory", "KnownFact", "KnownSkill", "RunReport", "SkillRefused", "UnknownSkill"]


class SkillRefused(DomainError):
    """A skill that may not be kept; the message says why."""


class UnknownSkill(DomainError):
    """No skill goes by this name or id."""


@dataclass(frozen=True, slots=True)
class KnownFact:
    """A fact with its id."""

    id: str
    fact: Fact


@dataclass(frozen=True, slots=True)
class KnownSkill:
    """A skill with its id."""

    id: str
    skill: Skill


class AgentMemory:
    """The agent's side of one phone's memory."""

    __slots__ = ("_book", "_clock", "_policy", "_teacher", "_truncations", "_zone")

    def __init__(
        self,
        structured: ActorRef,
        *,
        policy: AgentPolicy,
        distiller: Distiller,
        clock: Clock,
        zone: tzinfo,
    ) -> None:
        self._book = Book(structured, clock)
        self._teacher = Teacher(self._book, policy=policy, distiller=distiller, zone=zone)
        self._policy = policy
        self._clock = clock
        self._zone = zone
        self._truncations = 0

    # --- given to an agent ---

    async def inject(
        self, apps: Sequence[str], goal: str = "", page: str = "", language: str = ""
    ) -> Injection:
        """The block for a task in `apps`; what is in it counts as used now.

        `language`: zh or en; empty: the goal's own.
        """
        async with self._book.batch() as batch:
            known = await self._book.facts()
            usable = {i: known[i][0] for i in _of_apps(known, apps)}
            skills = await self._book.skills()
            index = SkillIndex({i: skill for i, (skill, _) in skills.items()}, self._policy)
            found = index.find(apps=apps, page=page, tasks=intents_of(goal))
            block = inject(
                usable,
                found,
                now=batch.now,
                policy=self._policy,
                language=_spoken(language, goal),
            )
            for identifier in block.facts:
                fact, created = known[identifier]
                batch.update(fact_item(identifier, replace(fact, used=batch.now), created))
            self._truncations = self._truncations + 1 if block.left_out else 0
        due = self._truncations >= self._policy.truncations_until_cleanup
        return replace(block, clean_up=due)

    async def facts_for(self, apps: Sequence[str]) -> list[KnownFact]:
        """What is known of these apps and of the phone itself, surest first."""
        known = await self._book.facts()
        ranked = sorted(_of_apps(known, apps), key=lambda i: (-known[i][0].confidence, i))
        return [KnownFact(identifier, known[identifier][0]) for identifier in ranked]

    async def to_verify(self, apps: Sequence[str]) -> list[KnownFact]:
        """Facts of these apps that should be looked at before they are relied on."""
        now = self._clock.now()
        known = await self.facts_for(apps)
        return [one for one in known if fact_rules.is_stale(one.fact, now, self._policy)]

    async def find_skills(
        self, apps: Sequence[str] = (), page: str = "", goal: str = ""
    ) -> list[KnownSkill]:
        """The skills that fit best, at most three; their steps are theirs to load."""
        skills = {i: skill for i, (skill, _) in (await self._book.skills()).items()}
        found = SkillIndex(skills, self._policy).find(
            apps=apps, page=page, tasks=intents_of(goal) if goal else ()
        )
        return [KnownSkill(identifier, skill) for identifier, skill in found.items()]

    async def skill(self, named: str) -> KnownSkill:
        """One skill by its name or id. Raises `UnknownSkill`."""
        for identifier, (skill, _) in (await self._book.skills()).items():
            if named in (identifier, skill.name):
                return KnownSkill(identifier, skill)
        raise UnknownSkill(f"no skill is called {named!r}; see the list of skills")

    async def skills(self) -> list[KnownSkill]:
        """Every skill, by name."""
        known = [KnownSkill(i, skill) for i, (skill, _) in (await self._book.skills()).items()]
        return sorted(known, key=lambda one: one.skill.name)

    async def habits(self, goal: str) -> list[Habit]:
        """How this user goes about what `goal` asks for, one habit an intent that has any."""
        patterns = [pattern for pattern, _ in (await self._book.patterns()).values()]
        now = self._clock.now()
        told = (
            pattern_rules.habit(
                intent, patterns, now=now, hour=self._hour(now), policy=self._policy
            )
            for intent in intents_of(goal)
        )
        return [habit for habit in told if habit is not None]

    async def permission(self, action: str, goal: str = "") -> Permission:
        """Whether an action asks first. History can spare a harmless question, never these."""
        habits = await self.habits(goal or action)
        states = {habit.confirmation for habit in habits}
        usual = states.pop() if len(states) == 1 else Confirmation.NO_RECORD
        return permission(f"{action} {goal}", usual)

    # --- learnt from what was done ---

    async def record_run(
        self,
        run: Run,
        confirmation: Confirmation = Confirmation.NO_RECORD,
        injected: Sequence[str] = (),
    ) -> RunReport:
        """Keep a finished run, learn facts of its app and how the user goes about such tasks.

        `injected`: ids of the facts the agent was given; a distiller with judgement marks what a
        success confirmed and what a failure refuted.
        """
        return await self._teacher.teach(run, confirmation, injected)

    async def report(
        self, worked: Sequence[str] = (), failed: Sequence[str] = (), steps: int = 0
    ) -> Writing:
        """Confirm and refute injected facts, and count skills, by how the task went (ids).

        `steps`: how many the task took, where that is known.
        """
        async with self._book.batch() as batch:
            marks = mark(await self._book.facts(), worked, failed, batch, self._policy)
            for identifier, (skill, created) in (await self._book.skills()).items():
                if identifier in worked or identifier in failed:
                    after = skill_rules.used(
                        skill,
                        success=identifier not in failed,
                        steps=steps or len(skill.steps),
                        at=batch.now,
                    )
                    batch.update(skill_item(identifier, after, created))
        return marks

    async def correct(self, goal: str, app: str) -> int:
        """The user says that `app` was not what they wanted for such a goal; patterns changed."""
        async with self._book.batch() as batch:
            wanted = set(intents_of(goal))
            count = 0
            for identifier, (pattern, created) in (await self._book.patterns()).items():
                if pattern.app == app and pattern.intent in wanted:
                    after = pattern_rules.corrected(pattern, batch.now)
                    batch.update(pattern_item(identifier, after, created))
                    count += 1
        return count

    async def add_skill(self, skill: Skill) -> KnownSkill:
        """Keep a skill; one whose steps are much like another's becomes one with it.

        Raises:
            SkillRefused: too few or many steps, no trigger, or it pays, transfers or deletes.
        """
        if skill.distilled and not self._policy.skills_distilled:
            raise SkillRefused("skills are written by people here; see skills_distilled")
        if why := skill_refusal(skill, self._policy):
            raise SkillRefused(why)
        async with self._book.batch() as batch:
            held = await self._book.skills()
            for identifier, (known, created) in held.items():
                if skill_rules.alike(known, skill) > self._policy.skill_merge_above:
                    one = skill_rules.merged(known, skill)
                    batch.update(skill_item(identifier, one, created))
                    return KnownSkill(identifier, one)
            identifier = batch.fresh_id()
            batch.create(skill_item(identifier, replace(skill, used=batch.now), batch.now))
            everything = {i: one for i, (one, _) in held.items()}
            batch.forget(skill_rules.weeded(everything, batch.now, self._policy))
        return KnownSkill(identifier, skill)

    async def propose_skill(self, run: Run) -> Skill | None:
        """What a successful run could be as a skill, where the policy allows such skills at all.

        Nothing is kept: whoever can carry it out again is to verify it first, and then to
        `add_skill` (001: distilled skills do not help until an execution verifies them).
        """
        return skill_rules.proposed(run, self._policy) if self._policy.skills_distilled else None

    async def set_skill(self, named: str, enabled: bool) -> KnownSkill:
        """Switch a skill on or off. Raises `UnknownSkill`."""
        known = await self.skill(named)
        async with self._book.batch() as batch:
            after = replace(known.skill, enabled=enabled)
            created = (await self._book.skills())[known.id][1]
            batch.update(skill_item(known.id, after, created))
        return KnownSkill(known.id, after)

    # --- kept in order: part of a dream ---

    async def maintain(self) -> int:
        """Let go of what is over its limits or its age, merge like skills; entries changed."""
        self._truncations = 0
        return await keep_up(self._book, self._policy)

    def _hour(self, at: float) -> int:
        return datetime.fromtimestamp(at, self._zone).hour


def _of_apps(known: Facts, apps: Sequence[str]) -> list[str]:
    """Facts of these apps and of the phone itself."""
    wanted = {*apps, ""}
    return [identifier for identifier, (fact, _) in known.items() if fact.app in wanted]


def _spoken(language: str, goal: str) -> str:
    spoken = language or language_of(goal)
    return "zh" if spoken == "zh" else "en"
