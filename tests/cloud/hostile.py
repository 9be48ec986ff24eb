"""A gateway on a real socket, a healthy phone in the middle of its upload, and a hostile peer."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import WSMsgType, web
from sqlalchemy import select

from cloud.actors.runtime import InProcessRuntime
from cloud.admin.desk import Desk
from cloud.admin.operators import Operators
from cloud.gateway.app import Root, make_app
from cloud.gateway.limits import Limits, Rations
from cloud.gateway.listening import IDLE_SECONDS, make_runner
from cloud.randomness import SeededBits
from cloud.service import Cloud
from cloud.storage.tables import CLOUD
from protocol.messages import (
    Bye,
    Challenge,
    Message,
    Refusal,
    UploadAck,
    UploadBegin,
    UploadChunk,
)
from protocol.session import ClientSession, Enrolled, Event, PlanReceived
from protocol.wire import decode, encode
from tests.cloud.conftest import running
from tests.cloud.world import DAY, START, Phone, descriptors, usage_answers

__all__ = ["Guest", "House", "Rows", "house"]

Rows = dict[str, set[str]]
"""Table -> its rows."""


@dataclass
class Guest:
    """One socket to the gateway, and the session of a phone on it."""

    socket: aiohttp.ClientWebSocketResponse
    session: ClientSession | None = None
    events: list[Event] = field(default_factory=list)
    sent: list[bytes] = field(default_factory=list)
    """What a recorder on the line would have."""

    async def send(self, *frames: bytes | Message) -> None:
        """Frames as they are, or messages."""
        for frame in frames:
            data = frame if isinstance(frame, bytes) else encode(frame)
            self.sent.append(data)
            await self.socket.send_bytes(data)

    async def answer(self) -> Message | int:
        """The next message of the gateway, or the code it closed with."""
        said = await self.socket.receive()
        if said.type is WSMsgType.BINARY:
            return decode(said.data)
        assert said.type in (WSMsgType.CLOSE, WSMsgType.CLOSED, WSMsgType.CLOSING), said
        return int(self.socket.close_code or 0)

    async def refusal(self) -> str:
        """The code of the refusal that comes, or "closed with CODE"; answers before it do not
        count."""
        while True:
            match await self.answer():
                case Refusal(code=code):
                    return code
                case int(code):
                    return f"closed with {code}"
                case Bye(reason=reason):
                    return reason

    async def acknowledged(self) -> UploadAck:
        """The next message, which says what the gateway has."""
        said = await self.answer()
        assert isinstance(said, UploadAck), said
        return said

    async def until(self, kind: type[Event]) -> Event:
        """Drive the phone's session until such an event comes."""
        assert self.session is not None
        while True:
            for event in self.events:
                if isinstance(event, kind):
                    self.events.remove(event)
                    return event
            await self.send(*self.session.frames_to_send())
            said = await self.socket.receive()
            assert said.type is WSMsgType.BINARY, (kind, said, self.events)
            self.events += self.session.receive(said.data)

    async def upload(self, upload_id: bytes, body: bytes, kind: type[Event]) -> Event:
        """Hand a report in, up to such an event."""
        assert self.session is not None
        self.session.upload(upload_id, body)
        return await self.until(kind)


class House:
    """A cloud with its gateway on loopback, an enrolled phone that will be bad, and an operator."""

    def __init__(self, cloud: Cloud, http: aiohttp.ClientSession, url: str, port: int) -> None:
        self.cloud, self.http, self.url, self.port = cloud, http, url, port
        self.core = cloud.endpoint()
        self.clock = START
        """What the cloud takes for the time, unix seconds."""
        self.bad = Phone(1)
        self._healthy = (Phone(number) for number in count(1_000))
        self.token = ""

    # What is seen.

    def refusals(self) -> dict[str, float]:
        """Code -> how often it was counted."""
        found = {}
        for line in self.cloud.metrics.exposition().decode().splitlines():
            if line.startswith("reverie_refusals_total{"):
                code, value = line.removeprefix('reverie_refusals_total{code="').split('"} ')
                found[code] = float(value)
        return found

    def rows(self) -> Rows:
        """Every row of every table."""
        with self.cloud.database.read() as connection:
            return {
                table.name: {repr(tuple(row)) for row in connection.execute(select(table))}
                for table in CLOUD.sorted_tables
            }

    # Who comes.

    @asynccontextmanager
    async def knock(self, session: ClientSession | None = None) -> AsyncIterator[Guest]:
        """A socket, and maybe a session to drive on it."""
        address = f"{self.url}/v1/session"
        async with self.http.ws_connect(address, max_msg_size=0, autoping=False) as socket:
            yield Guest(socket, session)

    @asynccontextmanager
    async def visit(self, phone: Phone, token: str = "") -> AsyncIterator[Guest]:
        """A phone up to its plan; with a token when enrolment is not open."""
        async with self.knock(phone.session(token)) as guest:
            plan = await guest.until(PlanReceived)
            for event in guest.events:
                if isinstance(event, Enrolled):
                    phone.device_id = event.device_id
            assert isinstance(plan, PlanReceived)
            phone.plan = plan
            yield guest

    async def enrol(self, phone: Phone, token: str = "") -> None:
        """Enrol a phone, which then leaves."""
        async with self.visit(phone, token):
            pass

    def report_of(self, phone: Phone, choice: int = 0) -> bytes:
        """A usage report through the phone's own privacy gate."""
        usage = descriptors(self.core, self.cloud.public_key)["usage"]
        return phone.report(usage, usage_answers(choice))

    @asynccontextmanager
    async def undisturbed(self, lasting: tuple[str, ...] = ()) -> AsyncIterator[None]:
        """Around a hostile act: another phone is halfway through its report when it begins, hands
        in the rest afterwards, is acknowledged and counted once; and that report is all that the
        database has more, in tables other than those of `lasting`."""
        good = next(self._healthy)
        await self.enrol(good, await self.cloud.issue_token(self.clock))
        before, reports = self.rows(), self.cloud.metrics.value("reverie_reports_total")
        body = self.report_of(good)
        async with self.visit(good) as guest:
            rest = await _half(guest, good.bits(16), body)
            yield
            await guest.send(rest)
            while not (last := await guest.acknowledged()).committed:
                assert last.offset == len(body)
        after = self.rows()
        for table in before.keys() - {"uploads", *lasting}:
            assert after[table] == before[table], table
        (own,) = after["uploads"] - before["uploads"]
        assert good.device_id in own
        assert before["uploads"] <= after["uploads"]
        assert self.cloud.metrics.value("reverie_reports_total") - reports == 1
        text = self.cloud.metrics.exposition().decode()
        assert good.device_id not in text
        assert not self.bad.device_id or self.bad.device_id not in text


async def _half(guest: Guest, upload_id: bytes, body: bytes) -> Message:
    """Hand in the first half of a report; gives the message with the rest."""
    digest = sha256(body).digest()
    begin = UploadBegin(upload_id=upload_id, kind="report", size=len(body), sha256=digest)
    middle = len(body) // 2
    first = UploadChunk(upload_id=upload_id, offset=0, data=body[:middle])
    await guest.send(begin)
    await guest.answer()
    await guest.send(first)
    held = await guest.acknowledged()
    assert held.offset == middle
    return UploadChunk(upload_id=upload_id, offset=middle, data=body[middle:])


@asynccontextmanager
async def house(
    state: Path,
    limits: Limits | None = None,
    *,
    idle_seconds: float = IDLE_SECONDS,
    **settings: Any,
) -> AsyncIterator[House]:
    """A running one; `limits` bound what a phone may take, `settings` are the cloud's."""
    runtime = InProcessRuntime(inline=True)
    async with running(state, runtime, **settings) as cloud:
        core = cloud.endpoint()
        if limits is not None:
            core.rations = Rations(limits)
        made: list[House] = []
        clock: Callable[[], float] = lambda: made[0].clock if made else START  # noqa: E731
        root = Root(cloud.public_key, "demo", open_enrolment=True, root_sha256=cloud.root_sha256)
        desk = Desk(cloud.config, cloud.metrics, clock, SeededBits(9, "desk"), open_metrics=True)
        app = make_app(core, root, clock, cloud.transparency, admin=desk)
        runner = make_runner(app, cloud.metrics, idle_seconds=idle_seconds)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        port = runner.addresses[0][1]
        async with aiohttp.ClientSession() as http:
            home = House(cloud, http, f"http://127.0.0.1:{port}", port)
            made.append(home)
            bits = SeededBits(8, "token")
            home.token = Operators(desk.database).add("root", "operator", START, 30 * DAY, bits)
            await home.enrol(home.bad, await cloud.issue_token(START))
            yield home
        await runner.cleanup()
    await runtime.stop()


def challenged(said: Message | int) -> bytes:
    """The nonce of a challenge."""
    assert isinstance(said, Challenge), said
    return said.server_nonce
