"""One phone's line to a deployed cloud: a real socket, watched and timed."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

from device.actors import Clock
from device.sync.channel import Channel, ChannelClosed, CloudUnreachable, Connect, binding_of
from protocol.errors import ProtocolError
from protocol.messages import Refusal
from protocol.wire import decode
from simulator.network import Tap

__all__ = ["Line", "Meter"]


@dataclass
class Meter:
    """What all lines together have seen. Times are real seconds."""

    opening: list[float] = field(default_factory=list)
    """From the first packet to an open WebSocket."""
    sessions: list[float] = field(default_factory=list)
    """From an open WebSocket to the goodbye, of sessions that ended in good order."""
    answers: list[float] = field(default_factory=list)
    """From a phone's last frame to the cloud's first answer to it."""
    queueing: list[float] = field(default_factory=list)
    """Spent waiting for a free line before a session began."""
    ended: Counter[str] = field(default_factory=Counter)
    """How sessions ended, and why none began."""
    refusals: Counter[str] = field(default_factory=Counter)
    """Codes of what the cloud refused."""
    up: int = 0
    """Bytes of frames sent."""
    down: int = 0


class Line:
    """Opens sessions for one phone.

    Args:
        reach: opens the socket.
        tap: sees every frame as the phone's clock has it.
        room: bounds how many sessions all lines have open at once.
    """

    def __init__(
        self, reach: Connect, tap: Tap, clock: Clock, meter: Meter, room: asyncio.Semaphore
    ) -> None:
        self._reach, self._tap, self._clock = reach, tap, clock
        self._meter, self._room = meter, room

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[Channel]:
        """As `device.sync.channel.Connect`."""
        timer, meter = asyncio.get_running_loop().time, self._meter
        asked = timer()
        async with self._room, AsyncExitStack() as stack:
            began = timer()
            meter.queueing.append(began - asked)
            try:
                channel = await stack.enter_async_context(self._reach())
            except CloudUnreachable as error:
                meter.ended[_kind(error)] += 1
                raise
            opened = timer()
            meter.opening.append(opened - began)
            how = "in good order"
            try:
                yield _Tapped(channel, self._tap, self._clock, meter)
            except BaseException as error:
                how = _kind(error)
                raise
            finally:
                meter.ended[how] += 1
                if how == "in good order":
                    meter.sessions.append(timer() - opened)


class _Tapped:
    """A channel whose frames are seen."""

    def __init__(self, channel: Channel, tap: Tap, clock: Clock, meter: Meter) -> None:
        self._channel, self._tap, self._clock, self._meter = channel, tap, clock, meter
        self._timer = asyncio.get_running_loop().time
        self._asked: float | None = None
        self.binding = binding_of(channel)

    async def send(self, frame: bytes) -> None:
        """Send one frame. Raises ChannelClosed."""
        self._tap.uplink(frame, self._clock.now())
        self._meter.up += len(frame)
        await self._channel.send(frame)
        self._asked = self._timer()

    async def receive(self) -> bytes:
        """Wait for the next frame. Raises ChannelClosed."""
        frame = await self._channel.receive()
        if self._asked is not None:
            self._meter.answers.append(self._timer() - self._asked)
            self._asked = None
        self._meter.down += len(frame)
        self._tap.downlink(frame, self._clock.now())
        try:
            message = decode(frame)
        except ProtocolError:
            return frame  # the session will say so
        if isinstance(message, Refusal):
            self._meter.refusals[message.code] += 1
        return frame


def _kind(error: BaseException) -> str:
    """How a session ended, in words that can be counted."""
    match error:
        case asyncio.CancelledError():
            return "left, the window closed"
        case CloudUnreachable(retry_after=after) if after:
            return "turned away, the cloud is full"
        case CloudUnreachable():
            cause = error.__cause__
            return f"unreachable ({type(cause).__name__})" if cause else "unreachable"
        case ChannelClosed():
            return "the connection broke"
        case _:
            return type(error).__name__
