"""Calendar arithmetic for the time rules: spans of local time and the pieces they are built from.

All datetimes here are local, all of one zone or of none; `times` turns them into unix seconds at
the end. What is said is read against a `Reference`: mostly the day is enough, and the rules that
also take the hour ask for it with `exactly`. So what one day makes of a text is known to hold all
that day.
"""

from __future__ import annotations

import calendar
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from enum import StrEnum

__all__ = [
    "AFTER",
    "BEFORE",
    "FROM",
    "HourWanted",
    "Kind",
    "Piece",
    "Prefer",
    "Reference",
    "Span",
    "Today",
    "add_months",
    "day_span",
    "days_span",
    "easter",
    "exactly",
    "from_now",
    "month_day",
    "month_span",
    "nth_weekday",
    "quarter_span",
    "valid_date",
    "week_span",
    "weekday_near",
    "year_span",
]

BEFORE, AFTER, FROM = "before", "after", "from"
"""Grains of expressions open to one side: before X, after X, from X on."""
DAYS_IN_WEEK = 7
MONTHS_IN_YEAR = 12
MAX_YEAR = 9000
MIN_YEAR = 100
UNIT_SECONDS = {"second": 1, "minute": 60, "hour": 3600}


class HourWanted(Exception):
    """What was said cannot be read without the hour at which it was."""


class Today:
    """The day on which something was said, as the speaker's calendar has it, and no hour of it.

    What is read against it is local time without a zone.
    """

    __slots__ = ("_day", "month", "year")

    tzinfo = None

    def __init__(self, day: date) -> None:
        self._day = day
        self.year, self.month = day.year, day.month

    def date(self) -> date:
        """The speaker's date."""
        return self._day

    def __add__(self, days: timedelta) -> Today:
        return Today(self._day + days)


Reference = datetime | Today
"""When something was said: to the second, or only on which day."""


def exactly(reference: Reference) -> datetime:
    """The moment of `reference`, for who cannot do with its day."""
    if isinstance(reference, Today):
        raise HourWanted
    return reference


class Prefer(StrEnum):
    """Which of two possible dates is meant when the words leave it open."""

    PAST = "past"
    FUTURE = "future"


class Kind(StrEnum):
    """What a piece of a time expression can combine with."""

    DAY = "day"
    """A date, or a run of dates."""
    PART = "part"
    """Hours of a day: morning, evening."""
    CLOCK = "clock"
    """A time on the clock."""
    INSTANT = "instant"
    """Complete in itself: three hours ago."""


@dataclass(frozen=True, slots=True)
class Span:
    """Half-open local time [start, end) and how finely it was said."""

    start: datetime
    end: datetime
    grain: str


Rebuild = Callable[[Reference, Prefer], "Piece | None"]


@dataclass(frozen=True, slots=True)
class Piece:
    """One matched piece: characters [begin, stop) of the text."""

    begin: int
    stop: int
    kind: Kind
    span: Span | None = None
    hours: tuple[int, int] | None = None
    """First and last hour of a part of the day; the last may pass 24."""
    clock: tuple[int, int, int] | None = None
    open_meridiem: bool = False
    """An hour that may be before or after noon."""
    weekday: bool = False
    """A weekday: beside a date of its own it only repeats what the date says."""
    week: bool = False
    """A whole week: a weekday beside it lies in that week."""
    floating: bool = False
    """A date whose year, month or week was left to the reader: "12 May", "the 3rd", "Friday"."""
    again: Rebuild | None = None
    """Reads the same words against another reference and preference (set where it is found)."""

    def at(self, begin: int, stop: int) -> Piece:
        """The same piece, placed at [begin, stop)."""
        return replace(self, begin=begin, stop=stop)


def valid_date(year: int, month: int, day: int) -> date | None:
    """The date, or None when the calendar has no such day."""
    if not (MIN_YEAR <= year <= MAX_YEAR and 1 <= month <= MONTHS_IN_YEAR):
        return None
    if not 1 <= day <= calendar.monthrange(year, month)[1]:
        return None
    return date(year, month, day)


def _midnight(day: date, reference: Reference) -> datetime:
    return datetime.combine(day, time.min, tzinfo=reference.tzinfo)


def days_span(first: date, last: date, reference: Reference, grain: str) -> Span:
    """From the start of `first` to the end of `last`."""
    end = _midnight(last + timedelta(days=1), reference)
    return Span(_midnight(first, reference), end, grain)


def day_span(day: date, reference: Reference) -> Span:
    """One whole day."""
    return days_span(day, day, reference, "day")


def week_span(reference: Reference, weeks: int) -> Span:
    """The Monday-to-Sunday week `weeks` away from the reference's."""
    today = reference.date()
    monday = today - timedelta(days=today.weekday()) + timedelta(weeks=weeks)
    return days_span(monday, monday + timedelta(days=DAYS_IN_WEEK - 1), reference, "week")


def add_months(day: date, months: int) -> date:
    """The same day of another month, or that month's last day when it is shorter."""
    index = day.year * MONTHS_IN_YEAR + day.month - 1 + months
    year, month = divmod(index, MONTHS_IN_YEAR)
    year = min(max(year, MIN_YEAR), MAX_YEAR)
    last = calendar.monthrange(year, month + 1)[1]
    return date(year, month + 1, min(day.day, last))


def month_span(year: int, month: int, reference: Reference) -> Span:
    """One whole month."""
    last = calendar.monthrange(year, month)[1]
    return days_span(date(year, month, 1), date(year, month, last), reference, "month")


def quarter_span(year: int, quarter: int, reference: Reference) -> Span:
    """Quarter 1…4 of a year."""
    first = date(year, 3 * quarter - 2, 1)
    return days_span(first, add_months(first, 3) - timedelta(days=1), reference, "quarter")


def year_span(year: int, reference: Reference) -> Span:
    """One whole year."""
    return days_span(date(year, 1, 1), date(year, 12, 31), reference, "year")


def month_day(month: int, day: int, reference: Reference, prefer: Prefer) -> date | None:
    """The day of a month said with no year: the nearest on the preferred side of today."""
    today = reference.date()
    near = (valid_date(today.year + n, month, day) for n in range(-4, 5))
    days = [candidate for candidate in near if candidate is not None]
    if prefer is Prefer.PAST:
        return max((d for d in days if d <= today), default=None)
    return min((d for d in days if d >= today), default=None)


def weekday_near(weekday: int, reference: Reference, prefer: Prefer) -> date:
    """A weekday (0 = Monday) said bare: this week's, unless it lies on the wrong side of today."""
    today = reference.date()
    day = today + timedelta(days=weekday - today.weekday())
    if prefer is Prefer.FUTURE and day < today:
        return day + timedelta(days=DAYS_IN_WEEK)
    if prefer is Prefer.PAST and day > today:
        return day - timedelta(days=DAYS_IN_WEEK)
    return day


def nth_weekday(year: int, month: int, weekday: int, n: int) -> date | None:
    """The n-th (1…5, or −1 for the last) given weekday of a month."""
    last = calendar.monthrange(year, month)[1]
    days = [date(year, month, d) for d in range(1, last + 1)]
    fitting = [d for d in days if d.weekday() == weekday]
    if n == -1:
        return fitting[-1]
    return fitting[n - 1] if 1 <= n <= len(fitting) else None


def easter(year: int) -> date:
    """Western Easter Sunday (Meeus, *Astronomical Algorithms*, chapter 8)."""
    a, (b, c) = year % 19, divmod(year, 100)
    d, e = divmod(b, 4)
    g = (8 * b + 13) // 25
    h = (19 * a + b - d - g + 15) % 30
    i, k = divmod(c, 4)
    m = (32 + 2 * e + 2 * i - h - k) % 7
    n = (a + 11 * h + 22 * m) // 451
    month, day = divmod(h + m - 7 * n + 114, 31)
    return date(year, month, day + 1)


def from_now(amount: float, unit: str, sign: int, reference: Reference) -> Span:
    """`amount` units before (−1) or after (+1) the reference.

    Days and longer name the whole day reached; shorter units name the moment.
    """
    if unit in UNIT_SECONDS:
        moment = exactly(reference) + timedelta(seconds=sign * amount * UNIT_SECONDS[unit])
        return Span(moment, moment + timedelta(seconds=UNIT_SECONDS[unit]), unit)
    return day_span(_shift(reference.date(), amount, unit, sign), reference)


def _shift(day: date, amount: float, unit: str, sign: int) -> date:
    if unit == "day":
        return day + timedelta(days=sign * round(amount))
    if unit in ("week", "fortnight"):
        weeks = amount * (2 if unit == "fortnight" else 1)
        return day + timedelta(days=sign * round(weeks * DAYS_IN_WEEK))
    months = amount * {"month": 1, "quarter": 3, "year": 12, "decade": 120}[unit]
    whole = int(months)
    shifted = add_months(day, sign * whole)
    return shifted + timedelta(days=sign * round((months - whole) * 30))
