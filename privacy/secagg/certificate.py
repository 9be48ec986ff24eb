"""What a helper signs about a batch it summed: how many reports, which, under what terms, to what.

Anyone who holds the helper's signing key can check later that a published aggregate came from
one batch of ``count`` reports under the stated noise and n_min, and the leader that nobody changed
the helper's half of the sum on its way. The certificate says nothing about any phone beyond a hash
over all report ids.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import astuple, dataclass
from typing import Any

import msgpack
import numpy as np
import numpy.typing as npt
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from privacy.errors import CertificateInvalid

__all__ = ["LARGEST_CERTIFICATE", "BatchCertificate", "half_digest", "reports_digest"]

LARGEST_CERTIFICATE = 512
"""Bytes."""

_LABEL = b"reverie/secagg/certificate/2"
_SIGNATURE_BYTES = 64
_TYPES = (bytes, bytes, bytes, bytes, int, str, int, int, int, float, float, int)


def reports_digest(report_ids: Iterable[bytes]) -> bytes:
    """SHA-256 over the sorted ids: equal for equal sets of reports, in any order."""
    digest = hashlib.sha256()
    for report_id in sorted(report_ids):
        digest.update(report_id)
    return digest.digest()


def half_digest(vector: npt.NDArray[np.unsignedinteger[Any]]) -> bytes:
    """SHA-256 over a server's half of a sum, little-endian."""
    return hashlib.sha256(vector.astype(vector.dtype.newbyteorder("<")).tobytes()).digest()


@dataclass(frozen=True, slots=True)
class BatchCertificate:
    """The statement. ``clip`` and ``sigma`` in real units, ``scale`` in lattice units per 1.0."""

    batch_id: bytes
    batch_digest: bytes
    reports_digest: bytes
    half_digest: bytes
    count: int
    task: str
    round: int
    dimension: int
    scale: int
    clip: float
    sigma: float
    n_min: int

    def sign(self, secret: bytes) -> bytes:
        """The statement with its Ed25519 signature; ``secret``: 32 raw private bytes."""
        body: bytes = msgpack.packb(list(astuple(self)))
        signature = Ed25519PrivateKey.from_private_bytes(secret).sign(_LABEL + body)
        return signature + body

    @classmethod
    def open(cls, data: bytes, public: bytes) -> BatchCertificate:
        """The statement in ``data``, signed by ``public`` (32 raw bytes), or CertificateInvalid."""
        if not _SIGNATURE_BYTES < len(data) <= LARGEST_CERTIFICATE:
            raise CertificateInvalid("a batch certificate has the wrong length")
        signature, body = data[:_SIGNATURE_BYTES], data[_SIGNATURE_BYTES:]
        try:
            Ed25519PublicKey.from_public_bytes(public).verify(signature, _LABEL + body)
        except (InvalidSignature, ValueError):
            raise CertificateInvalid(
                "a batch certificate is not signed by this helper: compare the helper's key"
            ) from None
        try:
            fields = msgpack.unpackb(body, max_map_len=0, max_ext_len=0, max_array_len=len(_TYPES))
        except (ValueError, msgpack.UnpackException):
            fields = None
        if not isinstance(fields, list) or tuple(map(type, fields)) != _TYPES:
            raise CertificateInvalid("a batch certificate has the wrong shape")
        return cls(*fields)
