"""Words of shares: read from bytes, and held against the round they are said to belong to."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from privacy.errors import BatchRefused

__all__ = ["Share", "check_length", "check_shape", "check_totals", "some_total", "words"]

Share = npt.NDArray[Any]
"""One server's share of one report, or a sum of them: uint32 on the ring, uint64 in the field."""


def words(data: bytes, encoding: str, dtype: npt.DTypeLike) -> Share:
    """The words of ``data`` in this machine's byte order."""
    return np.frombuffer(data, dtype=encoding).astype(dtype, copy=False)


def check_shape(noisy: npt.NDArray[np.int64], dimension: int) -> None:
    """ValueError for anything but int64[dimension]."""
    if noisy.shape != (dimension,) or noisy.dtype != np.int64:
        raise ValueError(f"a vector of this round is int64[{dimension}]")


def check_length(data: bytes, length: int) -> None:
    """BatchRefused("malformed") for any other length."""
    if len(data) != length:
        raise BatchRefused("malformed", f"a share of this round has {length} bytes")


def check_totals(one: Share, other: Share, dtype: npt.DTypeLike, dimension: int) -> None:
    """BatchRefused("malformed") for totals of another round's shape."""
    if any(total.shape != (dimension,) or total.dtype != dtype for total in (one, other)):
        raise BatchRefused("malformed", "the mask sum belongs to a round of another shape")


def some_total(total: Share | None) -> Share:
    """``total``, or ValueError for a sum of no shares."""
    if total is None:
        raise ValueError("there is nothing to sum")
    return total
