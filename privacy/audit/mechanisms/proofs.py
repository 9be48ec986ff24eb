"""Proofs of usage reports at the helper, and the query keys that keep them honest."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from privacy.audit.mechanisms.fleet import PocketFleet
from privacy.audit.mechanisms.verdict import Context, Findings
from privacy.budget import DEMO
from privacy.errors import BatchRefused
from privacy.secagg.batch import SealedShare
from privacy.secagg.helper import Helper, MemoryHelperStore
from privacy.secagg.mask import SealContext, report_key, report_query, seal_seed, share_hash
from privacy.streams import USAGE_DIMENSION

__all__ = ["drill_proofs", "drill_query_keys"]


def drill_proofs(context: Context, findings: Findings) -> None:
    """A usage report that is out of range is named and refused; the honest ones then pass."""
    fleet = PocketFleet(context, DEMO, "usage", USAGE_DIMENSION)
    zeros = np.zeros(USAGE_DIMENSION)
    reports = [fleet.report(zeros)[0] for _ in range(fleet.round.n_min)]
    honest = fleet.batch(reports, 1)
    liar = _out_of_range(context, fleet)
    try:
        fleet.helper.sum_masks(replace(honest, shares=(*honest.shares, liar)))
    except BatchRefused as refusal:
        findings.expect(
            refusal.reason == "invalid" and refusal.report_ids == (liar.report_id,),
            "a report out of range is refused for the wrong reason",
        )
    else:
        findings.expect(False, "the helper sums a usage report whose proof does not hold")
    answer = fleet.helper.sum_masks(honest)
    most = fleet.round.n_min * fleet.sharing.bound + 20 * fleet.round.sigma * fleet.round.scale
    findings.expect(
        int(np.max(np.abs(fleet.join(reports, answer)))) <= most, "a sum is out of all bounds"
    )


def _out_of_range(context: Context, fleet: PocketFleet) -> SealedShare:
    """A report sealed by the rules whose first element is moved by a thousand: not a bit."""
    bits = context.bits("liar")
    report_id, seed = bits(16), bits(32)
    mine = fleet.round
    key = report_key(seed, mine.task, mine.round, report_id)
    honest = fleet.sharing.split(np.zeros(mine.dimension, dtype=np.int64), key, bits)
    first = int.from_bytes(honest[:8], "little")
    moved = first - 1_000 if first >= 1_000 else first + 1_000
    share = moved.to_bytes(8, "little") + honest[8:]
    context_ = SealContext(
        mine.task, mine.round, report_id, share_hash(share),
        mine.dimension, mine.scale, mine.clip, mine.sigma, mine.n_min,
    )  # fmt: skip
    sealed = seal_seed(seed, mine.helper_key, context_.aad(), bits)
    query = report_query(fleet.helper.query_key(mine.task, mine.round), report_id)
    verifier = fleet.sharing.verifier(fleet.sharing.read(share), query)
    return SealedShare(report_id, share_hash(share), sealed, verifier)


def drill_query_keys(context: Context, findings: Findings) -> None:
    """A round's query key is its own, stays the same, and no phone is shown it."""
    fleet = PocketFleet(context, DEMO, "usage", USAGE_DIMENSION)
    helper = fleet.helper
    other = Helper(context.bits("other")(32), MemoryHelperStore(), context.bits("x"), DEMO)
    keys = [
        helper.query_key("usage", 1),
        helper.query_key("usage", 2),
        helper.query_key("router", 1),
        other.query_key("usage", 1),
        helper.public_key,
        helper.signing_public_key,
    ]
    findings.expect(
        len(set(keys)) == len(keys), "a query key can be known before its round is closed"
    )
    findings.expect(
        helper.query_key("usage", 1) == keys[0], "a round has two query keys: proofs then leak"
    )
    report, _ = fleet.report(np.zeros(USAGE_DIMENSION))
    shown = report.share + report.sealed_seed + report.report_id
    findings.expect(keys[0] not in shown, "a phone is shown its round's query key")
