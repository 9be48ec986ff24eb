"""The phone's memory from Python, for agents and scripts.

    async with Memory.open("~/phone") as memory:
        await memory.record("I moved to 12 Elm Road")
        answer = await memory.recall("where do I live?")
        await memory.feedback(answer, [answer.hits[0].id])

Goes through the daemon where one runs for the folder, else opens the phone itself.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from device.actors import SystemClock
from device.agent import (
    AgentMemory,
    Confirmation,
    Injection,
    KnownFact,
    KnownSkill,
    Permission,
    Run,
    RunReport,
)
from device.interfaces.home import reach_phone
from device.interfaces.remote_agent import RemoteAgent
from device.interfaces.service import PhoneCalls
from device.memory.records import Answer, Turn, TurnDraft
from device.owner import Forgotten, Why

__all__ = ["Memory"]


class Memory:
    """One phone's memory; open it with `Memory.open`."""

    def __init__(self, phone: PhoneCalls) -> None:
        """`phone`: opened here, or the one a daemon serves."""
        self.phone = phone
        """Everything else a phone can do."""

    @classmethod
    @asynccontextmanager
    async def open(cls, path: str | Path) -> AsyncIterator[Memory]:
        """The memory of the phone in the folder `path`, set up before with `reverie-device init`.

        Raises:
            SettingsInvalid: no phone lives there.
            VaultError: wrong key, damaged, or in use by a process that serves nobody.
        """
        async with reach_phone(_folder(path)) as phone:
            yield cls(phone)

    @property
    def agent(self) -> AgentMemory | RemoteAgent:
        """What an agent learnt, in full."""
        return self.phone.agent

    async def record(
        self, text: str, *, speaker: str = "user", session: str = "", at: float | None = None
    ) -> Turn:
        """Keep one turn; durable on return. `at`: unix seconds, now unless given."""
        moment = SystemClock().now() if at is None else at
        draft = TurnDraft(moment, speaker, text, session, source="python")
        return (await self.phone.record_many([draft]))[0]

    async def recall(self, query: str, k: int = 10) -> Answer:
        """The `k` memories that answer best, each with its id, time and source turns."""
        return await self.phone.recall(query, k)

    async def feedback(self, answer: Answer, used: Sequence[str]) -> None:
        """Learn which hits of `answer` helped (their ids; empty: none did)."""
        await self.phone.feedback(answer, used)

    async def why(self, about: str) -> Why:
        """Where a memory (its id) or the answer to a question comes from."""
        return await self.phone.why(about)

    async def forget(self, ids: Sequence[str]) -> Forgotten:
        """Erase memories for good, with everything drawn from them.

        Raises:
            UnknownMemory: an id that names nothing; nothing was forgotten.
        """
        return await self.phone.forget_items(ids)

    async def facts_for(self, apps: Sequence[str]) -> list[KnownFact]:
        """What is known of these apps, surest first."""
        return await self.agent.facts_for(apps)

    async def context(self, apps: Sequence[str], goal: str = "") -> Injection:
        """The block for an agent's prompt, and exactly what is in it."""
        return await self.agent.inject(apps, goal)

    async def skill(self, name: str) -> KnownSkill:
        """One skill by its name or id. Raises `UnknownSkill`."""
        return await self.agent.skill(name)

    async def permission(self, action: str, goal: str = "") -> Permission:
        """Whether an action asks the user first: payment, transfer and deletion always do."""
        return await self.agent.permission(action, goal)

    async def record_run(
        self,
        run: Run,
        confirmation: Confirmation = Confirmation.NO_RECORD,
        injected: Sequence[str] = (),
    ) -> RunReport:
        """Keep a finished task and learn from it."""
        return await self.agent.record_run(run, confirmation, injected)

    async def exploring(self) -> tuple[str, ...]:
        """While the phone is new: what an agent had better ask about; empty once it is not."""
        return await self.phone.unknown()


def _folder(path: str | Path) -> Path:
    return Path(path).expanduser()
