"""A code shown on one device brings another into the account.

    old device                        the cloud's mailbox, in a slot          new device
    shows the code, opens the slot ─▶
                                   ◀─ request: new keys, name, X25519 half ── types the code
    answer: account key, members, X25519 half ──────────────────────────────▶
    shows the fingerprint                                                     shows the same

The code is 65 random bits: thirteen Crockford base32 symbols and a check symbol. Slot and code key
are derived from it (HKDF), and both letters are sealed under keys that need it, so that the cloud,
which carries them, can forge neither without guessing it within the minutes it lasts: 2^65 HKDF
runs in ten minutes is 6·10^16 a second. A guess made later gains nothing: the answer's key comes
from an ephemeral X25519 exchange as well, whose secrets are gone. Hence no PAKE is needed, which
would buy a code of ten symbols instead of fourteen. A code serves one request.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated, TypeAlias

import msgpack
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from device.account.counting import Received
from device.account.errors import CodeUnusable, EnvelopeRefused
from device.account.payload import Payload, pack_payload, unpack_payload
from device.account.roster import MAX_NAME, Member, Roster, device_id_of
from device.account.sealing import KEY_SIZE, Epoch
from device.account.unpacking import unpack
from protocol.identity import BitSource
from protocol.mail import ADDRESS_SIZE, Letter, LetterKind

__all__ = ["CODE_SECONDS", "Admission", "Code", "Offer", "Request", "Welcome"]

CODE_SECONDS = 600.0
"""How long a code serves."""
MAX_TRIES = 5
"""Requests that do not fit before the code is given up: somebody plays with the slot."""
SYMBOLS = 13
BITS = 5 * SYMBOLS
_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_CHECK = _ALPHABET + "*~$=U"
_READ_AS = str.maketrans("OIL", "011")
_WRITTEN = re.compile(f"[{_ALPHABET}]{{{SYMBOLS}}}[{re.escape(_CHECK)}]")
_GROUPS = re.compile(r"(.{5})(.{5})(.{4})")
_LABEL = b"reverie/account/pairing/1/"
_NONCE = bytes(12)
"""Every key here seals once."""


@dataclass(frozen=True, slots=True)
class Code:
    """A pairing code."""

    value: int

    @classmethod
    def fresh(cls, bits: BitSource) -> Code:
        """A new one: 65 random bits."""
        size = (BITS + 7) // 8
        return cls(int.from_bytes(bits(size), "big") >> (8 * size - BITS))

    @classmethod
    def read(cls, typed: str) -> Code:
        """The code as somebody typed it: case, spaces, dashes and O, I, L do not matter.

        Raises:
            CodeUnusable: mistyped, said by its check symbol.
        """
        text = re.sub(r"[\s-]", "", typed).upper()
        text = text[:-1].translate(_READ_AS) + text[-1:]
        if not _WRITTEN.fullmatch(text):
            raise CodeUnusable("a code has 14 symbols, like 7ZK4M-0QWER-TY2*: type it once more")
        value = 0
        for symbol in text[:-1]:
            value = value << 5 | _ALPHABET.index(symbol)
        if _CHECK[value % len(_CHECK)] != text[-1]:
            raise CodeUnusable("the code is mistyped: its last symbol does not fit the others")
        return cls(value)

    def __str__(self) -> str:
        symbols = [_ALPHABET[self.value >> shift & 31] for shift in range(BITS - 5, -1, -5)]
        text = "".join(symbols) + _CHECK[self.value % len(_CHECK)]
        return _GROUPS.sub(r"\1-\2-\3", text)

    def __repr__(self) -> str:
        return "Code(…)"

    @property
    def slot(self) -> bytes:
        """Where at the cloud the two meet; says nothing of the code's keys."""
        return self._derived(b"slot", ADDRESS_SIZE)

    @property
    def key(self) -> bytes:
        """The key both sides share by the code alone."""
        return self._derived(b"key", KEY_SIZE)

    def _derived(self, purpose: bytes, size: int) -> bytes:
        return _hkdf(self.value.to_bytes((BITS + 7) // 8, "big"), b"", purpose, size)


@dataclass(frozen=True, slots=True)
class Welcome:
    """What a new device is given."""

    account: bytes
    epoch: Epoch
    roster: Roster
    received: Mapping[str, Received]
    """What the old device has of the others: it sends all of that on itself."""


@dataclass(frozen=True, slots=True)
class Admission:
    """A request that knew the code."""

    member: Member
    half: bytes
    """The new device's ephemeral X25519 key."""
    transcript: bytes


class Offer:
    """The old device's side of one pairing."""

    def __init__(self, code: Code, sender: str, expires: float, bits: BitSource) -> None:
        """`sender` is this device, `expires` unix seconds."""
        self.code = code
        self.expires = expires
        self._sender = bytes.fromhex(sender)
        self._bits = bits
        self._tries = 0
        self._used = False

    def opening(self) -> bytes:
        """The letter that has the cloud keep the slot's letters for this device."""
        return Letter(LetterKind.PAIRING, self.code.slot, self._sender, 1, b"").pack()

    def admit(self, letter: Letter, now: float) -> Admission | None:
        """The request in a letter of the slot; None for a letter that is no request.

        Raises:
            CodeUnusable: expired, used, or tried too often.
        """
        if letter.address != self.code.slot or letter.sender == self._sender:
            return None
        if now >= self.expires or self._used or self._tries >= MAX_TRIES:
            raise CodeUnusable("the code has expired: show a new one (`account code`)")
        try:
            admission = _admission(self.code, letter)
        except EnvelopeRefused:
            self._tries += 1
            return None
        self._used = True
        return admission

    def answer(self, admission: Admission, welcome: Welcome) -> tuple[bytes, str]:
        """The letter that lets the device in, and the fingerprint to show."""
        ephemeral = X25519PrivateKey.from_private_bytes(self._bits(KEY_SIZE))
        half = ephemeral.public_key().public_bytes_raw()
        shared = ephemeral.exchange(X25519PublicKey.from_public_bytes(admission.half))
        transcript = admission.transcript + half
        key, fingerprint = _agreed(self.code, shared, transcript)
        letter = Letter(LetterKind.PAIRING, self.code.slot, self._sender, 2, b"")
        sealed = ChaCha20Poly1305(key).encrypt(_NONCE, _pack_welcome(welcome), letter.head)
        return letter.head + half + sealed, fingerprint


class Request:
    """The new device's side of one pairing."""

    def __init__(self, code: Code, member: Member, bits: BitSource) -> None:
        """`member` is this device as it wants to be known."""
        self.code = code
        self._ephemeral = X25519PrivateKey.from_private_bytes(bits(KEY_SIZE))
        half = self._ephemeral.public_key().public_bytes_raw()
        row = [half, member.sign_key, member.box_key, member.name]
        head = Letter(
            LetterKind.PAIRING, code.slot, bytes.fromhex(member.device), 1, b""
        ).head  # fmt: skip
        salt = bits(KEY_SIZE)
        cipher = ChaCha20Poly1305(_hkdf(code.key, salt, b"request", KEY_SIZE))
        self._own = member.device
        self.letter = head + salt + cipher.encrypt(_NONCE, bytes(msgpack.packb(row)), head)
        """What goes into the slot."""
        self._transcript = hashlib.sha256(self.letter).digest()

    def welcome(self, letter: Letter) -> tuple[Welcome, str] | None:
        """What the old device answered, and the fingerprint to show; None for other letters.

        Raises:
            CodeUnusable: the answer is not of somebody who knows the code and saw this request.
        """
        if letter.address != self.code.slot or letter.sender.hex() == self._own:
            return None
        if not letter.rest:
            return None
        half, sealed = letter.rest[:KEY_SIZE], letter.rest[KEY_SIZE:]
        try:
            shared = self._ephemeral.exchange(X25519PublicKey.from_public_bytes(half))
            key, fingerprint = _agreed(self.code, shared, self._transcript + half)
            packed = ChaCha20Poly1305(key).decrypt(_NONCE, sealed, letter.head)
            return _unpack_welcome(packed), fingerprint
        except (InvalidTag, ValueError, EnvelopeRefused):
            raise CodeUnusable(
                "the answer does not fit the code: ask for a new one on the other device"
            ) from None


def _admission(code: Code, letter: Letter) -> Admission:
    salt, sealed = letter.rest[:KEY_SIZE], letter.rest[KEY_SIZE:]
    try:
        cipher = ChaCha20Poly1305(_hkdf(code.key, salt, b"request", KEY_SIZE))
        row = unpack(cipher.decrypt(_NONCE, sealed, letter.head))
        half, sign_key, box_key, name = _request_reader()(row)
        X25519PublicKey.from_public_bytes(half)
    except (InvalidTag, ValidationError, ValueError, msgpack.UnpackException):
        raise EnvelopeRefused("a request that does not know the code") from None
    if device_id_of(sign_key) != letter.sender.hex():
        raise EnvelopeRefused("a request for another device")
    member = Member(device_id_of(sign_key), sign_key, box_key, name)
    return Admission(member, half, hashlib.sha256(letter.pack()).digest())


def _agreed(code: Code, shared: bytes, transcript: bytes) -> tuple[bytes, str]:
    """The answer's key, and what both screens show: 40 bits in groups of four digits."""
    secret = _hkdf(shared, code.key, b"answer" + transcript, KEY_SIZE + 8)
    number = int.from_bytes(secret[KEY_SIZE:], "big") % 10**12
    digits = f"{number:012}"
    return secret[:KEY_SIZE], " ".join((digits[:4], digits[4:8], digits[8:]))


def _pack_welcome(welcome: Welcome) -> bytes:
    inside = Payload(welcome.roster, welcome.epoch.holders, welcome.received)
    row = [welcome.account, welcome.epoch.number, welcome.epoch.key, pack_payload(inside, ())]
    return bytes(msgpack.packb(row))


def _unpack_welcome(packed: bytes) -> Welcome:
    try:
        row = unpack(packed)
        account, number, key, inside = _welcome_reader()(row)
    except (ValidationError, ValueError, msgpack.UnpackException):
        raise EnvelopeRefused("not a welcome") from None
    payload = unpack_payload(inside)
    epoch = Epoch(number, key, payload.holders)
    return Welcome(account, epoch, payload.roster, payload.received)


def _hkdf(secret: bytes, salt: bytes, purpose: bytes, size: int) -> bytes:
    return HKDF(hashes.SHA256(), size, salt, _LABEL + purpose).derive(secret)


_Key: TypeAlias = Annotated[bytes, Field(min_length=KEY_SIZE, max_length=KEY_SIZE)]
_Address: TypeAlias = Annotated[bytes, Field(min_length=ADDRESS_SIZE, max_length=ADDRESS_SIZE)]
_Name: TypeAlias = Annotated[str, Field(max_length=MAX_NAME)]


@cache
def _request_reader() -> Callable[[object], tuple[bytes, bytes, bytes, str]]:
    kind = tuple[_Key, _Key, _Key, _Name]
    return TypeAdapter(kind, config=ConfigDict(strict=True)).validate_python


@cache
def _welcome_reader() -> Callable[[object], tuple[bytes, int, bytes, bytes]]:
    kind = tuple[_Address, Annotated[int, Field(ge=1, lt=1 << 32)], _Key, bytes]
    return TypeAdapter(kind, config=ConfigDict(strict=True)).validate_python
