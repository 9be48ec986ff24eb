"""Whether a balancer should send phones here: what `/readyz` says. No query is made to answer it,
so that asking often costs nothing, and an outage is not made worse."""

from __future__ import annotations

__all__ = ["Readiness"]


class Readiness:
    """What a process knows of its own state. Times are seconds of one monotonic clock.

    Args:
        stale_after: seconds after which a snapshot that nobody could refresh is too old.
        at: when the process took its first.
    """

    def __init__(self, stale_after: float, at: float) -> None:
        self._stale_after, self._refreshed = stale_after, at
        self._fault = ""
        self.draining = False

    def refreshed(self, at: float, fault: str = "") -> None:
        """What phones are shown was compared with the database; ``fault`` is what else is wrong."""
        self._refreshed, self._fault = at, fault

    def failed(self, fault: str) -> None:
        """It could not be compared."""
        self._fault = fault

    def objection(self, at: float) -> str:
        """Why no phone should be sent here, in one line; "" when it may."""
        if self.draining:
            return "draining"
        if self._fault:
            return self._fault
        if (age := at - self._refreshed) > self._stale_after:
            return f"what phones are shown is {age:.0f} s old"
        return ""
