"""Days and moments counted from now: two weeks ago, in 5 minutes, the last 3 months."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta

from device.language.english_times.lexer import Tokens
from device.language.english_times.lexicon import NEXT, PREVIOUS, UNITS, WEEKDAYS
from device.language.english_times.numbers import Length, count, length, shifted
from device.language.english_times.relative import unit_days
from device.language.english_times.values import Context, Days, Moment, one_day

__all__ = ["ago", "in_length", "two_weekdays_ago", "window"]

_FINE = frozenset({"second", "minute", "hour"})
_LATER = frozenset({"later", "hence", "afterwards"})
_EARLIER = frozenset({"ago", "earlier", "back", "prior"})


def ago(s: Tokens, i: int, now: Context) -> tuple[Days | Moment, int] | None:
    """3 days ago, 2 years 1 month later, half an hour from now, a fortnight hence."""
    found = length(s, i)
    if found is None:
        return two_weekdays_ago(s, i, now)
    span, j = found
    word = s.words[j]
    if word in _EARLIER:
        return _reached(span, -1, now), j + 1
    if word in _LATER:
        return _reached(span, 1, now), j + 1
    if word == "from" and s.words[j + 1] in ("now", "today"):
        return _reached(span, 1, now), j + 2
    if word == "before" and s.words[j + 1] in ("now", "today"):
        return _reached(span, -1, now), j + 2
    return None


def two_weekdays_ago(s: Tokens, i: int, now: Context) -> tuple[Days, int] | None:
    """Two Sundays ago."""
    number = count(s, i)
    if number is None or s.words[number[1]] not in WEEKDAYS or s.words[number[1] + 1] != "ago":
        return None
    back = (now.today.weekday() - WEEKDAYS[s.words[number[1]]] - 1) % 7 + 1
    day = now.today - timedelta(days=back) - timedelta(weeks=round(number[0]) - 1)
    return one_day(day, relative=True), number[1] + 2


def _reached(span: Length, sign: int, now: Context) -> Days | Moment:
    if len(span) == 1 and span[0][1] == "weekend":
        weekend = unit_days("weekend", sign * round(span[0][0]), now.today)
        return Days(*weekend, "weekend", relative=True)
    reached = shifted(now.now, span, sign)
    if isinstance(reached, datetime):
        unit = next(unit for _, unit in reversed(span) if unit in _FINE)
        seconds = {"second": 1, "minute": 60, "hour": 3600}[unit]
        return Moment(reached, reached + timedelta(seconds=seconds), unit)
    unit = span[-1][1]
    return Days(reached, reached + timedelta(days=1), "day", relative=True, offset_unit=unit)


def in_length(s: Tokens, i: int, now: Context) -> tuple[Days | Moment, int] | None:
    """In two weeks, within 2h, in three days' time; "after 3 days" to end a clause."""
    word = s.words[i]
    if word not in ("in", "within", "after"):
        return None
    j = i + 1
    less = s.words[j : j + 2] == ["less", "than"]
    j += 2 if less else 0
    found = length(s, j)
    if found is None or s.words[found[1]] in ("of", "ago", "since", "after", "before", "from"):
        return None
    span, after = found
    if word == "after" and s.words[after][:1].isalnum():
        return None
    if s.words[after] in ("'", "’", "time"):
        after += 1 + (s.words[after + 1] == "time")
    reached = _reached(span, 1, now)
    if word != "within" and not less:
        return reached, after
    if isinstance(reached, Moment):
        return Moment(now.moment, reached.start, "range"), after
    return Days(now.today, reached.stop, "range", relative=True), after


def window(s: Tokens, i: int, now: Context) -> tuple[Days | Moment, int] | None:
    """The last 3 months, the 5 upcoming years, next couple of weeks, the next hour."""
    j = i + 1 if s.words[i] == "the" else i
    word = s.words[j]
    if word in PREVIOUS or word in NEXT:
        found = _window_length(s, j + 1)
    else:
        number = count(s, j)
        word = s.words[number[1]] if number else ""
        unit = UNITS.get(s.words[number[1] + 1]) if number else None
        if number is None or unit is None or not (word in PREVIOUS or word in NEXT):
            return None
        if number[0] > 1 and not s.words[number[1] + 1].endswith("s"):
            return None
        found = ((number[0], unit),), number[1] + 2
    if found is None or s.words[found[1]] == "of":
        return None
    return _window(found[0], -1 if word in PREVIOUS else 1, now), found[1]


def _window_length(s: Tokens, i: int) -> tuple[Length, int] | None:
    if UNITS.get(s.words[i]) in _FINE:
        return ((1.0, UNITS[s.words[i]]),), i + 1
    if s.words[i] in ("a", "an"):
        return None
    found = length(s, i)
    if found and len(found[0]) > 1 and s.words[found[1]] in ("ago", "later", "earlier"):
        return length(s, i, parts=1)  # "the last 3 months, and 2 weeks ago …"
    return found


def _window(span: Length, sign: int, now: Context) -> Days | Moment:
    """Whole days up to today, or from tomorrow; quarters and weekends by the calendar."""
    value, unit = span[0]
    if unit in ("quarter", "decade", "century", "weekend") and len(span) == 1:
        near = unit_days(unit, sign, now.today)
        far = unit_days(unit, sign * max(1, round(value)), now.today)
        return Days(min(near[0], far[0]), max(near[1], far[1]), "range", relative=True)
    origin = now.now if sign < 0 or unit in _FINE else now.now + timedelta(days=1)
    reached = shifted(origin, span, sign)
    if isinstance(reached, datetime):
        return Moment(min(reached, now.moment), max(reached, now.moment), unit)
    if unit == "business day" and sign > 0:
        first, stop = shifted(now.now, ((1.0, unit),), 1), shifted(now.now, span, 1)
        return Days(_midnight(first).date(), _midnight(stop).date() + timedelta(days=1), "days")
    first_day, stop_day = min(origin.date(), reached), max(origin.date(), reached)
    return Days(first_day, stop_day, "days", relative=True)


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time.min)
