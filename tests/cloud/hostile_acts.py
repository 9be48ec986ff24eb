"""What hostile peers do, as acts on a `House`: each gives what its peer was told."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import msgpack
from yarl import URL

from protocol.messages import Hello, Prove, UploadBegin, UploadChunk
from protocol.session import FetchRefused, UploadRefused
from tests.cloud.hostile import House
from tests.cloud.world import Phone

Act = Callable[[House], Awaitable[str]]

HELLO = Hello(versions=(1, 2), device_id="x", client_nonce=bytes(32))
UPLOAD = b"b" * 16


@dataclass(frozen=True)
class Case:
    """A hostile act, what its peer is told, and under which code it is counted."""

    name: str
    act: Act
    told: str
    counted: str = ""

    @property
    def code(self) -> str:
        """By default what the peer was told."""
        return self.counted or self.told


def first_frame(frame: bytes) -> Act:
    """A stranger's first frame."""

    async def act(home: House) -> str:
        async with home.knock() as guest:
            await guest.send(frame)
            return await guest.refusal()

    return act


def open_frame(frame: bytes) -> Act:
    """A frame of a phone that has its plan."""

    async def act(home: House) -> str:
        async with home.visit(home.bad) as guest:
            await guest.send(frame)
            return await guest.refusal()

    return act


def whole_upload(make: Callable[[House], bytes], kind: str = "report") -> Act:
    """A whole upload of a phone that has its plan."""

    async def act(home: House) -> str:
        async with home.visit(home.bad) as guest:
            assert guest.session is not None
            guest.session.upload(UPLOAD, make(home), kind)  # type: ignore[arg-type]
            refused = await guest.until(UploadRefused)
            assert isinstance(refused, UploadRefused)
            return refused.code

    return act


def fetch(model: str, version: int, base: int) -> Act:
    async def act(home: House) -> str:
        async with home.visit(home.bad) as guest:
            assert guest.session is not None
            guest.session.fetch(model, version, base, 10)
            refused = await guest.until(FetchRefused)
            assert isinstance(refused, FetchRefused)
            return refused.code

    return act


def packed_hello(**changes: object) -> bytes:
    return bytes(msgpack.packb(HELLO.model_dump() | changes))


def proof_with(**changes: object) -> Act:
    """What a phone says it has."""

    async def act(home: House) -> str:
        async with home.knock() as guest:
            await guest.send(HELLO.model_copy(update={"device_id": home.bad.device_id}))
            await guest.answer()
            fields: dict[str, object] = {"type": "prove", "signature": bytes(64), "have": {}}
            await guest.send(bytes(msgpack.packb(fields | changes)))
            return await guest.refusal()

    return act


def begin(size: int, kind: str = "report") -> bytes:
    fields = {"type": "upload_begin", "upload_id": UPLOAD, "kind": kind, "size": size}
    return bytes(msgpack.packb(fields | {"sha256": bytes(32)}))


async def longer_than_announced(home: House) -> str:
    async with home.visit(home.bad) as guest:
        begin = UploadBegin(upload_id=UPLOAD, kind="report", size=10, sha256=bytes(32))
        await guest.send(begin)
        await guest.answer()
        await guest.send(UploadChunk(upload_id=UPLOAD, offset=0, data=bytes(11)))
        return await guest.refusal()


async def _raw(home: House, request: bytes) -> str:
    """The status that bytes on a bare connection are answered with."""
    reader, writer = await asyncio.open_connection("127.0.0.1", home.port)
    writer.write(request)
    await writer.drain()
    _, status, *_ = (await reader.readline()).decode().split()
    writer.close()
    return status


def http(request: bytes) -> Act:
    return lambda home: _raw(home, request)


UPGRADE = (
    b"GET /v1/session HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
)


async def text_frame(home: House) -> str:
    async with home.knock() as guest:
        await guest.socket.send_str("hello")
        return await guest.refusal()


async def broken_websocket(home: House) -> str:
    """A reserved bit in a frame's head: no WebSocket at all."""
    reader, writer = await asyncio.open_connection("127.0.0.1", home.port)
    writer.write(UPGRADE + b"\r\n")
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"\xf2\x80\x00\x00\x00\x00")
    close = await reader.readexactly(4)
    writer.close()
    return f"closed with {int.from_bytes(close[2:], 'big')}"


def spoilt_report(change: Callable[[bytearray], object]) -> Callable[[House], bytes]:
    def make(home: House) -> bytes:
        # A gate makes no second report of a round: this phone has lost its ledger.
        body = bytearray(home.report_of(Phone(1)))
        change(body)
        return bytes(body)

    return make


def shorter_share(body: bytearray) -> None:
    """A share of another length, and a head that says so."""
    size = int.from_bytes(body[29:33], "little") - 8
    body[29:33] = size.to_bytes(4, "little")
    del body[-8:]


def shorter_seed(body: bytearray) -> None:
    size = int.from_bytes(body[33:35], "little") - 1
    body[33:35] = size.to_bytes(2, "little")
    del body[35]


def outside_the_field(body: bytearray) -> None:
    body[-8:] = b"\xff" * 8


def named(device_id: str) -> Act:
    async def act(home: House) -> str:
        async with home.knock() as guest:
            await guest.send(HELLO.model_copy(update={"device_id": device_id}))
            await guest.answer()
            await guest.send(Prove(signature=bytes(64), have={}))
            return await guest.refusal()

    return act


def numbered(body: bytearray, number: int) -> None:
    body[5:13] = number.to_bytes(8, "little")


def page(path: str, body: bytes | None = None, kind: str = "application/json") -> Act:
    """A request of an operator."""

    async def act(home: House) -> str:
        headers = {"Authorization": f"Bearer {home.token}", "Content-Type": kind}
        method = "GET" if body is None else "POST"
        address = URL(home.url + path, encoded=True)
        async with home.http.request(method, address, data=body, headers=headers) as answer:
            await answer.read()
            return str(answer.status)

    return act
