"""The agent's entries in the structured layer: read as nouns, changed in batches.

Every batch is gathered first and applied together at its end, one batch at a time; new entries get
ids that nothing has had, for the layer's revision grows with every batch.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager
from typing import TypeAlias

from device.actors import ActorRef, Clock
from device.agent.keeping import fact_of, pattern_of, run_of, skill_of
from device.agent.records import Fact, Pattern, Run, Skill
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

__all__ = ["Batch", "Book", "Facts"]

FIRST_NUMBER = 10**12
"""Item numbers of this room begin above those that consolidation derives from turns."""
NUMBERS_A_BATCH = 64

Facts: TypeAlias = Mapping[str, tuple[Fact, float]]
"""Facts by id, each with the time it was first written."""


class Book:
    """Sole writer of facts, skills, patterns and runs."""

    __slots__ = ("_clock", "_lock", "_structured")

    def __init__(self, structured: ActorRef, clock: Clock) -> None:
        self._structured = structured
        self._clock = clock
        self._lock = asyncio.Lock()

    def now(self) -> float:
        """The phone's time, unix seconds."""
        return self._clock.now()

    async def facts(self) -> Facts:
        """Every fact of the working set."""
        return {item.id: (fact_of(item), item.created) for item in await self._of(ItemKind.FACT)}

    async def skills(self) -> dict[str, tuple[Skill, float]]:
        """Every skill, with the time it was first written."""
        return {item.id: (skill_of(item), item.created) for item in await self._of(ItemKind.SKILL)}

    async def patterns(self) -> dict[str, tuple[Pattern, float]]:
        """Every pattern, with the time it was first written."""
        items = await self._of(ItemKind.PATTERN)
        return {item.id: (pattern_of(item), item.created) for item in items}

    async def runs(self) -> list[tuple[Run, float, float]]:
        """Every kept run: (run, when facts of it were written, when it was distilled)."""
        return [run_of(item) for item in await self._of(ItemKind.RUN)]

    async def run_items(self) -> list[Item]:
        """Kept runs as they lie in the log."""
        return await self._of(ItemKind.RUN)

    @asynccontextmanager
    async def batch(self, at: float | None = None) -> AsyncIterator[Batch]:
        """Changes gathered in the block, applied at its end if it ends well.

        `at`: when they are true; now unless given.
        """
        async with self._lock:
            revision = (await self._structured.ask(StructuredStats())).revision
            batch = Batch(
                self.now() if at is None else at, FIRST_NUMBER + revision * NUMBERS_A_BATCH
            )
            yield batch
            if batch.changes:
                await self._structured.ask(Apply(batch.changes))
            if batch.archived:
                await self._structured.ask(Archive(batch.archived))
            if batch.gone:
                await self._structured.ask(ForgetItems(batch.gone))

    async def _of(self, kind: ItemKind) -> list[Item]:
        return await self._structured.ask(ListItems(kind))


class Batch:
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
