"""From the stored reports of a round to the batch the helper is asked about, and to their sum.

Nothing here writes: the leader (rounds.py) decides what becomes of a round.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from hashlib import sha256
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import ColumnElement, Connection, Row, func, select

from cloud.storage.tables import uploads
from privacy.estimation import estimate_histograms, estimate_local, mean_update, total_noise
from privacy.mechanisms.local import SubsetSelection
from privacy.secagg import Batch, MaskSum, SealedShare
from privacy.secagg.batch import BATCH_ID_BYTES, LARGEST_BATCH
from privacy.secagg.certificate import BatchCertificate, half_digest, reports_digest
from privacy.secagg.leader import plausible
from privacy.secagg.mask import report_query, share_hash
from privacy.secagg.sharing import sharing_for
from privacy.streams import USAGE_HISTOGRAMS
from protocol.rounds import MODEL_TASKS
from protocol.update import Report, decode_report

__all__ = [
    "HISTOGRAMS",
    "LocalTotal",
    "RoundTerms",
    "Total",
    "batch_id_of",
    "batch_of",
    "certified",
    "count_usable",
    "local_total",
    "randomiser_of",
    "reports_of",
    "stored_ids",
    "terms_of",
    "unmasked",
    "usable",
]

_CACHED_RANDOMISERS = 16

_VERIFIED_AT_ONCE = 64
"""Reports whose verifiers are computed together."""

HISTOGRAMS = {histogram.name: histogram for histogram in USAGE_HISTOGRAMS}


class RoundTerms(NamedTuple):
    """The parameters of a round of two-server aggregation, as its descriptor signed them."""

    task: str
    round: int
    dimension: int
    scale: int
    clip: float
    sigma: float
    n_min: int


class Total(NamedTuple):
    """What the servers' two halves come to.

    ``total``: int64[dimension] in lattice units; ``sigma``: std of one coordinate's noise in real
    units; ``believable``: whether honest reports can have led to it.
    """

    total: NDArray[np.int64]
    sigma: float
    estimates: dict[str, Any]
    believable: bool


class LocalTotal(NamedTuple):
    """``counts``: int64[bins], how many reported sets hold each bin; ``n``: reports."""

    counts: NDArray[np.int64]
    n: int
    estimates: dict[str, Any]


def terms_of(row: Row[Any]) -> RoundTerms:
    """The terms in a row of the rounds table."""
    return RoundTerms(*(getattr(row, name) for name in RoundTerms._fields))


def randomiser_of(row: Row[Any]) -> SubsetSelection:
    """How the phones randomise their answers to a local round."""
    return _randomiser(len(HISTOGRAMS[row.histogram].bins), row.epsilon)


@lru_cache(maxsize=_CACHED_RANDOMISERS)
def _randomiser(bins: int, epsilon: float) -> SubsetSelection:
    return SubsetSelection(bins, epsilon)


def reports_of(task: str, number: int) -> ColumnElement[bool]:
    """The uploads of one round."""
    return (uploads.c.task == task) & (uploads.c.round == number)


def usable(task: str, number: int) -> ColumnElement[bool]:
    """…of these, the ones not left out and not yet forgotten."""
    return reports_of(task, number) & (func.length(uploads.c.body) > 0)


def count_usable(connection: Connection, task: str, number: int) -> int:
    """How many reports a round may still sum."""
    counted = select(func.count()).select_from(uploads).where(usable(task, number))
    return connection.execute(counted).scalar_one()


def batch_of(connection: Connection, row: Row[Any], query: bytes) -> Batch:
    """What the helper is to be asked about a round.

    ``query``: the helper's query key for the round (b"" where nothing is proven). The same reports
    and key give the same batch, so a question asked again after a crash gets the same answer.
    """
    sharing = sharing_for(terms_of(row))
    shares: list[SealedShare] = []
    stored = _stored(connection, row.task, row.round)
    while some := list(islice(stored, _VERIFIED_AT_ONCE)):
        verifiers = sharing.verifiers(
            [sharing.read(report.share) for report in some],
            [report_query(query, report.report_id) for report in some],
        )
        shares += [
            SealedShare(report.report_id, share_hash(report.share), report.sealed_seed, verifier)
            for report, verifier in zip(some, verifiers, strict=True)
        ]
    batch_id = batch_id_of(row, [share.report_id for share in shares])
    return Batch(**terms_of(row)._asdict(), batch_id=batch_id, shares=tuple(shares))


def batch_id_of(row: Row[Any], report_ids: Sequence[bytes]) -> bytes:
    """A batch is named by its round and reports: another choice of reports is another batch."""
    name = sha256(f"reverie/batch/1|{row.task}|{row.round}|".encode())
    for report_id in report_ids:
        name.update(report_id)
    return name.digest()[:BATCH_ID_BYTES]


def certified(
    row: Row[Any], report_ids: Sequence[bytes], asked: bytes, answer: MaskSum, public: bytes
) -> bool:
    """Whether the helper signed for exactly the batch with digest ``asked``, and this half of it.

    Raises CertificateInvalid when ``public`` did not sign the certificate.
    """
    said = BatchCertificate.open(answer.certificate, public)
    wanted = BatchCertificate(
        batch_id=batch_id_of(row, report_ids),
        batch_digest=asked,
        reports_digest=reports_digest(report_ids),
        half_digest=half_digest(answer.vector),
        count=len(report_ids),
        **terms_of(row)._asdict(),
    )
    return said == wanted and (answer.batch_digest, answer.count) == (asked, wanted.count)


def unmasked(connection: Connection, row: Row[Any], answer: MaskSum) -> Total:
    """The sum of a round's reports: the leader's half joined with the helper's."""
    terms = terms_of(row)
    sharing = sharing_for(terms)
    ours = sharing.total(
        sharing.read(report.share) for report in _stored(connection, row.task, row.round)
    )
    total = sharing.join(ours, answer.vector, answer.count)
    sigma = total_noise(row.sigma, answer.count, row.n_min)
    # Counts carry proofs; an update's range can only be judged by what it did to the sum.
    believable = row.task not in MODEL_TASKS or plausible(total, answer.count, terms, sigma)
    return Total(total, sigma, _estimates(row, total, answer.count, sigma), believable)


def local_total(connection: Connection, row: Row[Any]) -> LocalTotal:
    """The counts of a local round and the shares they stand for."""
    histogram = HISTOGRAMS[row.histogram]
    shares = b"".join(
        report.share for report in _stored(connection, row.task, row.round, limit=None)
    )
    masks = np.frombuffer(shares, dtype="<u4")
    counts = np.array(
        [np.count_nonzero(masks & np.uint32(1 << bit)) for bit in range(len(histogram.bins))],
        dtype=np.int64,
    )
    estimated = estimate_local(counts, masks.size, randomiser_of(row))
    bins = [
        {"histogram": histogram.name, "bin": name, "estimate": share, "low": low, "high": high}
        for name, (share, low, high) in zip(histogram.bins, estimated, strict=True)
    ]
    return LocalTotal(counts, int(masks.size), {"histograms": bins})


def stored_ids(connection: Connection, task: str, number: int) -> list[bytes]:
    """The report ids of a round's batch, in its order."""
    query = select(uploads.c.report_id).where(usable(task, number))
    return list(connection.scalars(query.order_by(uploads.c.report_id).limit(LARGEST_BATCH)))


def _stored(
    connection: Connection, task: str, number: int, limit: int | None = LARGEST_BATCH
) -> Iterator[Report]:
    """The reports of a round's batch by report id, one at a time; those over the cap stay out."""
    query = select(uploads.c.body).where(usable(task, number)).order_by(uploads.c.report_id)
    for body in connection.execution_options(yield_per=256).scalars(query.limit(limit)):
        yield decode_report(body)


def _estimates(row: Row[Any], total: NDArray[np.int64], n: int, sigma: float) -> dict[str, Any]:
    if row.task not in MODEL_TASKS:
        bins = estimate_histograms(total, n, row.scale, sigma)
        return {"histograms": [estimate._asdict() for estimate in bins]}
    update = mean_update(total, n, row.scale, sigma)
    return {"norm": float((update.mean**2).sum() ** 0.5), "noise_std": update.noise}
