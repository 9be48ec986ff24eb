"""Key slots: the store's root key, sealed once for each protector that may open it.

Two slots at once let a protector be changed with no moment at which neither opens the store (the
design of LUKS: Fruhwirth, "New Methods in Hard Disk Encryption", 2005).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

import msgpack
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from device.vault.errors import KeyUnavailable, Tampered

__all__ = ["DAMAGED", "KEY", "BitSource", "KeyProtector", "KeySlot", "pack_slots", "unpack_slots"]


BitSource = Callable[[int], bytes]
"""n → n random bytes: the OS CSPRNG on a real phone."""

KEY = 32
SALT = 16
WRAP_SALT = 32
SEALED = KEY + 16
MAX_SLOTS = 8
PURPOSE = b"reverie key slot"
DAMAGED = "the keyring is damaged; restore it from a backup"
ONLY_NONCE = bytes(12)
"""A wrapping key is derived with a fresh salt and seals once."""


class KeyProtector(Protocol):
    """Something that can give the same secret key again, and nobody else can."""

    @property
    def name(self) -> str:
        """passphrase | keyfile | os-keyring | termux | …"""
        ...

    @property
    def secure(self) -> bool:
        """False when whoever copies the phone's files also gets the key."""
        ...

    def kek(self, salt: bytes) -> bytes:
        """32 bytes, the same for the same salt; raises `KeyUnavailable`."""
        ...


@dataclass(frozen=True, slots=True)
class KeySlot:
    """The root key as one protector can open it."""

    protector: str
    """Its name, so that others are not asked for a key they cannot give."""
    salt: bytes
    wrap_salt: bytes
    sealed: bytes

    @classmethod
    def seal(cls, root: bytes, protector: KeyProtector, bits: BitSource) -> KeySlot:
        """Seal `root` for `protector`. Raises `KeyUnavailable`."""
        salt, wrap_salt = bits(SALT), bits(WRAP_SALT)
        wrap = _wrapping_key(protector, salt, wrap_salt)
        sealed = ChaCha20Poly1305(wrap).encrypt(ONLY_NONCE, root, protector.name.encode())
        return cls(protector.name, salt, wrap_salt, sealed)

    def open(self, protector: KeyProtector) -> bytes | None:
        """The root key, or None when this protector's key is another one."""
        if protector.name != self.protector:
            return None
        wrap = _wrapping_key(protector, self.salt, self.wrap_salt)
        try:
            return ChaCha20Poly1305(wrap).decrypt(ONLY_NONCE, self.sealed, self.protector.encode())
        except InvalidTag:
            return None


def pack_slots(slots: Iterable[KeySlot]) -> bytes:
    """Slots as the keyring's head holds them."""
    rows = [(one.protector, one.salt, one.wrap_salt, one.sealed) for one in slots]
    return bytes(msgpack.packb(rows))


def unpack_slots(data: bytes) -> tuple[KeySlot, ...]:
    """Inverse of `pack_slots`; `Tampered` for anything else."""
    try:
        slots = tuple(KeySlot(*row) for row in msgpack.unpackb(data))
    except (ValueError, TypeError) as error:
        raise Tampered(DAMAGED) from error
    if not 1 <= len(slots) <= MAX_SLOTS or not all(_well_formed(slot) for slot in slots):
        raise Tampered(DAMAGED)
    return slots


def _well_formed(slot: KeySlot) -> bool:
    parts = ((slot.salt, SALT), (slot.wrap_salt, WRAP_SALT), (slot.sealed, SEALED))
    return isinstance(slot.protector, str) and all(
        isinstance(part, bytes) and len(part) == length for part, length in parts
    )


def _wrapping_key(protector: KeyProtector, salt: bytes, wrap_salt: bytes) -> bytes:
    kek = protector.kek(salt)
    if len(kek) != KEY:
        raise KeyUnavailable(f"the {protector.name} protector gave a key of the wrong length")
    stretch = HKDF(algorithm=hashes.SHA256(), length=KEY, salt=wrap_salt, info=PURPOSE)
    return stretch.derive(kek)
