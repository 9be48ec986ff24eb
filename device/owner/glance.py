"""What the owner sees of a phone at one glance (`reverie-device status`, the page's lower half)."""

from __future__ import annotations

from device.actors.window import Window
from device.machine import Machine
from device.memory import RawStats, StructuredStats, WorkingStats
from device.monitor import MB, MemoryMonitor
from device.owner.privacy import budget_status
from device.owner.records import Layers
from device.recall.dense import DenseIndex
from device.recall.embedders import BUILTIN
from device.recall.floors import Floors
from device.settings import Settings
from device.status import (
    ConditionStatus,
    DistillerStatus,
    EmbedderStatus,
    MemoryStatus,
    ModelStatus,
    Status,
)
from device.sync.adoption import Shelf
from device.sync.identity import Identity
from device.sync.outbox import Outbox
from privacy import Ledger
from protocol.models import SPECS

__all__ = ["StatusCalls"]


class StatusCalls:
    """Mixed into `Phone`, which opens what is named here."""

    settings: Settings
    identity: Identity
    ledger: Ledger
    outbox: Outbox
    shelf: Shelf
    window: Window
    _machine: Machine
    _layers: Layers
    _monitor: MemoryMonitor
    _dense: DenseIndex | None
    _problems: tuple[str, ...]

    async def unknown(self) -> tuple[str, ...]:
        """What a new phone would still like to know. Given by `OwnerCalls`."""
        raise NotImplementedError

    @property
    def floors(self) -> Floors:
        """The weights under which layers are not searched now. Given by `OwnerCalls`."""
        raise NotImplementedError

    async def status(self) -> Status:
        """What the owner sees at a glance."""
        raw = await self._layers.raw.ask(RawStats())
        structured = await self._layers.structured.ask(StructuredStats())
        working = await self._layers.working.ask(WorkingStats())
        conditions = await self._machine.conditions.read()
        use = self._monitor.use()
        distilling = self._machine.distilling
        return Status(
            device_id=self.identity.device_id,
            cloud_url=self.settings.cloud_url,
            protector=self._machine.protector.name,
            protector_secure=self._machine.protector.secure,
            conditions=ConditionStatus(
                idle=conditions.idle,
                charging=conditions.charging,
                unmetered=conditions.unmetered,
                battery=conditions.battery,
                window_open=self.window.allows(conditions),
                reasons=conditions.reasons,
            ),
            memory=MemoryStatus(
                turns=raw.turns,
                items=structured.items,
                archived=structured.archived,
                consolidated=structured.through + 1,
                working=working.turns,
                private_mb=None if use.used is None else use.used / MB,
                limit_mb=use.limit / MB,
                cleanings=use.cleanings,
                bytes_stored=sum(
                    self._machine.storage.size(name) for name in self._machine.storage.names()
                ),
            ),
            models={model: self._model_status(model) for model in SPECS},
            floors=self.floors,
            embedder=EmbedderStatus(
                name=BUILTIN if self._machine.embedder is None else self._machine.embedder.name,
                leaves_phone="" if self._dense is None else self._dense.leaves_phone,
                trouble="" if self._dense is None else self._dense.trouble,
            ),
            extractor="" if self._machine.extractor is None else self._machine.extractor.notice,
            distiller=DistillerStatus(
                name=self.settings.distiller,
                leaves_phone=distilling.host if distilling is not None else "",
            ),
            budget=budget_status(
                self.ledger,
                helper_key=bytes.fromhex(self.settings.helper_key),
                now=self._machine.clock.now(),
            ),
            outbox=len(self.outbox.waiting()),
            problems=self._problems,
            unknown=await self.unknown(),
        )

    def _model_status(self, model: str) -> ModelStatus:
        outcome = self.shelf.last_outcome(model)
        if outcome is None:
            return ModelStatus(version=0, last_outcome="no release tried yet")
        said = "adopted" if outcome.adopted else f"kept the old one: {outcome.reason}"
        return ModelStatus(
            version=self.shelf.version(model),
            last_outcome=f"version {outcome.version} {said} (probes {outcome.score:.0%})",
        )
