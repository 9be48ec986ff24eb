"""Who keeps the secret that opens a store, and the small file that says so.

``vault.json`` lies in the phone's folder and names the protector; it holds no secret.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.kdf.argon2 import Argon2id
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from device.vault.errors import KeyUnavailable, StorageReadOnly
from device.vault.keyring import BitSource, KeyProtector
from device.vault.keystore import TermuxKeystoreProtector

__all__ = [
    "PASSPHRASE_VARIABLE",
    "KeyFileProtector",
    "PassphraseProtector",
    "ProtectorKind",
    "StaticProtector",
    "VaultFile",
    "create_protector",
    "protector_from_file",
    "read_vault_file",
    "write_vault_file",
]

PASSPHRASE_VARIABLE = "REVERIE_PASSPHRASE"  # noqa: S105 - a variable's name
KEY = 32
PRIVATE_FILE = 0o600
KEY_FILE = "vault.key"
VAULT_FILE = "vault.json"

ARGON2_MEMORY_KIB = 64 << 10
ARGON2_ITERATIONS = 3
ARGON2_LANES = 4
"""RFC 9106's second recommended option: 64 MiB, 3 passes, 4 lanes."""

ProtectorKind = Literal["passphrase", "keyfile", "termux"]


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


class VaultFile(BaseModel):
    """What ``vault.json`` says."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal[1] = 1
    protector: ProtectorKind
    memory_kib: int = Field(default=ARGON2_MEMORY_KIB, ge=8, le=1 << 20)
    iterations: int = Field(default=ARGON2_ITERATIONS, ge=1, le=100)
    lanes: int = Field(default=ARGON2_LANES, ge=1, le=16)
    alias: str = "reverie"
    """Name of the key in Android's keystore."""
    hardware: bool = False
    """Whether the keystore said that the key lies in secure hardware."""


def create_protector(
    kind: ProtectorKind, folder: Path, *, bits: BitSource, passphrase: str = ""
) -> KeyProtector:
    """Make the secret of a new phone in `folder` and write its ``vault.json``.

    keyfile: makes ``vault.key``; termux: makes a key in Android's keystore; passphrase: nothing to
    make. Raises `KeyUnavailable`; a folder that already has a ``vault.json`` is refused.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if (folder / VAULT_FILE).exists():
        raise KeyUnavailable(f"{folder} already has a {VAULT_FILE}; choose another folder")
    config = VaultFile(protector=kind)
    protector: KeyProtector
    if kind == "passphrase":
        protector = PassphraseProtector(passphrase)
    elif kind == "keyfile":
        protector = KeyFileProtector.create(folder / KEY_FILE, bits)
    else:
        chip = TermuxKeystoreProtector.create(config.alias)
        config = config.model_copy(update={"hardware": chip.secure})
        protector = chip
    write_vault_file(folder, config)
    return protector


def write_vault_file(folder: Path, config: VaultFile) -> None:
    """Write ``folder/vault.json`` atomically and durably."""
    beside = folder / f"{VAULT_FILE}.new"
    with beside.open("w", encoding="utf-8") as file:
        file.write(config.model_dump_json(indent=2) + "\n")
        file.flush()
        os.fsync(file.fileno())
    beside.replace(folder / VAULT_FILE)


def read_vault_file(path: Path) -> VaultFile:
    """Read a ``vault.json``; `KeyUnavailable` when it is missing or not one."""
    try:
        return VaultFile.model_validate_json(path.read_bytes())
    except OSError as error:
        raise KeyUnavailable(
            f"cannot read {path} ({error.strerror}); is this a phone's folder?"
        ) from error
    except ValidationError as error:
        raise KeyUnavailable(f"{path} does not name a key protector") from error


def protector_from_file(path: Path, environ: Mapping[str, str] = os.environ) -> KeyProtector:
    """The protector that ``vault.json`` at `path` names.

    A passphrase is taken from REVERIE_PASSPHRASE in `environ`. Raises `KeyUnavailable`.
    """
    config = read_vault_file(path)
    if config.protector == "passphrase":
        return PassphraseProtector(
            environ.get(PASSPHRASE_VARIABLE, ""),
            memory_kib=config.memory_kib,
            iterations=config.iterations,
            lanes=config.lanes,
        )
    if config.protector == "keyfile":
        return KeyFileProtector(path.with_name(KEY_FILE))
    return TermuxKeystoreProtector(config.alias, secure=config.hardware)
