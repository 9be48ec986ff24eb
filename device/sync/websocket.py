"""Frames over a WebSocket: the channel of real phones."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hashlib import sha256
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus, InvalidURI

from device.sync.channel import Channel, ChannelClosed, CloudUnreachable, Connect
from protocol.wire import MAX_FRAME

__all__ = ["session_url", "websocket"]

OPEN_TIMEOUT = 10.0
"""Seconds to wait for the handshake."""
CLOSE_TIMEOUT = 0.5
"""Seconds to wait for the cloud's goodbye: a window that closes leaves a phone 1 s to stop."""
SERVICE_UNAVAILABLE = 503
MAX_DIGITS = 6
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
        secured: ssl.SSLObject | None = connection.transport.get_extra_info("ssl_object")
        certificate = None if secured is None else secured.getpeercert(binary_form=True)
        self.binding = b"" if certificate is None else sha256(certificate).digest()

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


def websocket(cloud_url: str, trust: ssl.SSLContext | None = None) -> Connect:
    """Returns the opener of a WebSocket channel to `cloud_url`.

    `trust` says whose certificates are good, for an https address; None: the system's authorities.
    Payloads are noise or already compressed, so permessage-deflate would cost memory for nothing.
    """
    url = session_url(cloud_url)

    @asynccontextmanager
    async def open_channel() -> AsyncIterator[Channel]:
        secured: dict[str, Any] = {} if trust is None else {"ssl": trust}
        try:
            connection = await connect(
                url,
                compression=None,
                max_size=MAX_FRAME,
                max_queue=QUEUED_FRAMES,
                open_timeout=OPEN_TIMEOUT,
                close_timeout=CLOSE_TIMEOUT,
                proxy=None,
                **secured,
            )
        except InvalidStatus as error:
            raise _turned_away(cloud_url, error) from error
        except (OSError, TimeoutError, InvalidHandshake, InvalidURI) as error:
            raise CloudUnreachable(
                f"no cloud answers at {cloud_url}: is `reverie-cloud serve` running there?"
            ) from error
        try:
            yield _WebSocketChannel(connection)
        finally:
            await connection.close()

    return open_channel


def _turned_away(cloud_url: str, error: InvalidStatus) -> CloudUnreachable:
    status = error.response.status_code
    if status != SERVICE_UNAVAILABLE:
        return CloudUnreachable(f"what answers at {cloud_url} is no cloud (HTTP {status})")
    said = error.response.headers.get("Retry-After", "")
    wait = float(said) if said.isascii() and said.isdigit() and len(said) <= MAX_DIGITS else 0.0
    return CloudUnreachable(f"the cloud at {cloud_url} is full just now", wait)
