from __future__ import annotations

import os
import select
import stat
from collections.abc import Sequence
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from device.vault import (
    KeyFileProtector,
    Keyring,
    KeyUnavailable,
    MemoryStorage,
    PassphraseProtector,
    SealedLog,
    StaticProtector,
    TermuxKeystoreProtector,
    WrongKey,
    create_protector,
    protector_from_file,
)
from device.vault.keystore import run_keystore
from device.vault.vault_file import VAULT_FILE, VaultFile, read_vault_file, write_vault_file

CHEAP = {"memory_kib": 64, "iterations": 1, "lanes": 1}
SALT = bytes(16)
END_SECONDS = 10.0


def test_passphrase() -> None:
    one = PassphraseProtector("correct horse", **CHEAP)
    assert one.kek(SALT) == PassphraseProtector("correct horse", **CHEAP).kek(SALT)
    assert one.kek(SALT) != one.kek(bytes([1] * 16))
    assert one.kek(SALT) != PassphraseProtector("correct horsf", **CHEAP).kek(SALT)
    with pytest.raises(KeyUnavailable, match="REVERIE_PASSPHRASE"):
        PassphraseProtector("")


def test_wrong_passphrase_opens_nothing(storage: MemoryStorage) -> None:
    Keyring.open(storage, PassphraseProtector("a", **CHEAP), os.urandom)
    with pytest.raises(WrongKey) as caught:
        Keyring.open(storage, PassphraseProtector("secret-guess", **CHEAP), os.urandom)
    assert "secret-guess" not in str(caught.value)


def test_a_second_slot_opens_the_store_beside_the_first(storage: MemoryStorage) -> None:
    old, new = StaticProtector(bytes(32)), PassphraseProtector("new", **CHEAP)
    keyring = Keyring.open(storage, old, os.urandom)
    keyring.add_slot(new)
    for protector in (old, new):
        assert Keyring.open(storage, protector, os.urandom).protectors == ("static", "passphrase")


def test_a_new_root_key_changes_the_protector_and_keeps_the_logs(storage: MemoryStorage) -> None:
    keyring = Keyring.open(storage, StaticProtector(bytes(32)), os.urandom)
    log = SealedLog.open(storage, "raw", keyring, clock_now=lambda: 0.0)
    log.append(b"kept")
    keyring.renew_root(PassphraseProtector("new", **CHEAP))
    log.append(b"after")
    with pytest.raises(WrongKey):
        Keyring.open(storage, StaticProtector(bytes(32)), os.urandom)
    again = Keyring.open(storage, PassphraseProtector("new", **CHEAP), os.urandom)
    reopened = SealedLog.open(storage, "raw", again, clock_now=lambda: 0.0)
    assert [payload for _, payload in reopened.read()] == [b"kept", b"after"]


def test_key_file(tmp_path: Path) -> None:
    path = tmp_path / "vault.key"
    made = KeyFileProtector.create(path, os.urandom)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert made.kek(SALT) == KeyFileProtector(path).kek(SALT)
    assert not made.secure
    with pytest.raises(KeyUnavailable, match="not replaced"):
        KeyFileProtector.create(path, os.urandom)
    path.chmod(0o644)
    with pytest.raises(KeyUnavailable, match="chmod 600"):
        made.kek(SALT)
    path.chmod(0o600)
    path.write_bytes(b"short")
    with pytest.raises(KeyUnavailable):
        made.kek(SALT)
    path.unlink()
    with pytest.raises(KeyUnavailable):
        made.kek(SALT)


@pytest.mark.parametrize("kind", ["keyfile", "passphrase"])
def test_create_then_from_file(tmp_path: Path, kind: str) -> None:
    folder = tmp_path / "phone"
    made = create_protector(
        "keyfile" if kind == "keyfile" else "passphrase",
        folder,
        bits=os.urandom,
        passphrase="pass",
    )
    environ = {"REVERIE_PASSPHRASE": "pass"}
    again = protector_from_file(folder / VAULT_FILE, environ)
    assert again.name == kind
    assert again.kek(SALT) == made.kek(SALT)
    assert b'pass"' not in (folder / VAULT_FILE).read_bytes()
    with pytest.raises(KeyUnavailable, match="already"):
        create_protector("keyfile", folder, bits=os.urandom)
    if kind == "passphrase":
        with pytest.raises(KeyUnavailable):
            protector_from_file(folder / VAULT_FILE, {})


@pytest.mark.parametrize("content", ["", "{}", '{"protector": "none"}', '{"protector": 3}', "[]"])
def test_a_bad_vault_file_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / VAULT_FILE).write_text(content)
    with pytest.raises(KeyUnavailable):
        protector_from_file(tmp_path / VAULT_FILE)
    with pytest.raises(KeyUnavailable):
        read_vault_file(tmp_path / "absent.json")


def test_vault_file_round_trip(tmp_path: Path) -> None:
    config = VaultFile(protector="termux", secret="mine", hardware=True)
    write_vault_file(tmp_path, config)
    assert read_vault_file(tmp_path / VAULT_FILE) == config
    protector = protector_from_file(tmp_path / VAULT_FILE)
    assert (protector.name, protector.secure) == ("termux", True)


# -- Android's keystore


class Chip:
    """A keystore that signs with a real RSA key, as Termux:API lets it be used."""

    def __init__(self, *, deterministic: bool = True, hardware: bool = True) -> None:
        self.key: rsa.RSAPrivateKey | None = None
        self.deterministic = deterministic
        self.hardware = "true" if hardware else "false"
        self.silent = False

    def run(self, arguments: Sequence[str], data: bytes) -> bytes | None:
        if self.silent:
            return b""  # how Termux:API reports an error: nothing, exit code 0
        match arguments[0]:
            case "list" if self.key is None:
                return b"[]"
            case "list":
                entry = '{"alias": "reverie", "algorithm": "RSA", "size": 2048, '
                return f'[{entry}"inside_secure_hardware": {self.hardware}}}]'.encode()
            case "generate":
                self.key = rsa.generate_private_key(65537, 2048)
                return b""
            case "sign" if self.key is not None and self.deterministic:
                return self.key.sign(data, padding.PKCS1v15(), hashes.SHA256())
            case "sign" if self.key is not None:
                pss = padding.PSS(padding.MGF1(hashes.SHA256()), padding.PSS.MAX_LENGTH)
                return self.key.sign(data, pss, hashes.SHA256())
        return b""


def test_a_key_from_the_chip() -> None:
    chip = Chip()
    made = TermuxKeystoreProtector.create("reverie", run=chip.run)
    assert made.secure
    assert made.kek(SALT) == TermuxKeystoreProtector("reverie", run=chip.run).kek(SALT)
    assert made.kek(SALT) != made.kek(bytes([1] * 16))
    again = TermuxKeystoreProtector.create("reverie", run=chip.run)
    assert again.kek(SALT) == made.kek(SALT), "an existing key must be used, not replaced"
    chip.silent = True
    with pytest.raises(KeyUnavailable):
        made.kek(SALT)


def test_a_chip_that_will_not_do() -> None:
    with pytest.raises(KeyUnavailable, match="differ"):
        TermuxKeystoreProtector.create("reverie", run=Chip(deterministic=False).run)
    with pytest.raises(KeyUnavailable, match="Termux:API"):
        TermuxKeystoreProtector.create("reverie", run=lambda arguments, data: b"garbage")
    assert not TermuxKeystoreProtector.create("reverie", run=Chip(hardware=False).run).secure


def fake_keystore(folder: Path, script: str) -> None:
    tool = folder / "termux-keystore"
    tool.write_text(f"#!/bin/sh\n{script}\n")
    tool.chmod(0o755)


def test_the_real_runner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert run_keystore(("list",), b"") is None
    fake_keystore(tmp_path, 'echo "$1 $2"; cat')
    assert run_keystore(("sign", "reverie"), b"label") == b"sign reverie\nlabel"
    fake_keystore(tmp_path, "exit 3")
    assert run_keystore(("list",), b"") is None
    monkeypatch.setattr("device.vault.keystore.KEYSTORE_LIMIT", 0.2)
    fake_keystore(tmp_path, f"sleep 3600 & echo $! > {tmp_path}/child; wait")
    assert run_keystore(("list",), b"") is None
    child = int((tmp_path / "child").read_text())
    assert gone(child)


def gone(pid: int) -> bool:
    """Whether the process ends: a signal sent to a group arrives a moment after the call."""
    try:
        watched = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([watched], [], [], END_SECONDS)[0])
    finally:
        os.close(watched)
