"""Who keeps the phone's secret."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from device.conditions import Finding
from device.interfaces.doctor.patient import Patient
from device.vault import KeyProtector
from device.vault.vault_file import VAULT_FILE, read_vault_file

__all__ = ["Remembering", "key"]


async def key(patient: Patient) -> Sequence[Finding]:
    """By ``vault.json`` alone: a passphrase not at hand now is no fault of its own."""
    config = read_vault_file(patient.home / VAULT_FILE)
    if config.protector == "keyfile":
        if patient.protector is None:
            return [patient.finding("key", "fault", "key gone", why=patient.no_key)]
        return [patient.finding("key", "warning", "key keyfile")]
    if config.protector == "termux" and not config.hardware:
        return [patient.finding("key", "warning", "key soft")]
    return [patient.finding("key", "ok", f"key {config.protector}")]


class Remembering:
    """A protector that stretches its secret once for each salt, one at a time.

    Three checks open the store, each in a thread of its own: OpenSSL's Argon2 shares one pool of
    threads, and several at once wait for each other for ever.
    """

    def __init__(self, protector: KeyProtector) -> None:
        self._protector = protector
        self.name, self.secure = protector.name, protector.secure
        self._turn = threading.Lock()
        self._known: dict[bytes, bytes] = {}

    def kek(self, salt: bytes) -> bytes:
        """As the protector's own. Raises `KeyUnavailable`."""
        with self._turn:
            if salt not in self._known:
                self._known[salt] = self._protector.kek(salt)
            return self._known[salt]
