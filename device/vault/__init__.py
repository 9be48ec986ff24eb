"""Keys and sealed logs: nothing a phone stores is ever in clear."""

from device.vault.errors import (
    KeyUnavailable,
    StorageFull,
    StorageReadOnly,
    StoreBusy,
    Tampered,
    VaultError,
    WrongKey,
)
from device.vault.folder import FolderStorage
from device.vault.frames import MAX_PAYLOAD
from device.vault.keyring import Keyring
from device.vault.keystore import TermuxKeystoreProtector
from device.vault.ledgers import open_ledger, store_folder
from device.vault.os_keyring import OsKeyringProtector
from device.vault.protectors import KeyFileProtector, PassphraseProtector, StaticProtector
from device.vault.rotation import rotate_keys
from device.vault.sealed_log import SealedLog
from device.vault.slots import BitSource, KeyProtector
from device.vault.storage import MemoryStorage, Storage
from device.vault.vault_file import ProtectorKind, create_protector, protector_from_file

__all__ = [
    "MAX_PAYLOAD",
    "BitSource",
    "FolderStorage",
    "KeyFileProtector",
    "KeyProtector",
    "KeyUnavailable",
    "Keyring",
    "MemoryStorage",
    "OsKeyringProtector",
    "PassphraseProtector",
    "ProtectorKind",
    "SealedLog",
    "StaticProtector",
    "Storage",
    "StorageFull",
    "StorageReadOnly",
    "StoreBusy",
    "Tampered",
    "TermuxKeystoreProtector",
    "VaultError",
    "WrongKey",
    "create_protector",
    "open_ledger",
    "protector_from_file",
    "rotate_keys",
    "store_folder",
]
