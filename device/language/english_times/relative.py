"""Days and runs of days counted from now: yesterday, next Friday, two weeks ago, the last 3 months."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta

from device.language.english_times.calendar import shift_of
from device.language.english_times.lexer import Tokens
from device.language.english_times.lexicon import (
    FUNCTION_WORDS,
    NEXT,
    PREPOSITIONS,
    PREVIOUS,
    UNITS,
    WEEKDAYS,
    WORD_LIKE_WEEKDAYS,
)
from device.language.english_times.numbers import Length, count, length, ordinal, shifted
from device.language.english_times.values import Context, Days, Moment, NthWeekday, one_day
from device.language.spans import add_months, weekday_near

__all__ = ["ago", "in_length", "named_day", "nth_weekday_name", "period", "unit_days", "weekday", "window"]

VAGUE_AMOUNT = 3.0
FIRST_YEAR, LAST_YEAR = 1000, 9000
_FINE = frozenset({"second", "minute", "hour"})
_NAMED = {
    "today": 0, "tomorrow": 1, "yesterday": -1, "tmr": 1, "tmrw": 1, "tmw": 1, "tomorow": 1,
    "yday": -1, "otd": 0,
}  # fmt: skip
_PHRASES: tuple[tuple[tuple[str, ...], int], ...] = (
    (("day", "before", "yesterday"), -2),
    (("day", "after", "tomorrow"), 2),
    (("day", "before", "last"), -2),
    (("day", "after", "next"), 2),
    (("day", "before"), -1),
    (("day", "after"), 1),
    (("previous", "day"), -1),
    (("last", "day"), -1),
    (("next", "day"), 1),
    (("following", "day"), 1),
    (("current", "day"), 0),
    (("current", "date"), 0),
)
_KINDS = frozenset({"working", "business", "work", "calendar"})
_LATER = frozenset({"later", "hence", "afterwards"})
_EARLIER = frozenset({"ago", "earlier", "back", "prior"})


def named_day(s: Tokens, i: int, now: Context) -> tuple[Days, int] | None:
    """Today, the day after tomorrow, the previous day; "the day" itself at the end of a clause."""
    if s.words[i] in _NAMED:
        return _day(now, _NAMED[s.words[i]], i + 1)
    article = s.words[i] == "the"
    j = i + 1 if article else i
    for words, steps in _PHRASES:
        if tuple(s.words[j : j + len(words)]) != words:
            continue
        after = j + len(words)
        bare = words in (("day", "before"), ("day", "after"))
        counted = words in (("last", "day"), ("next", "day")) and s.words[after] in ("of", "in")
        if counted or (bare and (not article or not _clause_ends(s, after))):
            return None
        return _day(now, steps, after)
    meant = article and s.words[j] == "day" and s.words[i - 1] in ("for", "of", "during")
    return _day(now, 0, j + 1) if meant and _clause_ends(s, j + 1) else None


def _day(now: Context, steps: int, after: int) -> tuple[Days, int]:
    return one_day(now.today + timedelta(days=steps), relative=True), after


def _clause_ends(s: Tokens, i: int) -> bool:
    return not s.words[i][:1].isalnum() or s.words[i] in ("and", "or", "but", "of", "in", "for")


def weekday(s: Tokens, i: int, now: Context) -> tuple[Days, int] | None:
    """Friday, next Mon, this upcoming Friday, next week on Tuesday, Tuesday of last week."""
    found = _week_then_day(s, i, now)
    if found:
        return found
    j, words = i, []
    while len(words) < 2 and (shift_of(s.words[j]) is not None or s.words[j] == "up"):
        words.append(s.words[j])
        j += 1
    if s.words[j] not in WEEKDAYS or not _weekday_is_meant(s, j, shifted_=bool(words)):
        return None
    number = WEEKDAYS[s.words[j]]
    after = j + 2 if s.words[j + 1] == "." and s.glued[j + 1] and len(s.words[j]) <= 4 else j + 1
    week = _week_after(s, after)
    if week and not words:
        return _in_week(number, week[0], week[1], now)
    day = _shifted_weekday(number, words, now)
    return one_day(day, weekday=number, relative=bool(words)), after


def _week_then_day(s: Tokens, i: int, now: Context) -> tuple[Days, int] | None:
    shift = shift_of(s.words[i])
    if shift is None or s.words[i + 1] != "week":
        return None
    j = i + 3 if s.words[i + 2] in ("on", ",") else i + 2
    j += s.words[j] in ("'", "’")
    if s.words[j] not in WEEKDAYS:
        return None
    return _in_week(WEEKDAYS[s.words[j]], shift, j + 1, now)


def _week_after(s: Tokens, i: int) -> tuple[int, int] | None:
    j = i + 1 if s.words[i] in ("of", "in") else i
    shift = shift_of(s.words[j])
    return (shift, j + 2) if shift is not None and s.words[j + 1] == "week" else None


def _in_week(number: int, shift: int, after: int, now: Context) -> tuple[Days, int]:
    monday = now.today - timedelta(days=now.today.weekday()) + timedelta(weeks=shift)
    return one_day(monday + timedelta(days=number), weekday=None, relative=True), after


def _shifted_weekday(number: int, words: list[str], now: Context) -> date:
    today = now.today
    this_week = today + timedelta(days=number - today.weekday())
    last = words[-1] if words else ""
    if last in ("coming", "upcoming", "up"):
        return today + timedelta(days=(number - today.weekday() - 1) % 7 + 1)
    if last in ("last", "past"):
        return today - timedelta(days=(today.weekday() - number - 1) % 7 + 1)
    if last in NEXT:
        return this_week + timedelta(weeks=1)
    if last in PREVIOUS:
        return this_week - timedelta(weeks=1)
    if last in ("this", "current"):
        return this_week
    return weekday_near(number, now.now, now.prefer)


def _weekday_is_meant(s: Tokens, i: int, *, shifted_: bool) -> bool:
    """Not the sun, not the verb sat."""
    word = s.words[i]
    if word not in WORD_LIKE_WEEKDAYS or shifted_:
        return True
    before, after = s.words[i - 1], s.words[i + 1]
    dated = s.numbers[i + 1] >= 0 or after in ("the", "at", "morning", "afternoon", "evening", "night")
    if dated and (after != "the" or ordinal(s, i + 2)) and (after != "at" or s.numbers[i + 2] >= 0):
        return True
    closes = not after[:1].isalnum() or after in FUNCTION_WORDS
    cued = before in PREPOSITIONS or before in ("-", ",", "week") or before in WEEKDAYS
    return closes and cued and (s.capital(i) or before == "on")


def nth_weekday_name(s: Tokens, i: int) -> tuple[NthWeekday, int] | None:
    """The first Monday, the last Friday: of a month said elsewhere."""
    j = i + 1 if s.words[i] == "the" else i
    number = (-1, j + 1) if s.words[j] == "last" else ordinal(s, j)
    if number is None or not -1 <= number[0] <= 5 or s.words[number[1]] not in WEEKDAYS:
        return None
    return NthWeekday(number[0], WEEKDAYS[s.words[number[1]]]), number[1] + 1


def period(s: Tokens, i: int, now: Context) -> tuple[Days, int] | None:
    """Next week, this calendar year, that weekend, the week after next; "the year" to end a clause."""
    j = i + 1 if s.words[i] == "the" else i
    shift = shift_of(s.words[j])
    at = j if shift is None else j + 1
    at += s.words[at] in _KINDS
    unit = UNITS.get(s.words[at], "")
    if s.words[at] in ("s", "m", "h", "d", "w", "y") or unit in ("", "second", "minute", "hour", "day"):
        return None
    if shift is None:
        return _bare_period(s, i, at, unit, now)
    if s.words[at].endswith("s") or s.words[at + 1] in ("ago",):
        return None
    first, stop = unit_days(unit, shift, now.today)
    if s.words[at - 1] in ("working", "business", "work") and unit == "week":
        stop = first + timedelta(days=5)
    return Days(first, stop, unit, relative=True), at + 1


def _bare_period(s: Tokens, i: int, at: int, unit: str, now: Context) -> tuple[Days, int] | None:
    """The week after next; the year; weekend."""
    twice = {("after", "next"): 2, ("before", "last"): -2}.get((s.words[at + 1], s.words[at + 2]))
    if twice is not None:
        return Days(*unit_days(unit, twice, now.today), unit, relative=True), at + 3
    article = s.words[i] == "the"
    if s.words[at].endswith("s") or s.words[at + 1] in ("of", "after", "before"):
        return None
    closes = not s.words[at + 1][:1].isalnum() or s.words[at + 1] in ("and", "or", "but", "at")
    weekend = unit == "weekend" and s.words[i - 1] not in ("every", "each", "any", "a", "one", "per")
    if not closes or not (article or weekend):
        return None
    if article and not weekend and s.words[i - 1] not in _PERIOD_CUES:
        return None
    return Days(*unit_days(unit, 0, now.today), unit, relative=True), at + 1


_PERIOD_CUES = frozenset("in for of during over this unavailable throughout within all by".split())


def unit_days(unit: str, shift: int, today: date) -> tuple[date, date]:
    """[first, stop) of the unit `shift` units away from today's."""
    monday = today - timedelta(days=today.weekday())
    first_of_month = today.replace(day=1)
    if unit in ("week", "weekend", "fortnight"):
        start = monday + timedelta(weeks=shift * (2 if unit == "fortnight" else 1))
        start += timedelta(days=5 if unit == "weekend" else 0)
        return start, start + timedelta(days={"week": 7, "weekend": 2, "fortnight": 14}[unit])
    if unit == "day":
        return today + timedelta(days=shift), today + timedelta(days=shift + 1)
    if unit in ("month", "quarter"):
        size = 3 if unit == "quarter" else 1
        first_of_month = first_of_month.replace(month=(today.month - 1) // size * size + 1)
        start = add_months(first_of_month, shift * size)
        return start, add_months(start, size)
    years = {"year": 1, "decade": 10, "century": 100}[unit]
    start_year = today.year // years * years + shift * years
    return _new_year(start_year), _new_year(start_year + years)


def _new_year(year: int) -> date:
    return date(min(max(year, FIRST_YEAR), LAST_YEAR), 1, 1)


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
    reached = shifted(now.now, span, sign)
    if isinstance(reached, datetime):
        unit = next(unit for _, unit in reversed(span) if unit in _FINE)
        seconds = {"second": 1, "minute": 60, "hour": 3600}[unit]
        return Moment(reached, reached + timedelta(seconds=seconds), unit)
    unit = span[-1][1]
    return Days(reached, reached + timedelta(days=1), "day", relative=True, offset_unit=unit)


def in_length(s: Tokens, i: int, now: Context) -> tuple[Days | Moment, int] | None:
    """In two weeks, in 5 minutes, within 2h, in three days' time, over the next hour (a window)."""
    word = s.words[i]
    if word not in ("in", "within") or s.words[i - 1] in ("early", "late", "later", "earlier"):
        return None
    j = i + 1
    less = s.words[j : j + 2] == ["less", "than"]
    j += 2 if less else 0
    found = length(s, j)
    if found is None or s.words[found[1]] in ("of", "ago", "since", "after", "before", "from"):
        return None
    span, after = found
    if s.words[after] in ("'", "’", "time"):
        after += 1 + (s.words[after + 1] == "time")
    reached = _reached(span, 1, now)
    if word == "in" and not less:
        return reached, after
    if isinstance(reached, Moment):
        return Moment(now.now, reached.start, "range"), after
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
        found = ((number[0], unit),), number[1] + 2
    if found is None or s.words[found[1]] == "of":
        return None
    return _window(found[0], -1 if word in PREVIOUS else 1, now), found[1]


def _window_length(s: Tokens, i: int) -> tuple[Length, int] | None:
    if UNITS.get(s.words[i]) in _FINE:
        return ((1.0, UNITS[s.words[i]]),), i + 1
    if s.words[i] in ("a", "an"):
        return None
    return length(s, i)


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
        return Moment(min(reached, now.now), max(reached, now.now), unit)
    if unit == "business day" and sign > 0:
        first, stop = shifted(now.now, ((1.0, unit),), 1), shifted(now.now, span, 1)
        return Days(_midnight(first).date(), _midnight(stop).date() + timedelta(days=1), "days")
    first_day, stop_day = min(origin.date(), reached), max(origin.date(), reached)
    return Days(first_day, stop_day, "days", relative=True)


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time.min)
