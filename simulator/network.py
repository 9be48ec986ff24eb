"""The virtual network between a phone and the gateway: latency, cuts, and every byte counted.

Frames travel over the gateway's own sans-socket core, so both ends run their real session code.
Byte counts add what a WebSocket over TLS 1.3 over TCP/IPv4 would add: the constants below are
typical sizes, stated so that a reader may disagree with them.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from device.actors import Clock
from device.sync.channel import ChannelClosed, CloudUnreachable

__all__ = ["Faults", "Gateway", "GatewayConnection", "Network", "Tap", "Traffic"]

_TLS_RECORD = 22
"""Bytes: record header 5, content type 1, tag 16."""
_TCP_IP = 52
"""Bytes per segment: IPv4 20, TCP 20, timestamps 12. Also the size of a bare acknowledgement."""
_SEGMENT = 1_400
"""Payload bytes of one segment."""
_WS_SHORT, _WS_LONG_LENGTH, _WS_MASK = 2, 2, 4
_WS_SHORT_LIMIT = 125
_SETUP_UP = 1_150
"""Bytes a phone sends to open a connection: TCP, TLS 1.3 and the HTTP upgrade."""
_SETUP_DOWN = 3_450
"""Bytes it receives: the same, with a certificate chain."""


class GatewayConnection(Protocol):
    """One session at the gateway: `cloud.gateway.core.Connection`."""

    @property
    def closed(self) -> bool:
        """Whether the gateway has ended the session."""

    async def receive(self, frame: bytes) -> list[bytes]:
        """Take one frame; the frames to send back."""


class Gateway(Protocol):
    """`cloud.gateway.core.GatewayCore`."""

    def open_session(self, now: float) -> GatewayConnection:
        """A fresh session that begins at unix time `now`."""


class Tap(Protocol):
    """Sees every frame as it leaves its sender."""

    def uplink(self, frame: bytes, at: float) -> None:
        """The phone sent `frame` at unix time `at`."""

    def downlink(self, frame: bytes, at: float) -> None:
        """The cloud sent `frame` at unix time `at`."""


@dataclass(frozen=True)
class Faults:
    """How the network behaves. Latency is one way, lognormal, per frame."""

    latency_median: float = 0.025
    """Seconds; MobiPerf's phones ping in 51 ms over Wi-Fi."""
    latency_spread: float = 0.6
    """Standard deviation of the logarithm."""
    bytes_per_second: float = 400_000.0
    """TCP throughput of a middling Wi-Fi link (MobiPerf: 3.2 Mbit/s)."""
    unreachable: float = 0.02
    """Probability that no connection comes about."""
    cut: float = 0.004
    """Probability that the connection breaks at a given frame, before or after it arrived."""


@dataclass(slots=True)
class Traffic:
    """What one phone's connections carried, in bytes on the wire, and how they ended."""

    up: int = 0
    down: int = 0
    sessions: int = 0
    cuts: int = 0
    unreachable: int = 0


class Network:
    """One phone's way to the gateway."""

    def __init__(
        self, gateway: Gateway, clock: Clock, rng: np.random.Generator, faults: Faults, tap: Tap
    ) -> None:
        self.traffic = Traffic()
        self._gateway, self._clock, self._rng = gateway, clock, rng
        self._faults, self._tap = faults, tap

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[_Channel]:
        """Open a channel to the cloud. Raises CloudUnreachable."""
        # TCP, TLS and the upgrade take three round trips.
        await self._clock.sleep(sum(self._latency() for _ in range(6)))
        if self._rng.random() < self._faults.unreachable:
            self.traffic.unreachable += 1
            raise CloudUnreachable("the virtual network is down")
        self.traffic.sessions += 1
        self.traffic.up += _SETUP_UP
        self.traffic.down += _SETUP_DOWN
        channel = _Channel(self, self._gateway.open_session(self._clock.now()))
        try:
            yield channel
        finally:
            channel.cut()

    async def carry(self, size: int) -> None:
        """Let a frame of `size` bytes travel. Raises ChannelClosed when the connection breaks."""
        await self._clock.sleep(self._latency() + size / self._faults.bytes_per_second)

    def breaks(self) -> bool:
        """Whether this frame is the one at which the connection breaks."""
        broken = bool(self._rng.random() < self._faults.cut)
        self.traffic.cuts += broken
        return broken

    def sent(self, frame: bytes) -> None:
        """The phone put `frame` on the wire."""
        self._tap.uplink(frame, self._clock.now())
        self.traffic.up += _wire_bytes(len(frame), masked=True)
        self.traffic.down += _TCP_IP

    def answered(self, frame: bytes) -> None:
        """The gateway put `frame` on the wire."""
        self._tap.downlink(frame, self._clock.now())
        self.traffic.down += _wire_bytes(len(frame), masked=False)
        self.traffic.up += _TCP_IP

    def _latency(self) -> float:
        normal = self._rng.standard_normal() * self._faults.latency_spread
        return float(self._faults.latency_median * np.exp(normal))


class _Channel:
    """One connection; a frame is processed by the gateway when it arrives there."""

    def __init__(self, network: Network, connection: GatewayConnection) -> None:
        self._network = network
        self._connection = connection
        self._inbox: deque[bytes] = deque()
        self._arrived = asyncio.Event()
        self._broken = False

    async def send(self, frame: bytes) -> None:
        """Carry one frame to the gateway and collect its answers. Raises ChannelClosed."""
        self._check()
        self._network.sent(frame)
        await self._network.carry(len(frame))
        if self._network.breaks():
            self._break()
        if self._connection.closed:
            return
        answers = await self._connection.receive(frame)
        for answer in answers:
            self._network.answered(answer)
        if self._network.breaks():
            self._break()
        self._inbox.extend(answers)
        self._arrived.set()

    async def receive(self) -> bytes:
        """The next frame from the gateway, after its journey. Raises ChannelClosed."""
        while not self._inbox:
            self._check()
            if self._connection.closed:
                raise ChannelClosed("the gateway closed the connection")
            self._arrived.clear()
            await self._arrived.wait()
        frame = self._inbox.popleft()
        await self._network.carry(len(frame))
        return frame

    def cut(self) -> None:
        """Nothing passes any more."""
        self._broken = True
        self._arrived.set()

    def _break(self) -> None:
        self.cut()
        raise ChannelClosed("the connection broke")

    def _check(self) -> None:
        if self._broken:
            raise ChannelClosed("the connection broke")


def _wire_bytes(payload: int, *, masked: bool) -> int:
    """Bytes on the wire for one WebSocket frame of `payload` bytes."""
    header = _WS_SHORT + (_WS_LONG_LENGTH if payload > _WS_SHORT_LIMIT else 0)
    body = payload + header + (_WS_MASK if masked else 0) + _TLS_RECORD
    return body + _TCP_IP * -(-body // _SEGMENT)
