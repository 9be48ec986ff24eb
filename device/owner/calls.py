"""A phone's methods for its owner: see, erase, take out, bring back."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from device.account.holder import AccountHolder
from device.actors import Clock
from device.learning import ExampleStore
from device.machine import Machine
from device.memory import Browse, ItemPage, ListArchived, ListItems, Restore, TurnsAfter, Value
from device.memory.records import Answer, Item, ItemKind, Turn, TurnDraft
from device.owner.erasing import Eraser, ForgetPlan, Forgotten
from device.owner.exploring import still_unknown
from device.owner.keeping import Copied, Keeper, TakenBack
from device.owner.records import Layers
from device.owner.seeing import Seer, Shown, Why
from device.owner.spending import Spent, spending
from device.recall import Recaller
from device.recall.floors import Floors
from device.settings import Settings
from device.sync.adoption import Shelf
from device.sync.outbox import Outbox
from device.sync.usage import Usage
from privacy import Ledger
from protocol.policy import POLICY_MODEL

__all__ = ["OwnerCalls"]

EVERY_EVENT = 1 << 62
"""Above any position of the usage log."""
WHY_HITS = 5


class OwnerCalls(AccountHolder):
    """Mixed into `Phone`, which opens what is named here."""

    settings: Settings
    examples: ExampleStore
    outbox: Outbox
    usage: Usage
    ledger: Ledger
    shelf: Shelf
    _clock: Clock
    _machine: Machine
    _busy: asyncio.Lock
    _layers: Layers
    _recaller: Recaller

    @property
    def floors(self) -> Floors:
        """The weights under which layers are not searched now, and who said so."""
        return Floors.in_force(self.settings.layer_floor, self.shelf.policy(POLICY_MODEL))

    async def consolidate(self) -> int:
        """Take in what waits; how many turns that was. Given by the phone."""
        raise NotImplementedError

    # --- seeing ---

    async def items(self, kind: ItemKind | None = None) -> list[Item]:
        """Everything the structured layer holds, or one kind of it."""
        return await self._layers.structured.ask(ListItems(kind))

    async def browse(
        self, kind: ItemKind | None = None, archived: bool = False, offset: int = 0,
        limit: int = 100,
    ) -> ItemPage:  # fmt: skip
        """A page of the structured layer, or of its archive, most recently changed first."""
        return await self._layers.structured.ask(Browse(kind, archived, offset, limit))

    async def archived(self) -> list[Item]:
        """Everything in the cold archive."""
        return await self._layers.structured.ask(ListArchived())

    async def turns(self, after: int = -1, limit: int = 1000) -> list[Turn]:
        """Turns of the raw layer above sequence `after`, oldest first."""
        return await self._layers.raw.ask(TurnsAfter(after, limit))

    async def values(self) -> list[Value]:
        """The values that the working layer answers at once."""
        return list((await self._layers.values()).values())

    async def show(self, identifier: str) -> Shown:
        """One memory whole, with its history and the turns it was drawn from.

        Raises:
            UnknownMemory: nothing held is called so.
        """
        return await self._seer.show(identifier)

    async def why(self, about: str) -> Why:
        """Where a memory (its id) or the answer to a query comes from.

        Raises:
            UnknownMemory: `about` is an id that names nothing.
        """

        async def recalled(query: str) -> Answer:
            return await self._recaller.recall(query, WHY_HITS)

        why = await self._seer.why(about, recalled)
        return replace(why, floors=self.floors) if why.weights else why

    async def unknown(self) -> tuple[str, ...]:
        """What a phone in its first turns would still like to know; empty once it is past them."""
        if await self._layers.newest() >= self.settings.explore_turns:
            return ()
        preferences = await self.items(ItemKind.PREFERENCE)
        return still_unknown([value.key for value in await self.values()], preferences)

    async def spending(self) -> list[Spent]:
        """What privacy has cost, charge by charge, oldest first."""
        return spending(self.ledger)

    # --- erasing ---

    async def forget(self, turns: Sequence[str]) -> int:
        """Erase turns and all that was drawn from them, in every layer; how many entries went."""
        return (await self._eraser.forget_turns(turns)).total

    async def plan_forget(self, ids: Sequence[str]) -> ForgetPlan:
        """What `forget_items` would take.

        Raises:
            UnknownMemory: an id that names nothing.
        """
        return await self._eraser.plan(ids)

    async def plan_forget_query(self, query: str) -> ForgetPlan:
        """What `forget_query` would take.

        Raises:
            NothingToSeek: the query holds no telling word.
        """
        return await self._eraser.plan_query(query, self._clock.now(), self.settings.zone)

    async def forget_items(self, ids: Sequence[str], words: str = "") -> Forgotten:
        """Erase memories of any kind (``raw:``, ``mem:``, ``value:``) with the turns behind them
        and everything drawn from those; `words` also erases learning examples that hold them.

        Raises:
            UnknownMemory: an id that names nothing; nothing was forgotten.
        """
        return await self._eraser.forget(ids, words)

    async def forget_query(self, query: str) -> Forgotten:
        """Erase everything that holds these words.

        Raises:
            NothingToSeek: the query holds no telling word.
        """
        plan = await self.plan_forget_query(query)
        return await self.forget_planned(plan.ids, query)

    async def forget_planned(self, ids: Sequence[str], words: str = "") -> Forgotten:
        """Erase exactly what a plan listed, and what cannot stay without it.

        Raises:
            UnknownMemory: something of it is gone already; nothing was forgotten.
        """
        return await self._eraser.forget(ids, words, widen=False)

    async def forget_everything(self) -> Forgotten:
        """Erase every byte derived from the user: all memories, examples, use counts and reports
        not sent yet. On the other devices of the account it goes with their next exchange. The
        privacy ledger stays: it holds no content, and what was spent is spent."""
        if self._in_account:
            self.account.erased_everything()
        gone = await self._eraser.forget_all()
        await self._recaller.catch_up()
        self.usage.forget(EVERY_EVENT)
        for report in self.outbox.waiting():
            self.outbox.settle(report.report_id)
        return gone

    async def unarchive(self, ids: Sequence[str]) -> list[str]:
        """Bring archived memories back into the working set; the ids that came."""
        return list(await self._layers.structured.ask(Restore(list(ids), at=self._clock.now())))

    # --- taking out and bringing back ---

    async def export(self, cursor: str = "") -> Copied:
        """One page of a plain copy of the memory; ask on with its ``next`` until that is empty."""
        return await self._keeper.copy(cursor)

    async def restore_turns(
        self, drafts: Sequence[TurnDraft], consolidated: bool = False
    ) -> list[Turn]:
        """Record turns of a copy; `consolidated`: their items are brought back as well."""
        async with self._busy:
            return await self._keeper.take_turns(drafts, consolidated=consolidated)

    async def restore_items(
        self, items: Sequence[Item], archived: Sequence[str], turns: Mapping[str, str]
    ) -> TakenBack:
        """Bring back items of a copy whose turns are called `turns` here; none is doubled."""
        async with self._busy:
            return await self._keeper.take_items(items, archived, turns)

    async def restore_values(self, values: Sequence[Value], turns: Mapping[str, str]) -> None:
        """Bring back values of a copy; the newer of two wins."""
        await self._keeper.take_values(values, turns)

    @property
    def _eraser(self) -> Eraser:
        return Eraser(self._layers, self.examples, self._drop, self._machine.forget_readings)

    def _drop(self, ids: Iterable[str]) -> int:
        """Before the memory lets go of them: what is erased here is erased on every device."""
        named = list(ids)
        if self._in_account:
            self.account.erased(named)
        return self._recaller.forget(named)

    @property
    def _seer(self) -> Seer:
        return Seer(self._layers, self._clock.now)

    @property
    def _keeper(self) -> Keeper:
        return Keeper(self._layers, self.consolidate, self._clock.now)
