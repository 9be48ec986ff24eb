"""Whether a phone has caught up once the faults have stopped (law 3: delayed, never lost)."""

from __future__ import annotations

from typing import Final

from simulator.availability import Track
from simulator.invariants import PhoneWatch
from simulator.laws import CONVERGED

__all__ = ["check_caught_up"]

_REST: Final = 12 * 3_600.0
"""Seconds a phone rests between two syncs by itself."""
_SPREAD: Final = 1.1
"""A wait asked for is spread by a tenth."""
_LATE: Final = 2.8 * 3_600.0
"""... and then the longest backoff of an hour, and a dream that began before the wait was over."""
_CHANCE: Final = 3_600.0
"""Seconds that the window must have been open: to charge to the floor, settle, dream and sync."""


def check_caught_up(
    watch: PhoneWatch, window: Track, *, calm: float, end: float, waiting: int, rest: float = _REST
) -> None:
    """Check a phone whose window was open for long, long enough after the calm began.

    Args:
        watch: what it was seen to do.
        window: the true one.
        calm, end: of the world's quiet last part, unix seconds.
        waiting: reports still in its outbox.
        rest: seconds after which the cloud asks a phone back.
    """
    bound = _SPREAD * max(rest, _REST) + _LATE
    chances = [
        begin
        for begin, until in window.spans
        if begin >= calm + bound and min(until, end) - begin >= _CHANCE
    ]
    if not chances:
        return
    since = chances[-1] - bound
    synced = watch.synced_at is not None and watch.synced_at >= since
    last = "never" if watch.synced_at is None else f"{(end - watch.synced_at) / 3600:.1f} h ago"
    said = f"its window was open, yet it last synced {last}, and {waiting} reports wait"
    watch.tally.check(CONVERGED, synced and not waiting, watch.name, said)
