"""Frames over a WebSocket: the channel of real phones."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit, urlunsplit

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidURI

from device.sync.channel import Channel, ChannelClosed, CloudUnreachable, Connect
from protocol.wire import MAX_FRAME

__all__ = ["session_url", "websocket"]

OPEN_TIMEOUT = 10.0
"""Seconds to wait for the handshake."""
QUEUED_FRAMES = 4
"""Frames held for a slow phone before TCP back-pressure sets in."""


def session_url(cloud_url: str) -> str:
    """The WebSocket address of the cloud at `cloud_url` (http or https)."""
    parts = urlsplit(cloud_url)
    scheme = {"http": "ws", "https": "wss"}.get(parts.scheme, parts.scheme)
    return urlunsplit((scheme, parts.netloc, parts.path.rstrip("/") + "/v1/session", "", ""))


class _WebSocketChannel:
    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection

    async def send(self, frame: bytes) -> None:
        try:
            await self._connection.send(frame)
        except ConnectionClosed as error:
            raise ChannelClosed("the cloud closed the connection") from error

    async def receive(self) -> bytes:
        try:
            frame = await self._connection.recv(decode=False)
        except ConnectionClosed as error:
            raise ChannelClosed("the cloud closed the connection") from error
        return frame if isinstance(frame, bytes) else frame.encode()


def websocket(cloud_url: str) -> Connect:
    """Returns the opener of a WebSocket channel to `cloud_url`.

    Payloads are noise or already compressed, so permessage-deflate would cost memory for nothing.
    """
    url = session_url(cloud_url)

    @asynccontextmanager
    async def open_channel() -> AsyncIterator[Channel]:
        try:
            connection = await connect(
                url,
                compression=None,
                max_size=MAX_FRAME,
                max_queue=QUEUED_FRAMES,
                open_timeout=OPEN_TIMEOUT,
                proxy=None,
            )
        except (OSError, TimeoutError, InvalidHandshake, InvalidURI) as error:
            raise CloudUnreachable(
                f"no cloud answers at {cloud_url}: is `reverie-cloud serve` running there?"
            ) from error
        try:
            yield _WebSocketChannel(connection)
        finally:
            await connection.close()

    return open_channel
