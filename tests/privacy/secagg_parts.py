"""Shared pieces of the aggregation tests: rounds, and phones that need no ledger."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from privacy import DEMO, Budget
from privacy.bits import BitSource
from privacy.secagg import (
    Batch,
    Helper,
    MemoryHelperStore,
    SealContext,
    SealedShare,
    Share,
    report_key,
    report_query,
    seal_seed,
    share_hash,
    sharing_for,
)
from privacy.secagg.helper import HelperStore

SECRET = bytes(range(1, 33))


def seeded_bits(seed: int) -> BitSource:
    return np.random.Generator(np.random.Philox(key=seed)).bytes


@dataclass(frozen=True)
class Terms:
    """RoundParameters."""

    task: str
    round: int
    dimension: int
    scale: int
    clip: float
    sigma: float
    n_min: int


def terms_of(task: str, dimension: int = 32, number: int = 1, budget: Budget = DEMO) -> Terms:
    planned = budget.terms(task)
    return Terms(task, number, dimension, planned.scale, planned.clip, planned.sigma, planned.n_min)


class Sent(NamedTuple):
    """What one phone uploads."""

    report_id: bytes
    share: bytes
    sealed_seed: bytes


def new_helper(
    store: HelperStore | None = None, bits: BitSource = os.urandom, budget: Budget = DEMO
) -> Helper:
    return Helper(SECRET, MemoryHelperStore() if store is None else store, bits, budget)


PUBLIC = new_helper().public_key


def send(
    terms: Terms, noisy: npt.NDArray[np.int64], bits: BitSource, share: bytes | None = None
) -> Sent:
    """A phone's report of values that carry their noise; ``share``: what a liar sends instead."""
    sharing = sharing_for(terms)
    report_id, seed = bits(16), bits(32)
    key = report_key(seed, terms.task, terms.round, report_id)
    if share is None:
        share = sharing.split(sharing.clamp(noisy), key, bits)
    return Sent(report_id, share, sealed(terms, report_id, seed, share, bits))


def sealed(terms: Terms, report_id: bytes, seed: bytes, share: bytes, bits: BitSource) -> bytes:
    context = SealContext(
        terms.task,
        terms.round,
        report_id,
        share_hash(share),
        terms.dimension,
        terms.scale,
        terms.clip,
        terms.sigma,
        terms.n_min,
    )
    return seal_seed(seed, PUBLIC, context.aad(), bits)


def phones(terms: Terms, count: int, seed: int = 0) -> tuple[list[Sent], npt.NDArray[np.int64]]:
    """``count`` honest phones of small random values, and the sum of what they sent."""
    bits = seeded_bits(seed)
    rng = np.random.Generator(np.random.Philox(key=seed + 1_000_000))
    values = rng.integers(-200, 200, (count, terms.dimension))
    return [send(terms, value, bits) for value in values], values.sum(axis=0)


def batch_of(terms: Terms, sent: list[Sent], batch_id: bytes = b"b" * 16, **changes: Any) -> Batch:
    """The leader's batch, with its own verifiers."""
    sharing = sharing_for(terms)
    query_key = new_helper().query_key(terms.task, terms.round)
    shares = tuple(
        SealedShare(
            report.report_id,
            share_hash(report.share),
            report.sealed_seed,
            sharing.verifier(sharing.read(report.share), report_query(query_key, report.report_id)),
        )
        for report in sent
    )
    fields: dict[str, Any] = {
        "batch_id": batch_id,
        "task": terms.task,
        "round": terms.round,
        "dimension": terms.dimension,
        "scale": terms.scale,
        "clip": terms.clip,
        "sigma": terms.sigma,
        "n_min": terms.n_min,
        "shares": shares,
    }
    return Batch(**(fields | changes))


def leader_total(terms: Terms, sent: list[Sent]) -> Share:
    sharing = sharing_for(terms)
    return sharing.total(sharing.read(report.share) for report in sent)
