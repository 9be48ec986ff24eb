"""Time of the week: how long a condition held, by local weekday and hour."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simulator.availability import Track

__all__ = ["WEEK_HOURS", "by_week"]

WEEK_HOURS = 7 * 24
_HOUR = 3600.0
_FIRST_MONDAY = 4 * 86_400.0
"""Unix seconds of the first Monday, 1970-01-05 00:00 UTC."""


def by_week(track: Track, utc_offset: float) -> NDArray[np.float32]:
    """float32[168], seconds of the track by local weekday and hour, from Monday 00:00."""
    total = np.zeros(WEEK_HOURS, np.float64)
    for start, end in track.spans:
        at = start
        while at < end:
            hour = (at + utc_offset - _FIRST_MONDAY) // _HOUR
            until = min(end, (hour + 1) * _HOUR + _FIRST_MONDAY - utc_offset)
            total[int(hour) % WEEK_HOURS] += until - at
            at = until
    return total.astype(np.float32)
