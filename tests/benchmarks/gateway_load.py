"""The load that the gateway's benchmark makes: phones as bare protocol machines, so that the
generator costs less than what it measures.

A phone here opens a socket, upgrades, speaks its frames and says goodbye. The same class plays
the phone of the cloud (hello, proof, upload, wait for the durable ack) and of the echo.
"""

from __future__ import annotations

import asyncio
import os
import ssl
import struct
import time
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from typing import cast

import msgpack

from cloud.actors.registry import device_id_of
from protocol.identity import proof_transcript
from protocol.messages import VERSIONS, Bye, Hello, Prove, UploadBegin, UploadChunk
from protocol.update import Report, decode_report, encode_report
from protocol.wire import encode
from tests.benchmarks.gateway_server import device_key
from tests.cloud.world import raw_report

__all__ = [
    "Caller",
    "EchoPhone",
    "Phone",
    "Script",
    "Target",
    "at_once",
    "at_rate",
    "held",
    "settled",
]

HANDSHAKE = (
    b"GET /v1/session HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\n"
    b"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)
BINARY, CLOSE, PING, PONG = 0x82, 0x88, 0x89, 0x8A
MASKED = 0x80
NO_MASK = bytes(4)
"""A masking key of zeros: the server does the work of unmasking, the generator none."""
LONG = 126
GOODBYE = struct.pack(">H", 1000)


@dataclass(frozen=True)
class Target:
    """Where phones connect."""

    port: int
    tls: ssl.SSLContext | None = None
    binding: bytes = b""
    """SHA-256 of the certificate that serves it."""


@dataclass
class Script:
    """What one session came to, for the echo to do as much: turns of (bytes up, answers down)."""

    turns: list[tuple[int, list[int]]] = field(default_factory=list)


def framed(opcode: int, payload: bytes) -> bytes:
    """A client's WebSocket frame."""
    size = len(payload)
    if size < LONG:
        return bytes((opcode, MASKED | size)) + NO_MASK + payload
    if size < 1 << 16:
        return bytes((opcode, MASKED | LONG)) + size.to_bytes(2, "big") + NO_MASK + payload
    return bytes((opcode, MASKED | 127)) + size.to_bytes(8, "big") + NO_MASK + payload


class Caller(asyncio.Protocol):
    """A WebSocket client of few features: `heard` gets each binary message."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self.proven: asyncio.Future[None] = loop.create_future()
        """Done once the session is open."""
        self.done: asyncio.Future[None] = loop.create_future()
        """Done once the socket is closed."""
        self._buffer = bytearray()
        self._upgraded = False
        self._transport: asyncio.Transport | None = None

    def begin(self) -> None:
        """The socket is open; speak first."""
        raise NotImplementedError

    def heard(self, payload: bytes) -> None:
        """One message of the server."""
        raise NotImplementedError

    def say(self, payload: bytes) -> None:
        """Send one message."""
        assert self._transport is not None
        self._transport.write(framed(BINARY, payload))

    def hang_up(self) -> None:
        """Close in good order; `done` once the server has answered."""
        assert self._transport is not None
        self._transport.write(framed(CLOSE, GOODBYE))

    def drop(self) -> None:
        """Close the socket at once."""
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.write(HANDSHAKE)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if not self._upgraded:
            end = self._buffer.find(b"\r\n\r\n")
            if end < 0:
                return
            if not self._buffer.startswith(b"HTTP/1.1 101"):
                self._fail(f"the server said {bytes(self._buffer[:80])!r}")
                return
            del self._buffer[: end + 4]
            self._upgraded = True
            self.begin()
        self._frames()

    def _frames(self) -> None:
        buffer = self._buffer
        while len(buffer) >= 2:
            size, start = buffer[1], 2
            if size == LONG:
                size, start = int.from_bytes(buffer[2:4], "big"), 4
            elif size > LONG:
                size, start = int.from_bytes(buffer[2:10], "big"), 10
            if len(buffer) < start + size:
                return
            opcode, payload = buffer[0], bytes(buffer[start : start + size])
            del buffer[: start + size]
            if opcode == BINARY:
                self.heard(payload)
            elif opcode == PING:
                assert self._transport is not None
                self._transport.write(framed(PONG, payload))
            elif opcode == CLOSE and self._transport is not None:
                self._transport.close()

    def connection_lost(self, error: Exception | None) -> None:
        if not self.proven.done():
            self._fail("the server hung up")
        if not self.done.done():
            self.done.set_result(None)

    def _fail(self, why: str) -> None:
        for waited in (self.proven, self.done):
            if not waited.done():
                waited.set_exception(ConnectionError(why))
        self.drop()


class Phone(Caller):
    """A phone of the cloud: proves its key and uploads one report.

    Args:
        number: which of the enrolled phones.
        binding: SHA-256 of the certificate it sees.
        stays: whether it is idle once it is proven; else it uploads and leaves.
    """

    def __init__(self, number: int, *, binding: bytes = b"", stays: bool = False) -> None:
        super().__init__()
        self._key, self._binding, self._stays = device_key(number), binding, stays
        self._device = device_id_of(self._key.public)
        self._nonce = os.urandom(32)
        self._body = b"" if stays else report(number)
        self._id = number.to_bytes(16, "big")
        self.acknowledged = float("nan")
        """Seconds from the last byte of the upload to its durable acknowledgement."""
        self.script = Script()
        self._sent = 0.0

    def begin(self) -> None:
        self.say(encode(Hello(versions=VERSIONS, device_id=self._device, client_nonce=self._nonce)))

    def say(self, payload: bytes) -> None:
        self.script.turns.append((len(payload), []))
        super().say(payload)

    def heard(self, payload: bytes) -> None:
        self.script.turns[-1][1].append(len(payload))
        message = msgpack.unpackb(payload)
        match message["type"]:
            case "challenge":
                self._prove(message)
            case "plan":
                self._planned()
            case "upload_accept":
                self.say(encode(UploadChunk(upload_id=self._id, offset=0, data=self._body)))
                self._sent = time.perf_counter()
            case "upload_ack":
                self._acked(message["committed"])
            case other:
                self._fail(f"unexpected {other}: {message}")

    def _prove(self, challenge: dict[str, bytes]) -> None:
        transcript = proof_transcript(
            VERSIONS[-1], self._device, self._nonce, challenge["server_nonce"], self._binding
        )
        have = {"dedup": 1, "router": 1}
        self.say(encode(Prove(signature=self._key.sign(transcript), have=have)))

    def _planned(self) -> None:
        if not self.proven.done():
            self.proven.set_result(None)
        if not self._stays:
            digest = sha256(self._body).digest()
            size = len(self._body)
            self.say(
                encode(UploadBegin(upload_id=self._id, kind="report", size=size, sha256=digest))
            )

    def _acked(self, committed: bool) -> None:
        if committed:
            self.acknowledged = time.perf_counter() - self._sent
            self.say(encode(Bye(reason="done")))
            self.hang_up()


class EchoPhone(Caller):
    """As many messages of the same sizes, both ways, as a session with the cloud."""

    def __init__(self, script: Script, *, stays: bool = False) -> None:
        super().__init__()
        self._turns = iter(script.turns)
        self._expected = 0
        self._stays = stays

    def begin(self) -> None:
        self.proven.set_result(None)
        if not self._stays:
            self._next()

    def heard(self, payload: bytes) -> None:
        self._expected -= 1
        if self._expected == 0:
            self._next()

    def _next(self) -> None:
        for size, answers in self._turns:
            head = bytes([len(answers)]) + b"".join(n.to_bytes(2, "big") for n in answers)
            self.say(head.ljust(size, b"\0"))
            self._expected = len(answers)
            if answers:
                return
        self.hang_up()


def report(number: int) -> bytes:
    """A distinct, well-formed usage report."""
    plain = decode_report(raw_report())
    report_id = number.to_bytes(16, "big")
    return encode_report(Report(plain.task, plain.round, report_id, plain.share, plain.sealed_seed))


async def connected(caller: Caller, target: Target) -> None:
    """Connect `caller`; it speaks first."""
    loop = asyncio.get_running_loop()
    name = None if target.tls is None else "localhost"
    await loop.create_connection(
        lambda: caller, "127.0.0.1", target.port, ssl=target.tls, server_hostname=name
    )


async def settled(caller: Caller, target: Target) -> None:
    """Connect `caller` and see its session through."""
    await connected(caller, target)
    await caller.done
    caller.proven.result()


async def at_once(callers: Iterable[Callable[[], Caller]], target: Target, most: int) -> float:
    """See every session through, `most` at a time; gives the seconds it took."""
    waiting = iter(callers)

    async def line() -> None:
        for make in waiting:
            await settled(make(), target)

    begun = time.perf_counter()
    await asyncio.gather(*(line() for _ in range(most)))
    return time.perf_counter() - begun


async def at_rate(
    callers: Iterable[Callable[[], Caller]], target: Target, per_second: float
) -> None:
    """Begin sessions at a steady rate, however long each takes, and see them through."""
    loop = asyncio.get_running_loop()
    begun, running = loop.time(), []
    for number, make in enumerate(callers):
        await asyncio.sleep(max(0.0, begun + number / per_second - loop.time()))
        running.append(asyncio.ensure_future(settled(make(), target)))
    await asyncio.gather(*running)


@asynccontextmanager
async def held(callers: Sequence[Caller], target: Target, most: int) -> AsyncIterator[float]:
    """Open sessions, `most` at a time, and hold them; gives the seconds until the last was open."""
    waiting = iter(callers)

    async def line() -> None:
        for caller in waiting:
            await connected(caller, target)
            await caller.proven

    begun = time.perf_counter()
    await asyncio.gather(*(line() for _ in range(most)))
    try:
        yield time.perf_counter() - begun
    finally:
        for caller in callers:
            caller.drop()
        await asyncio.wait([caller.done for caller in callers])
