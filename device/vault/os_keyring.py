"""A key kept by the operating system: Secret Service, KWallet, Keychain, Credential Locker.

Through the `keyring` package, an extra: a phone needs none. Back ends that keep passwords in clear
or nowhere are refused, which is what they say of themselves by a priority below 1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from device.vault.errors import KeyUnavailable
from device.vault.slots import KEY, BitSource

__all__ = ["OsKeyring", "OsKeyringProtector", "os_keyring"]

Result = TypeVar("Result")

SERVICE = "reverie"
PURPOSE = b"reverie os keyring kek"
FIT = 1
"""Lowest priority of a back end that really protects (as `keyring` recommends)."""


class OsKeyring(Protocol):
    """What is used of a back end of the `keyring` package."""

    @property
    def priority(self) -> float:
        """How well it fits and protects; below 1: not at all."""
        ...

    def get_password(self, service: str, username: str) -> str | None:
        """The secret, or None."""
        ...

    def set_password(self, service: str, username: str, password: str) -> None:
        """Keep the secret."""
        ...

    def delete_password(self, service: str, username: str) -> None:
        """Drop the secret."""
        ...


def os_keyring() -> OsKeyring:
    """This machine's own keyring. Raises `KeyUnavailable` with what to do."""
    try:
        import keyring
    except ImportError:
        raise KeyUnavailable(
            "the OS keyring needs a package: pip install 'reverie[os-keyring]'"
        ) from None
    backend: OsKeyring = keyring.get_keyring()
    if backend.priority < FIT:
        raise KeyUnavailable(
            "this machine offers no OS keyring that protects; use a passphrase instead"
        )
    return backend


class OsKeyringProtector:
    """A random secret in the user's OS keyring, open while the user is logged in."""

    name = "os-keyring"
    secure = True

    def __init__(self, account: str, backend: Callable[[], OsKeyring] = os_keyring) -> None:
        """`account` names the secret; `backend` finds the keyring when a key is asked for."""
        self._account = account
        self._backend = backend

    @classmethod
    def create(
        cls, account: str, bits: BitSource, backend: Callable[[], OsKeyring] = os_keyring
    ) -> OsKeyringProtector:
        """Put a new secret into the keyring; an existing one is never overwritten."""
        protector = cls(account, backend)
        if protector._secret() is not None:
            raise KeyUnavailable(f"the OS keyring already holds {account!r}; it is not replaced")
        _told(lambda: backend().set_password(SERVICE, account, bits(KEY).hex()))
        return protector

    def kek(self, salt: bytes) -> bytes:
        """Asks the keyring, which may ask the user; `KeyUnavailable` when it has no such secret."""
        secret = self._secret()
        if secret is None:
            raise KeyUnavailable(
                "the OS keyring does not hold this phone's key; log in as the user who made it"
            )
        stretch = HKDF(algorithm=hashes.SHA256(), length=KEY, salt=salt, info=PURPOSE)
        return stretch.derive(secret.encode())

    def destroy(self) -> None:
        """Take the secret out of the keyring."""
        _told(lambda: self._backend().delete_password(SERVICE, self._account))

    def _secret(self) -> str | None:
        return _told(lambda: self._backend().get_password(SERVICE, self._account))


def _told(ask: Callable[[], Result]) -> Result:
    """`ask`, with whatever a back end raises told in one line and without its words."""
    try:
        return ask()
    except KeyUnavailable:
        raise
    except Exception as error:
        raise KeyUnavailable(
            f"the OS keyring does not answer ({type(error).__name__}); unlock it and try again"
        ) from error
