"""One-shot two-server secure aggregation: one upload a phone, and only sums are ever joined.

sharing.py      how a vector is split between leader and helper; what a bad report can do
ring.py         …modulo 2^32, without proof             proven.py bit by bit, with a proof
field.py        arithmetic modulo 2^64 - 2^32 + 1       proof.py  "these shares are bits"
mask.py         one-time keys of reports, seeds sealed to the helper
batch.py        the two messages between leader and helper
helper.py       helper: sums its shares of whole batches, once
leader.py       leader: is the joined sum one that honest phones can give?
certificate.py  what a helper signs about a batch
"""

from privacy.secagg.batch import Batch, MaskSum, SealedShare
from privacy.secagg.certificate import BatchCertificate, reports_digest
from privacy.secagg.helper import Helper, HelperStore, MemoryHelperStore
from privacy.secagg.leader import plausible
from privacy.secagg.mask import (
    SealContext,
    report_digest,
    report_key,
    report_query,
    seal_seed,
    share_hash,
)
from privacy.secagg.sharing import ProvenSharing, RingSharing, Share, Sharing, sharing_for

__all__ = [
    "Batch",
    "BatchCertificate",
    "Helper",
    "HelperStore",
    "MaskSum",
    "MemoryHelperStore",
    "ProvenSharing",
    "RingSharing",
    "SealContext",
    "SealedShare",
    "Share",
    "Sharing",
    "plausible",
    "report_digest",
    "report_key",
    "report_query",
    "reports_digest",
    "seal_seed",
    "share_hash",
    "sharing_for",
]
