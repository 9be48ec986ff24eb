"""A gateway over actors that only remember: for tests of sessions, not of what is learnt."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from cloud.actors.intake import COMMITTED, Outcome, UploadRow
from cloud.actors.mailbox import Mailbox
from cloud.actors.partials import Partials
from cloud.actors.registry import Registry
from cloud.gateway.core import Connection, GatewayCore, Snapshot
from cloud.gateway.limits import Limits
from cloud.randomness import SeededBits
from cloud.releases.showing import Showing
from protocol.identity import DeviceKey, SigningKey
from protocol.session import ClientSession, EnrolRequest, Event, PlanReceived
from tests.cloud.world import START, sqlite

CLOUD_KEY = SigningKey(b"k" * 32)
BLOB = bytes(range(256)) * 100


class Inbox:
    """Takes every report once."""

    def __init__(self) -> None:
        self.bodies: dict[bytes, bytes] = {}

    def known(self, offers: Sequence[tuple[str, bytes]]) -> list[bytes | None]:
        return [b"receipt" if upload_id in self.bodies else None for _, upload_id in offers]

    def newest(self, device_ids: Sequence[str]) -> list[list[bytes]]:
        return [[] for _ in device_ids]

    def commit(self, rows: Sequence[UploadRow]) -> list[Outcome]:
        for row in rows:
            assert row.upload_id not in self.bodies
            self.bodies[row.upload_id] = row.body
        return [Outcome(COMMITTED, receipt=b"receipt") for _ in rows]


class Shelf:
    """One blob under any name; open rounds and releases are nobody's concern here."""

    def blob(self, model: str, version: int, base: int) -> bytes | None:
        return BLOB if version == 1 else None


class Direct:
    """An actor called directly; `broken` methods raise."""

    def __init__(self, actor: Any) -> None:
        self.actor = actor
        self.broken: set[str] = set()

    async def ask(self, method: str, *args: Any) -> Any:
        if method in self.broken:
            raise OSError("disk full")
        return getattr(self.actor, method)(*args)

    def tell(self, method: str, *args: Any) -> None:
        raise NotImplementedError


class World:
    """The gateway, what it keeps, and phones that are enrolled."""

    def __init__(self, folder: Path, limits: Limits | None = None) -> None:
        url = sqlite(folder)
        self.inbox = Inbox()
        self.registry = Registry(url, open_enrolment=True)
        self.partials = Direct(Partials(url))
        self.mailbox = Direct(Mailbox(url))
        shelf = Direct(Shelf())
        self.bits = SeededBits(3, "gateway")
        self.core = GatewayCore(
            Direct(self.registry),
            Direct(self.inbox),
            shelf,
            shelf,
            self.bits,
            sign=CLOUD_KEY.sign,
            partials=self.partials,
            mailbox=self.mailbox,
            library=shelf,
            revisit=600.0,
            limits=limits,
        )
        self.core.snapshot = Snapshot(
            (b"round",), Showing(newest=(("router", 1, b"manifest"),)), (("knowledge/x", 1, b"x"),)
        )

    def phone(self, number: int = 1) -> Caller:
        key = DeviceKey.generate(SeededBits(number, "phone"))
        device_id = self.registry.enrol("open", key.public, START)
        return Caller(self, key, device_id)

    def close(self) -> None:
        self.registry.close()
        self.partials.actor.close()
        self.mailbox.actor.close()


class Caller:
    """A phone that calls the gateway."""

    def __init__(self, world: World, key: DeviceKey, device_id: str) -> None:
        self.world, self.key, self.device_id = world, key, device_id
        self.have: dict[str, int] = {}

    async def call(self, now: float = START, **changes: Any) -> Call:
        """A session up to its plan or its end."""
        fields: dict[str, Any] = {
            "device_id": self.device_id,
            "sign": self.key.sign,
            "client_nonce": self.world.bits(32),
            "have": self.have,
            "cloud_key": CLOUD_KEY.public,
        }
        client = ClientSession(**(fields | changes))
        call = Call(client, self.world.core.open_session(now))
        client.start()
        call.events = await call.exchange()
        return call

    def enrolling(self) -> dict[str, Any]:
        return {"device_id": "", "enrol": EnrolRequest("open", self.key.public)}


class Call:
    """One session, wired straight."""

    def __init__(self, client: ClientSession, server: Connection) -> None:
        self.client, self.server = client, server
        self.events: list[Event] = []
        self.delivered: list[bytes] = []
        """The client's frames that arrived."""

    @property
    def plan(self) -> PlanReceived:
        (plan,) = [event for event in self.events if isinstance(event, PlanReceived)]
        return plan

    async def exchange(self, frames: int = 1_000) -> list[Event]:
        """Carry frames until neither end has more to say, or `frames` of the client's passed."""
        events: list[Event] = []
        while waiting := self.client.frames_to_send():
            for frame in waiting:
                if frames == 0:
                    return events
                frames -= 1
                self.delivered.append(frame)
                for answer in await self.server.receive(frame):
                    events += self.client.receive(answer)
        return events


def upload_id(body: bytes) -> bytes:
    """An id for a body."""
    return sha256(body).digest()[:16]


Make = Callable[..., World]
