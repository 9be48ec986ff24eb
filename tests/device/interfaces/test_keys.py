"""`init` and `rotate-keys` on the command line: who keeps the phone's secret."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from device.interfaces.cli import app
from device.settings import SettingsInvalid
from device.vault import (
    FolderStorage,
    Keyring,
    KeyUnavailable,
    SealedLog,
    StoreBusy,
    WrongKey,
    protector_from_file,
    store_folder,
)


def run(home: Path, *arguments: str, **environment: str) -> Result:
    return CliRunner().invoke(app, [*arguments, "--home", str(home)], env=environment)


def phone(home: Path, *how: str, **environment: str) -> None:
    """A phone whose store holds one record."""
    assert run(home, "init", *how, **environment).exit_code == 0
    append(home, environment)


def open_keyring(home: Path, environment: dict[str, str]) -> tuple[FolderStorage, Keyring]:
    protector = protector_from_file(home / "vault.json", environment)
    storage = FolderStorage(store_folder(home))
    try:
        return storage, Keyring.open(storage, protector, os.urandom)
    except WrongKey:
        storage.close()
        raise


def append(home: Path, environment: dict[str, str]) -> None:
    storage, keyring = open_keyring(home, environment)
    log = SealedLog.open(storage, "raw", keyring, clock_now=lambda: 0.0)
    log.append(b"kept")
    log.close()
    storage.close()


def kept(home: Path, **environment: str) -> list[bytes]:
    storage, keyring = open_keyring(home, environment)
    log = SealedLog.open(storage, "raw", keyring, clock_now=lambda: 0.0)
    found = [payload for _, payload in log.read()]
    storage.close()
    return found


def test_rotating_keeps_the_kind_of_secret_and_the_memory(tmp_path: Path) -> None:
    phone(tmp_path)
    (before,) = tmp_path.glob("*.key")
    told = run(tmp_path, "rotate-keys", "--json")
    assert json.loads(told.stdout) == {"protector": "keyfile", "segments": 1}
    (after,) = tmp_path.glob("*.key")
    assert after.name != before.name
    assert kept(tmp_path) == [b"kept"]


def test_a_new_passphrase_replaces_the_old_one(tmp_path: Path) -> None:
    phone(tmp_path, "--passphrase", REVERIE_PASSPHRASE="old")
    told = run(tmp_path, "rotate-keys", REVERIE_PASSPHRASE="old", REVERIE_NEW_PASSPHRASE="new")
    assert told.exit_code == 0
    assert "passphrase" in told.stdout
    assert kept(tmp_path, REVERIE_PASSPHRASE="new") == [b"kept"]
    with pytest.raises(WrongKey):
        kept(tmp_path, REVERIE_PASSPHRASE="old")


def test_without_a_new_passphrase_nothing_changes(tmp_path: Path) -> None:
    phone(tmp_path)
    told = run(tmp_path, "rotate-keys", "--to", "passphrase", REVERIE_NEW_PASSPHRASE="")
    assert isinstance(told.exception, KeyUnavailable)
    assert "REVERIE_NEW_PASSPHRASE" in str(told.exception)
    assert kept(tmp_path) == [b"kept"]


def test_a_running_daemon_keeps_its_keys(tmp_path: Path) -> None:
    phone(tmp_path)
    storage = FolderStorage(store_folder(tmp_path))
    told = run(tmp_path, "rotate-keys")
    storage.close()
    assert isinstance(told.exception, StoreBusy)
    assert len(list(tmp_path.glob("*.key"))) == 1
    assert kept(tmp_path) == [b"kept"]


def test_a_folder_without_a_phone_says_what_to_do(tmp_path: Path) -> None:
    told = run(tmp_path, "rotate-keys")
    assert isinstance(told.exception, SettingsInvalid)
    assert "init" in str(told.exception)


def test_one_protector_only(tmp_path: Path) -> None:
    told = run(tmp_path, "init", "--termux", "--os-keyring")
    assert isinstance(told.exception, SettingsInvalid)
    assert "termux and os-keyring" in str(told.exception)
    assert not list(tmp_path.iterdir())
