"""The keyring: one random key per segment, and what each closed segment must look like.

It is one small sealed file, replaced atomically. The protector's key-encryption key (KEK) seals it
under a key derived with a salt that is fresh at every write, so no (key, nonce) pair comes twice.
Dropping a segment's key from it shreds the segment. An old copy of the file may survive in flash
cells until they are reused; only destroying the protector's secret covers that.

| bytes | field                                                              |
|-------|--------------------------------------------------------------------|
| 4     | magic                                                              |
| 16    | salt of the KEK, chosen once                                       |
| 16    | check value: tells a wrong key from damage                         |
| 32    | salt of this write                                                 |
| …     | ChaCha20-Poly1305(msgpack of the logs), the fields above as AAD    |
| 8     | SHA-256 prefix over all of it: tells damage from a wrong key       |
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import msgpack
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from device.vault.errors import KeyUnavailable, Tampered, WrongKey
from device.vault.storage import Storage

__all__ = ["BitSource", "KeyProtector", "Keyring", "LogKeys", "Segment"]

BitSource = Callable[[int], bytes]

KEYRING = "keyring"
SEGMENT_SUFFIX = ".seg"
MAGIC = b"RVK1"
SALT, CHECK, WRITE_SALT, DIGEST = 16, 16, 32, 8
HEAD = len(MAGIC) + SALT + CHECK + WRITE_SALT
KEY = 32
SEGMENT_ID = 8
ONLY_NONCE = bytes(12)
"""Its key is derived afresh for each write and seals once."""


class KeyProtector(Protocol):
    """Something that can give the same secret key again, and nobody else can."""

    @property
    def name(self) -> str:
        """passphrase | keyfile | termux | …"""
        ...

    @property
    def secure(self) -> bool:
        """False when whoever copies the phone's files also gets the key."""
        ...

    def kek(self, salt: bytes) -> bytes:
        """32 bytes, the same for the same salt; raises `KeyUnavailable`."""
        ...


@dataclass(frozen=True, slots=True)
class Segment:
    """One file of a log, with its key. While it is being written `length` is −1."""

    id: int
    key: bytes
    created: float
    """Unix seconds."""
    first: int
    end: int
    """Its sequences lie in [first, end)."""
    count: int
    """Records in it; fewer than end − first after an erase."""
    length: int
    """Bytes that count; whatever follows them is a torn tail."""

    @property
    def closed(self) -> bool:
        """Nothing is added to it any more."""
        return self.length >= 0


@dataclass(frozen=True, slots=True)
class LogKeys:
    """All segments of one log, oldest first, and the sequence that follows them."""

    segments: tuple[Segment, ...] = ()
    end: int = 0


class Keyring:
    """Keys of all logs of one store. Owned by one process, like the store."""

    __slots__ = ("_bits", "_check", "_kek", "_logs", "_salt", "_storage")

    def __init__(self, storage: Storage, bits: BitSource, salt: bytes, kek: bytes) -> None:
        self._storage = storage
        self._bits = bits
        self._salt = salt
        self._kek = kek
        self._check = _derive(kek, salt, b"reverie keyring check", CHECK)
        self._logs: dict[str, LogKeys] = {}

    @classmethod
    def open(cls, storage: Storage, protector: KeyProtector, bits: BitSource) -> Keyring:
        """Open the store's keyring, or make one in an empty store.

        Raises `WrongKey`, `Tampered`, `KeyUnavailable` or a storage error.
        """
        try:
            sealed = storage.read(KEYRING)
        except FileNotFoundError:
            if any(name.endswith(SEGMENT_SUFFIX) for name in storage.names()):
                raise Tampered("the keyring is gone but its logs are there; restore it") from None
            salt = bits(SALT)
            ring = cls(storage, bits, salt, _kek(protector, salt))
            ring._save(ring._logs)
            return ring
        if not _whole(sealed):
            raise Tampered("the keyring is damaged; restore it from a backup")
        salt = sealed[len(MAGIC) : len(MAGIC) + SALT]
        ring = cls(storage, bits, salt, _kek(protector, salt))
        ring._logs = ring._unseal(sealed)
        return ring

    def log(self, name: str) -> LogKeys:
        """What was last committed for the log `name`."""
        return self._logs.get(name, LogKeys())

    def commit(self, name: str, keys: LogKeys) -> None:
        """Durably set what is known of the log `name`; on an error nothing changes."""
        logs = self._logs | {name: keys}
        self._save(logs)
        self._logs = logs

    def new_segment(self, first: int, now: float) -> Segment:
        """A segment under a fresh random key, not yet committed."""
        identity = int.from_bytes(self._bits(SEGMENT_ID), "little")
        return Segment(identity, self._bits(KEY), now, first, first, 0, -1)

    def rewrap(self, protector: KeyProtector) -> None:
        """Seal the keyring under another protector and a new salt; logs stay as they are."""
        salt = self._bits(SALT)
        other = Keyring(self._storage, self._bits, salt, _kek(protector, salt))
        other._save(self._logs)
        self._salt, self._kek, self._check = other._salt, other._kek, other._check

    def _save(self, logs: dict[str, LogKeys]) -> None:
        body = msgpack.packb([[name, keys.end, _rows(keys)] for name, keys in sorted(logs.items())])
        write_salt = self._bits(WRITE_SALT)
        head = MAGIC + self._salt + self._check + write_salt
        sealed = head + self._cipher(write_salt).encrypt(ONLY_NONCE, body, head)
        self._storage.replace(KEYRING, sealed + _digest(sealed))

    def _unseal(self, sealed: bytes) -> dict[str, LogKeys]:
        head, body = sealed[:HEAD], sealed[HEAD:-DIGEST]
        check = head[len(MAGIC) + SALT : len(MAGIC) + SALT + CHECK]
        if not hmac.compare_digest(check, self._check):
            raise WrongKey("this key does not open the store; check the passphrase or key file")
        try:
            rows = msgpack.unpackb(self._cipher(head[-WRITE_SALT:]).decrypt(ONLY_NONCE, body, head))
        except InvalidTag as error:
            raise Tampered("the keyring was altered; restore it from a backup") from error
        return {
            name: LogKeys(tuple(Segment(*fields) for fields in segments), end)
            for name, end, segments in rows
        }

    def _cipher(self, write_salt: bytes) -> ChaCha20Poly1305:
        return ChaCha20Poly1305(_derive(self._kek, write_salt, b"reverie keyring", KEY))


def _rows(keys: LogKeys) -> list[tuple[object, ...]]:
    return [
        (one.id, one.key, one.created, one.first, one.end, one.count, one.length)
        for one in keys.segments
    ]


def _kek(protector: KeyProtector, salt: bytes) -> bytes:
    kek = protector.kek(salt)
    if len(kek) != KEY:
        raise KeyUnavailable(f"the {protector.name} protector gave a key of the wrong length")
    return kek


def _derive(kek: bytes, salt: bytes, purpose: bytes, length: int) -> bytes:
    return HKDF(algorithm=hashes.SHA256(), length=length, salt=salt, info=purpose).derive(kek)


def _digest(sealed: bytes) -> bytes:
    return hashlib.sha256(sealed).digest()[:DIGEST]


def _whole(sealed: bytes) -> bool:
    long_enough = len(sealed) >= HEAD + DIGEST
    return (
        long_enough and sealed.startswith(MAGIC) and sealed[-DIGEST:] == _digest(sealed[:-DIGEST])
    )
