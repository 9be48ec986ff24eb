"""The leader's half: add masked vectors, subtract the helper's mask sum.

Everything is integers mod 2^32, so the order of phones cannot change a bit of the result.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

__all__ = ["sum_masked", "unmask"]


def sum_masked(vectors: Iterable[npt.NDArray[np.uint32]]) -> npt.NDArray[np.uint32]:
    """Σ vectors mod 2^32, uint32[d]; ValueError for none, or for different lengths."""
    total: npt.NDArray[np.uint32] | None = None
    for vector in vectors:
        if vector.dtype != np.uint32 or vector.ndim != 1:
            raise ValueError("a masked vector is uint32 with one dimension")
        if total is None:
            total = vector.copy()
        elif vector.shape != total.shape:
            raise ValueError("masked vectors differ in length")
        else:
            np.add(total, vector, out=total)
    if total is None:
        raise ValueError("there is nothing to sum")
    return total


def unmask(
    masked_sum: npt.NDArray[np.uint32], mask_sum: npt.NDArray[np.uint32]
) -> npt.NDArray[np.int64]:
    """The noisy sum of the phones' lattice vectors, int64[d], centred in [-2^31, 2^31)."""
    if masked_sum.shape != mask_sum.shape:
        raise ValueError("the mask sum belongs to another round")
    difference: npt.NDArray[np.uint32] = masked_sum - mask_sum
    return difference.view(np.int32).astype(np.int64)
