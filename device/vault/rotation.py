"""Key rotation: new secret, new root key, new key for every segment; the old ones open nothing.

Every step is durable before the next begins, and at each the phone opens with the secret that
``vault.json`` names, so a rotation that was killed is simply begun again.

1. a second key slot for the new protector    2. ``vault.json`` names it
3. a fresh root key under it alone            4. every segment under a fresh key
5. the old secret is destroyed
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from device.vault.folder import FolderStorage
from device.vault.keyring import Keyring
from device.vault.ledgers import store_folder
from device.vault.sealed_log import SealedLog
from device.vault.slots import BitSource, KeyProtector
from device.vault.vault_file import (
    VAULT_FILE,
    ProtectorKind,
    destroy_secret,
    make_secret,
    read_vault_file,
    write_vault_file,
)

__all__ = ["rotate_keys"]


def rotate_keys(
    folder: Path,
    protector: KeyProtector,
    kind: ProtectorKind,
    *,
    bits: BitSource,
    clock_now: Callable[[], float],
    passphrase: str = "",
) -> Iterator[tuple[str, int]]:
    """Rotate all keys of the phone in `folder`, which `protector` opens now.

    `kind` and `passphrase` say who keeps the new secret. Yields (log, its segments) after each log.
    Raises `StoreBusy` while a daemon runs, `WrongKey`, `Tampered`, `KeyUnavailable`.
    """
    storage = FolderStorage(store_folder(folder))
    try:
        keyring = Keyring.open(storage, protector, bits)
        old = read_vault_file(folder / VAULT_FILE)
        config, successor = make_secret(kind, folder, bits=bits, passphrase=passphrase)
        keyring.add_slot(successor)
        write_vault_file(folder, config)
        keyring.renew_root(successor)
        for name in keyring.logs:
            log = SealedLog.open(storage, name, keyring, clock_now=clock_now)
            yield name, log.rekey()
            log.close()
        destroy_secret(folder, old)
    finally:
        storage.close()
