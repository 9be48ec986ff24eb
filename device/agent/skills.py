"""Finding, merging and weeding skills: structured triggers, no vectors (000, 001)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace

from device.agent.checks import skill_refusal
from device.agent.distillation.observed import control_of
from device.agent.policy import AgentPolicy
from device.agent.records import Outcome, Result, Run, Skill, Trigger
from device.language import content_tokens

__all__ = ["SkillIndex", "alike", "merged", "pairs_to_merge", "proposed", "used", "weeded"]

DAY_SECONDS = 86_400.0


class SkillIndex:
    """An inverted index of triggers: app, page words, task types → skills."""

    def __init__(self, skills: Mapping[str, Skill], policy: AgentPolicy) -> None:
        self._skills = {i: skill for i, skill in skills.items() if skill.enabled}
        self._policy = policy
        self._apps: dict[str, set[str]] = defaultdict(set)
        self._pages: dict[str, set[str]] = defaultdict(set)
        self._tasks: dict[str, set[str]] = defaultdict(set)
        for identifier, skill in self._skills.items():
            _enter(self._apps, identifier, skill.trigger.apps)
            _enter(self._pages, identifier, _words(skill.trigger.pages))
            _enter(self._tasks, identifier, skill.trigger.tasks)

    def find(
        self, *, apps: Iterable[str] = (), page: str = "", tasks: Iterable[str] = ()
    ) -> dict[str, Skill]:
        """The best skills, best first: filtered by app, then page words, then task type.

        A skill that names apps is found in these alone; one that names none, in any.
        """
        wanted_apps, wanted_tasks = set(apps), set(tasks)
        scores = {
            identifier: self._score(identifier, wanted_apps, set(_words([page])), wanted_tasks)
            for identifier in self._candidates(wanted_apps, page, wanted_tasks)
        }
        ranked = sorted(
            (identifier for identifier, score in scores.items() if score > 0),
            key=lambda i: (-scores[i], -_success(self._skills[i]), i),
        )
        return dict(self._without_alike(ranked))

    def _candidates(self, apps: set[str], page: str, tasks: set[str]) -> list[str]:
        found: set[str] = set()
        for index, keys in (
            (self._apps, apps),
            (self._pages, _words([page])),
            (self._tasks, tasks),
        ):
            for key in keys:
                found |= index.get(key, set())
        return sorted(i for i in found if self._fits(self._skills[i].trigger, apps))

    @staticmethod
    def _fits(trigger: Trigger, apps: set[str]) -> bool:
        return not trigger.apps or not apps or not apps.isdisjoint(trigger.apps)

    def _score(self, identifier: str, apps: set[str], page: set[str], tasks: set[str]) -> float:
        trigger, policy = self._skills[identifier].trigger, self._policy
        features = set(_words(trigger.pages))
        share = len(features & page) / len(features) if features else 0.0
        return (
            policy.weight_app * (not apps.isdisjoint(trigger.apps))
            + policy.weight_page * share
            + policy.weight_task * (not tasks.isdisjoint(trigger.tasks))
        )

    def _without_alike(self, ranked: list[str]) -> Iterable[tuple[str, Skill]]:
        """The first few that differ: two skills that go much the same way are told once."""
        told: list[Skill] = []
        for identifier in ranked:
            skill = self._skills[identifier]
            if len(told) >= self._policy.skills_found:
                return
            if all(alike(skill, other) <= self._policy.skill_alike_above for other in told):
                told.append(skill)
                yield identifier, skill


def alike(a: Skill, b: Skill) -> float:
    """How alike two skills' steps are, in order, 0 … 1: 2 · aligned / total, by their words."""
    rows, columns = len(a.steps), len(b.steps)
    if not rows or not columns:
        return 0.0
    best = [[0.0] * (columns + 1) for _ in range(rows + 1)]
    for i, mine in enumerate(a.steps):
        for j, other in enumerate(b.steps):
            pair = best[i][j] + _step_share(mine, other)
            best[i + 1][j + 1] = max(pair, best[i][j + 1], best[i + 1][j])
    return 2.0 * best[rows][columns] / (rows + columns)


def proposed(run: Run, policy: AgentPolicy) -> Skill | None:
    """A successful run as a skill: the controls it used, in order; None when that makes none."""
    controls = [control_of(step) for step in run.steps if step.result is not Result.FAILED]
    steps = tuple(dict.fromkeys(name for name in controls if name))
    if run.outcome is not Outcome.SUCCESS or not run.intents or not steps:
        return None
    trigger = Trigger(apps=(run.app,) if run.app else (), tasks=run.intents)
    name = f"{run.intents[0]}: {steps[-1]}"
    skill = Skill(name, trigger, steps, average_steps=float(len(run.steps)), distilled=True)
    return None if skill_refusal(skill, policy) else skill


def merged(a: Skill, b: Skill) -> Skill:
    """One skill of two: the likelier one's steps, triggers united, counts added."""
    kept, other = (a, b) if _success(a) >= _success(b) else (b, a)
    runs = a.successes + a.failures + b.successes + b.failures
    weighted = (a.successes + a.failures) * a.average_steps
    weighted += (b.successes + b.failures) * b.average_steps
    return replace(
        kept,
        trigger=Trigger(
            _union(kept.trigger.apps, other.trigger.apps),
            _union(kept.trigger.pages, other.trigger.pages),
            _union(kept.trigger.tasks, other.trigger.tasks),
        ),
        successes=a.successes + b.successes,
        failures=a.failures + b.failures,
        average_steps=weighted / runs if runs else 0.0,
        used=max(a.used, b.used),
        distilled=a.distilled and b.distilled,
        sources=_union(kept.sources, other.sources),
    )


def pairs_to_merge(skills: Mapping[str, Skill], policy: AgentPolicy) -> list[tuple[str, str]]:
    """(kept, merged into it) for skills whose steps are much alike, each merged away once."""
    pairs: list[tuple[str, str]] = []
    gone: set[str] = set()
    ids = sorted(skills)
    for place, identifier in enumerate(ids):
        for other in ids[place + 1 :]:
            if gone.isdisjoint((identifier, other)) and (
                alike(skills[identifier], skills[other]) > policy.skill_merge_above
            ):
                gone.add(other)
                pairs.append((identifier, other))
    return pairs


def used(skill: Skill, *, success: bool, steps: int, at: float) -> Skill:
    """The skill after a run that followed it."""
    runs = skill.successes + skill.failures
    return replace(
        skill,
        successes=skill.successes + success,
        failures=skill.failures + (not success),
        average_steps=(skill.average_steps * runs + steps) / (runs + 1),
        used=max(skill.used, at),
    )


def weeded(skills: Mapping[str, Skill], now: float, policy: AgentPolicy) -> list[str]:
    """Ids that maintenance drops: failing more than not and unused for long, then the surplus."""
    limit = min(policy.skills_in_all, policy.skills_compressed_above)
    old = now - policy.skill_unused_days * DAY_SECONDS
    failing = [i for i, s in skills.items() if s.failures > s.successes and s.used < old]
    rest = sorted(set(skills) - set(failing), key=lambda i: (_utility(skills[i]), i))
    return [*failing, *rest[: max(len(rest) - limit, 0)]]


def _utility(skill: Skill) -> tuple[bool, int, float]:
    """Distilled before written by hand, least successful first, longest unused first."""
    return not skill.distilled, skill.successes - skill.failures, skill.used


def _success(skill: Skill) -> float:
    """Share of runs that went well, one of each assumed."""
    return (skill.successes + 1) / (skill.successes + skill.failures + 2)


def _step_share(a: str, b: str) -> float:
    mine, other = set(content_tokens(a)), set(content_tokens(b))
    union = mine | other
    return len(mine & other) / len(union) if union else float(a.strip() == b.strip())


def _words(texts: Iterable[str]) -> list[str]:
    return sorted({word for text in texts for word in content_tokens(text)})


def _union(a: tuple[str, ...], b: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*a, *b)))


def _enter(index: dict[str, set[str]], identifier: str, keys: Iterable[str]) -> None:
    for key in keys:
        index[key].add(identifier)
