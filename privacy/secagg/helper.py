"""The helper's half: open the seeds of a committed batch and return only the sum of its shares.

Meant for a second operator. Run by the same people as the leader it adds no trust, and the
product says so. Whatever the leader asks, the helper
- answers for at least n_min reports, where n_min is the one the phones sealed to;
- answers nothing below the floors of its own budget, whatever phones agreed to;
- never sums a report twice, so no two answers can be subtracted to expose one phone;
- sums no report whose proof does not hold, where reports carry one;
- persists what it summed before it replies, so a restart forgets nothing;
- adds discrete Gaussian noise of the full sigma, so the answer is private even if phones lie;
- answers a repeated identical batch with the identical bytes, noise and certificate included.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import msgpack
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from privacy.bits import BitSource
from privacy.budget import Budget
from privacy.errors import BatchRefused, RoundRefused
from privacy.lattice import total_variance
from privacy.mechanisms.table import gaussian_table
from privacy.secagg.batch import Batch, MaskSum, SealedShare
from privacy.secagg.certificate import BatchCertificate, half_digest, reports_digest
from privacy.secagg.mask import KEY_BYTES, open_seed, report_key, report_query
from privacy.secagg.sharing import Share, Sharing, sharing_for

__all__ = ["Helper", "HelperStore", "MemoryHelperStore"]

_SIGNING_LABEL = b"reverie/helper/signing/1"
_QUERY_LABEL = b"reverie/helper/query/1"

_AT_ONCE = 64
"""Reports verified together: their field elements then stay in the processor's cache."""


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
    """Sums the helper's shares of whole batches.

    Args:
        private_key: the helper's one secret, 32 bytes: its X25519 key; the Ed25519 signing key
            and the query keys of rounds are derived from it.
        store: what it must never forget.
        bits: source of its noise.
        budget: its own floors; a round below them is refused whatever the phones sealed to.
    """

    def __init__(
        self, private_key: bytes, store: HelperStore, bits: BitSource, budget: Budget
    ) -> None:
        self._secret = private_key
        self._private_key = X25519PrivateKey.from_private_bytes(private_key)
        self._signing_secret = self._derive(_SIGNING_LABEL)
        self._store = store
        self._bits = bits
        self._budget = budget

    @property
    def public_key(self) -> bytes:
        """The raw X25519 key that phones seal seeds to (``helper_key`` of a descriptor)."""
        return self._private_key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)

    @property
    def signing_public_key(self) -> bytes:
        """The raw Ed25519 key that its certificates open with."""
        key = Ed25519PrivateKey.from_private_bytes(self._signing_secret)
        return key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)

    def query_key(self, task: str, round: int) -> bytes:  # noqa: A002
        """The 32-byte key of a round's queries, for the leader alone and only once it is closed.

        A phone that knew it could prove a lie. It never changes: see `Sharing.verifier`.
        """
        return self._derive(msgpack.packb([_QUERY_LABEL, task, round]))

    def sum_masks(self, batch: Batch) -> MaskSum:
        """The helper's share of the batch's sum + noise, or BatchRefused(reason) and no trace."""
        cached = self._store.reply_for(batch.batch_id)
        if cached is not None:
            return _repeat(batch, cached)
        if len(batch.shares) < batch.n_min:
            raise BatchRefused("too_few", f"{len(batch.shares)} reports, {batch.n_min} needed")
        sharing = self._check_floors(batch)
        if self._store.seen(batch.report_ids):
            raise BatchRefused("overlap", "a report was summed before")
        total = self._total(batch, sharing, self._keys(batch))
        noise = gaussian_table(total_variance(batch.sigma, batch.scale)).sample(
            batch.dimension, self._bits
        )
        digest, half = batch.digest(), sharing.add(total, noise)
        reply = MaskSum(
            batch_id=batch.batch_id,
            batch_digest=digest,
            count=len(batch.shares),
            vector=half,
            certificate=_certificate(batch, digest, half).sign(self._signing_secret),
        )
        self._store.record(batch.batch_id, batch.report_ids, reply.encode())
        return reply

    def _check_floors(self, batch: Batch) -> Sharing:
        try:
            self._budget.check(batch)
            return sharing_for(batch)
        except RoundRefused as refusal:
            raise BatchRefused("floor", str(refusal)) from None

    def _keys(self, batch: Batch) -> list[bytes]:
        """Every report's stream key; BatchRefused("seal") names all reports that do not open."""
        keys: list[bytes] = []
        bad: list[bytes] = []
        for share in batch.shares:
            try:
                aad = batch.context(share).aad()
                seed = open_seed(share.sealed_seed, self._private_key, aad)
                keys.append(report_key(seed, batch.task, batch.round, share.report_id))
            except BatchRefused:
                bad.append(share.report_id)
        if bad:
            raise BatchRefused("seal", f"{len(bad)} reports were sealed to something else", bad)
        return keys

    def _total(self, batch: Batch, sharing: Sharing, keys: Sequence[bytes]) -> Share:
        """Σ shares; BatchRefused("invalid") names all reports whose proof does not hold."""
        bad: list[bytes] = []
        total = sharing.total(self._verified(batch, sharing, keys, bad))
        if bad:
            raise BatchRefused("invalid", f"{len(bad)} reports are out of range or unproven", bad)
        return total

    def _verified(
        self, batch: Batch, sharing: Sharing, keys: Sequence[bytes], bad: list[bytes]
    ) -> Iterator[Share]:
        """Every report's share, a few in memory at a time; ``bad`` collects the ids refused."""
        query_key = self.query_key(batch.task, batch.round)
        for part in _parts(list(zip(batch.shares, keys, strict=True))):
            queries = [report_query(query_key, sealed.report_id) for sealed, _ in part]
            shares = [sharing.expand(key) for _, key in part]
            own = sharing.verifiers(shares, queries)
            for (sealed, _), mine, query in zip(part, own, queries, strict=True):
                if not sharing.accepts(sealed.verifier, mine, query):
                    bad.append(sealed.report_id)
            yield from shares

    def _derive(self, info: bytes) -> bytes:
        return HKDF(SHA256(), KEY_BYTES, salt=None, info=info).derive(self._secret)


def _parts(items: list[tuple[SealedShare, bytes]]) -> Iterator[list[tuple[SealedShare, bytes]]]:
    for start in range(0, len(items), _AT_ONCE):
        yield items[start : start + _AT_ONCE]


def _certificate(batch: Batch, digest: bytes, half: Share) -> BatchCertificate:
    return BatchCertificate(
        batch_id=batch.batch_id,
        batch_digest=digest,
        reports_digest=reports_digest(batch.report_ids),
        half_digest=half_digest(half),
        count=len(batch.shares),
        task=batch.task,
        round=batch.round,
        dimension=batch.dimension,
        scale=batch.scale,
        clip=float(batch.clip),
        sigma=float(batch.sigma),
        n_min=batch.n_min,
    )


def _repeat(batch: Batch, cached: bytes) -> MaskSum:
    reply = MaskSum.decode(cached)
    if reply.batch_digest != batch.digest():
        raise BatchRefused("replay", "the batch id was used for another batch")
    return reply
