"""When to try the cloud again: full jitter, so that phones do not come back in step.

Full jitter after a 60 s outage of 20,000 phones peaks at a ninth of the load of a ladder that
jitters only its first delay (AWS Architecture Blog, "Exponential Backoff And Jitter"). A wait the
cloud asks for is a floor under the jitter, never a substitute for it: phones that were told the
same would else come back together.
"""

from __future__ import annotations

import numpy as np

__all__ = ["Backoff"]

FIRST_SECONDS = 30.0
LONGEST_SECONDS = 3600.0
LONGEST_HINT_SECONDS = 86_400.0
"""A cloud that asks for more is not believed: a phone looks in once a day."""
SET_BACK_SECONDS = 3600.0
"""A clock that shows so much less than when a wait began was set back: how long the wait has lasted
nobody knows, and it is over. A smaller correction only lengthens it."""
SPREAD = 0.1
"""Share of a wait the cloud asked for after a good sync that is added at random."""


class Backoff:
    """Says from what time on the next sync may start."""

    def __init__(self, interval: float, rng: np.random.Generator) -> None:
        self._interval = interval
        self._rng = rng
        self._failures = 0
        self._since = self._not_before = float("-inf")

    @property
    def not_before(self) -> float:
        """Unix seconds from which the next sync may start."""
        return self._not_before

    def due(self, now: float) -> bool:
        """Whether a sync may start at `now`."""
        return now >= self._not_before or now < self._since - SET_BACK_SECONDS

    def succeeded(self, now: float, retry_after: float) -> None:
        """The next sync waits for the usual interval, or longer if the cloud asks for it."""
        self._failures = 0
        self._since, self._not_before = now, now + self._interval
        hint = min(retry_after, LONGEST_HINT_SECONDS)
        if hint > self._interval:
            self._not_before = now + hint + float(self._rng.uniform(0.0, hint * SPREAD))

    def failed(self, now: float, retry_after: float = 0.0) -> None:
        """The next sync waits as long as the cloud asks, then for a random share of a doubling
        span."""
        span = min(LONGEST_SECONDS, FIRST_SECONDS * 2.0**self._failures)
        self._failures += 1
        self._since = now
        hint = min(retry_after, LONGEST_HINT_SECONDS)
        self._not_before = now + hint + float(self._rng.uniform(0.0, span))
