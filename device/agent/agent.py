"""What a phone's agent knows and learns: the only writer of facts, skills, patterns and runs.

All of it lies in the structured layer's sealed log as items, so listing, provenance and forgetting
are those of every other memory. Calls are served one at a time; each reads, decides by the pure
rules of this room, and applies one batch.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo

from device.actors import ActorRef, Clock, DomainError
from device.agent import facts as fact_rules
from device.agent import patterns as pattern_rules
from device.agent import skills as skill_rules
from device.agent.checks import skill_refusal
from device.agent.distillation import Distiller, Marks
from device.agent.injection import Injection, inject
from device.agent.intents import intents_of
from device.agent.keeping import (
    fact_item,
    fact_of,
    pattern_item,
    pattern_of,
    run_item,
    run_of,
    skill_item,
    skill_of,
)
from device.agent.patterns import Habit
from device.agent.permission import Permission, permission
from device.agent.policy import AgentPolicy
from device.agent.records import Confirmation, Fact, Outcome, Pattern, Run, Skill
from device.agent.skills import SkillIndex
from device.agent.trajectories import Kept, prepared, surplus
from device.agent.writing import Writing, marked, may_distil, may_write, write
from device.language import language_of
from device.memory import (
    Apply,
    Archive,
    Change,
    ChangeKind,
    ForgetItems,
    ListItems,
    StructuredStats,
)
from device.memory.records import Item, ItemKind

__all__ = ["AgentMemory", "KnownFact", "KnownSkill", "RunReport", "SkillRefused", "UnknownSkill"]

_Facts = Mapping[str, tuple[Fact, float]]
"""Facts by id, each with the time it was first written."""
FIRST_NUMBER = 1 << 48
"""Item numbers of this room begin above those that consolidation derives from turns."""
NUMBERS_A_BATCH = 64


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


@dataclass(frozen=True, slots=True)
class RunReport:
    """What one recorded run did: ids of facts changed and dropped, and why offers were refused."""

    id: str
    changed: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    written: int = 0
    refused: tuple[str, ...] = ()


class AgentMemory:
    """The agent's side of one phone's memory."""

    def __init__(
        self,
        structured: ActorRef,
        *,
        policy: AgentPolicy,
        distiller: Distiller,
        clock: Clock,
        zone: tzinfo,
    ) -> None:
        self._structured = structured
        self._policy = policy
        self._distiller = distiller
        self._clock = clock
        self._zone = zone
        self._lock = asyncio.Lock()
        self._truncations = 0

    # --- given to an agent ---

    async def inject(
        self, apps: Sequence[str], goal: str = "", page: str = "", language: str = ""
    ) -> Injection:
        """The block for a task in `apps`; what is in it counts as used now.

        `language`: zh or en; empty: the goal's own.
        """
        async with self._batch() as batch:
            known = await self._facts()
            usable = {i: known[i][0] for i in _of_apps(known, apps)}
            skills = await self._skills()
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
        return block

    @property
    def clean_up_due(self) -> bool:
        """Whether several blocks in a row left something out: the memory wants weeding."""
        return self._truncations >= self._policy.truncations_until_cleanup

    async def facts_for(self, apps: Sequence[str]) -> list[KnownFact]:
        """What is known of these apps and of the phone itself, surest first."""
        known = await self._facts()
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
        skills = {i: skill for i, (skill, _) in (await self._skills()).items()}
        found = SkillIndex(skills, self._policy).find(
            apps=apps, page=page, tasks=intents_of(goal) if goal else ()
        )
        return [KnownSkill(identifier, skill) for identifier, skill in found.items()]

    async def skill(self, named: str) -> KnownSkill:
        """One skill by its name or id. Raises `UnknownSkill`."""
        for identifier, (skill, _) in (await self._skills()).items():
            if named in (identifier, skill.name):
                return KnownSkill(identifier, skill)
        raise UnknownSkill(f"no skill is called {named!r}; see the list of skills")

    async def skills(self) -> list[KnownSkill]:
        """Every skill, by name."""
        known = [KnownSkill(i, skill) for i, (skill, _) in (await self._skills()).items()]
        return sorted(known, key=lambda one: one.skill.name)

    async def habits(self, goal: str) -> list[Habit]:
        """How this user goes about what `goal` asks for, one habit an intent that has any."""
        patterns = [pattern for pattern, _ in (await self._patterns()).values()]
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
        kept = prepared(replace(run, intents=run.intents or intents_of(run.goal)))
        async with self._batch() as batch:
            source = batch.fresh_id()
            known = await self._facts()
            marks = await self._mark(kept, injected, known, batch)
            left = {i: known[i] for i in known if i not in marks.dropped}
            left |= {i: (fact, known[i][1]) for i, fact in marks.changed.items()}
            writing = await self._write(kept, source, left, batch)
            distilled = batch.now if writing is not None else 0.0
            written = batch.now if writing is not None and writing.written else 0.0
            batch.create(run_item(source, kept, written=written, distilled=distilled))
            if kept.outcome is Outcome.SUCCESS:
                await self._observe(kept, confirmation, batch)
        writing = writing or Writing({}, (), 0, ())
        return RunReport(
            source,
            tuple(dict.fromkeys((*marks.changed, *writing.changed))),
            tuple(dict.fromkeys((*marks.dropped, *writing.dropped))),
            writing.written,
            writing.refused,
        )

    async def report(
        self, worked: Sequence[str] = (), failed: Sequence[str] = (), steps: int = 0
    ) -> Writing:
        """Confirm and refute injected facts, and count skills, by how the task went (ids).

        `steps`: how many the task took, where that is known.
        """
        async with self._batch() as batch:
            marks = self._marked(await self._facts(), worked, failed, batch)
            for identifier, (skill, created) in (await self._skills()).items():
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
        async with self._batch() as batch:
            wanted = set(intents_of(goal))
            count = 0
            for identifier, (pattern, created) in (await self._patterns()).items():
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
        if why := skill_refusal(skill, self._policy):
            raise SkillRefused(why)
        async with self._batch() as batch:
            held = await self._skills()
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

    async def set_skill(self, named: str, *, enabled: bool) -> KnownSkill:
        """Switch a skill on or off. Raises `UnknownSkill`."""
        known = await self.skill(named)
        async with self._batch() as batch:
            after = replace(known.skill, enabled=enabled)
            created = (await self._skills())[known.id][1]
            batch.update(skill_item(known.id, after, created))
        return KnownSkill(known.id, after)

    # --- kept in order: part of a dream ---

    async def maintain(self) -> int:
        """Let go of what is over its limits or its age, merge like skills; entries changed."""
        async with self._batch() as batch:
            await self._weed_runs(batch)
            await self._weed_patterns(batch)
            await self._weed_skills(batch)
            known = await self._facts()
            for identifier, (fact, _) in known.items():
                if fact_rules.is_unused(fact, batch.now, self._policy):
                    batch.archive(identifier)
        self._truncations = 0
        return batch.size

    async def sources_gone(self, runs: Iterable[str]) -> list[str]:
        """Ids of facts learnt from nothing but these runs: what forgetting a run takes with it."""
        gone = set(runs)
        known = await self._facts()
        return [i for i, (fact, _) in known.items() if fact.sources and set(fact.sources) <= gone]

    async def _weed_runs(self, batch: _Batch) -> None:
        items = await self._structured.ask(ListItems(ItemKind.RUN))
        kept = {item.id: Kept(item.object, item.created, len(item.detail)) for item in items}
        batch.forget(surplus(kept, batch.now, self._policy))

    async def _weed_patterns(self, batch: _Batch) -> None:
        for identifier, (pattern, _) in (await self._patterns()).items():
            if pattern_rules.is_expired(pattern, batch.now, self._policy):
                batch.forget([identifier])

    async def _weed_skills(self, batch: _Batch) -> None:
        held = await self._skills()
        skills = {i: skill for i, (skill, _) in held.items()}
        for identifier, other in skill_rules.pairs_to_merge(skills, self._policy):
            skills[identifier] = skill_rules.merged(skills[identifier], skills.pop(other))
            batch.update(skill_item(identifier, skills[identifier], held[identifier][1]))
            batch.forget([other])
        batch.forget(skill_rules.weeded(skills, batch.now, self._policy))

    async def _mark(
        self, run: Run, injected: Sequence[str], known: _Facts, batch: _Batch
    ) -> Writing:
        """What the run says of the facts it was given (001: refutations come from failed tasks)."""
        given = {i: known[i][0].content for i in injected if i in known}
        marks = await self._distiller.marks(run, given) if given else Marks()
        succeeded = run.outcome is Outcome.SUCCESS
        worked = marks.confirmed if succeeded else ()
        failed = marks.refuted if run.outcome is Outcome.FAILURE else ()
        allowed = set(given)
        return self._marked(known, allowed & set(worked), allowed & set(failed), batch)

    def _marked(
        self,
        known: _Facts,
        worked: Iterable[str],
        failed: Iterable[str],
        batch: _Batch,
    ) -> Writing:
        facts = {i: fact for i, (fact, _) in known.items()}
        marks = marked(facts, sorted(worked), sorted(failed), batch.now, self._policy)
        for identifier, fact in marks.changed.items():
            batch.update(fact_item(identifier, fact, known[identifier][1]))
        batch.forget(marks.dropped)
        return marks

    async def _write(self, run: Run, source: str, known: _Facts, batch: _Batch) -> Writing | None:
        """The write chain of one run; None when it is not this run's turn to be distilled."""
        before = [run_of(item) for item in await self._structured.ask(ListItems(ItemKind.RUN))]
        distilled = [(done, at) for done, _, at in before if at]
        if not may_distil(run, distilled, batch.now, self._policy):
            return None
        last = {run.app: max((at for done, at, _ in before if done.app == run.app), default=0.0)}
        if not may_write(run.app, last, batch.now, self._policy):
            return None
        writing = await write(
            run,
            source,
            {i: fact for i, (fact, _) in known.items()},
            batch.fresh_ids(),
            distiller=self._distiller,
            now=batch.now,
            policy=self._policy,
        )
        for identifier, fact in writing.changed.items():
            created = known[identifier][1] if identifier in known else batch.now
            batch.put(identifier in known, fact_item(identifier, fact, created))
        batch.forget(writing.dropped)
        return writing

    async def _observe(self, run: Run, confirmation: Confirmation, batch: _Batch) -> None:
        held = {(p.intent, p.app): (i, p, at) for i, (p, at) in (await self._patterns()).items()}
        for intent in run.intents:
            fresh = Pattern(intent, run.app)
            identifier, pattern, created = held.get((intent, run.app), ("", fresh, batch.now))
            after = pattern_rules.observed(
                pattern,
                steps=len(run.steps),
                confirmation=confirmation,
                hour=self._hour(run.started),
                at=batch.now,
            )
            item = pattern_item(identifier or batch.fresh_id(), after, created)
            batch.put(bool(identifier), item)

    async def _facts(self) -> dict[str, tuple[Fact, float]]:
        items = await self._structured.ask(ListItems(ItemKind.FACT))
        return {item.id: (fact_of(item), item.created) for item in items}

    async def _skills(self) -> dict[str, tuple[Skill, float]]:
        items = await self._structured.ask(ListItems(ItemKind.SKILL))
        return {item.id: (skill_of(item), item.created) for item in items}

    async def _patterns(self) -> dict[str, tuple[Pattern, float]]:
        items = await self._structured.ask(ListItems(ItemKind.PATTERN))
        return {item.id: (pattern_of(item), item.created) for item in items}

    def _hour(self, at: float) -> int:
        return datetime.fromtimestamp(at, self._zone).hour

    @asynccontextmanager
    async def _batch(self) -> AsyncIterator[_Batch]:
        """Changes gathered in the block and applied together at its end, one block at a time."""
        async with self._lock:
            revision = (await self._structured.ask(StructuredStats())).revision
            batch = _Batch(self._clock.now(), FIRST_NUMBER + revision * NUMBERS_A_BATCH)
            yield batch
            if batch.changes:
                await self._structured.ask(Apply(batch.changes))
            if batch.archived:
                await self._structured.ask(Archive(batch.archived))
            if batch.gone:
                await self._structured.ask(ForgetItems(batch.gone))


class _Batch:
    """What one call changes."""

    def __init__(self, now: float, first: int) -> None:
        self.now = now
        self.changes: list[Change] = []
        self.archived: list[str] = []
        self.gone: list[str] = []
        self._next = first

    @property
    def size(self) -> int:
        """Entries changed."""
        return len(self.changes) + len(self.archived) + len(self.gone)

    def fresh_id(self) -> str:
        """An id that nothing has had."""
        self._next += 1
        return f"mem:{self._next - 1}"

    def fresh_ids(self) -> Iterator[str]:
        """Fresh ids for as long as they are asked for."""
        while True:
            yield self.fresh_id()

    def create(self, item: Item) -> None:
        """Add an item."""
        self.changes.append(Change(ChangeKind.CREATE, item))

    def update(self, item: Item) -> None:
        """Change an item."""
        self.changes.append(Change(ChangeKind.UPDATE, item))

    def put(self, held: bool, item: Item) -> None:
        """Change an item that is held, else add it."""
        self.changes.append(Change(ChangeKind.UPDATE if held else ChangeKind.CREATE, item))

    def archive(self, identifier: str) -> None:
        """Keep an item, but out of the working set."""
        self.archived.append(identifier)

    def forget(self, ids: Iterable[str]) -> None:
        """Let items go for good."""
        self.gone.extend(ids)


def _of_apps(known: _Facts, apps: Sequence[str]) -> list[str]:
    """Facts of these apps and of the phone itself."""
    wanted = {*apps, ""}
    return [identifier for identifier, (fact, _) in known.items() if fact.app in wanted]


def _spoken(language: str, goal: str) -> str:
    spoken = language or language_of(goal)
    return "zh" if spoken == "zh" else "en"
