"""How a gateway leaves: no new session, uploads that run may end, everyone else hears goodbye.

Phones lose nothing by it: what is not acknowledged they keep, what is half sent is in the database,
and another gateway takes either up.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, MutableMapping

from aiohttp import web

from cloud.gateway.core import Connection, GatewayCore

__all__ = ["STOPPING_RETRY_SECONDS", "Drain"]

STOPPING_RETRY_SECONDS = 30.0
"""About when a phone may come back to a gateway that stops; each hears a time of its own."""
_REASON = "the cloud is stopping"

HangUp = Callable[[web.WebSocketResponse, list[bytes]], Awaitable[None]]


class Drain:
    """The end of one gateway's sessions.

    Args:
        sockets: the sessions that are open; kept up to date by their handlers.
        hang_up: sends the last frames and closes.
    """

    def __init__(
        self,
        core: GatewayCore,
        sockets: MutableMapping[web.WebSocketResponse, Connection],
        hang_up: HangUp,
    ) -> None:
        self._core, self._sockets, self._hang_up = core, sockets, hang_up
        self._empty = asyncio.Event()
        self.begun = False

    def refusal(self) -> float:
        """Seconds until a session that knocks now may knock again; 0 when it may come in."""
        return self._core.spread(STOPPING_RETRY_SECONDS) if self.begun else 0.0

    async def finish(self, seconds: float) -> int:
        """Take no new session and see the others to their end; uploads that run have so long.

        Gives how many had to be cut off.
        """
        self.begun = True
        await self._dismiss(lambda connection: not connection.uploading)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._all_gone()
        left = len(self._sockets)
        await self.dismiss_all()
        return left

    async def dismiss_all(self) -> None:
        """Say goodbye to everyone, whatever they are doing."""
        await self._dismiss(lambda _connection: True)

    def last_words(self, connection: Connection) -> list[bytes]:
        """The frames that end a session which has just been answered; none while it goes on."""
        if not self.begun or connection.uploading or connection.closed:
            return []
        return connection.finish(_REASON, STOPPING_RETRY_SECONDS)

    def left(self) -> None:
        """A session has ended."""
        if not self._sockets:
            self._empty.set()

    async def _all_gone(self) -> None:
        while self._sockets:
            self._empty.clear()
            await self._empty.wait()

    async def _dismiss(self, whom: Callable[[Connection], bool]) -> None:
        chosen = [
            (socket, connection)
            for socket, connection in list(self._sockets.items())
            if whom(connection) and not connection.closed
        ]
        await asyncio.gather(
            *(
                self._hang_up(socket, connection.finish(_REASON, STOPPING_RETRY_SECONDS))
                for socket, connection in chosen
            )
        )
