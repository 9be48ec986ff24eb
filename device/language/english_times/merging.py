"""Two neighbouring dates that say one day: Friday 7/6, tomorrow, 13 April, Tuesday of next week."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from device.language.english_times.values import Calendar, Days, one_day

__all__ = ["merged"]

NO_WEEKDAY = -1
"""Beside "this Friday" a date is the nearest such, whatever weekday it falls on."""


def merged(first: Days | Calendar, second: Days | Calendar) -> Days | Calendar | None:
    """A weekday beside the date or the week it belongs to; "tomorrow" beside its date."""
    if isinstance(first, Days) and first.weekday is not None:
        if isinstance(second, Calendar):
            near = NO_WEEKDAY if first.relative else first.weekday
            return replace(second, weekday=near) if second.day is not None else None
        if second.weekday is not None:
            return None
        if second.grain == "week" or second.offset_unit:
            return _weekday_in(second, first.weekday)
        return second if second.grain == "day" else None
    tomorrow = isinstance(first, Days) and first.relative and first.grain == "day"
    if not tomorrow or first.offset_unit:  # type: ignore[union-attr]
        return None
    if isinstance(second, Calendar):
        return second if second.day is not None else None
    return second if second.grain == "day" and not second.relative else None


def _weekday_in(near: Days, weekday: int) -> Days:
    """The weekday of that week; "in two months on Tuesday" is the first one from then."""
    if near.offset_unit in ("month", "year"):
        day = near.first + timedelta(days=(weekday - near.first.weekday()) % 7)
    else:
        day = near.first + timedelta(days=weekday - near.first.weekday())
    return one_day(day, relative=True)
