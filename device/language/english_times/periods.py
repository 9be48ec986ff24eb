"""Runs of days with a name: quarters, seasons, decades, centuries, weeks by number."""

from __future__ import annotations

from datetime import date, timedelta

from device.language.english_times.calendar import month, plain_year, resolve, shift_of
from device.language.english_times.lexer import Tokens
from device.language.english_times.lexicon import CARDINALS, SEASONS, UNITS, word_set
from device.language.english_times.numbers import ordinal, short_year, year, year_after
from device.language.english_times.relative import period, unit_days
from device.language.english_times.values import Calendar, Context, Days
from device.language.spans import add_months

__all__ = [
    "century",
    "decade",
    "first_week",
    "quarter",
    "quarter_year",
    "season",
    "week_number",
    "whole",
]

THURSDAY = 3
"""A week belongs to the month and year its Thursday lies in (ISO 8601)."""
WEEK = timedelta(days=7)
_EARLY = frozenset({"early", "earlier"})
_LATE = frozenset({"late", "later"})
_TENS = {
    "twenties": 20, "thirties": 30, "forties": 40, "fifties": 50, "sixties": 60, "seventies": 70,
    "eighties": 80, "nineties": 90,
}  # fmt: skip
_SEASON_CUES = word_set(
    "in during since until by before after of every late early mid whole this through over "
    "throughout"
)


def whole(s: Tokens, i: int, now: Context) -> tuple[Days, int] | None:
    """A run of days that others are parts of: a month, year, quarter, season, decade, next week."""
    at = i + 1 if s.words[i] == "the" else i
    found = (
        quarter(s, at, now)
        or decade(s, i)
        or century(s, i)
        or season(s, at, now)
        or period(s, i, now)
    )
    if found:
        return found
    named = month(s, at) or _month_beside_edge(s, at)
    if named:
        days = resolve(named[0], now)
        return (days, named[1]) if days else None
    return plain_year(s, at) or _the_unit(s, i, now)


def _month_beside_edge(s: Tokens, i: int) -> tuple[Calendar, int] | None:
    """After "early" or "end of" even "may" is the month."""
    from device.language.english_times.lexicon import MONTHS

    return (Calendar(MONTHS[s.words[i]]), i + 1) if s.words[i] in MONTHS else None


def _the_unit(s: Tokens, i: int, now: Context) -> tuple[Days, int] | None:
    at = i + 1 if s.words[i] == "the" else i
    unit = UNITS.get(s.words[at], "")
    if (
        unit not in ("week", "month", "quarter", "year", "decade", "century")
        or len(s.words[at]) < 4
    ):
        return None
    return Days(*unit_days(unit, 0, now.today), unit, relative=True), at + 1


def quarter(s: Tokens, i: int, now: Context) -> tuple[Days, int] | None:
    """Q3 2017, 2019-H2, q1-2019, the first quarter of 2019, next year's first quarter."""
    j, year_, said = i, now.today.year, False
    if s.numbers[i] >= 0 and year(s, i):
        year_, said = s.numbers[i], True
        j += 2 if s.words[i + 1] in ("-", ",") else 1
    else:
        shift = shift_of(s.words[i])
        if shift is not None and s.words[i + 1] == "year":
            year_, said = year_ + shift, True
            j += 3 if s.words[i + 2] in ("'", "’") else 2
    j += s.words[j] == "the"
    found = _quarter_name(s, j)
    if found is None:
        return None
    size, n, j = found
    worded = s.words[j - 1] in ("quarter", "half")
    if not said:
        completed = quarter_year(s, j, now)
        if completed is None and worded and size == 6:
            return None  # "the first half" of something else
        year_, j = completed or (year_, j)
    first = date(year_, size * (n - 1) + 1, 1)
    return Days(first, add_months(first, size), "quarter" if size == 3 else "half"), j


def _quarter_name(s: Tokens, i: int) -> tuple[int, int, int] | None:
    word = s.words[i]
    if word in ("q", "h") and s.glued[i + 1] and s.numbers[i + 1] > 0:
        size = 3 if word == "q" else 6
        return (size, s.numbers[i + 1], i + 2) if s.numbers[i + 1] <= 12 // size else None
    number = ordinal(s, i)
    if number is None and word == "last" and s.words[i + 1] == "quarter" and s.words[i + 2] == "of":
        number = (4, i + 1)
    if number is None:
        return None
    sizes = {"quarter": 3, "half": 6}
    size_of = sizes.get(s.words[number[1]])
    if size_of is None or not 1 <= number[0] <= 12 // size_of:
        return None
    return size_of, number[0], number[1] + 1


def quarter_year(s: Tokens, i: int, now: Context) -> tuple[int, int] | None:
    """The year a quarter or week belongs to: 2019, of last year, of the year."""
    found = year_after(s, i)
    if found:
        return found
    j = i + 1 if s.words[i] in ("of", "in", "-") else i
    j += s.words[j] == "the"
    shift = shift_of(s.words[j])
    if s.words[j] == "year":
        return now.today.year, j + 1
    return (
        (now.today.year + shift, j + 2) if shift is not None and s.words[j + 1] == "year" else None
    )


def season(s: Tokens, i: int, now: Context) -> tuple[Days, int] | None:
    """Last summer, winter 2020, in the fall; not "spring a leak", "fall over"."""
    shift = shift_of(s.words[i])
    at = i if shift is None else i + 1
    name = s.words[at]
    if name not in SEASONS:
        return None
    found = year_after(s, at + 1)
    of_year = quarter_year(s, at + 1, now)
    if shift is None and of_year is None:
        article = s.words[i - 1] == "the"
        cue = s.words[i - 2] if article else s.words[i - 1]
        if cue not in _SEASON_CUES:
            return None
        if s.words[at + 1] == "of" or (name in ("spring", "fall") and cue == "of"):
            return None
    year_, j = found or of_year or (now.today.year, at + 1)
    first = date(year_, SEASONS[name], 1)
    if found is None and of_year is None and shift:
        first = _season_beside(first, shift, now.today)
    return Days(first, add_months(first, 3), "season", loose=found is None and shift is None), j


def _season_beside(first: date, shift: int, today: date) -> date:
    """Last summer is the last one over or under way; next summer the first to begin."""
    if shift > 0:
        return first if first > today else add_months(first, 12)
    return first if add_months(first, 3) <= today else add_months(first, -12)


def decade(s: Tokens, i: int) -> tuple[Days, int] | None:
    """1990s, 1990 s, the 90s, '90s, the nineties, the nineteen twenties."""
    j, article = (i + 1, True) if s.words[i] == "the" else (i, False)
    if s.words[j] in ("'", "’"):
        j, article = j + 1, True
    article = article or s.words[i - 1] in (*_EARLY, *_LATE, "mid", "-", "in")
    if s.numbers[j] >= 0 and s.numbers[j] % 10 == 0:
        k = j + 2 if s.words[j + 1] in ("'", "’") else j + 1
        four = year(s, j) is not None
        two = s.digits(j) == 2 and article and s.glued[k]
        if s.words[k] != "s" or not (four or two):
            return None
        return _decade(s.numbers[j] if four else short_year(s.numbers[j])), k + 1
    if s.words[j] in _TENS and article:
        value = _TENS[s.words[j]]
        return _decade(value + (1900 if value >= 30 else 2000)), j + 1
    first = CARDINALS.get(s.words[j], 0)
    if 15 <= first <= 20 and s.words[j + 1] in _TENS:
        return _decade(first * 100 + _TENS[s.words[j + 1]]), j + 2
    return None


def _decade(year_: int) -> Days:
    return Days(date(year_, 1, 1), date(year_ + 10, 1, 1), "decade")


def century(s: Tokens, i: int) -> tuple[Days, int] | None:
    """The 15th century: the years 14xx."""
    at = i + 1 if s.words[i] == "the" else i
    number = ordinal(s, at)
    if number is None or s.words[number[1]] not in ("century", "centuries") or number[0] < 11:
        return None
    year_ = (number[0] - 1) * 100
    return Days(date(year_, 1, 1), date(year_ + 100, 1, 1), "century"), number[1] + 1


def week_number(s: Tokens, i: int, now: Context) -> tuple[Days, int] | None:
    """Week 3 of 2027, W23, 2018-W23: weeks of ISO 8601."""
    j, year_ = i, now.today.year
    if s.numbers[i] >= 0 and s.digits(i) == 4 and s.words[i + 1] == "-" and s.words[i + 2] == "w":
        year_, j = s.numbers[i], i + 2
    j += s.words[j] == "the"
    if s.words[j] not in ("week", "w") or s.numbers[j + 1] < 1 or s.digits(j + 1) > 2:
        return None
    if (s.words[j] == "w" and not s.glued[j + 1]) or s.numbers[j + 1] > 53:
        return None
    if s.words[j + 2] in (":", ".") and s.glued[j + 2] and s.glued[j + 3]:
        return None
    completed = quarter_year(s, j + 2, now) if s.words[j + 2] in ("of", ",", "in") else None
    year_, after = completed or (year_, j + 2)
    monday = first_week(date(year_, 1, 1)) + WEEK * (s.numbers[j + 1] - 1)
    return Days(monday, monday + WEEK, "week"), after


def first_week(first: date) -> date:
    """Monday of the week that holds the first Thursday on or after `first`."""
    return first + timedelta(days=(THURSDAY - first.weekday()) % 7) - timedelta(days=THURSDAY)
