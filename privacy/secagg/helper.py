"""The helper's half: open the seeds of a committed batch and return only the sum of masks.

Meant for a second operator. Run by the same people as the leader it adds no trust, and the
product says so. Whatever the leader asks, the helper
- answers for at least n_min reports, where n_min is the one the phones sealed to;
- never sums a report twice, so no two answers can be subtracted to expose one phone;
- persists what it summed before it replies, so a restart forgets nothing;
- adds discrete Gaussian noise of the full sigma, so the answer is private even if phones lie;
- answers a repeated identical batch with the identical bytes, noise included.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from privacy.bits import BitSource
from privacy.errors import BatchRefused
from privacy.lattice import total_variance
from privacy.mechanisms.table import gaussian_table
from privacy.secagg.batch import Batch, MaskSum
from privacy.secagg.leader import sum_masked
from privacy.secagg.mask import expand_mask, open_seed

__all__ = ["Helper", "HelperStore", "MemoryHelperStore"]


class HelperStore(Protocol):
    """What a helper must never forget. One helper owns a store; `record` is atomic and durable."""

    def seen(self, report_ids: Sequence[bytes]) -> object:
        """Truthy when any of the reports was ever recorded (bool, or the ids themselves)."""
        ...

    def reply_for(self, batch_id: bytes) -> bytes | None:
        """The recorded reply of a batch."""
        ...

    def record(self, batch_id: bytes, report_ids: Sequence[bytes], reply: bytes) -> None:
        """Store all three durably in one step; raise, storing nothing, if any id is known."""
        ...


class MemoryHelperStore:
    """A helper store in memory: for the embedded cloud of a demo, and for tests."""

    def __init__(self) -> None:
        self._replies: dict[bytes, bytes] = {}
        self._reports: set[bytes] = set()

    def seen(self, report_ids: Sequence[bytes]) -> tuple[bytes, ...]:
        """The ids that were recorded before."""
        return tuple(known for known in report_ids if known in self._reports)

    def reply_for(self, batch_id: bytes) -> bytes | None:
        """The recorded reply of a batch."""
        return self._replies.get(batch_id)

    def record(self, batch_id: bytes, report_ids: Sequence[bytes], reply: bytes) -> None:
        """Store all three; BatchRefused when a batch or report is known."""
        if batch_id in self._replies:
            raise BatchRefused("replay", "the batch id was used before")
        if self.seen(report_ids):
            raise BatchRefused("overlap", "a report was summed before", self.seen(report_ids))
        self._replies[batch_id] = reply
        self._reports.update(report_ids)


class Helper:
    """Sums masks for whole batches. ``private_key``: 32 raw X25519 bytes, or the key object."""

    def __init__(
        self, private_key: X25519PrivateKey | bytes, store: HelperStore, bits: BitSource
    ) -> None:
        if isinstance(private_key, bytes):
            private_key = X25519PrivateKey.from_private_bytes(private_key)
        self._private_key = private_key
        self._store = store
        self._bits = bits

    @property
    def public_key(self) -> bytes:
        """The raw X25519 key that phones seal seeds to (``helper_key`` of a descriptor)."""
        return self._private_key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)

    def sum_masks(self, batch: Batch) -> MaskSum:
        """Σ masks + noise of a batch, or BatchRefused(reason) and no trace."""
        cached = self._store.reply_for(batch.batch_id)
        if cached is not None:
            return _repeat(batch, cached)
        if len(batch.shares) < batch.n_min:
            raise BatchRefused("too_few", f"{len(batch.shares)} reports, {batch.n_min} needed")
        if self._store.seen(batch.report_ids):
            raise BatchRefused("overlap", "a report was summed before")
        total = sum_masked(self._masks(batch))
        noise = gaussian_table(total_variance(batch.sigma, batch.scale)).sample(
            batch.dimension, self._bits
        )
        reply = MaskSum(
            batch_id=batch.batch_id,
            batch_digest=batch.digest(),
            count=len(batch.shares),
            vector=total + noise.astype(np.uint32),
        )
        self._store.record(batch.batch_id, batch.report_ids, reply.encode())
        return reply

    def _masks(self, batch: Batch) -> list[npt.NDArray[np.uint32]]:
        """Every report's mask; BatchRefused("seal") names all reports that do not open."""
        seeds: list[bytes] = []
        bad: list[bytes] = []
        for share in batch.shares:
            try:
                aad = batch.context(share).aad()
                seeds.append(open_seed(share.sealed_seed, self._private_key, aad))
            except BatchRefused:
                bad.append(share.report_id)
        if bad:
            raise BatchRefused("seal", f"{len(bad)} reports were sealed to something else", bad)
        return [
            expand_mask(seed, batch.task, batch.round, share.report_id, batch.dimension)
            for seed, share in zip(seeds, batch.shares, strict=True)
        ]


def _repeat(batch: Batch, cached: bytes) -> MaskSum:
    reply = MaskSum.decode(cached)
    if reply.batch_digest != batch.digest():
        raise BatchRefused("replay", "the batch id was used for another batch")
    return reply
