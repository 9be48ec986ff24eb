"""One phone, one gateway and a link between them that breaks wherever a script says.

Real on the phone: the outbox over a sealed log in RAM, the session. Real at the gateway: the
session and its connection's answers. In place of the database stands a store in RAM, which a test
holds against the one over SQLite.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, TypeVar, cast

from cloud.actors.partials import Offer, Piece
from cloud.actors.registry import Device, EnrolmentRefused, Wanted
from cloud.gateway.connection import Connection
from cloud.gateway.core import GatewayCore
from cloud.gateway.limits import Limits, Rations
from cloud.gateway.metrics import Metrics
from device.sync.client import SETTLED_ELSEWHERE
from device.sync.outbox import Outbox
from device.vault import Keyring, MemoryStorage, SealedLog, StaticProtector
from privacy import PrivateReport
from protocol import wire
from protocol.identity import DeviceKey
from protocol.messages import Plan, UploadAccept, UploadChunk
from protocol.session import (
    ClientSession,
    Closed,
    PlanReceived,
    ProofOffered,
    ServerSession,
    SessionFailed,
    UploadCommitted,
    UploadRefused,
)
from tests.protocol.delivery_stores import CLOUD, NOW, Store

__all__ = [
    "DEVICE",
    "FAULTS",
    "Gateway",
    "Killed",
    "Phone",
    "Script",
    "Session",
    "WatchedStorage",
]

DEVICE = "device-1"
PHONE = DeviceKey(bytes(range(1, 33)))
PLAN = Plan(rounds=(), releases=(), retry_after=60.0)
METRICS = Metrics()
"""Of all gateways here: nobody reads them, and making them costs as much as a session."""

Direction: TypeAlias = Literal["up", "down"]
Result = TypeVar("Result")


class Killed(BaseException):
    """A process ends here."""


# The script: which of the possible things happens next.


FAULTS = frozenset(
    {"duplicate", "lose up", "lose down", "cut", "kill phone", "kill gateway", "die"}
)


@dataclass
class Script:
    """Choices to repeat, then the first one each time; it notes what else was possible."""

    prefix: Sequence[int]
    faults_left: int
    taken: list[int] = field(default_factory=list)
    widths: list[int] = field(default_factory=list)
    told: list[str] = field(default_factory=list)

    def choose(self, moves: Sequence[str]) -> str:
        """One of ``moves``; faults are offered while any may still happen."""
        possible = [move for move in moves if self.faults_left or move.split(":")[0] not in FAULTS]
        place = len(self.taken)
        choice = self.prefix[place] if place < len(self.prefix) else 0
        self.taken.append(choice)
        self.widths.append(len(possible))
        move = possible[choice]
        if move.split(":")[0] in FAULTS:
            self.faults_left -= 1
            self.told.append(f"{place}:{move}")
        return move

    def untried(self) -> list[list[int]]:
        """Prefixes that lead elsewhere, each from the first free choice on."""
        return [
            [*self.taken[:place], other]
            for place in range(len(self.prefix), len(self.taken))
            for other in range(1, self.widths[place])
        ]


# The phone.


class WatchedStorage(MemoryStorage):
    """RAM that asks before every write whether the process still lives."""

    def __init__(self) -> None:
        super().__init__()
        self.before_write: Callable[[str], None] | None = None

    def copy(self) -> WatchedStorage:
        """The same content apart."""
        other = WatchedStorage()
        for name in self.names():
            other.replace(name, self.read(name))
        return other

    def append(self, name: str, data: bytes) -> None:
        if self.before_write is not None:
            try:
                self.before_write("append")
            except Killed:
                # Half of it may have reached the medium.
                super().append(name, data[: len(data) // 2])
                raise
        super().append(name, data)

    def sync(self, name: str) -> None:
        self._watch("sync")
        super().sync(name)

    def replace(self, name: str, data: bytes) -> None:
        self._watch("replace")
        super().replace(name, data)

    def delete(self, name: str) -> None:
        self._watch("delete")
        super().delete(name)

    def _watch(self, what: str) -> None:
        if self.before_write is not None:
            self.before_write(what)


class Phone:
    """Its outbox, opened from storage as after a restart, and one session."""

    def __init__(self, storage: WatchedStorage, cloud: Store | None = None) -> None:
        self.storage = storage
        self.cloud = cloud
        self.receipts: dict[bytes, bytes] = {}
        """Noted in this process; the ledger of a real phone keeps them."""
        self.session: ClientSession | None = None
        keyring = Keyring.open(storage, StaticProtector(b"k" * 32), os.urandom)
        log = SealedLog.open(storage, "outbox", keyring, clock_now=lambda: NOW)
        self.outbox = Outbox(log)
        self._left: deque[bytes] = deque()

    def put(self, report: PrivateReport) -> bytes:
        return self.outbox.put(report).body

    def start(self, nonce: bytes = bytes(32)) -> list[bytes]:
        """The first frames of a new session."""
        self.session = ClientSession(
            device_id=DEVICE,
            sign=PHONE.sign,
            client_nonce=nonce,
            have={},
            cloud_key=CLOUD.public,
        )
        self.session.start()
        return self.session.frames_to_send()

    def receive(self, frame: bytes) -> list[bytes]:
        """As the sync client goes on: one report after the other, receipts first, then bye."""
        session = self.session
        assert session is not None
        for event in session.receive(frame):
            match event:
                case PlanReceived():
                    self._left = deque(each.report_id for each in self.outbox.waiting())
                    self._hand_in(session)
                case UploadCommitted(upload_id=upload_id, receipt=receipt):
                    self._settle(upload_id, receipt)
                    self._hand_in(session)
                case UploadRefused(upload_id=upload_id, code=code):
                    assert code not in SETTLED_ELSEWHERE, "an open report was refused for ever"
                    self._hand_in(session)
                case Closed(reason=reason):
                    assert reason != "busy", "the gateway's own answer failed"
                case SessionFailed():
                    pass
                case _:
                    raise AssertionError(f"unexpected {event}")
        return session.frames_to_send()

    def _hand_in(self, session: ClientSession) -> None:
        if not self._left:
            session.finish("done")
            return
        wanted = self._left.popleft()
        for waiting in self.outbox.waiting():
            if waiting.report_id == wanted:
                session.upload(waiting.report_id, waiting.body)

    def _settle(self, upload_id: bytes, receipt: bytes) -> None:
        if self.cloud is not None:
            assert self.cloud.holds(upload_id), "acknowledged before it was durable"
        assert receipt, "acknowledged without a receipt"
        self.receipts[upload_id] = receipt
        self.outbox.settle(upload_id)


# The gateway.


class _Slot:
    """One of the gateway's batchers, without the wait."""

    def __init__(self, ask: Callable[[list[Any]], list[Any]]) -> None:
        self._ask = ask

    async def submit(self, item: Any) -> Any:
        return self._ask([item])[0]


class _Registry:
    """One device: the phone of this model, or whoever enrols."""

    def __init__(self) -> None:
        self._public = PHONE.public

    def enrolments(self, wanted: list[Wanted]) -> list[str | EnrolmentRefused]:
        [one] = wanted
        self._public = one.public_key
        return [DEVICE]

    def lookups(self, device_ids: list[str]) -> list[Device | None]:
        return [Device(DEVICE, self._public, NOW, None) for _ in device_ids]


class Gateway:
    """One gateway process over a store; the core that its connections know.

    ``hazard`` is called with what is about to be written, and again when it is, and may kill;
    ``plan`` is what every phone is shown.
    """

    def __init__(
        self, store: Store, hazard: Callable[[str], None] = lambda what: None, plan: Plan = PLAN
    ) -> None:
        self._plan = plan
        self._store = store
        self._hazard = hazard
        self.timer = lambda: 0.0
        self.metrics = METRICS
        registry = _Registry()
        self.posts = None
        self.rations = Rations(Limits())
        self.enrolments = _Slot(registry.enrolments)
        self.lookups = _Slot(registry.lookups)
        self.known = _Slot(store.known)
        self.commits = _Slot(lambda rows: self._written("commit", store.commit, rows))

    def connect(self, nonce: bytes = bytes(32)) -> Connection:
        session = ServerSession(server_nonce=nonce, now=NOW, sign=CLOUD.sign)
        return Connection(cast(GatewayCore, self), session, NOW)

    def entered(self, device_id: str, connection: Connection) -> None: ...

    def spread(self, seconds: float) -> float:
        return seconds

    async def plan_for(self, proof: ProofOffered) -> Plan:
        return self._plan

    async def held_of(self, offer: Offer) -> bytes:
        return self._store.held([offer])[0]

    async def keep(self, piece: Piece) -> bool:
        return self._written("keep", self._store.append, [piece])[0]

    async def forget(self, offer: Offer) -> None:
        self._written("forget", self._store.drop, [offer])

    def _written(
        self, what: str, write: Callable[[Any], list[Result]], items: list[Any]
    ) -> list[Result]:
        self._hazard(f"before {what}")
        done = write(items)
        self._hazard(f"after {what}")
        return done


# The link.


def run_now(coroutine: Coroutine[Any, Any, Result]) -> Result:
    """The result of a coroutine that never waits."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        return cast(Result, done.value)
    raise AssertionError("something waits that should not")


class Session:
    """One connection from the first frame to the last, as the script has it."""

    def __init__(self, phone: Phone, store: Store, script: Script) -> None:
        self.phone: Phone | None = phone
        self.script = script
        self.frames = 0
        self.offsets: list[int] = []
        """Where the gateway asked for uploads to begin."""
        self.carried = 0
        """Bytes of bodies that went up."""
        self._gateway: Connection | None = Gateway(store, self._gateway_hazard).connect()
        self._up: deque[bytes] = deque()
        self._down: deque[bytes] = deque()
        self._lost: set[Direction] = set()
        phone.storage.before_write = self._phone_hazard
        self._send("up", phone.start())

    def run(self) -> Phone | None:
        """The phone when it is still there."""
        phone = self.phone
        while self.step():
            pass
        if phone is not None:
            phone.storage.before_write = None
        return self.phone

    def step(self) -> bool:
        """One event; False when nothing can happen any more."""
        moves = self._moves()
        if moves:
            self._make(self.script.choose(moves) if len(moves) > 1 else moves[0])
        return bool(moves)

    def _moves(self) -> list[str]:
        """What can happen now; nothing but a delivery keeps a session going."""
        ways: list[Direction] = []
        if self._up and self._gateway is not None:
            ways.append("up")
        if self._down and self.phone is not None:
            ways.append("down")
        if not ways:
            return []
        moves = [f"deliver:{way}" for way in ways]
        if not self.script.faults_left:
            return moves
        moves += [f"duplicate:{way}" for way in ways]
        moves += [f"lose {way}" for way in ways]
        if len(ways) > 1:
            moves.append("cut")
        if self.phone is not None:
            moves.append("kill phone")
        if self._gateway is not None:
            moves.append("kill gateway")
        return moves

    def _make(self, move: str) -> None:
        what, _, way = move.partition(":")
        match what:
            case "deliver":
                self._deliver(cast(Direction, way), again=False)
            case "duplicate":
                self._deliver(cast(Direction, way), again=True)
            case "lose up":
                self._lose("up")
            case "lose down":
                self._lose("down")
            case "cut":
                self._lose("up")
                self._lose("down")
            case "kill phone":
                # What it has sent is on its way; what comes for it is lost.
                self.phone = None
                self._lose("down")
            case "kill gateway":
                self._gateway = None
                self._lose("up")

    def _deliver(self, way: Direction, *, again: bool) -> None:
        queue = self._up if way == "up" else self._down
        frame = queue[0] if again else queue.popleft()
        self.frames += 1
        self._note(frame)
        try:
            if way == "up" and self._gateway is not None:
                self._send("down", run_now(self._gateway.receive(frame)))
            elif way == "down" and self.phone is not None:
                self._send("up", self.phone.receive(frame))
        except Killed:
            # What a frame made its receiver write is written, what it made it say is not.
            if way == "up":
                self._gateway = None
                self._lose("up")
            else:
                self.phone = None
                self._lose("down")

    def _note(self, frame: bytes) -> None:
        # A message's type is in its first bytes: only the few of interest are read.
        if b"upload_accept" in frame[:32]:
            message = wire.decode(frame)
            assert isinstance(message, UploadAccept)
            if not message.committed:
                self.offsets.append(message.offset)
        elif b"upload_chunk" in frame[:32]:
            message = wire.decode(frame)
            assert isinstance(message, UploadChunk)
            self.carried += len(message.data)

    def _send(self, way: Direction, frames: list[bytes]) -> None:
        if way not in self._lost:
            (self._up if way == "up" else self._down).extend(frames)

    def _lose(self, way: Direction) -> None:
        self._lost.add(way)
        (self._up if way == "up" else self._down).clear()

    def _gateway_hazard(self, what: str) -> None:
        self._may_die(f"gateway {what}")

    def _phone_hazard(self, what: str) -> None:
        self._may_die(f"phone before {what}")

    def _may_die(self, where: str) -> None:
        if self.script.faults_left and self.script.choose(["live", f"die:{where}"]) != "live":
            raise Killed
