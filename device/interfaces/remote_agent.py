"""What a running daemon serves of the agent's memory, name by name as `AgentMemory` has it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from device.agent import (
    Confirmation,
    Habit,
    Injection,
    KnownFact,
    KnownSkill,
    Permission,
    Run,
    RunReport,
    Skill,
    Writing,
)
from device.interfaces.wire import Wire

__all__ = ["AGENT_CALLS", "RemoteAgent"]

PREFIX = "agent."


AGENT_CALLS: dict[str, tuple[Wire, Wire]] = {
    f"{PREFIX}inject": (Wire(tuple[list[str], str, str, str]), Wire(Injection)),
    f"{PREFIX}facts_for": (Wire(tuple[list[str]]), Wire(list[KnownFact])),
    f"{PREFIX}to_verify": (Wire(tuple[list[str]]), Wire(list[KnownFact])),
    f"{PREFIX}find_skills": (Wire(tuple[list[str], str, str]), Wire(list[KnownSkill])),
    f"{PREFIX}skill": (Wire(tuple[str]), Wire(KnownSkill)),
    f"{PREFIX}skills": (Wire(tuple[()]), Wire(list[KnownSkill])),
    f"{PREFIX}habits": (Wire(tuple[str]), Wire(list[Habit])),
    f"{PREFIX}permission": (Wire(tuple[str, str]), Wire(Permission)),
    f"{PREFIX}record_run": (Wire(tuple[Run, Confirmation, list[str]]), Wire(RunReport)),
    f"{PREFIX}report": (Wire(tuple[list[str], list[str], int]), Wire(Writing)),
    f"{PREFIX}correct": (Wire(tuple[str, str]), Wire(int)),
    f"{PREFIX}add_skill": (Wire(tuple[Skill]), Wire(KnownSkill)),
    f"{PREFIX}propose_skill": (Wire(tuple[Run]), Wire(Skill | None)),
    f"{PREFIX}set_skill": (Wire(tuple[str, bool]), Wire(KnownSkill)),
    f"{PREFIX}maintain": (Wire(tuple[()]), Wire(int)),
}
"""Name → (arguments, result), checked at both ends."""


class RemoteAgent:
    """The agent's memory of the phone that a daemon owns."""

    def __init__(self, call: Callable[..., Awaitable[Any]]) -> None:
        self._ask = call

    async def inject(
        self, apps: Sequence[str], goal: str = "", page: str = "", language: str = ""
    ) -> Injection:
        """As `AgentMemory.inject`."""
        return await self._call("inject", list(apps), goal, page, language)  # type: ignore[no-any-return]

    async def facts_for(self, apps: Sequence[str]) -> list[KnownFact]:
        """As `AgentMemory.facts_for`."""
        return await self._call("facts_for", list(apps))  # type: ignore[no-any-return]

    async def to_verify(self, apps: Sequence[str]) -> list[KnownFact]:
        """As `AgentMemory.to_verify`."""
        return await self._call("to_verify", list(apps))  # type: ignore[no-any-return]

    async def find_skills(
        self, apps: Sequence[str] = (), page: str = "", goal: str = ""
    ) -> list[KnownSkill]:
        """As `AgentMemory.find_skills`."""
        return await self._call("find_skills", list(apps), page, goal)  # type: ignore[no-any-return]

    async def skill(self, named: str) -> KnownSkill:
        """As `AgentMemory.skill`."""
        return await self._call("skill", named)  # type: ignore[no-any-return]

    async def skills(self) -> list[KnownSkill]:
        """As `AgentMemory.skills`."""
        return await self._call("skills")  # type: ignore[no-any-return]

    async def habits(self, goal: str) -> list[Habit]:
        """As `AgentMemory.habits`."""
        return await self._call("habits", goal)  # type: ignore[no-any-return]

    async def permission(self, action: str, goal: str = "") -> Permission:
        """As `AgentMemory.permission`."""
        return await self._call("permission", action, goal)  # type: ignore[no-any-return]

    async def record_run(
        self,
        run: Run,
        confirmation: Confirmation = Confirmation.NO_RECORD,
        injected: Sequence[str] = (),
    ) -> RunReport:
        """As `AgentMemory.record_run`."""
        return await self._call("record_run", run, confirmation, list(injected))  # type: ignore[no-any-return]

    async def report(
        self, worked: Sequence[str] = (), failed: Sequence[str] = (), steps: int = 0
    ) -> Writing:
        """As `AgentMemory.report`."""
        return await self._call("report", list(worked), list(failed), steps)  # type: ignore[no-any-return]

    async def correct(self, goal: str, app: str) -> int:
        """As `AgentMemory.correct`."""
        return await self._call("correct", goal, app)  # type: ignore[no-any-return]

    async def add_skill(self, skill: Skill) -> KnownSkill:
        """As `AgentMemory.add_skill`."""
        return await self._call("add_skill", skill)  # type: ignore[no-any-return]

    async def propose_skill(self, run: Run) -> Skill | None:
        """As `AgentMemory.propose_skill`."""
        return await self._call("propose_skill", run)  # type: ignore[no-any-return]

    async def set_skill(self, named: str, enabled: bool) -> KnownSkill:
        """As `AgentMemory.set_skill`."""
        return await self._call("set_skill", named, enabled)  # type: ignore[no-any-return]

    async def maintain(self) -> int:
        """As `AgentMemory.maintain`."""
        return await self._call("maintain")  # type: ignore[no-any-return]

    async def _call(self, name: str, *values: Any) -> Any:
        return await self._ask(f"{PREFIX}{name}", *values)
