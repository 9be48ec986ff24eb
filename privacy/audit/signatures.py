"""Signatures in a ledger: the device's under its COMMITs, the cloud's under its receipts."""

from __future__ import annotations

import hashlib
import re

import msgpack
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from privacy.chain import Commit, ReceiptEntry, commit_statement
from privacy.errors import ReceiptInvalid
from privacy.receipts import open_receipt

__all__ = ["key_is_of", "receipt_fault", "signature_holds"]

_DERIVED_ID = re.compile(r"^[0-9a-f]{32}$")
"""A device id made by a cloud: the first half of SHA-256(public key), hex."""

_SIGNATURE_BYTES = 64


def signature_holds(commit: Commit, key: str) -> bool:
    """Whether ``key`` (hex, "" for none) signed this COMMIT and so everything before it."""
    if not key or not commit.signature:
        return False
    try:
        public = Ed25519PublicKey.from_public_bytes(bytes.fromhex(key))
        public.verify(bytes.fromhex(commit.signature), commit_statement(commit))
    except (InvalidSignature, ValueError):
        return False
    return True


def key_is_of(key: str, device: str) -> bool:
    """Whether a device id that is derived from a key is derived from this one."""
    if not key or not _DERIVED_ID.match(device):
        return True  # nothing to compare: not enrolled, not signed, or an id of another making
    return hashlib.sha256(bytes.fromhex(key)).hexdigest().startswith(device)


def receipt_fault(entry: ReceiptEntry, device: str, cloud_key: bytes) -> str:
    """Why the receipt's blob does not say what its entry says; "" when it does.

    Its signature is checked only under a pinned ``cloud_key``; what it says, always.
    """
    blob = bytes.fromhex(entry.blob)
    claims = _claims(blob)
    if claims is None:
        return "holds no receipt"
    named, *rest = claims
    if rest != [entry.task, entry.round, entry.sha256, entry.received]:
        return "says something else than its entry"
    if device and named != device:
        return "is for another device"
    if cloud_key:
        try:
            open_receipt(blob, cloud_key)
        except ReceiptInvalid:
            return "is not signed by the cloud's key"
    return ""


def _claims(blob: bytes) -> tuple[str, str, int, str, float] | None:
    """(device, task, round, sha256 hex, received) of a receipt, its signature unchecked."""
    try:
        fields = msgpack.unpackb(
            blob[:-_SIGNATURE_BYTES], max_array_len=6, max_map_len=0, max_ext_len=0
        )
        _, device, task, number, sha256, received = fields
        return str(device), str(task), int(number), bytes(sha256).hex(), float(received)
    except (ValueError, TypeError, OverflowError, msgpack.UnpackException):
        return None
