"""What can go wrong with a phone's store; every message is one line that says what to do."""

from __future__ import annotations

from device.actors.errors import DomainError

__all__ = [
    "KeyUnavailable",
    "StorageFull",
    "StorageReadOnly",
    "StoreBusy",
    "Tampered",
    "VaultError",
    "WrongKey",
]


class VaultError(DomainError):
    """Base of all errors of the vault. Restarting an actor cures none of them."""


class WrongKey(VaultError):
    """The key protector gave another key than the one the store was made with."""


class Tampered(VaultError):
    """Stored bytes are damaged, missing or from elsewhere."""


class StoreBusy(VaultError):
    """Another process owns the store."""


class StorageFull(VaultError):
    """No space is left; nothing of the refused write counts as stored."""


class StorageReadOnly(VaultError):
    """The store may not be written."""


class KeyUnavailable(VaultError):
    """The key protector cannot give a key now (file missing, no passphrase, chip silent)."""
