"""An ASGI app on this machine's loopback alone, behind a token: for MCP over HTTP and the page."""

from __future__ import annotations

import os
import secrets
import socket
from typing import TYPE_CHECKING, Any

from device.actors import DomainError

if TYPE_CHECKING:
    from starlette.types import ASGIApp

__all__ = ["PortUnavailable", "ServerMissing", "WeakToken", "bound", "serve", "token_from"]

HOST = "127.0.0.1"
TOKEN_BYTES = 24
MIN_TOKEN_CHARACTERS = 16
STOP_SECONDS = 2
"""How long open requests may take when the server stops."""


class PortUnavailable(DomainError):
    """Another program has the port."""


class WeakToken(DomainError):
    """A token short enough to be guessed."""


class ServerMissing(DomainError):
    """No HTTP server is installed."""


def token_from(variable: str) -> str:
    """The token in the environment, or a fresh one.

    Raises:
        WeakToken: the one given could be guessed.
    """
    token = os.environ.get(variable, "")
    if token and len(token) < MIN_TOKEN_CHARACTERS:
        raise WeakToken(f"{variable} needs {MIN_TOKEN_CHARACTERS} characters or more")
    return token or secrets.token_urlsafe(TOKEN_BYTES)


def bound(port: int) -> socket.socket:
    """A listening socket on loopback; port 0 takes a free one. Raises `PortUnavailable`."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
        listener.listen()  # whoever is told the address may connect at once
    except OSError as error:
        listener.close()
        raise PortUnavailable(f"port {port} is not free ({error.strerror}): pass --port") from None
    return listener


async def serve(app: ASGIApp | Any, listener: socket.socket) -> None:
    """Serve until interrupted. Raises `ServerMissing` with what to install."""
    try:
        import uvicorn
    except ImportError:
        raise ServerMissing("this needs a package: pip install 'reverie[web]'") from None
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=STOP_SECONDS,
    )
    await uvicorn.Server(config).serve(sockets=[listener])
