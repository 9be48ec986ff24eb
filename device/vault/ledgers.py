"""The auditor's way into a phone's sealed ledger (entry point ``reverie.ledgers``: phone)."""

from __future__ import annotations

import os
import time
from pathlib import Path

from device.vault.errors import VaultError
from device.vault.folder import FolderStorage
from device.vault.keyring import Keyring
from device.vault.sealed_log import SealedLog
from device.vault.vault_file import VAULT_FILE, protector_from_file
from privacy.ledger import LedgerUnavailable

__all__ = ["LEDGER_LOG", "open_ledger", "store_folder"]

LEDGER_LOG = "ledger"
STORE = "vault"


def store_folder(phone: Path) -> Path:
    """Where a phone's folder keeps its sealed store, beside ``vault.json``."""
    return phone / STORE


def open_ledger(path: Path) -> SealedLog:
    """The ledger log of the phone in folder `path`, for reading only; the phone may be running.

    Raises `privacy.ledger.LedgerUnavailable` with one line that says what to do.
    """
    if not (path / VAULT_FILE).is_file():
        raise LedgerUnavailable(f"{path} is not a phone's folder: it has no {VAULT_FILE}")
    try:
        protector = protector_from_file(path / VAULT_FILE)
        storage = FolderStorage(store_folder(path), read_only=True)
        if "keyring" not in storage.names("keyring"):
            raise LedgerUnavailable(f"{path} has no store yet; nothing was ever recorded")
        keyring = Keyring.open(storage, protector, os.urandom)
        return SealedLog.open(storage, LEDGER_LOG, keyring, clock_now=time.time, read_only=True)
    except FileNotFoundError as error:
        raise LedgerUnavailable(f"{path} has no store yet; nothing was ever recorded") from error
    except VaultError as error:
        raise LedgerUnavailable(str(error)) from error
