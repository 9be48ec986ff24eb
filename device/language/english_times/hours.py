"""Hours on a day: which half of the day an hour means, and spans of a composed expression."""

from __future__ import annotations

from datetime import date, datetime, timedelta

from device.language.english_times.compose import When, days_meant, midnight
from device.language.english_times.values import Bound, Clock, ClockRange, Context, Part
from device.language.spans import Span

__all__ = ["clock_span", "first_after", "span_of"]

LAST_AFTERNOON_HOUR = 5
"""An hour up to this said bare ("at four") is one of the afternoon."""
SMALL_HOURS = 6.0
"""Hours before this belong to the night before."""
EVENING = 18.0
"""No hour before this is one of the night to come."""
HALF_DAY, DAY = 12.0, 24.0
_LENGTHS = {"second": timedelta(seconds=1), "minute": timedelta(minutes=1)}


def span_of(found: When, now: Context) -> Span | None:
    """What a When means; None when no such day exists."""
    if found.moment is not None:
        return Span(found.moment.start, found.moment.end, found.moment.grain)
    days = days_meant(found, now)
    if days is None and found.day is not None:
        return None
    if days is not None and not found.timed:
        return Span(midnight(days.first, now), midnight(days.stop, now), days.grain)
    day = days.first if days is not None else now.today
    if found.bound is not None:
        return _bounded(day, found.bound, found.part, now)
    if isinstance(found.clock, ClockRange):
        return _clock_range(day, found.clock, found.part, now)
    if isinstance(found.clock, Clock):
        return clock_span(day, found.clock, found.part, now)
    if found.part is not None:
        return _part(day, found.part, now)
    return None


def _part(day: date, part: Part, now: Context) -> Span:
    start, end = _moment(part.first, day, now), _moment(part.last, day, now)
    return Span(max(start, now.moment) if part.onward and now.moment < end else start, end, "part")


def _moment(hours: float, day: date, now: Context) -> datetime:
    return midnight(day, now) + timedelta(seconds=round(hours * 3600))


def _hours(clock: Clock) -> float:
    return clock.hour + clock.minute / 60 + clock.second / 3600


def clock_span(day: date, clock: Clock, part: Part | None, now: Context) -> Span:
    """A time on the clock of a day, in a part of it."""
    start = _moment(_settled(clock, part, day, now), day, now)
    return Span(start, start + _LENGTHS.get(clock.grain, timedelta(hours=1)), clock.grain)


def _settled(clock: Clock, part: Part | None, day: date, now: Context) -> float:
    hours = _hours(clock)
    if part is not None and part.last > DAY and hours < SMALL_HOURS:
        hours = _at_night(hours, clock, part)
        # Said in the small hours, "tonight at 2" is still this night.
        return (
            hours - DAY
            if hours >= DAY and day == now.today and now.moment.hour < SMALL_HOURS
            else hours
        )
    if not clock.open:
        return hours
    if part is not None:
        return _within(hours, part)
    return hours + HALF_DAY if clock.hour <= LAST_AFTERNOON_HOUR else hours


def _at_night(hours: float, clock: Clock, part: Part) -> float:
    if not clock.open:
        return hours + DAY
    return _within(hours, part)


def _within(hours: float, part: Part) -> float:
    """The reading of an hour without am or pm that lies in, or nearest to, a part of the day."""
    base = hours % HALF_DAY
    readings = [base, base + HALF_DAY, *([base + DAY] if part.last > DAY else [])]
    if part.last > DAY:
        readings = [h for h in readings if h >= EVENING]
    fitting = [h for h in readings if part.first <= h < part.last]
    middle = (part.first + part.last) / 2
    return fitting[0] if fitting else min(readings, key=lambda h: (abs(h - middle), h))


def _readings(clock: Clock) -> list[float]:
    hours = _hours(clock)
    if not clock.open:
        return [hours]
    return [hours % HALF_DAY, hours % HALF_DAY + HALF_DAY]


def first_after(clock: Clock, start: datetime, now: Context) -> datetime:
    """The first moment after `start` at which the clock reads so."""
    readings = [_moment(h, start.date(), now) for h in _readings(clock)]
    readings += [moment + timedelta(days=1) for moment in readings]
    return min(moment for moment in readings if moment > start)


def _clock_range(day: date, found: ClockRange, part: Part | None, now: Context) -> Span:
    if found.last is None:
        start = clock_span(day, found.first, part, now).start
        return Span(start, start + (found.length or timedelta()), "range")
    first, last = _hours(found.first), _hours(found.last)
    if found.first.open and not found.last.open and part is None:
        last = last or DAY
        before = [h for h in _readings(found.first) if h < last]
        first = max(before) if before else first
    else:
        first = _settled(found.first, part, day, now)
        last = _last(found.last, first)
    start = _moment(first, day, now)
    end = _moment(last if last > first else last + DAY, day, now)
    return Span(start, end, "range")


def _last(clock: Clock, first: float) -> float:
    later = [h for h in _readings(clock) if h > first]
    return later[0] if later else min(_readings(clock))


def _bounded(day: date, bound: Bound, part: Part | None, now: Context) -> Span:
    start = midnight(day, now)
    if isinstance(bound.clock, Part):
        hours = bound.clock.first if bound.word == "before" else bound.clock.last
        at = start + timedelta(hours=hours)
    else:
        at = clock_span(day, bound.clock, part, now).start
    if bound.word == "before":
        return Span(min(start, at), at, "before")
    return Span(at, max(at, start + timedelta(days=1)), "after")
