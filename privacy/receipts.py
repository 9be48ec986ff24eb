"""Receipts: the cloud's signed word that it has a report, to be held against the phone's ledger.

A phone whose ledger knows less than the cloud was restored from a backup or copied. A receipt
never lowers what counts as spent, so a lying cloud gains nothing by one but a silent phone.

On the wire: msgpack [label, device, task, round, sha256, received] followed by an Ed25519
signature over it, 64 bytes; one encoding per receipt.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import msgpack
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from privacy.chain import LARGEST_RECEIPT, LATEST
from privacy.errors import ReceiptInvalid

__all__ = ["LARGEST_RECEIPT", "Receipt", "Signer", "open_receipt", "sign_receipt"]

_LABEL = "reverie/receipt/1"
_SIGNATURE_BYTES = 64
_HASH_BYTES = 32
_LONGEST_TEXT = 128


class Signer(Protocol):
    """An Ed25519 key that signs."""

    @property
    def public(self) -> bytes:
        """32 bytes."""
        ...

    def sign(self, message: bytes, /) -> bytes:
        """64 bytes."""
        ...


@dataclass(frozen=True, slots=True)
class Receipt:
    """The cloud has this report. ``sha256``: `report_digest`, 32 bytes; ``received``: seconds UTC.

    Constructing one checks every bound (ReceiptInvalid).
    """

    device: str
    task: str
    round: int
    sha256: bytes
    received: float

    def __post_init__(self) -> None:
        texts = (self.device, self.task)
        if not all(text and len(text) <= _LONGEST_TEXT for text in texts):
            raise ReceiptInvalid("a receipt names a device and a task")
        if not 1 <= self.round < 1 << 63 or len(self.sha256) != _HASH_BYTES:
            raise ReceiptInvalid("a receipt names a round and a hash")
        if not (math.isfinite(self.received) and 0 <= self.received <= LATEST):
            raise ReceiptInvalid("a receipt has a date")


def sign_receipt(receipt: Receipt, signer: Signer) -> bytes:
    """The receipt as it travels, signed by the cloud's key."""
    payload = _payload(receipt)
    return payload + signer.sign(payload)


def open_receipt(blob: bytes, public_key: bytes) -> Receipt:
    """The receipt in ``blob``; ReceiptInvalid unless ``public_key`` signed exactly these bytes."""
    if not _SIGNATURE_BYTES < len(blob) <= LARGEST_RECEIPT:
        raise ReceiptInvalid("a receipt has another size")
    payload, signature = blob[:-_SIGNATURE_BYTES], blob[-_SIGNATURE_BYTES:]
    try:
        Ed25519PublicKey.from_public_bytes(public_key).verify(signature, payload)
    except (InvalidSignature, ValueError):
        raise ReceiptInvalid("a receipt is not signed by this phone's cloud") from None
    receipt = _parse(payload)
    if _payload(receipt) != payload:
        raise ReceiptInvalid("a receipt is not in canonical form")
    return receipt


def _payload(receipt: Receipt) -> bytes:
    fields = (receipt.device, receipt.task, receipt.round, receipt.sha256, float(receipt.received))
    packed: bytes = msgpack.packb([_LABEL, *fields])
    return packed


def _parse(payload: bytes) -> Receipt:
    try:
        fields = msgpack.unpackb(payload, max_array_len=6, max_map_len=0, max_ext_len=0)
    except (ValueError, msgpack.UnpackException):
        raise ReceiptInvalid("a receipt is not msgpack") from None
    kinds = [str, str, str, int, bytes, float]
    if not isinstance(fields, list) or [type(value) for value in fields] != kinds:
        raise ReceiptInvalid("a receipt has the wrong shape")
    label, device, task, number, sha256, received = fields
    if label != _LABEL:
        raise ReceiptInvalid("a signed message is no receipt")
    return Receipt(device, task, number, sha256, received)
