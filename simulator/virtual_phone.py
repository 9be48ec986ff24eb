"""One virtual phone: the phone's real code, its owner, its conditions and its network."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from dataclasses import replace
from functools import partial

from device.actors import Clock
from device.observer import Adopted, Kept, PhoneEvent, Tallied, UploadAcked
from device.phone import Machine, Phone
from device.readings import shared_readings
from device.settings import Settings
from device.sync.adoption import Examiner
from device.sync.channel import Channel
from device.sync.modelpool import ModelPool
from device.vault import MemoryStorage, StaticProtector, Storage
from device.vault.anchor import MemoryAnchor
from privacy.budget import BUDGETS
from simulator.availability import PhoneAvailability, seconds_by_hour
from simulator.converging import check_caught_up
from simulator.faults.clocks import PhoneClock, own_clock
from simulator.faults.cloud import Spans
from simulator.faults.copy import PhoneCopy
from simulator.faults.dice import Dice
from simulator.faults.disk import Died, Handle, HeldAnchor
from simulator.faults.failing import reason_of
from simulator.faults.machine import FRAILTIES, Lifetimes
from simulator.faults.malice import Liar
from simulator.faults.plan import FaultPlan
from simulator.faults.process import Apart
from simulator.invariants import PhoneWatch
from simulator.laws import KEPT
from simulator.network import Gateway, Network
from simulator.owner import Owner
from simulator.people import Person
from simulator.phone_result import Left, PhoneResult, WindowNote, left_by
from simulator.randomness import KeyedBits, generator, stream_key
from simulator.replay import Listener, TraceEvent, told
from simulator.senses import ClockedConditions, TrackConditions, WindowConditions
from simulator.smallness import check_stored, check_traffic
from simulator.weeks import by_week

__all__ = ["PhoneResult", "TrackConditions", "VirtualPhone", "WindowConditions", "WindowNote"]

_DAY = 86_400.0


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
        restarts: Sequence[float] = (),
        downs: Spans | None = None,
        revisit: float = 0.0,
        dice: Dice | None = None,
        examiner: Examiner | None = None,
        models: ModelPool | None = None,
        bound: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        """`seconds`: length of the world; `restarts`: when its gateways restart; `downs`: when
        there is no cloud; `revisit`: after which the cloud asks a phone back.
        `dice`: this phone's luck, where others share it. `examiner` plays the memory probes,
        `models` holds what phones adopt; phones of one process share theirs. `bound`: within it
        the cloud is seen (`simulator.lanes`)."""
        self.number = number
        self.dice = dice or Dice(faults, seed, number, lambda: clock.now() - start)
        frail = self.dice.planned(*FRAILTIES)
        own = own_clock(self.dice, clock)
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
        self._bound = bound
        self._calm, self._revisit = faults.calm_after, revisit
        self._start, self._seed = start, seed
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
            restarts=restarts,
            downs=downs or Spans(),
            seconds=seconds,
            bound=bound,
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
            models=models,
            forget_readings=shared_readings,
        )
        self._owner = Owner(person, clock, patient=frail)
        self._liar = self._beside(bytes.fromhex(settings.cloud_key))
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
        # What is left of a process that died, its copy and the liar meet the cloud at any time.
        troubled = self._liar is not None or self._lives is not None
        with self._bound() if troubled else nullcontext():
            if self._liar is None:
                await self._live()
                return
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._liar.run(), name=f"phone-{self.number} liar")
                tasks.create_task(self._live(), name=f"phone-{self.number} lives")

    async def _live(self) -> None:
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

    def _beside(self, cloud_key: bytes) -> Liar | None:
        """The malicious phone beside this one, if there is one."""
        if not self.dice.is_so("malicious_phone"):
            return None
        network, watch = self.network, self.watch
        return Liar(
            self.number,
            self._seed,
            gateway=network.gateway,
            dice=self.dice,
            clock=self._clock,
            cloudless=lambda: network.cloudless,
            cloud_key=cloud_key,
            neighbour=lambda: watch.device_id,
            loot=lambda: network.arrived(watch.acked),
        )

    def down(self) -> None:
        """The process has ended."""
        self.network.drop()
        self.watch.died()

    def restored(self, *, whole: bool) -> None:
        """The phone's folder was put back."""
        self.watch.restored(whole=whole)

    def failed(self, error: BaseException, *, opened: bool) -> None:
        """The phone's process ended by itself: what its owner was told is kept may be lost."""
        what = "its process ended" if opened else "it does not open again"
        self.watch.tally.check(KEPT, False, self.watch.name, f"{what}: {reason_of(error)}")

    async def cloned(self, files: dict[str, bytes]) -> None:
        """Run a second phone from a copy of the folder, until cancelled."""
        self.watch.copied = True
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
        for tally in (self.watch.tally, *([self._liar.tally] if self._liar else [])):
            tally.told = lambda law, what: tell(f"law {law}", what)

    def note(self) -> WindowNote:
        """What happened since the last note."""
        events = self.watch.events
        note = WindowNote(
            self.number,
            acked_at=tuple(e.at for e in events if isinstance(e, UploadAcked)),
            adopted=tuple((e.at, e.model, e.version) for e in events if isinstance(e, Adopted)),
            kept=tuple((e.at, e.model, e.version) for e in events if isinstance(e, Kept)),
            tallied=tuple((e.report_id, e.bins) for e in events if isinstance(e, Tallied)),
        )
        events.clear()
        return note

    async def end(self, end: float) -> PhoneResult:
        """Close the phone and sum up its life; call after `live` was cancelled."""
        phone = self._phone if self._lives is None else await self._lives.last_open()
        left = Left() if phone is None else await left_by(phone)
        stored = self._stored()
        self.watch.scan(stored | {"anchor": repr(self._anchor.read()).encode()})
        self.watch.close(end)
        self._check_small(sum(map(len, stored.values())), end)
        if phone is not None:
            self._check_books(left, end)
        owner, window = self._owner, self._truth.window
        copied = await self._copied()
        if self._liar is not None:
            self.watch.tally.merge(self._liar.tally)
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
            epsilon=left.epsilon,
            versions=dict(left.versions),
            items=left.items,
            window_seconds=window.seconds(),
            window_by_hour=seconds_by_hour(window, self._utc_offset).tolist(),
            window_by_week=by_week(window, self._utc_offset),
            utc_offset=self._utc_offset,
            waiting=left.waiting,
            fired=self.dice.fired,
            lies=[] if self._liar is None else self._liar.lies,
        )

    def _check_small(self, stored: int, end: float) -> None:
        watch, days = self.watch, (end - self._start) / _DAY
        budget = BUDGETS[self._settings.budget]
        traffic, fired = self.network.traffic, self.dice.fired
        retries = traffic.sessions - watch.finished + sum(fired[name] for name in FRAILTIES)
        check_traffic(watch.tally, watch.name, traffic, days=days, budget=budget, retries=retries)
        check_stored(watch.tally, watch.name, stored, records=self._owner.tried)

    def _check_books(self, left: Left, end: float) -> None:
        """Hold what the phone has against what it did and was told."""
        watch, owner = self.watch, self._owner
        watch.audit(suspicion=left.suspicion, committed=left.committed, receipted=left.receipted)
        if not watch.set_back:
            said = f"{owner.records} of {owner.tried} acknowledged, {left.turns} kept"
            holds = owner.records <= left.turns <= owner.tried
            watch.tally.check(KEPT, holds, watch.name, said)
        if self._copy is None and self._calm is not None:
            calm = self._start + self._calm * _DAY
            check_caught_up(
                watch,
                self._truth.window,
                calm=calm,
                end=end,
                waiting=left.waiting,
                rest=self._revisit,
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
