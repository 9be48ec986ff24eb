"""The seam between a sync session and whatever carries its frames."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from device.actors import DomainError

__all__ = ["Channel", "ChannelClosed", "CloudUnreachable", "Connect"]


class ChannelClosed(DomainError):
    """The other side is gone; what was not acknowledged stays in the outbox."""


class CloudUnreachable(DomainError):
    """No channel could be opened; the message says what was tried."""


class Channel(Protocol):
    """Carries whole frames, in order, both ways."""

    async def send(self, frame: bytes) -> None:
        """Send one frame. Raises ChannelClosed."""

    async def receive(self) -> bytes:
        """Wait for the next frame. Raises ChannelClosed."""


Connect = Callable[[], AbstractAsyncContextManager[Channel]]
"""Opens a channel to the cloud; raises CloudUnreachable."""
