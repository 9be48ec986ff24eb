"""One virtual phone: the phone's real code, its owner, its conditions and its network."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field

from device.actors import Clock
from device.conditions import Conditions
from device.observer import Adopted, Kept, UploadAcked
from device.phone import Machine, Phone
from device.settings import Settings
from device.sync.adoption import Examiner
from device.vault import MemoryStorage, StaticProtector
from device.vault.anchor import MemoryAnchor
from privacy.chain import Commit, ReceiptEntry
from simulator.availability import PhoneAvailability, seconds_by_hour
from simulator.invariants import PhoneWatch, Tally
from simulator.network import Faults, Gateway, Network, Traffic
from simulator.people import Ask, Compare, Person, Say
from simulator.randomness import KeyedBits, generator, stream_key

__all__ = ["PhoneResult", "TrackConditions", "VirtualPhone", "WindowConditions", "WindowNote"]

_RECALL_HITS = 10
_CHARGE_PER_HOUR = 0.6
"""Share of the battery gained in an hour on the charger."""
_DRAIN_PER_HOUR = 0.04
_FIRST_CHARGE = 0.7
_FULL, _EMPTY = 1.0, 0.05
"""The owner plugs in before the phone dies, even where the track does not say so."""
_HOUR = 3600.0


class TrackConditions:
    """The phone's senses: the true tracks, read without error, announcing their changes."""

    def __init__(self, truth: PhoneAvailability, clock: Clock, start: float) -> None:
        self._truth, self._clock = truth, clock
        self._level, self._level_at = _FIRST_CHARGE, start

    async def read(self) -> Conditions:
        """The conditions now."""
        now = self._clock.now()
        return Conditions(
            idle=self._truth.idle.holds(now),
            charging=self._truth.charging.holds(now),
            unmetered=self._truth.unmetered.holds(now),
            battery=self._battery(now),
            read_at=now,
        )

    def next_change(self, now: float) -> float | None:
        """The next edge of any condition."""
        edge = self._truth.next_change(now)
        return None if edge == float("inf") else edge

    def _battery(self, now: float) -> float:
        """Charge now, followed edge by edge since the last reading."""
        while self._level_at < now:
            until = min(now, self._truth.charging.next_change(self._level_at))
            charging = self._truth.charging.holds(self._level_at)
            rate = _CHARGE_PER_HOUR if charging else -_DRAIN_PER_HOUR
            level = self._level + rate * (until - self._level_at) / _HOUR
            self._level, self._level_at = min(_FULL, max(_EMPTY, level)), until
        return self._level


class WindowConditions(TrackConditions):
    """The same senses, which announce only what can open or close the window: whatever changes in
    between is no reason to wake a sleeping phone."""

    def __init__(self, truth: PhoneAvailability, clock: Clock, start: float) -> None:
        super().__init__(truth, clock, start)
        self._window = truth.window

    def next_change(self, now: float) -> float | None:
        """When the three conditions next begin or cease to hold together."""
        edge = self._window.next_change(now)
        return None if edge == float("inf") else edge


@dataclass
class WindowNote:
    """What happened on one phone during one window of virtual time."""

    phone: int
    acked_at: list[float] = field(default_factory=list)
    adopted: list[tuple[float, str, int]] = field(default_factory=list)
    kept: list[tuple[float, str, int]] = field(default_factory=list)
    """Releases tried and not adopted."""


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
    waiting: int
    """Reports still in the outbox."""


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
        faults: Faults,
        examiner: Examiner | None = None,
    ) -> None:
        """`examiner` plays the memory probes; phones of one process share theirs."""
        self.number = number
        self.watch = PhoneWatch(
            f"phone {number}",
            window=truth.window,
            settle=settings.settle_seconds,
            canary=person.canary,
            cloud_key=bytes.fromhex(settings.cloud_key),
        )
        self._person, self._truth, self._clock, self._settings = person, truth, clock, settings
        self._utc_offset = utc_offset
        self._storage = MemoryStorage()
        self._anchor = MemoryAnchor()
        rng = generator(seed, "network", number)
        self._network = Network(gateway, clock, rng, faults, self.watch)
        self._machine = Machine(
            clock=clock,
            bits=KeyedBits(seed, "phone", number),
            storage=self._storage,
            protector=StaticProtector(stream_key(seed, "key", number)),
            conditions=WindowConditions(truth, clock, start),
            rng=generator(seed, "phone", number),
            anchor=self._anchor,
            connect=self._network.connect,
            observer=self.watch,
            examiner=examiner,
        )
        self._turns: dict[str, str] = {}
        self._texts: dict[str, str] = {}
        self._records = self._answered = self._useful = 0
        self._by_layer: Counter[str] = Counter()
        self._decided_by: Counter[str] = Counter()
        self._phone: Phone | None = None

    async def live(self) -> None:
        """Open the phone, then let its owner and its daemon run until cancelled."""
        self._phone = await Phone.open(self._machine, self._settings)
        self.watch.ledger_round = self._phone.ledger.last_round
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._phone.run(), name=f"phone-{self.number} daemon")
            tasks.create_task(self._use(self._phone), name=f"phone-{self.number} owner")

    def note(self) -> WindowNote:
        """What happened since the last note."""
        note = WindowNote(self.number)
        for event in self.watch.events:
            match event:
                case UploadAcked():
                    note.acked_at.append(event.at)
                case Adopted():
                    note.adopted.append((event.at, event.model, event.version))
                case Kept():
                    note.kept.append((event.at, event.model, event.version))
        self.watch.events.clear()
        return note

    async def end(self, end: float) -> PhoneResult:
        """Close the phone and sum up its life; call after `live` was cancelled."""
        assert self._phone is not None
        phone = self._phone
        status = await phone.status()
        entries = list(phone.ledger.entries())
        await phone.close()
        kept = {name: self._storage.read(name) for name in self._storage.names()}
        self.watch.scan(kept | {"anchor": repr(self._anchor.read()).encode()})
        self.watch.audit(
            suspicion=status.budget.suspicion,
            committed={entry.sha256 for entry in entries if isinstance(entry, Commit)},
            receipted={entry.sha256 for entry in entries if isinstance(entry, ReceiptEntry)},
        )
        self.watch.close(end)
        window = self._truth.window
        return PhoneResult(
            phone=self.number,
            tally=self.watch.tally,
            digest=self.watch.digest,
            acked=self.watch.acked,
            released=sorted(self.watch.released),
            records=self._records,
            answered=self._answered,
            useful=self._useful,
            by_layer=dict(sorted(self._by_layer.items())),
            decided_by=dict(sorted(self._decided_by.items())),
            traffic=self._network.traffic,
            epsilon=status.budget.epsilon_spent,
            versions={name: model.version for name, model in sorted(status.models.items())},
            items=status.memory.items,
            window_seconds=window.seconds(),
            window_by_hour=seconds_by_hour(window, self._utc_offset).tolist(),
            waiting=status.outbox,
        )

    async def _use(self, phone: Phone) -> None:
        """The owner talks, asks, and says what helped."""
        for deed in self._person.deeds:
            await self._clock.sleep(max(0.0, deed.at - self._clock.now()))
            match deed:
                case Say():
                    await self._say(phone, deed)
                case Ask():
                    await self._ask(phone, deed)
                case Compare():
                    first, second = self._texts[deed.first], self._texts[deed.second]
                    await phone.feedback_pair(first, second, deed.verdict)

    async def _say(self, phone: Phone, deed: Say) -> None:
        turn = await phone.record(
            deed.text, speaker=deed.speaker, session=deed.session, source="conversation"
        )
        self._turns[deed.line], self._texts[deed.line] = turn.id, deed.text
        self._records += 1

    async def _ask(self, phone: Phone, deed: Ask) -> None:
        answer = await phone.recall(deed.query, k=_RECALL_HITS)
        wanted = {self._turns[line] for line in deed.evidence}
        helped = [hit.id for hit in answer.hits if wanted.intersection((hit.id, *hit.turns))]
        self._answered += 1
        self._useful += bool(helped)
        self._by_layer[answer.hits[0].layer.value if answer.hits else "none"] += 1
        self._decided_by[answer.decided_by] += 1
        await phone.feedback(answer, helped)
