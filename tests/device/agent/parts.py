"""Facts, skills and runs as the tests of the agent's memory need them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from device.agent.records import Fact, FactKind, Outcome, Result, Run, Skill, Step, Trigger

DAY = 86_400.0
NOW = 1_770_000_000.0


def fact(
    content: str = "The search icon is at the bottom.", app: str = "shop", **with_: Any
) -> Fact:
    made = Fact(app, content, FactKind.CONVENTION, 0.7, NOW, NOW, ("mem:1",))
    return replace(made, **with_)


def skill(name: str = "search", *steps: str, **with_: Any) -> Skill:
    made = Skill(name, Trigger(apps=("shop",)), steps or ("tap the search icon", "type the words"))
    return replace(made, **with_)


def run(*targets: str, app: str = "shop", outcome: Outcome = Outcome.SUCCESS, **with_: Any) -> Run:
    steps = tuple(
        Step(NOW + number, "click", target, result=Result.OK)
        for number, target in enumerate(targets)
    )
    made = Run("task-1", "find a lamp", app, steps, outcome, NOW, ("search",))
    return replace(made, **with_)
