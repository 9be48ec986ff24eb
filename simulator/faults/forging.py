"""Reports that no privacy gate made: what a phone can send that keeps none of the rules."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from privacy import BitSource
from privacy.secagg.field import MODULUS
from privacy.secagg.mask import (
    REPORT_ID_BYTES,
    SEED_BYTES,
    SealContext,
    report_key,
    seal_seed,
    share_hash,
)
from privacy.secagg.sharing import sharing_for
from protocol.rounds import RoundDescriptor
from protocol.update import Report

__all__ = ["TIMES", "poisoned", "sealed_report", "unproven"]

TIMES = 100
"""How many times longer than the clip a poisoned update is."""


def sealed_report(
    descriptor: RoundDescriptor,
    values: NDArray[np.int64],
    bits: BitSource,
    *,
    proven: bool = True,
    report_id: bytes | None = None,
) -> Report:
    """`values`, int64[dimension] in lattice units, shared and sealed as the protocol wants.

    Not `proven`: the share's first value is something that is no bit. `report_id`: None draws one.
    """
    report_id, seed = report_id or bits(REPORT_ID_BYTES), bits(SEED_BYTES)
    sharing = sharing_for(descriptor)
    share = sharing.split(
        values, report_key(seed, descriptor.task, descriptor.round, report_id), bits
    )
    if not proven:
        words = sharing.read(share).copy()
        words[0] = (int(words[0]) + 5) % MODULUS
        share = words.astype("<u8").tobytes()
    context = SealContext(
        descriptor.task,
        descriptor.round,
        report_id,
        share_hash(share),
        descriptor.dimension,
        descriptor.scale,
        descriptor.clip,
        descriptor.sigma,
        descriptor.n_min,
    )
    sealed = seal_seed(seed, descriptor.helper_key, context.aad(), bits)
    return Report(descriptor.task, descriptor.round, report_id, share, sealed)


def poisoned(descriptor: RoundDescriptor, bits: BitSource) -> Report:
    """An update of `TIMES` the norm that the round allows."""
    each = TIMES * descriptor.clip * descriptor.scale / math.sqrt(descriptor.dimension)
    return sealed_report(
        descriptor, np.full(descriptor.dimension, math.ceil(each), dtype=np.int64), bits
    )


def unproven(descriptor: RoundDescriptor, bits: BitSource) -> Report:
    """Counts with a proof that does not hold."""
    zeros = np.zeros(descriptor.dimension, dtype=np.int64)
    return sealed_report(descriptor, zeros, bits, proven=False)
