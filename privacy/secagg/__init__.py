"""One-shot two-server secure aggregation.

mask.py    phone: one-time mask, seed sealed to the helper
leader.py  leader: modular sums, unmasking
batch.py   the two messages between leader and helper
helper.py  helper: sums masks of whole batches, once
"""

from privacy.secagg.batch import Batch, MaskSum, SealedShare
from privacy.secagg.helper import Helper, HelperStore, MemoryHelperStore
from privacy.secagg.leader import sum_masked, unmask
from privacy.secagg.mask import SealContext, add_mask, expand_mask, masked_hash, seal_seed

__all__ = [
    "Batch",
    "Helper",
    "HelperStore",
    "MaskSum",
    "MemoryHelperStore",
    "SealContext",
    "SealedShare",
    "add_mask",
    "expand_mask",
    "masked_hash",
    "seal_seed",
    "sum_masked",
    "unmask",
]
