from __future__ import annotations

import os
from pathlib import Path

import pytest

from device.vault import (
    FolderStorage,
    Keyring,
    SealedLog,
    StorageReadOnly,
    create_protector,
    open_ledger,
    store_folder,
)
from privacy.ledger import LedgerUnavailable


def a_phone(folder: Path) -> tuple[FolderStorage, SealedLog]:
    protector = create_protector("keyfile", folder, bits=os.urandom)
    storage = FolderStorage(store_folder(folder))
    keyring = Keyring.open(storage, protector, os.urandom)
    return storage, SealedLog.open(storage, "ledger", keyring, clock_now=lambda: 0.0)


def test_an_auditor_reads_while_the_phone_runs(tmp_path: Path) -> None:
    storage, log = a_phone(tmp_path)
    log.append(b"reserve")
    before = {name: storage.read(name) for name in storage.names()}
    ledger = open_ledger(tmp_path)
    assert [payload for _, payload in ledger.read()] == [b"reserve"]
    with pytest.raises(StorageReadOnly):
        ledger.append(b"forged")
    assert {name: storage.read(name) for name in storage.names()} == before
    assert log.append(b"commit") == 1


def test_trouble_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(LedgerUnavailable, match="not a phone's folder"):
        open_ledger(tmp_path)
    with pytest.raises(LedgerUnavailable, match="not a phone's folder"):
        open_ledger(tmp_path / "absent")
    create_protector("keyfile", tmp_path, bits=os.urandom)
    with pytest.raises(LedgerUnavailable, match="no store yet"):
        open_ledger(tmp_path)


def test_a_missing_or_wrong_key_is_told(tmp_path: Path) -> None:
    _, log = a_phone(tmp_path)
    log.append(b"reserve")
    (key,) = tmp_path.glob("*.key")
    good = key.read_bytes()
    key.write_bytes(bytes(32))
    with pytest.raises(LedgerUnavailable, match="does not open"):
        open_ledger(tmp_path)
    key.unlink()
    with pytest.raises(LedgerUnavailable, match="cannot read"):
        open_ledger(tmp_path)
    assert good != bytes(32)


def test_damage_is_told(tmp_path: Path) -> None:
    storage, log = a_phone(tmp_path)
    log.append(b"reserve")
    storage.replace("keyring", storage.read("keyring")[:-1])
    with pytest.raises(LedgerUnavailable, match="damaged"):
        open_ledger(tmp_path)
