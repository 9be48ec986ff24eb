"""The keyring: one random key per segment, and what each closed segment must look like.

It is one small sealed file, replaced atomically. A random root key seals it, under a key derived
with a salt that is fresh at every write, so no (key, nonce) pair comes twice; key slots hold the
root key for each protector. Dropping a segment's key from it shreds the segment. An old copy of
the file may survive in flash cells until they are reused; only a new root key whose predecessor's
protector is destroyed covers that (`renew_root`).

| bytes | field                                                              |
|-------|--------------------------------------------------------------------|
| 4     | magic                                                              |
| 2     | length of the slots                                                |
| …     | key slots (`device.vault.slots`)                                   |
| 32    | salt of this write                                                 |
| …     | ChaCha20-Poly1305(msgpack of the logs), the fields above as AAD    |
| 8     | SHA-256 prefix over all of it: tells damage from a wrong key       |
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import NamedTuple

import msgpack
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from device.vault.errors import Tampered, WrongKey
from device.vault.slots import (
    DAMAGED,
    KEY,
    BitSource,
    KeyProtector,
    KeySlot,
    pack_slots,
    unpack_slots,
)
from device.vault.storage import Storage

__all__ = ["Keyring", "LogKeys", "Segment"]

KEYRING = "keyring"
SEGMENT_SUFFIX = ".seg"
MAGIC = b"RVK2"
SLOTS_LENGTH, WRITE_SALT, DIGEST = 2, 32, 8
SLOTS_AT = len(MAGIC) + SLOTS_LENGTH
SEGMENT_ID = 8
PURPOSE = b"reverie keyring"
ONLY_NONCE = bytes(12)
"""Its key is derived afresh for each write and seals once."""


class Segment(NamedTuple):
    """One file of a log, with its key. While it is being written `length` is −1."""

    id: int
    key: bytes
    created: float
    """Unix seconds."""
    first: int
    end: int
    """Its sequences lie in [first, end)."""
    held: int
    """Records in it; fewer than end − first after an erase."""
    length: int
    """Bytes that count; whatever follows them is a torn tail."""

    @property
    def closed(self) -> bool:
        """Nothing is added to it any more."""
        return self.length >= 0

    def grown(self, end: int, held: int, length: int) -> Segment:
        """The same segment after an append; every record of a phone makes one."""
        return Segment(self.id, self.key, self.created, self.first, end, held, length)


class LogKeys(NamedTuple):
    """All segments of one log, oldest first, and the sequence that follows them."""

    segments: tuple[Segment, ...] = ()
    end: int = 0


class Keyring:
    """Keys of all logs of one store. Owned by one process, like the store."""

    __slots__ = ("_bits", "_logs", "_root", "_slots", "_storage")

    def __init__(
        self, storage: Storage, bits: BitSource, root: bytes, slots: tuple[KeySlot, ...]
    ) -> None:
        """Use `open`."""
        self._storage = storage
        self._bits = bits
        self._root = root
        self._slots = slots
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
            root = bits(KEY)
            ring = cls(storage, bits, root, (KeySlot.seal(root, protector, bits),))
            ring._save(ring._logs)
            return ring
        head = _head_of(sealed)
        slots = unpack_slots(head[SLOTS_AT:-WRITE_SALT])
        root_key = next((key for slot in slots if (key := slot.open(protector))), None)
        if root_key is None:
            raise WrongKey("this key does not open the store; check the passphrase or key file")
        ring = cls(storage, bits, root_key, slots)
        ring._logs = ring._unseal(head, sealed[len(head) : -DIGEST])
        return ring

    @property
    def protectors(self) -> tuple[str, ...]:
        """Names of the protectors that open this store, oldest first."""
        return tuple(slot.protector for slot in self._slots)

    @property
    def logs(self) -> tuple[str, ...]:
        """Names of the logs that hold something, sorted."""
        return tuple(sorted(self._logs))

    def log(self, name: str) -> LogKeys:
        """What was last committed for the log `name`."""
        return self._logs.get(name, LogKeys())

    def commit(self, name: str, keys: LogKeys) -> None:
        """Durably set what is known of the log `name`; on an error nothing changes."""
        self.commit_all({name: keys})

    def commit_all(self, keys: Mapping[str, LogKeys]) -> None:
        """The same for several logs, by name, with one write."""
        logs = {**self._logs, **keys}
        self._save(logs)
        self._logs = logs

    def new_segment(self, first: int, now: float) -> Segment:
        """A segment under a fresh random key, not yet committed."""
        identity = int.from_bytes(self._bits(SEGMENT_ID), "little")
        return Segment(identity, self._bits(KEY), now, first, first, 0, -1)

    def add_slot(self, protector: KeyProtector) -> None:
        """Let `protector` open the store too. Raises `KeyUnavailable` or a storage error."""
        added = KeySlot.seal(self._root, protector, self._bits)
        self._become(self._root, (*self._slots, added))

    def renew_root(self, protector: KeyProtector) -> None:
        """A fresh root key that `protector` alone opens; every other slot is gone."""
        root = self._bits(KEY)
        self._become(root, (KeySlot.seal(root, protector, self._bits),))

    def _become(self, root: bytes, slots: tuple[KeySlot, ...]) -> None:
        """Write the keyring under another root or other slots; on an error nothing changes."""
        other = Keyring(self._storage, self._bits, root, slots)
        other._save(self._logs)
        self._root, self._slots = root, slots

    def _save(self, logs: dict[str, LogKeys]) -> None:
        rows = [(name, keys.end, keys.segments) for name, keys in sorted(logs.items())]
        body = msgpack.packb(rows)
        slots = pack_slots(self._slots)
        head = MAGIC + len(slots).to_bytes(SLOTS_LENGTH, "big") + slots + self._bits(WRITE_SALT)
        sealed = head + self._cipher(head).encrypt(ONLY_NONCE, body, head)
        self._storage.replace(KEYRING, sealed + _digest(sealed))

    def _unseal(self, head: bytes, body: bytes) -> dict[str, LogKeys]:
        try:
            rows = msgpack.unpackb(self._cipher(head).decrypt(ONLY_NONCE, body, head))
        except InvalidTag as error:
            raise Tampered("the keyring was altered; restore it from a backup") from error
        return {
            name: LogKeys(tuple(Segment(*fields) for fields in segments), end)
            for name, end, segments in rows
        }

    def _cipher(self, head: bytes) -> ChaCha20Poly1305:
        salt = head[-WRITE_SALT:]
        stretch = HKDF(algorithm=hashes.SHA256(), length=KEY, salt=salt, info=PURPOSE)
        return ChaCha20Poly1305(stretch.derive(self._root))


def _digest(sealed: bytes) -> bytes:
    return hashlib.sha256(sealed).digest()[:DIGEST]


def _head_of(sealed: bytes) -> bytes:
    """Everything before the sealed body; `Tampered` unless the file is whole."""
    body_at = SLOTS_AT + int.from_bytes(sealed[len(MAGIC) : SLOTS_AT], "big") + WRITE_SALT
    whole = (
        sealed.startswith(MAGIC)
        and len(sealed) >= body_at + DIGEST
        and sealed[-DIGEST:] == _digest(sealed[:-DIGEST])
    )
    if not whole:
        raise Tampered(DAMAGED)
    return sealed[:body_at]
