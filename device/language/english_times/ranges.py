"""From A to B: dates, years, hours and moments, where one end may leave out what the other says."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime, timedelta

from device.language.english_times.calendar import resolve, shift_of
from device.language.english_times.compose import When, days_meant, midnight, when
from device.language.english_times.hours import clock_span, first_after, span_of
from device.language.english_times.lexer import Tokens
from device.language.english_times.lexicon import RANGE_WORDS
from device.language.english_times.numbers import day_number, ordinal, year, year_after
from device.language.english_times.values import Calendar, Clock, Context, Days
from device.language.spans import Prefer, Span, add_months, valid_date

__all__ = ["range_at", "with_end"]


def range_at(s: Tokens, i: int, now: Context) -> tuple[Span, int] | None:
    """A range that begins with a number: years ("2014-2018") or days ("3 and 12 of Sept")."""
    if s.words[i] == "the" and ordinal(s, i + 1):
        return _days(s, i + 1, now)
    return _years(s, i, now) or _days(s, i, now)


def _joined(s: Tokens, i: int, begin: int) -> int | None:
    """The index after the word between the two ends."""
    word = s.words[i]
    both = word == "and" and "between" in (s.words[begin - 1], s.words[begin - 2])
    if not both and word not in RANGE_WORDS:
        return None
    j = i + 2 if (word, s.words[i + 1]) in (("up", "to"), ("through", "to"), ("-", ">")) else i + 1
    return j + 1 if s.words[j] in ("the", "about", "around", "on") else j


def _years(s: Tokens, i: int, now: Context) -> tuple[Span, int] | None:
    first = year(s, i) if s.numbers[i] >= 0 else None
    after = _joined(s, first[1], i) if first else None
    last = year(s, after) if after and s.numbers[after] >= 0 else None
    if first is None or last is None or not first[0] < last[0]:
        return None
    if s.words[last[1]] in ("-", "/", ".") and s.glued[last[1] + 1] and s.numbers[last[1] + 1] >= 0:
        return None
    start, end = date(first[0], 1, 1), date(last[0] + 1, 1, 1)
    return Span(midnight(start, now), midnight(end, now), "range"), last[1]


def _days(s: Tokens, i: int, now: Context) -> tuple[Span, int] | None:
    """9 to 12 of June, the twenty-seventh to the third of April, the 21st and 23rd."""
    first = day_number(s, i) or (ordinal(s, i) if s.numbers[i] < 0 else None)
    after = _joined(s, first[1], i) if first else None
    if first is None or after is None:
        return None
    within = _of_a_month(s, first[0], after, now)
    if within is not None:
        return within
    last = when(s, after, now)
    begin = Calendar(None, first[0])
    if last is not None and isinstance(last.day, Calendar) and last.day.day and not last.timed:
        plain = last.day.month is None and not ordinal(s, i)
        span = None if plain else _dates(begin, last.day, now)
        return (span, last.stop) if span else None
    if last is not None and isinstance(last.day, Days) and not last.timed and not last.day.relative:
        end = last.day.first
        spelt = last.day.grain == "day" and last.day.weekday is None
        span = _dates(begin, Calendar(end.month, end.day, end.year), now) if spelt else None
        return (span, last.stop) if span else None
    both = (
        ordinal(s, after)
        if ordinal(s, i) and s.words[i - 1] in ("between", "from", "the")
        else None
    )
    if both is None or not 1 <= both[0] <= 31:
        return None
    span = _dates(begin, Calendar(None, both[0]), now)
    return (span, both[1]) if span else None


def _of_a_month(s: Tokens, first: int, i: int, now: Context) -> tuple[Span, int] | None:
    """4-23 of next month."""
    last = day_number(s, i)
    if last is None:
        return None
    j = last[1] + 1 if s.words[last[1]] in ("of", "in") else last[1]
    j += s.words[j] == "the"
    shift = shift_of(s.words[j])
    j += shift is not None
    if s.words[j] != "month" or (shift is None and s.words[j - 1] != "the"):
        return None
    month = add_months(now.today.replace(day=1), shift or 0)
    begin = valid_date(month.year, month.month, first)
    end = valid_date(month.year, month.month, last[0])
    if begin is None or end is None or end < begin:
        return None
    return Span(midnight(begin, now), midnight(end + timedelta(days=1), now), "range"), j + 1


def with_end(s: Tokens, first: When, now: Context) -> tuple[Span, int] | None:
    """`first` and the end that follows it, if one does."""
    after = _joined(s, first.stop, first.begin)
    if after is None or first.bound is not None:
        return None
    bare = isinstance(first.clock, Clock)
    last = when(s, after, now, bare=bare)
    if last is None or last.bound is not None:
        return _day_only(s, first, after, now)
    span = _span(first, last, now)
    return (span, last.stop) if span is not None else _day_only(s, first, after, now)


def _day_only(s: Tokens, first: When, after: int, now: Context) -> tuple[Span, int] | None:
    """April ninth through seventeenth, Nov 19-20, 2016."""
    day = first.day
    if first.timed or not isinstance(day, Calendar | Days):
        return None
    if isinstance(day, Days):
        if day.grain != "day" or day.relative or day.weekday is not None:
            return None
        day = Calendar(day.first.month, day.first.day, day.first.year)
    number = day_number(s, after) or ordinal(s, after)
    if day.day is None or number is None or number[0] <= day.day:
        return None
    if s.words[number[1]] in (":", "am", "pm", "/") or (
        s.numbers[after] < 0 and not ordinal(s, after)
    ):
        return None
    said = year_after(s, number[1])
    last = replace(day, day=number[0], year=said[0] if said else day.year)
    span = _dates(day, last, now)
    return (span, said[1] if said else number[1]) if span else None


def _span(first: When, last: When, now: Context) -> Span | None:
    if first.moment is not None or last.moment is not None:
        return _to_moment(first, last, now)
    if first.timed or last.timed:
        return _hours(first, last, now)
    if isinstance(first.day, Calendar) and isinstance(last.day, Calendar) and not first.nth:
        return _dates(first.day, last.day, now)
    if isinstance(first.day, Calendar) and isinstance(last.day, Days) and not last.day.loose:
        end = last.day.stop - timedelta(days=1)
        if first.day.year is None and first.day.shift is None and first.day.month is not None:
            return _calendar_before(first.day, last.day, end, now)
    if isinstance(first.day, Days) and isinstance(last.day, Calendar) and last.day.year is None:
        return _calendar_after(first.day, last.day, now)
    begin, end_days = days_meant(first, now), days_meant(last, now)
    return _ends(begin, end_days, now) if begin and end_days else None


def _ends(first: Days, last: Days, now: Context) -> Span | None:
    """Two runs of days: from where the first begins to where the last ends."""
    start, end = first.at or first.first, last.at or last.stop
    if end <= start and last.weekday is not None:
        end += timedelta(days=7)
    elif end <= start and first.weekday is not None and not last.loose:
        start -= timedelta(days=7)
    if end <= start and first.loose:
        start = add_months(start, -12)
    elif end <= start and last.loose:
        end = add_months(end, 12)
    if end <= start:
        return None
    return Span(midnight(start, now), midnight(end, now), "range")


def _calendar_before(first: Calendar, last: Days, end: date, now: Context) -> Span | None:
    """A date without a year before a date that has one: the latest such."""
    for year_ in (end.year, end.year - 1):
        begin = resolve(replace(first, year=year_), now)
        if begin and begin.first <= end:
            return Span(midnight(begin.first, now), midnight(last.at or last.stop, now), "range")
    return None


def _calendar_after(first: Days, last: Calendar, now: Context) -> Span | None:
    """A date without a year after days that are known: the first such."""
    begin = first.at or first.first
    if last.month is None:
        last = replace(last, month=begin.month)
    for year_ in (begin.year, begin.year + 1):
        end = resolve(replace(last, year=year_, shift=None) if last.shift is None else last, now)
        if end and end.stop > begin:
            return Span(midnight(begin, now), midnight(end.stop, now), "range")
    return None


def _dates(first: Calendar, last: Calendar, now: Context) -> Span | None:
    """Two dates of the calendar, each lending the other the month or year it leaves out."""
    first, last = _months(first, last)
    if first.month is None or last.month is None:
        return _day_numbers(first, last, now)
    order = (first.month, first.day or 1) > (last.month, last.day or 31)
    if first.shift is not None or last.shift is not None:
        begin, end = resolve(first, now), resolve(last, now)
        return _ends(begin, end, now) if begin and end else None
    if first.year is None and last.year is None:
        first, last = _nearest(first, last, order, now)
    elif first.year is None and last.year is not None:
        first = replace(first, year=last.year - order)
    elif last.year is None and first.year is not None:
        last = replace(last, year=first.year + order)
    begin, end = resolve(first, now), resolve(last, now)
    if begin is None or end is None or end.stop <= begin.first:
        return None
    return Span(midnight(begin.first, now), midnight(end.stop, now), "range")


def _months(first: Calendar, last: Calendar) -> tuple[Calendar, Calendar]:
    """The month said once holds for both, or the one before when the days run backwards."""
    if first.day is None or last.day is None:
        return first, last
    if first.month is None and last.month is not None:
        same = first.day <= last.day
        month = last.month if same else (last.month - 2) % 12 + 1
        year_ = last.year
        if year_ is not None and not same and month == 12:
            year_ -= 1
        return replace(first, month=month, year=year_), last
    if last.month is None and first.month is not None:
        month = first.month if last.day >= first.day else first.month % 12 + 1
        return first, replace(last, month=month)
    return first, last


def _day_numbers(first: Calendar, last: Calendar, now: Context) -> Span | None:
    begin = resolve(first, now)
    if begin is None or last.day is None or last.month is not None:
        return None
    month = (
        begin.first if last.day >= begin.first.day else add_months(begin.first.replace(day=1), 1)
    )
    end = valid_date(month.year, month.month, last.day)
    if end is None:
        return None
    return Span(midnight(begin.first, now), midnight(end + timedelta(days=1), now), "range")


def _nearest(
    first: Calendar, last: Calendar, order: bool, now: Context
) -> tuple[Calendar, Calendar]:
    """The range under way, else the nearest on the preferred side."""
    today, pairs = now.today, []
    for year_ in range(today.year - 4, today.year + 5):
        pair = replace(first, year=year_), replace(last, year=year_ + order)
        begin, end = resolve(pair[0], now), resolve(pair[1], now)
        if begin and end:
            pairs.append((begin.first, end.stop, pair))
    if now.prefer is Prefer.PAST:
        fitting = [pair for begin, _, pair in pairs if begin <= today]
        return fitting[-1] if fitting else pairs[0][2]
    fitting = [pair for _, end, pair in pairs if end > today]
    return fitting[0] if fitting else (first, last)


def _to_moment(first: When, last: When, now: Context) -> Span | None:
    """From now until 3 min later, between Jan 2019 and now."""
    begin, end = span_of(first, now), span_of(last, now)
    if begin is None or end is None:
        return None
    if first.moment is not None and isinstance(last.clock, Clock) and last.day is None:
        return Span(begin.start, first_after(last.clock, begin.start, now), "range")
    if first.moment is not None and last.moment is None and not last.timed:
        start = midnight(begin.start.date(), now)
        stop = end.end if end.end > start else None
        return Span(start, stop, "range") if stop else None
    if last.moment is not None and not first.timed and first.moment is None:
        tomorrow = midnight(end.start.date() + timedelta(days=1), now)
        return Span(begin.start, tomorrow, "range") if begin.start < tomorrow else None
    stop_at = end.start
    return Span(begin.start, stop_at, "range") if begin.start < stop_at else None


def _hours(first: When, last: When, now: Context) -> Span | None:
    """Ends with hours: a day said once holds for both."""
    if not (first.timed and last.timed):
        return None
    if not isinstance(first.clock, Clock | None) or not isinstance(last.clock, Clock | None):
        return None
    begin = span_of(first, now)
    if begin is None:
        return None
    day = days_meant(last, now)
    stop = _stop(first, last, day, begin, now)
    if stop is None:
        return None
    if first.day is None and first.clock is not None and day is not None and stop <= begin.start:
        begin = clock_span(day.first, first.clock, first.part, now)
    if stop <= begin.start and day is not None and day.weekday is not None:
        stop += timedelta(days=7)
    return Span(begin.start, stop, "range") if begin.start < stop else None


def _stop(first: When, last: When, day: Days | None, begin: Span, now: Context) -> datetime | None:
    """Where a range with hours ends: on its own day, else the first such hour after the start."""
    if not isinstance(last.clock, Clock):
        span = span_of(replace(last, day=last.day or first.day), now)
        return span.end if span else None
    if day is not None:
        return clock_span(day.first, last.clock, last.part, now).start
    if last.part is None:
        return first_after(last.clock, begin.start, now)
    stop = clock_span(begin.start.date(), last.clock, last.part, now).start
    return stop if stop > begin.start else stop + timedelta(days=1)
