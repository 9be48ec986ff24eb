"""When a phone has had its chance to catch up depends on when the cloud asked it back."""

from __future__ import annotations

import pytest

from simulator.converging import check_caught_up
from simulator.invariants import PhoneWatch
from simulator.laws import CONVERGED
from simulator.tracks import Track

HOUR = 3_600.0
END = 72 * HOUR
OPEN = Track(((0.0, END),))
NIGHTS = Track(tuple((day * 24 * HOUR, (day * 24 + 5) * HOUR) for day in range(3)))


def judged(
    window: Track, synced_at: float | None, rest: float, waiting: int = 0
) -> tuple[int, int]:
    """(checked, violated)."""
    watch = PhoneWatch("phone 0", window=window, settle=60.0, canary="no such", cloud_key=bytes(32))
    watch.synced_at = synced_at
    check_caught_up(watch, window, calm=0.0, end=END, waiting=waiting, rest=rest)
    return watch.tally.checked[CONVERGED], watch.tally.violated[CONVERGED]


@pytest.mark.parametrize(
    ("rest", "hours_ago", "violated"),
    [(6.0, 20.0, 0), (6.0, 44.0, 1), (24.0, 44.0, 0), (24.0, 60.0, 1)],
)
def test_a_phone_asked_back_daily_has_a_day_and_some_hours(
    rest: float, hours_ago: float, violated: int
) -> None:
    # The last night began 24 hours before the end.
    assert judged(NIGHTS, END - hours_ago * HOUR, rest * HOUR) == (1, violated)


def test_a_report_that_still_waits_is_a_violation() -> None:
    assert judged(NIGHTS, END - HOUR, 0.0, waiting=1) == (1, 1)


def test_who_never_had_a_chance_is_not_judged() -> None:
    assert judged(Track(((0.0, 5 * HOUR),)), None, 24 * HOUR) == (0, 0)
    assert judged(OPEN, None, 24 * HOUR) == (0, 0)
