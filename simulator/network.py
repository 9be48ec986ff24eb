"""The virtual network between a phone and the gateway: latency, faults, and every byte counted.

Frames travel over the gateway's own sans-socket core, so both ends run their real session code.
Byte counts add what a WebSocket over TLS 1.3 over TCP/IPv4 would add: the constants below are
typical sizes, stated so that a reader may disagree with them. What may go wrong on the way is in
`faults/network.py`.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from device.actors import Clock
from device.sync.channel import ChannelClosed, CloudUnreachable
from simulator.faults.cloud import Spans
from simulator.faults.dice import Dice
from simulator.faults.network import (
    LINK,
    Link,
    Route,
    Trouble,
    frame_trouble,
    old_hello,
    partitions,
    way_to_cloud,
)
from simulator.faults.plan import FaultPlan
from simulator.faults.process import apart
from simulator.faults.uploads import uploads_of

__all__ = ["Gateway", "GatewayConnection", "Network", "Tap", "Traffic"]

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
KEEPALIVE_SECONDS = 40.0
"""After so long without an answer to its pings a WebSocket client gives up: every 20 s one, which
is waited for as long (websockets' defaults)."""
_GOODBYE = 0.5
"""Share of gateways that end their sessions in good order before they restart."""
_BACK_SOON = 60.0
"""Seconds they ask phones to stay away."""
_NEVER = Spans()
_RETOLD = ("duplication", "malicious_phone")
"""Faults for which the frames of the last session are remembered."""
_NEWER_HAS_BEGUN = 3
"""Frames of a session after which frames of an older one count as late."""


class GatewayConnection(Protocol):
    """One session at the gateway: `cloud.gateway.core.Connection`."""

    @property
    def closed(self) -> bool:
        """Whether the gateway has ended the session."""

    async def receive(self, frame: bytes) -> list[bytes]:
        """Take one frame; the frames to send back."""

    def finish(self, reason: str, retry_after: float = 0.0) -> list[bytes]:
        """End the session in good order; the last frames."""


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
        self,
        gateway: Gateway,
        clock: Clock,
        rng: np.random.Generator,
        faults: FaultPlan,
        tap: Tap,
        *,
        dice: Dice | None = None,
        restarts: Sequence[float] = (),
        downs: Spans = _NEVER,
        seconds: float = 0.0,
        link: Link = LINK,
        bound: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        """What lies between one phone and `gateway`.

        Args:
            clock: true time.
            rng: latency, and the troubles of an ordinary network.
            faults: how often those two come.
            tap: sees every frame.
            dice: all other faults; None for none.
            restarts: when gateways restart; downs: when there is no cloud at all.
            seconds: length of the world.
            link: of an ordinary day.
            bound: within it the cloud is seen, and time keeps to what is known of the cloud.
        """
        self.traffic = Traffic()
        self.gateway = gateway
        self.route = Route()
        """What lies between the phone and the cloud just now."""
        self.old = False
        """Whether the phone speaks protocol version 1 only (`old_version`)."""
        self._clock, self._rng, self._tap = clock, rng, tap
        self._start = clock.now()
        self._unreachable, self._cut = faults.unreachable, faults.cut
        self._dice = dice if dice is not None else Dice(FaultPlan.none(), 0, 0, self._elapsed)
        self._link, self._bound = link, bound
        self._restarts, self._downs = restarts, downs
        self._partitions = partitions(self._dice, seconds)
        self._channel: _Channel | None = None
        self._last: list[bytes] = []
        """What the phone sent in its last session."""

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[_Channel]:
        """Open a channel to the cloud. Raises CloudUnreachable."""
        with self._bound():
            # TCP, TLS and the upgrade take three round trips.
            await self._clock.sleep(sum(self.latency() for _ in range(6)))
            if self._rng.random() < self._unreachable.rate_at(self._elapsed()):
                self.traffic.unreachable += 1
                self._dice.happened("unreachable")
                raise CloudUnreachable("the virtual network is down")
            if self.partitioned:
                raise CloudUnreachable("no cloud answers: the network is partitioned")
            if self.cloudless:
                raise CloudUnreachable("no cloud answers: it is down")
            way_to_cloud(self._dice)
            self.traffic.sessions += 1
            self.traffic.up += _SETUP_UP
            self.traffic.down += _SETUP_DOWN
            if self._last and self._dice.comes("duplication", f"{len(self._last)} frames"):
                await self._again(self._last)
            speed = self._link.capped(self._dice)
            opened = self.gateway.open_session(self._clock.now())
            channel = self._channel = _Channel(self, opened, speed)
            try:
                yield channel
            finally:
                self._last = channel.sent if self._dice.planned(*_RETOLD) else []
                channel.cut()
                if self._channel is channel:
                    self._channel = None

    def drop(self) -> None:
        """The phone is gone: nothing of an open session passes any more."""
        if self._channel is not None:
            self._channel.cut()

    @property
    def partitioned(self) -> bool:
        """Whether nothing gets through now; counted when it is asked for in vain."""
        if self._partitions.until(self._elapsed()) is None:
            return False
        self._dice.happened("partition")
        return True

    @property
    def cloudless(self) -> bool:
        """Whether there is no cloud now."""
        return self._downs.until(self._elapsed()) is not None

    def restarted_since(self, moment: float) -> bool:
        """Whether a gateway has restarted since `moment`, unix seconds."""
        if not self._restarts:
            return False
        before = bisect_right(self._restarts, moment - self._start)
        return bisect_right(self._restarts, self._elapsed()) > before

    def arrived(self, acked: Sequence[bytes]) -> dict[bytes, bytes]:
        """Bodies of the last session by upload id, of those that are `acked`."""
        known = set(acked)
        return {name: body for name, body in uploads_of(self._last).items() if name in known}

    def farewell(self, connection: GatewayConnection) -> list[bytes]:
        """The last words of a gateway that restarts: half of them end in good order."""
        self._dice.happened("gateway_restart")
        if self._dice.of("gateway_restart").random() < _GOODBYE:
            return connection.finish("the gateway restarts", _BACK_SOON)
        return []

    @property
    def now(self) -> float:
        """True unix time."""
        return self._clock.now()

    def trouble(self, frame: bytes) -> Trouble:
        """What befalls this frame on its way up."""
        return frame_trouble(self._dice, frame)

    def loses_ack(self, frame: bytes) -> bool:
        """Whether the answer to a frame of an upload is lost with the connection."""
        planned = self._dice.planned("lost_ack")
        return planned and self._link.is_upload(frame) and self._dice.comes("lost_ack")

    async def carry(self, size: int, speed: float) -> None:
        """Let `size` bytes travel at `speed` bytes a second."""
        await self._clock.sleep(self.latency() + size / speed)

    async def wait(self, seconds: float) -> None:
        """Let true time pass."""
        await self._clock.sleep(seconds)

    def breaks(self) -> bool:
        """Whether this frame is the one at which the connection breaks."""
        broken = bool(self._rng.random() < self._cut.rate_at(self._elapsed()))
        self.traffic.cuts += broken
        if broken:
            self._dice.happened("cut")
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

    def latency(self) -> float:
        """Seconds one way."""
        normal = self._rng.standard_normal() * self._link.latency_spread
        return float(self._link.latency_median * np.exp(normal))

    async def _again(self, frames: list[bytes]) -> None:
        """Somebody delivers a whole session a second time, on a connection of its own."""
        connection = self.gateway.open_session(self._clock.now())
        for frame in frames:
            if connection.closed:
                return
            await apart(connection.receive(frame))

    def _elapsed(self) -> float:
        return self._clock.now() - self._start


class _Channel:
    """One connection; a frame is processed by the gateway when it arrives there."""

    def __init__(self, network: Network, connection: GatewayConnection, speed: float) -> None:
        self.sent: list[bytes] = []
        self.broken = False
        self.connection = connection
        self._network, self._speed = network, speed
        self._inbox: deque[bytes] = deque()
        self._arrived = asyncio.Event()
        self._silent = False
        self._opened = network.now

    async def send(self, frame: bytes) -> None:
        """Carry one frame to the gateway and collect its answers. Raises ChannelClosed."""
        self._check()
        if self._network.old:
            frame = old_hello(frame)
        self._network.sent(frame)
        self.sent.append(frame)
        await self._deliver_late()
        trouble = self._network.trouble(frame)
        if trouble.late:
            await self._network.wait(trouble.late)
        await self._network.carry(len(frame), self._speed)
        if trouble.overtaken:
            self._network.route.late.append((self.connection, frame))
        if trouble.lost or self._network.partitioned or self._network.cloudless:
            self._break()
        if self._network.restarted_since(self._opened):
            self._inbox.extend(self._network.farewell(self.connection))
            self._break()
        if trouble.silent or self._silent:
            self._silent = True
            return
        if self._network.breaks():
            self._break()
        self._check()
        if self.connection.closed:
            return
        answers = await apart(self.connection.receive(frame))
        if self._network.loses_ack(frame):
            self._break()
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
            if self._silent:
                await self._network.wait(KEEPALIVE_SECONDS)
                self._break()
            if self.connection.closed:
                raise ChannelClosed("the gateway closed the connection")
            self._arrived.clear()
            await self._arrived.wait()
        frame = self._inbox.popleft()
        await self._network.carry(len(frame), self._speed)
        return frame

    def cut(self) -> None:
        """Nothing passes any more."""
        self.broken = True
        self._arrived.set()

    async def _deliver_late(self) -> None:
        """What an older connection had in its queue arrives there, now that this one has begun."""
        late = self._network.route.late
        if len(self.sent) < _NEWER_HAS_BEGUN or not late:
            return
        self._network.route.late = []
        for connection, frame in late:
            if not connection.closed:
                await apart(connection.receive(frame))

    def _break(self) -> None:
        self.cut()
        raise ChannelClosed("the connection broke")

    def _check(self) -> None:
        if self.broken:
            raise ChannelClosed("the connection broke")


def _wire_bytes(payload: int, *, masked: bool) -> int:
    """Bytes on the wire for one WebSocket frame of `payload` bytes."""
    header = _WS_SHORT + (_WS_LONG_LENGTH if payload > _WS_SHORT_LIMIT else 0)
    body = payload + header + (_WS_MASK if masked else 0) + _TLS_RECORD
    return body + _TCP_IP * -(-body // _SEGMENT)
