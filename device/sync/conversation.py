"""One open session as its owner uses it: ask, and wait for the answer."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from device.actors import DomainError
from device.sync.channel import Channel, ChannelClosed
from protocol.messages import UploadKind
from protocol.session import (
    ClientSession,
    Closed,
    CollectRefused,
    Enrolled,
    Event,
    FetchRefused,
    MailReceived,
    PlanReceived,
    ReleaseReceived,
    SessionFailed,
    UploadCommitted,
    UploadRefused,
)

__all__ = ["Conversation", "SyncFailed"]


class SyncFailed(DomainError):
    """The cloud refused the session, or broke the protocol; nothing was lost.

    ``retry_after``: seconds the cloud asked to be left alone, 0 when it said nothing.
    """

    def __init__(self, message: str, retry_after: float = 0.0) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class Conversation:
    """Pumps frames between a sans-IO session and a channel, one question at a time.

    Every method raises ChannelClosed when the connection breaks and SyncFailed when the cloud ends
    the session or breaks the protocol.
    """

    def __init__(self, session: ClientSession, channel: Channel) -> None:
        self.session = session
        self._channel = channel
        self._events: list[Event] = []

    async def begin(self) -> tuple[str, PlanReceived]:
        """Greet, enrol where that is due, prove. Gives the new device id, "" for one known
        already, and the plan."""
        self.session.start()
        device_id = ""
        event = await self._expect(Enrolled, PlanReceived)
        if isinstance(event, Enrolled):
            device_id = event.device_id
            event = await self._expect(PlanReceived)
        assert isinstance(event, PlanReceived)
        return device_id, event

    async def fetch(self, name: str, version: int, base: int, size: int) -> bytes | None:
        """A release or document of exactly `size` bytes; None when it is not to be had."""
        self.session.fetch(name, version, base, size)
        event = await self._expect(ReleaseReceived, FetchRefused)
        return event.blob if isinstance(event, ReleaseReceived) else None

    async def deliver(
        self, upload_id: bytes, body: bytes, kind: UploadKind = "report"
    ) -> UploadCommitted | UploadRefused:
        """Hand in one body; it goes on where an earlier session broke off."""
        self.session.upload(upload_id, body, kind)
        event = await self._expect(UploadCommitted, UploadRefused)
        assert isinstance(event, UploadCommitted | UploadRefused)
        return event

    async def collect(self, after: int) -> list[tuple[int, bytes]]:
        """Some account letters above `after`, ascending; none when there are no more."""
        self.session.collect(after)
        letters: list[tuple[int, bytes]] = []
        while True:
            event = await self._expect(MailReceived, CollectRefused)
            if not isinstance(event, MailReceived):
                assert isinstance(event, CollectRefused)
                raise SyncFailed(f"the cloud gives no letters now: {event.code}")
            if event.data:
                letters.append((event.sequence, event.data))
            if event.last:
                return letters

    async def end(self) -> None:
        """Say goodbye."""
        self.session.finish("done")
        await self._flush()

    async def _flush(self) -> None:
        for frame in self.session.frames_to_send():
            await self._channel.send(frame)

    async def _expect(self, *kinds: type[Event]) -> Event:
        """The next event, which must be of one of `kinds`."""
        while not self._events:
            try:
                await self._flush()
            except ChannelClosed as closed:
                raise await self._last_word(closed) from closed
            self._events.extend(self.session.receive(await self._channel.receive()))
        event = self._events.pop(0)
        if isinstance(event, kinds):
            return event
        with suppress(ChannelClosed):
            await self._flush()  # what is wrong, for the cloud's operator
        raise _failure(event, kinds)

    async def _last_word(self, closed: ChannelClosed) -> DomainError:
        """Why the cloud hung up: its goodbye may have come before the line went dead."""
        with suppress(ChannelClosed):
            while not self.session.closed:
                for event in self.session.receive(await self._channel.receive()):
                    if isinstance(event, Closed):
                        return _failure(event, ())
        return closed


def _failure(event: Event, kinds: Sequence[type[Event]]) -> SyncFailed:
    if isinstance(event, SessionFailed):
        return SyncFailed(f"the cloud refused the session ({event.code}): {event.detail}")
    if isinstance(event, Closed):
        return SyncFailed(f"the cloud ended the session early: {event.reason}", event.retry_after)
    wanted = " or ".join(kind.__name__ for kind in kinds)
    return SyncFailed(f"the cloud sent {type(event).__name__} in place of {wanted}")
