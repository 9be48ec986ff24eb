"""How near memories stand to the times that a query names: a boost, never a filter."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from device.recall.few import single

__all__ = ["Spans", "nearness", "nearness_of_one", "within"]

DAY_SECONDS = 86_400.0
INSTANT_SECONDS = 1.0
"""Length of a memory that names a moment."""

Spans = Sequence[tuple[float, float]]
"""Unix seconds from and to."""


def nearness(
    starts: NDArray[np.float64], ends: NDArray[np.float64], spans: Spans
) -> NDArray[np.float32]:
    """1 inside a named span, falling to 0 within one span's length (at least a day) of it."""
    nearest = np.zeros(len(starts), np.float32)
    for start, end in spans:
        slack = max(end - start, DAY_SECONDS)
        gap = np.maximum(start - ends, starts - end)
        near = np.clip(1.0 - np.maximum(gap, 0.0) / slack, 0.0, 1.0)
        np.maximum(nearest, near.astype(np.float32), out=nearest)
    return nearest


def nearness_of_one(starts: float, ends: float, spans: Spans) -> float:
    """As `nearness`, of a single memory."""
    nearest = 0.0
    for start, end in spans:
        slack = max(end - start, DAY_SECONDS)
        gap = max(start - ends, starts - end, 0.0)
        nearest = max(nearest, single(max(1.0 - gap / slack, 0.0)))
    return nearest


def within(
    starts: NDArray[np.float64], ends: NDArray[np.float64], spans: Spans
) -> NDArray[np.float32]:
    """How much (0 … 1) of each memory lies in one of the spans: what happens on the day stands
    above what is due by the end of its month."""
    shares = np.zeros(len(starts), np.float32)
    for start, end in spans:
        overlap = np.minimum(ends, end) - np.maximum(starts, start)
        share = (overlap + INSTANT_SECONDS) / (ends - starts + INSTANT_SECONDS)
        share = np.where((starts < end) & (ends >= start), np.clip(share, 0.0, 1.0), 0.0)
        np.maximum(shares, share.astype(np.float32), out=shares)
    return shares
