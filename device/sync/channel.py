"""The seam between a sync session and whatever carries its frames."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from device.actors import DomainError

__all__ = ["Channel", "ChannelClosed", "CloudUnreachable", "Connect", "binding_of"]


class ChannelClosed(DomainError):
    """The other side is gone; what was not acknowledged stays in the outbox."""


class CloudUnreachable(DomainError):
    """No channel could be opened; the message says what was tried.

    ``retry_after``: seconds the cloud asked to be left alone, 0 when it said nothing.
    """

    def __init__(self, message: str, retry_after: float = 0.0) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class Channel(Protocol):
    """Carries whole frames, in order, both ways."""

    async def send(self, frame: bytes) -> None:
        """Send one frame. Raises ChannelClosed."""

    async def receive(self) -> bytes:
        """Wait for the next frame. Raises ChannelClosed."""


Connect = Callable[[], AbstractAsyncContextManager[Channel]]
"""Opens a channel to the cloud; raises CloudUnreachable."""


def binding_of(channel: Channel) -> bytes:
    """What names the channel in both ends' proofs: the certificate by which it is secured, which
    such a channel gives as `binding`; b"" for one without TLS."""
    binding: bytes = getattr(channel, "binding", b"")
    return binding
