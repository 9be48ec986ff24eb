"""One phone: the composition root of device/.

    record → raw log                      ask → router → layers → evaluate → answer
    dream  → consolidate → sync → learn → privacy gate → outbox → cloud

Everything the phone needs from outside is in `Machine` (law 6), so a real phone, a test and a
virtual phone of the simulator run this very code.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from device.actors import ActorSystem
from device.actors.rest import Rest
from device.actors.window import Window
from device.agent import (
    AgentMemory,
    Distiller,
    ExactDistiller,
    ModelDistiller,
    ServiceDistiller,
)
from device.in_use import InUse
from device.learning import ExampleStore, layer_label
from device.logs import get_logger
from device.machine import Machine
from device.memory import (
    Note,
    RawMemory,
    RawStats,
    RecordMany,
    Restore,
    StructuredMemory,
    Touch,
    TurnsAfter,
    WorkingMemory,
)
from device.memory.deduplication import merge_duplicates, undo_merge
from device.memory.dreaming import anything_pending, consolidate_pending, let_fade
from device.memory.forgetting import ForgettingPolicy
from device.memory.judgement import Judgement
from device.memory.records import Answer, Layer, Turn, TurnDraft
from device.monitor import MB, MemoryMonitor
from device.observer import (
    Answered,
    DreamEnded,
    DreamStarted,
    WindowClosed,
    WindowOpened,
)
from device.owner.calls import OwnerCalls
from device.owner.erasing import Forgotten
from device.owner.glance import StatusCalls
from device.owner.knowledge import KnowledgeCalls
from device.owner.records import Layers
from device.recall import Recaller
from device.recall.dense import DenseIndex
from device.recall.embedders import BUILTIN
from device.recall.public import PublicLayer
from device.recall.public_store import PublicStore
from device.recall.shards import IndexShards
from device.settings import Settings
from device.sync.adoption import Shelf
from device.sync.backoff import Backoff
from device.sync.bookkeeping import Bookkeeper
from device.sync.calls import SYNC_TROUBLE, SyncCalls
from device.sync.client import SyncReport
from device.sync.contributions import Contributions
from device.sync.documents import Documents
from device.sync.identity import Identity
from device.sync.outbox import Outbox
from device.sync.usage import Usage
from device.vault import Keyring, SealedLog, VaultError
from privacy import BUDGETS, Ledger
from protocol.models import dedup_features, router_features

if TYPE_CHECKING:
    from device.account.calls import AccountCalls

__all__ = ["DreamReport", "Machine", "Phone"]


log = get_logger(__name__)

LOGS = (
    "raw",
    "structured",
    "working",
    "identity",
    "ledger",
    "outbox",
    "releases",
    "usage",
    "examples",
    "index",
    "vectors",
    "embeddings",
    "account",
    "knowledge",
    "passages",
)
"""The sealed logs of a phone; each has one owner."""
READ_ALONE = frozenset({"index", "vectors", "passages"})
"""Logs of large records that are read one at a time: a segment each."""

INDEXED_AT_ONCE = 128
"""Turns kept together from which they are indexed at once: an import must not leave the next
question to wait for all of it."""


@dataclass(frozen=True, slots=True)
class DreamReport:
    """What one dream did."""

    consolidated: int
    """Turns consolidated into the structured layer."""
    sync: SyncReport | None
    """None when it was not time to sync, or there is no cloud."""
    problem: str = ""
    """Why the sync failed, in one line; it will be tried again."""
    merged: int = 0
    """Memories that became one with a later telling of the same; `Phone.undo_merge` parts them."""


class Phone(OwnerCalls, StatusCalls, KnowledgeCalls, SyncCalls):
    """Open with `Phone.open`, end with `close`; one process at a time owns the storage."""

    def __init__(self, machine: Machine, settings: Settings, logs: dict[str, SealedLog]) -> None:
        # No more than 29 attributes: with one more, CPython gives each phone of a fleet a dict with
        # keys of its own, 1.3 KB.
        self.settings = settings
        self._machine = machine
        self._clock = machine.clock
        self._logs = logs
        self._busy = asyncio.Lock()
        self._backoff = Backoff(settings.sync_interval_seconds, machine.rng)
        self._problems: tuple[str, ...] = ()

        self.identity = Identity(logs["identity"], machine.bits)
        self.ledger = Ledger(
            logs["ledger"],
            BUDGETS[settings.budget],
            device_id=self.identity.device_id,
            signer=self.identity.key,
            anchor=machine.anchor,
        )
        self.outbox = Outbox(logs["outbox"])
        self._books = Bookkeeper(
            self.ledger,
            self.outbox,
            bytes.fromhex(settings.cloud_key),
            machine.clock,
            machine.observer,
        )
        self.shelf = Shelf(logs["releases"], settings.root_sha256, machine.models)
        self.usage = Usage(logs["usage"])
        self.examples = ExampleStore(logs["examples"])
        self.window = Window(
            machine.clock,
            machine.conditions,
            settings.settle_seconds,
            settings.poll_seconds,
            battery_floor=settings.min_battery,
        )
        self._actors = ActorSystem(machine.clock)
        self._rest = Rest(machine.clock, settings.merge_interval_seconds)
        self._raw = self._actors.spawn("raw", lambda: RawMemory(logs["raw"], self._rest.stir))
        self._structured = self._actors.spawn(
            "structured", lambda: StructuredMemory(logs["structured"])
        )
        self._working = self._actors.spawn(
            "working", lambda: WorkingMemory(logs["working"], settings.working_turns)
        )
        self._monitor = MemoryMonitor(
            int(settings.memory_limit_mb * MB), [self._release], machine.private_bytes
        )
        self._dense = self._dense_index()
        self._layers = Layers(self._raw, self._structured, self._working)
        self.agent = AgentMemory(
            self._structured,
            policy=settings.agent,
            distiller=self._distiller(),
            clock=machine.clock,
            zone=settings.zone,
        )
        self._public = PublicStore(logs["knowledge"], logs["passages"])
        public_layer = PublicLayer(self._public)
        self._documents = Documents(self._public, public_layer, machine.clock)
        self._faded_at = -math.inf
        in_use = InUse(self.shelf, settings.zone, lambda: self.floors)
        self._recaller = Recaller(
            self._raw,
            self._structured,
            self._working,
            in_use.router,
            machine.clock,
            judge_provider=in_use.judge,
            zone=settings.zone,
            clarifying_rounds=settings.clarifying_rounds,
            shards=IndexShards(logs["index"], logs["vectors"], BUILTIN),
            dense=self._dense,
            public=public_layer,
        )
        self._contributions = Contributions(
            ledger=self.ledger,
            bits=machine.bits,
            outbox=self.outbox,
            usage=self.usage,
            examples=self.examples,
            shelf=self.shelf,
            rng=machine.rng,
            clock=machine.clock,
            observer=machine.observer,
            helper_key=bytes.fromhex(settings.helper_key),
        )

    @classmethod
    async def open(cls, machine: Machine, settings: Settings) -> Phone:
        """Open the sealed logs and start the actors.

        Raises:
            VaultError: wrong key, tampered, busy, full or read-only storage; nothing is lost.
            LedgerCorrupt: the privacy ledger does not hold; nothing may leave this phone.
        """
        keyring = Keyring.open(machine.storage, machine.protector, machine.bits)
        now = machine.clock.now
        logs = {
            name: SealedLog.open(
                machine.storage,
                name,
                keyring,
                clock_now=now,
                segment_records=1 if name in READ_ALONE else settings.segment_records,
                segment_age=settings.segment_age_seconds,
            )
            for name in LOGS
        }
        phone = cls(machine, settings, logs)
        await phone._eraser.finish()
        await phone._refill()
        return phone

    @cached_property
    def account(self) -> AccountCalls:
        """The owner's other devices. Loaded when first asked for: a phone in no account need not
        carry what one takes (2 MB)."""
        from device.account.calls import AccountCalls

        machine = self._machine
        return AccountCalls(
            self._logs["account"],
            self._structured,
            self._raw,
            self._erase_as_owner,
            self.identity.key,
            machine.clock,
            machine.bits,
            self._reach_mailbox() if machine.connect is not None else None,
        )

    @property
    def _in_account(self) -> bool:
        """Whether there ever was one; without it `account` need not be asked."""
        return len(self._logs["account"]) > 0

    async def _erase_as_owner(self, ids: Sequence[str]) -> Forgotten:
        return await self._eraser.forget(ids)

    def _dense_index(self) -> DenseIndex | None:
        machine = self._machine
        if machine.embedder is None:
            return None
        return DenseIndex(
            self._logs["embeddings"],
            machine.embedder,
            patience=self.settings.embedder_seconds,
            rng=machine.rng,
        )

    def _distiller(self) -> Distiller:
        if self.settings.distiller == "none":
            return ExactDistiller()
        model = ModelDistiller(lambda: self.shelf.weights("dedup"))
        service = self._machine.distilling
        if self.settings.distiller == "endpoint" and service is not None:
            return ServiceDistiller(service, model)
        return model

    async def _release(self) -> None:
        """Let go of what can be read or made again."""
        self._machine.forget_readings()
        await self._recaller.seal(release=True)

    async def _refill(self) -> None:
        """Give the working ring back its newest turns; the raw layer is their only record."""
        newest = (await self._raw.ask(RawStats())).last_sequence
        for turn in await self._raw.ask(TurnsAfter(newest - self.settings.working_turns)):
            await self._working.ask(Note(turn))

    async def close(self) -> None:
        """Stop the actors and release the storage; everything acknowledged is durable already."""
        with suppress(VaultError):  # an index not sealed is made again, nothing is lost
            await self._recaller.seal()
        if self._dense is not None:
            await self._dense.close()
        await self._actors.stop()
        SealedLog.close_all(self._logs.values())

    # --- remembering and recalling: always served, never waiting for a dream (law 2) ---

    async def record(
        self,
        text: str,
        *,
        speaker: str = "user",
        at: float | None = None,
        session: str = "",
        source: str = "",
        kind: str = "dialogue",
    ) -> Turn:
        """Keep one turn; durable on return. `at` defaults to now."""
        moment = self._clock.now() if at is None else at
        draft = TurnDraft(moment, speaker, text, session, source, kind)
        return (await self.record_many([draft]))[0]

    async def record_many(self, drafts: Sequence[TurnDraft]) -> list[Turn]:
        """Keep many turns with one sync to disk; all durable on return."""
        turns = await self._raw.ask(RecordMany(list(drafts)))
        for turn in turns[-self.settings.working_turns :]:
            await self._working.ask(Note(turn))
        if len(turns) >= INDEXED_AT_ONCE:
            await self._recaller.catch_up()
            await self._monitor.check()
        return turns

    async def recall(self, query: str, k: int = 10) -> Answer:
        """The `k` memories that answer `query` best, each with where it comes from."""
        answer = await self._recaller.recall(query, k)
        await self._monitor.check()
        self.usage.answered(answer)
        layers = tuple([layer.value for layer in dict.fromkeys([h.layer for h in answer.hits])])
        self._machine.observer.on(Answered(self._clock.now(), answer.decided_by, layers))
        return answer

    async def feedback(self, answer: Answer, used: Sequence[str]) -> None:
        """Learn which hits of `answer` helped (`used`: their ids; empty: none did).

        Of public records nothing is learnt or counted: that they helped says nothing of what the
        memory holds, nor of where to look in it.
        """
        ids = set(used)
        named = [hit for hit in answer.hits if hit.id in ids]
        helped = [hit for hit in named if hit.public is None]
        if named and not helped:
            return
        self.usage.judged(useful=bool(helped))
        if not helped:
            return
        layers = {hit.layer for hit in helped if isinstance(hit.layer, Layer)}
        turns = list(dict.fromkeys(turn for hit in helped for turn in hit.turns))
        self.examples.add_router(
            router_features(answer.query), layer_label(layers), query=answer.query, turns=turns
        )
        # A turn that helped is a use of what was drawn from it, and brings it back when archived.
        said = [hit.id for hit in helped if hit.layer is not Layer.STRUCTURED]
        items = [hit.id for hit in helped if hit.layer is Layer.STRUCTURED]
        now = self._clock.now()
        await self._structured.ask(Touch(items, now, said))
        await self._structured.ask(Restore(items, said, now))

    async def feedback_pair(self, a: str, b: str, verdict: str) -> None:
        """Learn whether two texts say the same: ``duplicate``, ``merge`` or ``independent``."""
        self.examples.add_dedup(dedup_features(a, b), verdict, texts=(a, b))

    # --- dreaming: only while the window is open, or when the owner says so ---

    async def run(self) -> None:
        """The daemon: wait for the window, dream, rest; for ever, until cancelled."""
        while True:
            await self.window.opened()
            self._machine.observer.on(WindowOpened(self._clock.now()))
            await self.window.run_while_open(self._dreams)
            self._machine.observer.on(WindowClosed(self._clock.now()))

    async def _dreams(self) -> None:
        """Dream and rest while the window lasts: merge every few minutes (002), forget and sync
        at their own intervals."""
        await self._dream_through(fade=self._fading_due())
        while True:
            await self._rest.until(self._anything_due)
            fade = self._fading_due()
            if fade or self._sync_due() or await anything_pending(self._raw, self._structured):
                await self._dream_through(fade=fade)
            else:
                self._rest.settle()

    async def dream(self) -> DreamReport:
        """Consolidate, forget, and sync when it is due. Cancelling it loses nothing."""
        return await self._dream_through(fade=True)

    async def _dream_through(self, *, fade: bool) -> DreamReport:
        async with self._busy:
            self._rest.settle()
            self._machine.observer.on(DreamStarted(self._clock.now()))
            outcome = "interrupted"
            try:
                report = await self._dream(fade=fade)
                outcome = "finished"
            finally:
                self._machine.observer.on(DreamEnded(self._clock.now(), outcome))
        return report

    async def _dream(self, *, fade: bool) -> DreamReport:
        consolidated = await self.consolidate()
        merged = await self._merge() if consolidated or fade else 0
        if fade:
            await self._let_fade()
        self._recaller.tidy()
        await self._recaller.seal()
        await self._recaller.embed_missing()
        await self._monitor.check()
        if self._machine.connect is None or not self._sync_due():
            return DreamReport(consolidated, None, merged=merged)
        try:
            report = await self._sync(self._machine.connect)
            return DreamReport(consolidated, report, merged=merged)
        except SYNC_TROUBLE as error:
            log.info("sync failed", reason=str(error))
            return DreamReport(consolidated, None, str(error), merged)

    async def consolidate(self) -> int:
        """Take in what waits, nothing else; how many turns that was."""
        return await consolidate_pending(
            self._raw,
            self._structured,
            self._working,
            tz=self.settings.zone,
            now=self._clock.now(),
            extractor=self._machine.extractor,
        )

    async def _merge(self) -> int:
        """Make one of memories that say the same, where the gate allows."""
        judgement = Judgement(self.shelf.weights("dedup"))
        return await merge_duplicates(self._structured, judgement, now=self._clock.now())

    async def undo_merge(self, identifier: str) -> tuple[str, str]:
        """Part a merge, named by its change record or by either memory; ids of the two memories.

        Raises:
            CannotUndo: nothing was merged there, or a later merge stands on it.
        """
        return await undo_merge(self._structured, identifier, now=self._clock.now())

    def _fading_due(self, now: float | None = None) -> bool:
        now = self._clock.now() if now is None else now
        return now - self._faded_at >= self.settings.forget_interval_seconds

    def _sync_due(self, now: float | None = None) -> bool:
        now = self._clock.now() if now is None else now
        return self._machine.connect is not None and self._backoff.due(now)

    def _anything_due(self, now: float) -> bool:
        return self._fading_due(now) or self._sync_due(now)

    async def _let_fade(self) -> None:
        now, settings = self._clock.now(), self.settings
        policy = ForgettingPolicy(
            settings.base_decay, settings.archive_below, settings.delete_below
        )
        await let_fade(self._structured, self._working, now=now, policy=policy)
        await self.agent.maintain()
        self._faded_at = now
