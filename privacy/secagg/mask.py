"""One-time keys of reports, and the seeds they come from, sealed to the helper.

seed (32 random bytes) → HKDF-SHA256(info = task, round, report id) → ChaCha20 keystream: the
helper's share of a report (sharing.py says how it is read). The leader gets the vector minus that
share, and the seed, sealed to the helper: it cannot open the seed, the helper never sees the
leader's share. One upload, no second visit, so phones may vanish at any time. (The two-aggregator
shape of Prio, Corrigan-Gibbs & Boneh 2017.)
"""

from __future__ import annotations

import hashlib
import hmac
from typing import NamedTuple

import msgpack
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from privacy.bits import BitSource, draw
from privacy.errors import BatchRefused

__all__ = [
    "KEY_BYTES",
    "REPORT_ID_BYTES",
    "SEALED_SEED_BYTES",
    "SEED_BYTES",
    "SealContext",
    "keystream",
    "open_seed",
    "report_digest",
    "report_key",
    "report_query",
    "seal_seed",
    "share_hash",
]

SEED_BYTES = 32
KEY_BYTES = 32
REPORT_ID_BYTES = 16
_TAG_BYTES = 16
_ZERO_NONCE = bytes(12)
"""Safe: each sealing key comes from a fresh ephemeral key and seals one seed."""
_ZERO_COUNTER = bytes(16)
"""Safe: each stream key comes from a fresh seed and masks one report."""

SEALED_SEED_BYTES = KEY_BYTES + SEED_BYTES + _TAG_BYTES
"""Ephemeral public key, encrypted seed, tag: 80 bytes."""

_MASK_LABEL = b"reverie/secagg/mask/1"
_REPORT_LABEL = b"reverie/secagg/report/1"
_SEAL_LABEL = b"reverie/secagg/seal/1"


class SealContext(NamedTuple):
    """What a sealed seed is bound to: it opens under exactly these values.

    A leader that lowers n_min or sigma, swaps shares, or moves a report to another round gets
    nothing out of the helper.
    """

    task: str
    round: int
    report_id: bytes
    share_hash: bytes
    dimension: int
    scale: int
    clip: float
    sigma: float
    n_min: int

    def aad(self) -> bytes:
        """Canonical bytes for the seal's associated data."""
        reals = self._replace(clip=float(self.clip), sigma=float(self.sigma))
        packed: bytes = msgpack.packb(list(reals))
        return packed


def report_key(
    seed: bytes,
    task: str,
    round: int,  # noqa: A002
    report_id: bytes,
) -> bytes:
    """The 32-byte stream key of one report; another report's, task's or round's is unrelated."""
    info = msgpack.packb([_MASK_LABEL, task, round, report_id])
    return HKDF(SHA256(), KEY_BYTES, salt=None, info=info).derive(seed)


def keystream(key: bytes, size: int) -> bytes:
    """The first ``size`` bytes of a report's ChaCha20 stream: a longer one begins the same."""
    stream = Cipher(ChaCha20(key, _ZERO_COUNTER), mode=None).encryptor()
    return stream.update(bytes(size))


def report_query(query_key: bytes, report_id: bytes) -> bytes:
    """The 32-byte query of one report (`Sharing.verifier`).

    Both servers derive it from the helper's key of the round; phones cannot foresee it.
    """
    return hmac.digest(query_key, report_id, "sha256")


def share_hash(share: bytes) -> bytes:
    """SHA-256 of the leader's share as it is on the wire."""
    return hashlib.sha256(share).digest()


def report_digest(
    task: str,
    round: int,  # noqa: A002
    report_id: bytes,
    share: bytes,
    sealed_seed: bytes,
) -> bytes:
    """SHA-256 over all that a report says: what a ledger commits to and a receipt confirms."""
    fields = [_REPORT_LABEL, task, round, report_id, share_hash(share), sealed_seed]
    packed: bytes = msgpack.packb(fields)
    return hashlib.sha256(packed).digest()


def seal_seed(seed: bytes, helper_public: bytes, aad: bytes, bits: BitSource) -> bytes:
    """Encrypt a seed to the helper's X25519 key: SEALED_SEED_BYTES bytes, bound to ``aad``.

    Ephemeral X25519 → HKDF-SHA256 over both public keys → ChaCha20-Poly1305. Raises ValueError
    for a helper key that is not a point of full order.
    """
    ephemeral = X25519PrivateKey.from_private_bytes(draw(bits, KEY_BYTES))
    public = ephemeral.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    shared = ephemeral.exchange(X25519PublicKey.from_public_bytes(helper_public))
    box = ChaCha20Poly1305(_sealing_key(shared, public, helper_public))
    return public + box.encrypt(_ZERO_NONCE, seed, aad)


def open_seed(sealed: bytes, private_key: X25519PrivateKey, aad: bytes) -> bytes:
    """The seed in a sealed box; BatchRefused("seal") when it was not sealed for this."""
    if len(sealed) != SEALED_SEED_BYTES:
        raise BatchRefused("seal", "a sealed seed has the wrong length")
    public, box = sealed[:KEY_BYTES], sealed[KEY_BYTES:]
    own = private_key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    try:
        shared = private_key.exchange(X25519PublicKey.from_public_bytes(public))
        return ChaCha20Poly1305(_sealing_key(shared, public, own)).decrypt(_ZERO_NONCE, box, aad)
    except (InvalidTag, ValueError):
        raise BatchRefused("seal", "a sealed seed does not open under this batch") from None


def _sealing_key(shared: bytes, ephemeral_public: bytes, helper_public: bytes) -> bytes:
    info = _SEAL_LABEL + ephemeral_public + helper_public
    return HKDF(SHA256(), KEY_BYTES, salt=None, info=info).derive(shared)
