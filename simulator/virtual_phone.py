"""One virtual phone: the phone's real code, its owner, its conditions and its network."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from device.actors import Clock
from device.observer import Adopted, Kept, PhoneEvent, Tallied, UploadAcked
from device.phone import Machine, Phone
from device.settings import Settings
from device.sync.adoption import Examiner
from device.sync.channel import Channel
from device.vault import MemoryStorage, StaticProtector, Storage
from device.vault.anchor import MemoryAnchor
from privacy.budget import BUDGETS
from privacy.chain import Commit, ReceiptEntry
from simulator.availability import PhoneAvailability, seconds_by_hour
from simulator.converging import check_caught_up
from simulator.faults.clocks import PhoneClock
from simulator.faults.cloud import restarts
from simulator.faults.copy import PhoneCopy
from simulator.faults.dice import Dice
from simulator.faults.disk import Died, Handle, HeldAnchor
from simulator.faults.machine import FRAILTIES, Lifetimes
from simulator.faults.plan import FaultPlan, Fired
from simulator.faults.process import Apart
from simulator.invariants import PhoneWatch
from simulator.laws import KEPT, Tally
from simulator.network import Gateway, Network, Traffic
from simulator.owner import Owner
from simulator.people import Person
from simulator.randomness import KeyedBits, generator, stream_key
from simulator.replay import Listener, TraceEvent, told
from simulator.senses import ClockedConditions, TrackConditions, WindowConditions
from simulator.weeks import by_week

__all__ = ["PhoneResult", "TrackConditions", "VirtualPhone", "WindowConditions", "WindowNote"]

_DAY = 86_400.0
_SKEW = (-600.0, 600.0)
"""Seconds by which a skewed clock is off."""
_DRIFT = 5e-5
"""Seconds a poor quartz gains or loses a second, at most."""


@dataclass
class WindowNote:
    """What happened on one phone during one window of virtual time."""

    phone: int
    acked_at: list[float] = field(default_factory=list)
    adopted: list[tuple[float, str, int]] = field(default_factory=list)
    kept: list[tuple[float, str, int]] = field(default_factory=list)
    """Releases tried and not adopted."""
    tallied: list[tuple[bytes, bytes]] = field(default_factory=list)
    """Report id, and what it says without its noise."""


@dataclass
class PhoneResult:
    """What one phone leaves behind when the world ends."""

    phone: int
    tally: Tally
    digest: int
    acked: list[bytes]
    released: list[bytes]
    records: int
    answered: int
    useful: int
    by_layer: dict[str, int]
    """Recalls by the layer of their best hit, or none."""
    decided_by: dict[str, int]
    traffic: Traffic
    epsilon: float
    versions: dict[str, int]
    items: int
    window_seconds: float
    window_by_hour: list[float]
    """(24,) seconds of the true window by local hour."""
    window_by_week: NDArray[np.float32]
    """(168,) the same by local weekday and hour, from Monday 00:00."""
    utc_offset: float
    """Seconds by which the owner's clocks are ahead of UTC."""
    waiting: int
    """Reports still in the outbox."""
    fired: Fired = field(default_factory=Counter)
    """Faults that happened to this phone."""


class VirtualPhone:
    """Opens, lives and ends within one virtual loop."""

    def __init__(
        self,
        number: int,
        *,
        seed: int,
        start: float,
        person: Person,
        truth: PhoneAvailability,
        utc_offset: float,
        settings: Settings,
        gateway: Gateway,
        clock: Clock,
        faults: FaultPlan,
        seconds: float = 0.0,
        dice: Dice | None = None,
        examiner: Examiner | None = None,
    ) -> None:
        """`seconds`: length of the world. `dice`: this phone's luck, where others share it.
        `examiner` plays the memory probes; phones of one process share theirs."""
        self.number = number
        self.dice = dice or Dice(faults, seed, number, lambda: clock.now() - start)
        frail = self.dice.planned(*FRAILTIES)
        own = self._own_clock(clock)
        self.watch = PhoneWatch(
            f"phone {number}",
            window=truth.window,
            settle=settings.settle_seconds,
            canary=person.canary,
            cloud_key=bytes.fromhex(settings.cloud_key),
            now=clock.now if own is not None else None,
            caps=partial(_cap, settings.budget),
        )
        self._truth, self._clock, self._settings = truth, clock, settings
        self._calm = faults.calm_after
        self._start, self._seed, self._person = start, seed, person
        self._utc_offset = utc_offset
        self._storage: Storage = MemoryStorage()
        self._anchor = MemoryAnchor()
        rng = generator(seed, "network", number)
        self.network = Network(
            gateway,
            clock,
            rng,
            faults,
            self.watch,
            dice=self.dice,
            restarts=restarts(faults, seed, seconds).gateways,
            seconds=seconds,
        )
        self.network.old = self.dice.is_so("old_version")
        if self.network.old:
            self.dice.happened("old_version")
        sense = WindowConditions(truth, clock, start)
        self._machine = Machine(
            clock=clock if own is None else own,
            bits=KeyedBits(seed, "phone", number),
            storage=self._storage,
            protector=StaticProtector(stream_key(seed, "key", number)),
            conditions=sense if own is None else ClockedConditions(truth, own, start),
            rng=generator(seed, "phone", number),
            anchor=self._anchor,
            connect=self.network.connect,
            observer=self.watch,
            examiner=examiner if examiner is None or not frail else Apart(examiner),
        )
        self._owner = Owner(person, clock, patient=frail)
        self._phone: Phone | None = None
        self._copy: PhoneCopy | None = None
        self._lives: Lifetimes | None = None
        if frail:
            self._lives = Lifetimes(
                self,
                dice=self.dice,
                clock=clock,
                phone_clock=own or PhoneClock(clock),
                seconds=seconds,
                anchor=self._anchor,
            )

    async def live(self) -> None:
        """Open the phone, then let its owner and its daemon run until cancelled."""
        if self._lives is not None:
            await self._lives.run()
            return
        self._phone = await Phone.open(self._machine, self._settings)
        self.watch.ledger_round = self._phone.ledger.last_round
        await self.serve(self._phone)

    async def open(self, handle: Handle) -> Phone:
        """Open the phone for one of its lives."""
        machine = replace(
            self._machine,
            storage=handle,
            anchor=HeldAnchor(self._anchor, handle),
            connect=partial(self._connect, handle),
            observer=_Mortal(self.watch, handle),
        )
        phone = await Phone.open(machine, self._settings)
        self.watch.ledger_round = phone.ledger.last_round
        for waiting in phone.outbox.waiting():
            named = (waiting.report_id, waiting.task, waiting.round, waiting.sha256)
            self.watch.recovered(*named)
        return phone

    async def serve(self, phone: Phone) -> None:
        """Owner and daemon, until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(phone.run(), name=f"phone-{self.number} daemon")
            tasks.create_task(self._owner.use(phone), name=f"phone-{self.number} owner")

    def down(self) -> None:
        """The process has ended."""
        self.network.drop()
        self.watch.died()

    def restored(self, *, whole: bool) -> None:
        """The phone's folder was put back."""
        self.watch.restored(whole=whole)

    async def cloned(self, files: dict[str, bytes]) -> None:
        """Run a second phone from a copy of the folder, until cancelled."""
        self._copy = PhoneCopy(
            files,
            self._machine,
            self._settings,
            original=self.watch,
            bits=KeyedBits(self._seed, "copy", self.number),
            network=lambda watch: Network(
                self.network.gateway,
                self._clock,
                generator(self._seed, "copy's network", self.number),
                FaultPlan(),
                watch,
            ),
        )
        await self._copy.run()

    def listen(self, listener: Listener) -> None:
        """Tell `listener` from now on what happens to this phone, as it happens."""

        def tell(kind: str, detail: str) -> None:
            listener(TraceEvent(self._clock.now() - self._start, self.number, kind, detail))

        self.dice.told = lambda name, detail: tell(f"fault {name}", detail)
        self.watch.told = lambda event: tell(type(event).__name__, told(event))
        self.watch.tally.told = lambda law, what: tell(f"law {law}", what)

    def note(self) -> WindowNote:
        """What happened since the last note."""
        note = WindowNote(self.number)
        for event in self.watch.events:
            match event:
                case UploadAcked():
                    note.acked_at.append(event.at)
                case Tallied():
                    note.tallied.append((event.report_id, event.bins))
                case Adopted():
                    note.adopted.append((event.at, event.model, event.version))
                case Kept():
                    note.kept.append((event.at, event.model, event.version))
        self.watch.events.clear()
        return note

    async def end(self, end: float) -> PhoneResult:
        """Close the phone and sum up its life; call after `live` was cancelled."""
        phone = self._phone if self._lives is None else await self._lives.last_open()
        assert phone is not None
        status = await phone.status()
        entries = list(phone.ledger.entries())
        await phone.close()
        self.watch.scan(self._stored() | {"anchor": repr(self._anchor.read()).encode()})
        self.watch.audit(
            suspicion=status.budget.suspicion,
            committed={entry.sha256 for entry in entries if isinstance(entry, Commit)},
            receipted={entry.sha256 for entry in entries if isinstance(entry, ReceiptEntry)},
        )
        self.watch.close(end)
        owner, window = self._owner, self._truth.window
        if not self.watch.set_back:
            said = f"{owner.records} of {owner.tried} acknowledged, {status.memory.turns} kept"
            holds = owner.records <= status.memory.turns <= owner.tried
            self.watch.tally.check(KEPT, holds, f"phone {self.number}", said)
        if self._copy is None and self._calm is not None:
            calm = self._start + self._calm * _DAY
            check_caught_up(self.watch, window, calm=calm, end=end, waiting=status.outbox)
        copied = await self._copied()
        return PhoneResult(
            phone=self.number,
            tally=self.watch.tally,
            digest=self.watch.digest,
            acked=self.watch.acked,
            released=sorted({*self.watch.released, *copied}),
            records=owner.records,
            answered=owner.answered,
            useful=owner.useful,
            by_layer=dict(sorted(owner.by_layer.items())),
            decided_by=dict(sorted(owner.decided_by.items())),
            traffic=self.network.traffic,
            epsilon=status.budget.epsilon_spent,
            versions={name: model.version for name, model in sorted(status.models.items())},
            items=status.memory.items,
            window_seconds=window.seconds(),
            window_by_hour=seconds_by_hour(window, self._utc_offset).tolist(),
            window_by_week=by_week(window, self._utc_offset),
            utc_offset=self._utc_offset,
            waiting=status.outbox,
            fired=self.dice.fired,
        )

    async def _copied(self) -> list[bytes]:
        """What a copy of this phone released; its watch is merged into this one's."""
        if self._copy is None:
            return []
        watch = await self._copy.end()
        self.watch.tally.merge(watch.tally)
        self.watch.digest = (self.watch.digest + watch.digest) % 2**256
        return list(watch.released)

    def _stored(self) -> dict[str, bytes]:
        if self._lives is not None:
            return self._lives.disk.copy()
        return {name: self._storage.read(name) for name in self._storage.names()}

    def _own_clock(self, clock: Clock) -> PhoneClock | None:
        """The phone's clock where it may be wrong; None where it is the true one."""
        dice = self.dice
        if not dice.planned("clock_skew", "clock_jump"):
            return None
        if not dice.is_so("clock_skew"):
            return PhoneClock(clock)
        dice.happened("clock_skew")
        stream = dice.of("clock_skew")
        offset, drift = float(stream.uniform(*_SKEW)), float(stream.uniform(-_DRIFT, _DRIFT))
        return PhoneClock(clock, offset=offset, drift=drift)

    @asynccontextmanager
    async def _connect(self, handle: Handle) -> AsyncIterator[Channel]:
        if not handle.alive:
            raise Died
        async with self.network.connect() as channel:
            yield channel


class _Mortal:
    """The observer of one life: the dead say nothing."""

    def __init__(self, watch: PhoneWatch, handle: Handle) -> None:
        self._watch, self._handle = watch, handle

    def on(self, event: PhoneEvent) -> None:
        """Pass `event` on while the process lives."""
        if self._handle.alive:
            self._watch.on(event)


def _cap(budget: str, task: str) -> tuple[str, int]:
    """The stream that pays for `task`, and what it may spend within a year."""
    stream = BUDGETS[budget].stream(task)
    return stream.name, stream.yearly_cap
