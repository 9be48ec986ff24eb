"""What leader and helper say to each other: one batch, one mask sum; msgpack, bounded, canonical.

A batch carries the sealed seeds, verifiers and the round's parameters, never a leader's share.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgpack
import numpy as np
import numpy.typing as npt

from privacy.errors import BatchRefused
from privacy.secagg.certificate import LARGEST_CERTIFICATE
from privacy.secagg.field import canonical
from privacy.secagg.mask import REPORT_ID_BYTES, SEALED_SEED_BYTES, SealContext
from privacy.secagg.proof import VERIFIER_BYTES

__all__ = [
    "BATCH_ID_BYTES",
    "LARGEST_BATCH",
    "LARGEST_BATCH_BYTES",
    "LARGEST_DIMENSION",
    "Batch",
    "MaskSum",
    "SealedShare",
]

BATCH_ID_BYTES = 16
HASH_BYTES = 32
LARGEST_BATCH = 20_000
"""Reports in one batch: 20,000 sealed seeds with their verifiers are 3 MB."""
LARGEST_DIMENSION = 65_536
LARGEST_BATCH_BYTES = 8 << 20
_VERIFIER_SIZES = (0, VERIFIER_BYTES)
_WORDS: dict[int, npt.DTypeLike] = {4: "<u4", 8: "<u8"}
"""Bytes of a value in a mask sum: 4 on the ring, 8 in the field."""
_BATCH_FIELDS = 10
_SHARE_FIELDS = 4
_SUM_FIELDS = 7


class SealedShare(NamedTuple):
    """One report as the helper sees it."""

    report_id: bytes
    share_hash: bytes
    sealed_seed: bytes
    verifier: bytes
    """The leader's verifier of its share (`Sharing.verifier`): empty where there is no proof."""


@dataclass(frozen=True, slots=True)
class Batch:
    """A committed set of reports of one round, in the leader's order.

    ``clip`` and ``sigma`` in real units, ``scale`` in lattice units per 1.0: those of the signed
    round descriptor. Constructing one checks every bound (BatchRefused("malformed")).
    """

    batch_id: bytes
    task: str
    round: int
    dimension: int
    scale: int
    clip: float
    sigma: float
    n_min: int
    shares: tuple[SealedShare, ...]

    def __post_init__(self) -> None:
        _require(len(self.batch_id) == BATCH_ID_BYTES, "batch id has the wrong length")
        _require(1 <= self.dimension <= LARGEST_DIMENSION, "dimension is out of range")
        _require(min(self.round, self.scale, self.n_min) >= 1, "a count is below 1")
        _require(0 < self.sigma < float("inf"), "sigma is not a positive number")
        _require(0 < self.clip < float("inf"), "clip is not a positive number")
        _require(len(self.shares) <= LARGEST_BATCH, "too many reports")
        for share in self.shares:
            _require(len(share.report_id) == REPORT_ID_BYTES, "report id has the wrong length")
            _require(len(share.share_hash) == HASH_BYTES, "hash has the wrong length")
            _require(len(share.sealed_seed) == SEALED_SEED_BYTES, "seed has the wrong length")
            _require(len(share.verifier) in _VERIFIER_SIZES, "verifier has the wrong length")
        _require(
            len({share.report_id for share in self.shares}) == len(self.shares),
            "a report is in the batch twice",
        )

    @property
    def report_ids(self) -> tuple[bytes, ...]:
        """Ids in the leader's order."""
        return tuple(share.report_id for share in self.shares)

    def context(self, share: SealedShare) -> SealContext:
        """What the share's seed must be sealed to."""
        return SealContext(
            task=self.task,
            round=self.round,
            report_id=share.report_id,
            share_hash=share.share_hash,
            dimension=self.dimension,
            scale=self.scale,
            clip=self.clip,
            sigma=self.sigma,
            n_min=self.n_min,
        )

    def digest(self) -> bytes:
        """SHA-256 of the canonical encoding: equal exactly for identical batches."""
        return hashlib.sha256(self.encode()).digest()

    def encode(self) -> bytes:
        """Canonical bytes for the wire and the digest."""
        packed: bytes = msgpack.packb(
            [
                "batch",
                self.batch_id,
                self.task,
                self.round,
                self.dimension,
                self.scale,
                float(self.clip),
                float(self.sigma),
                self.n_min,
                [list(share) for share in self.shares],
            ]
        )
        return packed

    @classmethod
    def decode(cls, data: bytes) -> Batch:
        """The batch in ``data``; BatchRefused("malformed") for anything else."""
        fields = _unpack(data, "batch", _BATCH_FIELDS, listed=True)
        *head, shares = fields
        _require(
            [type(value) for value in head] == [bytes, str, int, int, int, float, float, int],
            "a field has the wrong type",
        )
        batch_id, task, number, dimension, scale, clip, sigma, n_min = head
        return cls(
            batch_id=batch_id,
            task=task,
            round=number,
            dimension=dimension,
            scale=scale,
            clip=clip,
            sigma=sigma,
            n_min=n_min,
            shares=tuple(_share(share) for share in shares),
        )


@dataclass(frozen=True, slots=True)
class MaskSum:
    """The helper's only answer: its share of the sum + its own noise, for one whole batch.

    ``vector``: uint32[d] on the ring, uint64[d] in the field (each below the modulus), for
    `Sharing.join`. ``certificate``: the signed statement of what was summed (certificate.py).
    """

    batch_id: bytes
    batch_digest: bytes
    count: int
    vector: npt.NDArray[np.uint32] | npt.NDArray[np.uint64]
    certificate: bytes

    def encode(self) -> bytes:
        """Canonical bytes: what is persisted is what is sent, now and on every repeat."""
        width = self.vector.itemsize
        raw = self.vector.astype(_WORDS[width], copy=False).tobytes()
        head = [self.batch_id, self.batch_digest, self.count, width]
        packed: bytes = msgpack.packb(["mask-sum", *head, raw, self.certificate])
        return packed

    @classmethod
    def decode(cls, data: bytes) -> MaskSum:
        """The mask sum in ``data``; BatchRefused("malformed") for anything else."""
        fields = _unpack(data, "mask-sum", _SUM_FIELDS)
        _require(
            [type(value) for value in fields] == [bytes, bytes, int, int, bytes, bytes],
            "a field has the wrong type",
        )
        batch_id, digest, count, width, raw, certificate = fields
        _require(len(batch_id) == BATCH_ID_BYTES, "batch id has the wrong length")
        _require(len(digest) == HASH_BYTES, "digest has the wrong length")
        _require(len(certificate) <= LARGEST_CERTIFICATE, "certificate is too large")
        return cls(batch_id, digest, count, _vector(raw, width), certificate)


def _vector(raw: bytes, width: int) -> npt.NDArray[np.uint32] | npt.NDArray[np.uint64]:
    _require(width in _WORDS, "values have an unknown width")
    _require(len(raw) % width == 0 and 0 < len(raw) <= width * LARGEST_DIMENSION, "vector is odd")
    if width == np.dtype(np.uint32).itemsize:
        return np.frombuffer(raw, dtype="<u4").astype(np.uint32, copy=False)
    words = np.frombuffer(raw, dtype="<u8").astype(np.uint64, copy=False)
    _require(canonical(words), "a value is no field element")
    return words


def _unpack(data: bytes, tag: str, length: int, *, listed: bool = False) -> list[Any]:
    """The fields behind the tag; with ``listed`` the last of them is a list of small arrays.

    The two outer containers are opened by hand: msgpack allocates what a header promises, and
    20,000 places on each of a thousand levels are 160 MB out of a message of 3 KB.
    """
    _require(len(data) <= LARGEST_BATCH_BYTES, "message is too large")
    reader = msgpack.Unpacker(
        max_buffer_size=LARGEST_BATCH_BYTES,
        strict_map_key=True,
        max_map_len=0,
        max_array_len=_SHARE_FIELDS,
        max_ext_len=0,
    )
    reader.feed(data)
    try:
        _require(reader.read_array_header() == length, "message has the wrong shape")
        fields = [reader.unpack() for _ in range(length - listed)]
        _require(fields[0] == tag, "message is of another kind")
        if listed:
            count = reader.read_array_header()
            _require(count <= LARGEST_BATCH, "too many reports")
            fields.append([reader.unpack() for _ in range(count)])
    except (ValueError, msgpack.UnpackException):
        raise BatchRefused("malformed", "message is not msgpack") from None
    _require(reader.tell() == len(data), "bytes follow the message")
    return fields[1:]


def _share(fields: object) -> SealedShare:
    if not (
        isinstance(fields, list)
        and len(fields) == _SHARE_FIELDS
        and all(isinstance(value, bytes) for value in fields)
    ):
        raise BatchRefused("malformed", "a report has the wrong shape")
    return SealedShare(*fields)


def _require(condition: bool, detail: str) -> None:
    if not condition:
        raise BatchRefused("malformed", detail)
