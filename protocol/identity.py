"""Who speaks: Ed25519 keys (RFC 8032), the proof a device gives, and signed envelopes.

A device proves its key over both nonces, so a recorded proof is worth nothing later. Every
signature covers a label of its purpose, so one made for one use cannot serve another.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Self, TypeAlias

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from protocol.errors import SignatureInvalid, WireError
from protocol.packing import KIB, pack, unpack_map

__all__ = [
    "BitSource",
    "DeviceKey",
    "SigningKey",
    "open_envelope",
    "proof_transcript",
    "server_transcript",
    "signed_envelope",
    "verify",
]

BitSource: TypeAlias = Callable[[int], bytes]
"""n → n random bytes; `os.urandom` on a real phone."""

SEED_SIZE = 32
MAX_ENVELOPE = 16 * KIB
_PROOF_LABEL = b"reverie/proof/1"
_BOUND_PROOF_LABEL = b"reverie/proof/2"
_SERVER_LABEL = b"reverie/server/2"
_ENVELOPE_LABEL = b"reverie/envelope/1"


class SigningKey:
    """An Ed25519 key pair made from a 32-byte seed."""

    def __init__(self, seed: bytes) -> None:
        if len(seed) != SEED_SIZE:
            raise SignatureInvalid(f"a key seed has {SEED_SIZE} bytes, this one {len(seed)}")
        self._seed = bytes(seed)
        self._key = Ed25519PrivateKey.from_private_bytes(self._seed)
        self._public = self._key.public_key().public_bytes_raw()

    @classmethod
    def generate(cls, bits: BitSource) -> Self:
        """A new key from the given source of randomness."""
        return cls(bits(SEED_SIZE))

    @property
    def seed(self) -> bytes:
        """The secret 32 bytes; keep them sealed."""
        return self._seed

    @property
    def public(self) -> bytes:
        """The 32-byte public key."""
        return self._public

    def sign(self, message: bytes) -> bytes:
        """The 64-byte signature of ``message``."""
        return self._key.sign(message)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(public={self._public.hex()[:16]}…)"


class DeviceKey(SigningKey):
    """The key a phone proves itself with."""


def verify(public_key: bytes, signature: bytes, message: bytes) -> None:
    """Raise SignatureInvalid unless ``public_key`` signed ``message``."""
    try:
        Ed25519PublicKey.from_public_bytes(public_key).verify(signature, message)
    except (InvalidSignature, ValueError):
        raise SignatureInvalid("the signature is not of the expected key") from None


def proof_transcript(
    version: int, device_id: str, client_nonce: bytes, server_nonce: bytes, binding: bytes = b""
) -> bytes:
    """What a device signs to open a session: every field with its length, so none can shift.

    ``binding`` names the TLS channel from version 2 on: the SHA-256 of the server's certificate
    (tls-server-end-point, RFC 5929), or b"" without TLS. Version 1 does not cover it.
    """
    fields = (str(version).encode(), device_id.encode(), client_nonce, server_nonce)
    if version == 1:
        return _labelled(_PROOF_LABEL, *fields)
    return _labelled(_BOUND_PROOF_LABEL, *fields, binding)


def server_transcript(
    versions: Sequence[int],
    version: int,
    device_id: str,
    client_nonce: bytes,
    server_nonce: bytes,
    server_time: float,
    binding: bytes,
) -> bytes:
    """What a cloud signs to prove itself to a device, from version 2 on.

    It covers the ``versions`` the device offered, so that nobody between them can hide the newer.
    """
    return _labelled(
        _SERVER_LABEL,
        ",".join(str(offered) for offered in versions).encode(),
        str(version).encode(),
        device_id.encode(),
        client_nonce,
        server_nonce,
        struct.pack(">d", server_time),
        binding,
    )


def signed_envelope(payload: bytes, key: SigningKey, *, purpose: str = "") -> bytes:
    """``payload`` with a signature over it and its ``purpose`` (msgpack {payload, signature})."""
    signature = key.sign(_labelled(_ENVELOPE_LABEL, purpose.encode(), payload))
    return pack({"payload": payload, "signature": signature})


def open_envelope(envelope: bytes, public_key: bytes, *, purpose: str = "") -> bytes:
    """The payload, once the signature for ``purpose`` holds; else SignatureInvalid."""
    try:
        fields = unpack_map(envelope, max_size=MAX_ENVELOPE)
    except WireError:
        raise SignatureInvalid("not a signed envelope") from None
    payload, signature = fields.get("payload"), fields.get("signature")
    if len(fields) != 2 or not isinstance(payload, bytes) or not isinstance(signature, bytes):
        raise SignatureInvalid("not a signed envelope")
    verify(public_key, signature, _labelled(_ENVELOPE_LABEL, purpose.encode(), payload))
    return payload


def _labelled(*parts: bytes) -> bytes:
    return b"".join([len(part).to_bytes(4, "big") + part for part in parts])
