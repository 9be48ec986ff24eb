"""Sessions of the pages without state: a cookie that any gateway of the cloud can check.

    name : expires : nonce : HMAC-SHA256(key, name, expires, nonce, SHA-256 of the token)

The key is derived from the cloud's signing key. The token's hash is part of what is signed but not
of the cookie: a new token for the name, its revocation or its expiry ends every session made with
the old one. Forms carry an HMAC of the session's nonce.
"""

from __future__ import annotations

import hmac
import math
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from cloud.admin.operators import Operator

__all__ = ["SESSION_SECONDS", "Entry", "Session", "Unsealed"]

SESSION_SECONDS: Final = 12 * 3600.0
NONCE_BYTES: Final = 16
LONGEST_COOKIE: Final = 256
"""Characters; more is no cookie of ours."""
_SESSION: Final = b"reverie admin session 1"
_FORM: Final = b"reverie admin form 1"


@dataclass(frozen=True, slots=True)
class Unsealed:
    """What a cookie says, before anybody has checked it."""

    name: str
    expires: int
    nonce: str
    mac: str


@dataclass(frozen=True, slots=True)
class Session:
    """An operator who has logged in, and the nonce of the login."""

    operator: Operator
    nonce: str


class Entry:
    """Makes and checks cookies and form tokens.

    Args:
        secret: the cloud's signing key, 32 bytes; only keys derived from it are kept.
        bits: n -> n random bytes.
    """

    def __init__(self, secret: bytes, bits: Callable[[int], bytes]) -> None:
        self._session = hmac.digest(secret, _SESSION, "sha256")
        self._form = hmac.digest(secret, _FORM, "sha256")
        self._bits = bits

    def nonce(self) -> str:
        """A fresh one, in hex."""
        return self._bits(NONCE_BYTES).hex()

    def cookie(self, operator: Operator, now: float) -> str:
        """The value of a new session's cookie."""
        expires = math.floor(min(now + SESSION_SECONDS, operator.expires))
        nonce = self.nonce()
        return f"{operator.name}:{expires}:{nonce}:{self._mac(operator, expires, nonce)}"

    def read(self, cookie: str, now: float) -> Unsealed | None:
        """Take a cookie apart; None when it is malformed or has run out."""
        parts = cookie.split(":")
        if len(cookie) > LONGEST_COOKIE or not cookie.isascii() or len(parts) != 4:
            return None
        name, expires, nonce, mac = parts
        if not expires.isdigit() or int(expires) <= now:
            return None
        return Unsealed(name, int(expires), nonce, mac)

    def admit(self, said: Unsealed, operator: Operator | None, now: float) -> Session | None:
        """The session, when `operator` (looked up by the name said) is active and the cookie was
        made by this cloud for the token he still has."""
        if operator is None or not operator.active(now):
            return None
        right = hmac.compare_digest(self._mac(operator, said.expires, said.nonce), said.mac)
        return Session(operator, said.nonce) if right else None

    def form_token(self, nonce: str) -> str:
        """What the forms of a session, or of a login page, carry."""
        return hmac.new(self._form, nonce.encode(), sha256).hexdigest()

    def is_form_token(self, nonce: str, said: str) -> bool:
        """Whether a form came from a page with that nonce."""
        return bool(nonce) and hmac.compare_digest(self.form_token(nonce).encode(), said.encode())

    def _mac(self, operator: Operator, expires: int, nonce: str) -> str:
        said = f"{operator.name}:{expires}:{nonce}:{operator.sha256}"
        return hmac.new(self._session, said.encode(), sha256).hexdigest()
