"""``vault.json`` in a phone's folder names who keeps its secret; it holds no secret itself."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from device.vault.errors import KeyUnavailable, VaultError
from device.vault.keystore import TermuxKeystoreProtector
from device.vault.os_keyring import OsKeyringProtector
from device.vault.protectors import (
    ARGON2_ITERATIONS,
    ARGON2_LANES,
    ARGON2_MEMORY_KIB,
    PASSPHRASE_VARIABLE,
    KeyFileProtector,
    PassphraseProtector,
)
from device.vault.slots import BitSource, KeyProtector

__all__ = [
    "VAULT_FILE",
    "ProtectorKind",
    "VaultFile",
    "create_protector",
    "destroy_secret",
    "make_secret",
    "protector_from_file",
    "protector_of",
    "read_vault_file",
    "write_vault_file",
]

VAULT_FILE = "vault.json"
KEY_SUFFIX = ".key"
LABEL_BYTES = 4
"""Random bytes in the name of a secret, so that a new one never meets the one it replaces."""

ProtectorKind = Literal["passphrase", "keyfile", "os-keyring", "termux"]


class VaultFile(BaseModel):
    """What ``vault.json`` says."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal[1] = 1
    protector: ProtectorKind
    memory_kib: int = Field(default=ARGON2_MEMORY_KIB, ge=8, le=1 << 20)
    iterations: int = Field(default=ARGON2_ITERATIONS, ge=1, le=100)
    lanes: int = Field(default=ARGON2_LANES, ge=1, le=16)
    secret: str = Field(default="vault", pattern=r"^[a-z][a-z0-9-]{0,31}$")
    """Name of the secret: of the key file, of the keyring's entry, of the key in the keystore."""
    hardware: bool = False
    """Whether the keystore said that the key lies in secure hardware."""


def create_protector(
    kind: ProtectorKind, folder: Path, *, bits: BitSource, passphrase: str = ""
) -> KeyProtector:
    """Make the secret of a new phone in `folder` and write its ``vault.json``.

    Raises `KeyUnavailable`; a folder that already has a ``vault.json`` is refused.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if (folder / VAULT_FILE).exists():
        raise KeyUnavailable(f"{folder} already has a {VAULT_FILE}; choose another folder")
    config, protector = make_secret(kind, folder, bits=bits, passphrase=passphrase)
    write_vault_file(folder, config)
    return protector


def make_secret(
    kind: ProtectorKind, folder: Path, *, bits: BitSource, passphrase: str = ""
) -> tuple[VaultFile, KeyProtector]:
    """A new secret beside any that is there already, and what ``vault.json`` will say of it.

    keyfile: makes a file in `folder`; os-keyring, termux: makes a key there; passphrase: nothing
    to make. Raises `KeyUnavailable`.
    """
    config = VaultFile(protector=kind, secret=f"vault-{bits(LABEL_BYTES).hex()}")
    if kind == "passphrase":
        return config, PassphraseProtector(passphrase)
    if kind == "keyfile":
        return config, KeyFileProtector.create(_key_file(folder, config), bits)
    if kind == "os-keyring":
        return config, OsKeyringProtector.create(config.secret, bits)
    chip = TermuxKeystoreProtector.create(config.secret)
    return config.model_copy(update={"hardware": chip.secure}), chip


def destroy_secret(folder: Path, config: VaultFile) -> None:
    """Drop a secret that opens nothing any more. What is gone already is no trouble."""
    with suppress(VaultError):
        if config.protector == "keyfile":
            _key_file(folder, config).unlink(missing_ok=True)
        elif config.protector == "os-keyring":
            OsKeyringProtector(config.secret).destroy()
        elif config.protector == "termux":
            TermuxKeystoreProtector(config.secret).destroy()


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
    return protector_of(path.parent, read_vault_file(path), environ)


def protector_of(folder: Path, config: VaultFile, environ: Mapping[str, str]) -> KeyProtector:
    """The protector of the phone in `folder`, as `config` says. Raises `KeyUnavailable`."""
    if config.protector == "passphrase":
        return PassphraseProtector(
            environ.get(PASSPHRASE_VARIABLE, ""),
            memory_kib=config.memory_kib,
            iterations=config.iterations,
            lanes=config.lanes,
        )
    if config.protector == "keyfile":
        return KeyFileProtector(_key_file(folder, config))
    if config.protector == "os-keyring":
        return OsKeyringProtector(config.secret)
    return TermuxKeystoreProtector(config.secret, secure=config.hardware)


def _key_file(folder: Path, config: VaultFile) -> Path:
    return folder / f"{config.secret}{KEY_SUFFIX}"
