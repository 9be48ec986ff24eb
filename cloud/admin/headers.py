"""What browsers are told with every answer of the operators' side."""

from __future__ import annotations

from typing import Final

from aiohttp import web

__all__ = ["protect"]

_POLICY: Final = (
    "default-src 'none'; style-src 'self'; img-src 'self' data:; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'"
)
_HEADERS: Final = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
_STAY: Final = "max-age=31536000"
"""A year of TLS only, once a browser has come over TLS."""


def protect(response: web.StreamResponse, *, secure: bool, cached: bool = False) -> None:
    """Put the headers on a response; `cached` lets a browser ask by ETag instead of fetching."""
    response.headers.update(_HEADERS)
    response.headers["Cache-Control"] = "no-cache" if cached else "no-store"
    if secure:
        response.headers["Strict-Transport-Security"] = _STAY
