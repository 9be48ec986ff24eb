"""Anything that names days; what is counted from one: two weeks before Christmas, week of May 5."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, time, timedelta

from device.language.english_times.calendar import month, plain_year, resolve
from device.language.english_times.counted import ago, in_length, window
from device.language.english_times.dates import calendar_date
from device.language.english_times.holidays import holiday
from device.language.english_times.lexer import Tokens
from device.language.english_times.lexicon import UNITS
from device.language.english_times.numbers import Length, length, shifted
from device.language.english_times.periods import century, decade, quarter, season, week_number
from device.language.english_times.portions import edge, nth_of, rest, to_date, weekday_of
from device.language.english_times.relative import (
    named_day,
    nth_weekday_name,
    period,
    present,
    weekday,
)
from device.language.english_times.values import Calendar, Context, Days, Item, Moment, one_day

__all__ = ["day_item", "one_day_at"]

_STARTING = frozenset({"starting", "beginning", "commencing", "from"})
_FINE = frozenset({"second", "minute", "hour"})


def day_item(s: Tokens, i: int, now: Context) -> tuple[Item, int] | None:
    """The longest thing at token `i` that names days (or a moment counted from now)."""
    best: tuple[Item, int] | None = None
    # Of readings as long as each other the first counts.
    for timed in _RULES:
        found = timed(s, i, now)
        if found is not None and (best is None or found[1] > best[1]):
            best = found
    for found in (
        decade(s, i),
        century(s, i),
        plain_year(s, i),
        calendar_date(s, i, now),
        month(s, i),
    ):
        if found is not None and (best is None or found[1] > best[1]):
            best = found
    return best or nth_weekday_name(s, i)


def one_day_at(s: Tokens, i: int, now: Context) -> tuple[Days, int] | None:
    """A single day, resolved."""
    found: tuple[Item, int] | None = (
        calendar_date(s, i, now)
        or _nth_weekday(s, i, now)
        or named_day(s, i, now)
        or weekday(s, i, now)
        or holiday(s, i, now)
    )
    if found is None:
        return None
    item = resolve(found[0], now) if isinstance(found[0], Calendar) else found[0]
    return (item, found[1]) if isinstance(item, Days) and item.grain == "day" else None


def _nth_weekday(s: Tokens, i: int, now: Context) -> tuple[Days, int] | None:
    """The first Monday of May 2019, the last Friday of next month."""
    named = nth_weekday_name(s, i)
    if named is None or s.words[named[1]] not in ("of", "in"):
        return None
    j = named[1] + 1
    inside = period(s, j, now)
    if inside is None:
        found = month(s, j)
        days = resolve(found[0], now) if found else None
        inside = (days, found[1]) if found and days else None
    if inside is None and s.words[j : j + 2] == ["the", "month"]:
        first = now.today.replace(day=1)
        inside = Days(first, first + timedelta(days=28), "month"), j + 2
    if inside is None or inside[0].grain != "month":
        return None
    day = weekday_of(named[0].n, named[0].weekday, inside[0])
    return (day, inside[1]) if day else None


def _counted(s: Tokens, i: int, now: Context) -> tuple[Days | Moment, int] | None:
    """Two weeks before Christmas, 3 days from Tuesday, 3 days starting next Monday."""
    at = i + 1 if s.words[i] in ("for", "in", "the") else i
    less = s.words[at : at + 2] == ["less", "than"]
    more = s.words[at : at + 2] == ["more", "than"]
    at += 2 if less or more else 0
    span = _the_day(s, at) if s.words[i] == "the" else length(s, at)
    if span is None:
        return None
    if s.words[i] == "in" and s.words[span[1]] != "since":
        return None
    return _from_day(s, span, now, less=less, more=more, run=s.words[i] == "for")


def _the_day(s: Tokens, i: int) -> tuple[Length, int] | None:
    """The day after Christmas, the week before the 5th."""
    unit = UNITS.get(s.words[i])
    return (((1.0, unit),), i + 1) if unit in ("day", "week") and len(s.words[i]) > 2 else None


def _from_day(
    s: Tokens, span: tuple[Length, int], now: Context, *, less: bool, more: bool, run: bool
) -> tuple[Days | Moment, int] | None:
    amounts, j = span
    j += s.words[j] == ","
    side = s.words[j]
    starting = side in _STARTING and (side != "from" or run)
    if s.words[j : j + 2] == ["prior", "to"] or s.words[j : j + 2] == ["ahead", "of"]:
        side, j = "before", j + 1
    if side not in ("before", "after", "since", "from", "following") and not starting:
        return None
    j += 1
    while s.words[j] in ("on", "from", "the") and starting:
        j += 1
    origin = one_day_at(s, j, now)
    if origin is None and side in ("since", "after", "before"):
        whole_year = plain_year(s, j + (s.words[j] == "the"))
        origin = (one_day(whole_year[0].first), whole_year[1]) if whole_year else None
    if origin is None or any(unit in _FINE for _, unit in amounts):
        return None
    return _run(origin[0], amounts, side, now, less=less, more=more, starting=starting), origin[1]


def _run(
    origin: Days,
    amounts: Length,
    side: str,
    now: Context,
    *,
    less: bool,
    more: bool,
    starting: bool,
) -> Days | Moment:
    start = datetime.combine(origin.first, time.min, now.now.tzinfo)
    sign = -1 if side == "before" else 1
    reached = shifted(start, amounts, sign)
    day = reached.date() if isinstance(reached, datetime) else reached
    if starting:
        return Days(origin.first, day, "range", relative=True)
    if less:
        return Days(min(origin.first, day), max(origin.first, day), "range", relative=True)
    if more:
        bound = datetime.combine(day, time.min, now.now.tzinfo)
        if sign < 0:
            return Moment(min(now.moment, bound - timedelta(days=365)), bound, "before")
        return Moment(bound + timedelta(days=1), bound + timedelta(days=366), "after")
    return Days(day, day + timedelta(days=1), "day", relative=True, offset_unit=amounts[-1][1])


def _week_of(s: Tokens, i: int, now: Context) -> tuple[Days, int] | None:
    """The week of September 16th, w/c Feb 4, the week starting on February 4, weekend of May 5."""
    j = i + 1 if s.words[i] == "the" else i
    if s.words[j : j + 3] == ["w", "/", "c"]:
        unit, j = "week", j + 3
    elif s.words[j] in ("week", "weekend") and s.words[j + 1] in ("of", *_STARTING):
        unit, j = s.words[j], j + 2
    else:
        return None
    while s.words[j] in ("on", "from", "the") and not calendar_date(s, j, now):
        j += 1
    day = one_day_at(s, j, now)
    if day is None:
        return None
    monday = day[0].first - timedelta(days=day[0].first.weekday())
    if unit == "weekend":
        return Days(monday + timedelta(days=5), monday + timedelta(days=7), "weekend"), day[1]
    return Days(monday, monday + timedelta(days=7), "week", loose=day[0].loose), day[1]


_RULES: tuple[Callable[[Tokens, int, Context], tuple[Item, int] | None], ...] = (
    present, _counted, _week_of, _nth_weekday, nth_of, rest, to_date, window, in_length, ago, edge,
    quarter, week_number, named_day, weekday, holiday, period, season,
)  # fmt: skip
