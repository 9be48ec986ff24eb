"""Protectors that need nothing but a passphrase or a file."""

from __future__ import annotations

import os
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.kdf.argon2 import Argon2id

from device.vault.errors import KeyUnavailable, StorageReadOnly
from device.vault.slots import KEY, BitSource

__all__ = [
    "ARGON2_ITERATIONS",
    "ARGON2_LANES",
    "ARGON2_MEMORY_KIB",
    "PASSPHRASE_VARIABLE",
    "KeyFileProtector",
    "PassphraseProtector",
    "StaticProtector",
]

PASSPHRASE_VARIABLE = "REVERIE_PASSPHRASE"  # noqa: S105 - a variable's name
PRIVATE_FILE = 0o600

ARGON2_MEMORY_KIB = 64 << 10
ARGON2_ITERATIONS = 3
ARGON2_LANES = 4
"""RFC 9106's second recommended option: 64 MiB, 3 passes, 4 lanes."""


class StaticProtector:
    """A key given as such, for simulated phones and tests."""

    name = "static"
    secure = False

    def __init__(self, key: bytes) -> None:
        """`key`: 32 bytes."""
        self._key = key

    def kek(self, salt: bytes) -> bytes:  # noqa: ARG002 - the same for every salt
        """The key."""
        return self._key


class PassphraseProtector:
    """A key stretched from a passphrase with Argon2id (RFC 9106)."""

    name = "passphrase"
    secure = True

    def __init__(
        self,
        passphrase: str,
        *,
        memory_kib: int = ARGON2_MEMORY_KIB,
        iterations: int = ARGON2_ITERATIONS,
        lanes: int = ARGON2_LANES,
    ) -> None:
        """The costs must be those the store was made with. Raises `KeyUnavailable` when empty."""
        if not passphrase:
            raise KeyUnavailable(f"no passphrase given; set {PASSPHRASE_VARIABLE}")
        self._passphrase = passphrase
        self._memory_kib = memory_kib
        self._iterations = iterations
        self._lanes = lanes

    def kek(self, salt: bytes) -> bytes:
        """About 0.15 s and `memory_kib` of RAM for a moment."""
        stretch = Argon2id(
            salt=salt,
            length=KEY,
            iterations=self._iterations,
            lanes=self._lanes,
            memory_cost=self._memory_kib,
        )
        try:
            return stretch.derive(self._passphrase.encode())
        except UnsupportedAlgorithm as error:
            raise KeyUnavailable("this OpenSSL has no Argon2id (needs 3.2); upgrade it") from error


class KeyFileProtector:
    """A key in a file only its owner may read. Whoever copies the folder has it: insecure."""

    name = "keyfile"
    secure = False

    def __init__(self, path: Path) -> None:
        self._path = path

    @classmethod
    def create(cls, path: Path, bits: BitSource) -> KeyFileProtector:
        """Write a new key file; an existing one is never overwritten (`KeyUnavailable`)."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        try:
            descriptor = os.open(path, flags, PRIVATE_FILE)
        except FileExistsError:
            raise KeyUnavailable(f"{path} already holds a key; it is not replaced") from None
        except OSError as error:
            raise StorageReadOnly(f"cannot write {path}: {error.strerror}") from error
        with os.fdopen(descriptor, "wb") as file:
            file.write(bits(KEY))
            file.flush()
            os.fsync(file.fileno())
        return cls(path)

    def kek(self, salt: bytes) -> bytes:  # noqa: ARG002 - the file's key is already uniform
        """The file's 32 bytes; `KeyUnavailable` when missing, short or open to others."""
        try:
            mode, key = self._path.stat().st_mode, self._path.read_bytes()
        except OSError as error:
            raise KeyUnavailable(f"cannot read {self._path}: {error.strerror}") from error
        if mode & 0o077:
            raise KeyUnavailable(f"{self._path} is open to others; run: chmod 600 {self._path}")
        if len(key) != KEY:
            raise KeyUnavailable(f"{self._path} does not hold a key of {KEY} bytes")
        return key
