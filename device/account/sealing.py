"""Letters that only the devices of an account can open, and keys that change when one leaves.

| bytes | field of the part after the head (`protocol.mail`)                              |
|-------|----------------------------------------------------------------------------------|
| 4     | epoch, big-endian                                                                |
| 8     | id of the epoch's key                                                            |
| 24    | salt of this letter                                                              |
| 1     | count of boxes                                                                   |
| 96 ·  | boxes: recipient 16, ephemeral X25519 key 32, sealed account key 48              |
| …     | ChaCha20-Poly1305(4-byte length, payload, zeros up to a bucket)                  |
| 64    | Ed25519 signature of the sender over the head and all of the above               |

The head (account, sender, counter) and everything before the ciphertext are its associated data.
Each letter has a key of its own, HKDF(account key, salt): a device put back from a copy may use a
counter twice, but never a nonce. The signature is there because every device holds the account
key: without it the cloud and one dishonest device could speak for another.

Two devices may rotate at once, so an epoch is (number, key id) and the greatest is in use. Who
has ever been given a key is kept with it: once one of these is removed the key must go.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from device.account.errors import EnvelopeRefused
from device.account.roster import Member
from protocol.errors import ProtocolError, SignatureInvalid
from protocol.identity import BitSource, SigningKey, verify
from protocol.mail import DEVICE_SIZE, HEAD_SIZE, MAX_LETTER, Letter, LetterKind, read_letter

__all__ = ["KEY_SIZE", "MAX_BOXES", "MAX_PAYLOAD", "Epoch", "Opened", "open_letter", "seal"]

KEY_SIZE = 32
ID_SIZE, SALT_SIZE, TAG_SIZE, SIGNATURE_SIZE = 8, 24, 16, 64
MAX_BOXES = 16
"""Devices in an account at once."""
_LABEL = b"reverie/account/letter/1"
_BOX_LABEL = b"reverie/account/box/1"
_PREFIX = struct.Struct(f">I{ID_SIZE}s{SALT_SIZE}sB")
_BOX = struct.Struct(f">{DEVICE_SIZE}s{KEY_SIZE}s{KEY_SIZE + TAG_SIZE}s")
_LENGTH = 4
_OVERHEAD = HEAD_SIZE + _PREFIX.size + MAX_BOXES * _BOX.size + TAG_SIZE + SIGNATURE_SIZE
_LARGEST = MAX_LETTER - _OVERHEAD
MAX_PAYLOAD = _LARGEST - _LENGTH
"""Bytes of payload that fit one letter."""
BUCKETS = (1 << 10, 1 << 11, 1 << 12, 1 << 13, 1 << 14, 1 << 15, _LARGEST)
"""Padded sizes: the cloud learns which of seven a letter has, nothing finer."""
_NONCE = bytes(12)
"""Every key seals once."""


@dataclass(frozen=True, slots=True)
class Epoch:
    """An account key and whom it was given to."""

    number: int
    key: bytes
    holders: frozenset[str]

    @classmethod
    def fresh(cls, number: int, holders: Iterable[str], bits: BitSource) -> Epoch:
        """A new key for these devices."""
        return cls(number, bits(KEY_SIZE), frozenset(holders))

    @property
    def id(self) -> bytes:
        """Tells keys apart and says nothing of them."""
        return hashlib.sha256(b"reverie/account/key-id/1" + self.key).digest()[:ID_SIZE]

    @property
    def order(self) -> tuple[int, bytes]:
        """Of two epochs the greater is in use."""
        return self.number, self.id

    def __repr__(self) -> str:
        return f"Epoch({self.number}, {self.id.hex()})"


@dataclass(frozen=True, slots=True)
class Opened:
    """What a letter held."""

    payload: bytes
    epoch: Epoch


def seal(
    payload: bytes,
    *,
    account: bytes,
    epoch: Epoch,
    counter: int,
    signer: SigningKey,
    sender: str,
    boxes_for: Sequence[Member] = (),
    bits: BitSource,
) -> bytes:
    """A letter with `payload`, which also gives the epoch's key to `boxes_for`."""
    if len(payload) > MAX_PAYLOAD or len(boxes_for) > MAX_BOXES:
        raise ValueError(f"a letter holds {MAX_PAYLOAD} bytes and {MAX_BOXES} boxes at most")
    head = Letter(LetterKind.SEALED, account, bytes.fromhex(sender), counter, b"").head
    salt = bits(SALT_SIZE)
    boxes = b"".join(_boxed(epoch, account, member, bits) for member in boxes_for)
    prefix = _PREFIX.pack(epoch.number, epoch.id, salt, len(boxes_for)) + boxes
    cipher = ChaCha20Poly1305(_letter_key(epoch.key, salt))
    body = prefix + cipher.encrypt(_NONCE, _padded(payload), head + prefix)
    return head + body + signer.sign(_LABEL + head + body)


def open_letter(
    data: bytes,
    *,
    account: bytes,
    members: Mapping[str, Member],
    epochs: Iterable[Epoch],
    own: str,
    box_key: X25519PrivateKey,
) -> Opened:
    """The payload of a letter of one of these members.

    Raises:
        EnvelopeRefused: not of this account, not of a member, changed, or under a key this device
            has not been given.
    """
    letter = _letter(data, account)
    sender = members.get(letter.sender.hex())
    if sender is None:
        raise EnvelopeRefused("a letter of no device of the account")
    body, signature = letter.rest[:-SIGNATURE_SIZE], letter.rest[-SIGNATURE_SIZE:]
    try:
        verify(sender.sign_key, signature, _LABEL + letter.head + body)
    except SignatureInvalid:
        raise EnvelopeRefused("a letter its sender did not sign") from None
    number, key_id, salt, boxes_end = _prefix_of(body)
    epoch = next((e for e in epochs if e.order == (number, key_id)), None)
    if epoch is None:
        epoch = _unboxed(body, boxes_end, number, account, own, box_key)
    if epoch is None or epoch.id != key_id:
        raise EnvelopeRefused("a letter under a key this device has not been given")
    prefix, sealed = body[:boxes_end], body[boxes_end:]
    try:
        cipher = ChaCha20Poly1305(_letter_key(epoch.key, salt))
        padded = cipher.decrypt(_NONCE, sealed, letter.head + prefix)
    except InvalidTag:
        raise EnvelopeRefused("a letter that was changed") from None
    return Opened(_unpadded(padded), epoch)


def _letter(data: bytes, account: bytes) -> Letter:
    try:
        letter = read_letter(data)
    except ProtocolError as error:
        raise EnvelopeRefused(f"not a letter: {error}") from None
    least = _PREFIX.size + TAG_SIZE + SIGNATURE_SIZE
    if letter.kind is not LetterKind.SEALED or letter.address != account:
        raise EnvelopeRefused("a letter of another account")
    if len(letter.rest) < least:
        raise EnvelopeRefused("too short for a letter")
    return letter


def _prefix_of(body: bytes) -> tuple[int, bytes, bytes, int]:
    number, key_id, salt, count = _PREFIX.unpack_from(body)
    end = _PREFIX.size + count * _BOX.size
    if count > MAX_BOXES or end + TAG_SIZE > len(body):
        raise EnvelopeRefused("a letter with more boxes than it has bytes")
    return number, key_id, salt, end


def _letter_key(account_key: bytes, salt: bytes) -> bytes:
    return HKDF(hashes.SHA256(), KEY_SIZE, salt, _LABEL).derive(account_key)


def _padded(payload: bytes) -> bytes:
    size = len(payload) + _LENGTH
    bucket = next(bucket for bucket in BUCKETS if bucket >= size)
    return len(payload).to_bytes(_LENGTH, "big") + payload + bytes(bucket - size)


def _unpadded(padded: bytes) -> bytes:
    length = int.from_bytes(padded[:_LENGTH], "big")
    if len(padded) not in BUCKETS or length > len(padded) - _LENGTH:
        raise EnvelopeRefused("a letter with the wrong padding")
    return padded[_LENGTH : _LENGTH + length]


def _boxed(epoch: Epoch, account: bytes, member: Member, bits: BitSource) -> bytes:
    ephemeral = X25519PrivateKey.from_private_bytes(bits(KEY_SIZE))
    public = ephemeral.public_key().public_bytes_raw()
    shared = ephemeral.exchange(X25519PublicKey.from_public_bytes(member.box_key))
    recipient = bytes.fromhex(member.device)
    cipher = _box_cipher(shared, public, member.box_key)
    sealed = cipher.encrypt(_NONCE, epoch.key, _box_context(account, epoch.number, recipient))
    return _BOX.pack(recipient, public, sealed)


def _unboxed(
    body: bytes, end: int, number: int, account: bytes, own: str, box_key: X25519PrivateKey
) -> Epoch | None:
    """The epoch whose key is in our box; its holders are those who got one with us."""
    rows = list(_BOX.iter_unpack(body[_PREFIX.size : end]))
    holders = frozenset(recipient.hex() for recipient, _, _ in rows)
    recipient = bytes.fromhex(own)
    for to, public, sealed in rows:
        if to == recipient:
            own_public = box_key.public_key().public_bytes_raw()
            try:
                shared = box_key.exchange(X25519PublicKey.from_public_bytes(public))
                cipher = _box_cipher(shared, public, own_public)
                key = cipher.decrypt(_NONCE, sealed, _box_context(account, number, to))
            except (InvalidTag, ValueError):
                raise EnvelopeRefused("a letter whose box does not open") from None
            return Epoch(number, key, holders | {own})
    return None


def _box_cipher(shared: bytes, ephemeral: bytes, recipient: bytes) -> ChaCha20Poly1305:
    derive: Callable[[bytes], bytes] = HKDF(
        hashes.SHA256(), KEY_SIZE, ephemeral + recipient, _BOX_LABEL
    ).derive
    return ChaCha20Poly1305(derive(shared))


def _box_context(account: bytes, number: int, recipient: bytes) -> bytes:
    return _BOX_LABEL + account + number.to_bytes(4, "big") + recipient
