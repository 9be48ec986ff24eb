"""Months and years of the calendar, and the days a date without its year means."""

from __future__ import annotations

from datetime import date, timedelta

from device.language.english_times.lexer import Tokens
from device.language.english_times.lexicon import (
    FUNCTION_WORDS,
    MONTHS,
    NAME_LIKE_MONTHS,
    NEXT,
    PREPOSITIONS,
    PREVIOUS,
    THIS,
    UNITS,
    VERB_LIKE_MONTHS,
    word_set,
)
from device.language.english_times.numbers import short_year, year, year_after
from device.language.english_times.values import Calendar, Context, Days
from device.language.spans import Prefer, add_months, month_day, valid_date

__all__ = ["days_of", "month", "plain_year", "resolve", "shift_of"]

OLDEST_BARE_YEAR, YEAR_LIMIT = 1900, 2100
"""Four digits outside are a year only where a word says so ("in 1789")."""
SHORTEST_MONTH = 28
"""A number up to this may count something after a month; a larger one is a day it has not."""
MONTHS_TO_SEARCH = 40
"""Friday the 13th and the like come round well within this many months."""
_COUNTED = word_set(
    "people persons person men women times miles km kg pieces units items points dollars "
    "euros pages percent degrees cups cup"
)
_NUMBERED = word_set(
    "room bug issue order no number page model version ticket flight highway route windows "
    "gate bus line code pin id extension"
)
"""What carries numbers that are no years."""
_MONTH_CUES = word_set(
    "in of since until till til by before after from to through during between this last next "
    "early mid late - – ~ around about for around within throughout every each until previous "
    "following coming the late, start end beginning middle"
)


def shift_of(word: str) -> int | None:
    """-1 for last and its like, 0 for this, 1 for next."""
    if word in PREVIOUS:
        return -1
    return 1 if word in NEXT else 0 if word in THIS else None


def month(s: Tokens, i: int) -> tuple[Calendar, int] | None:
    """March, June 2019, Dec-2018, this May, march of last year."""
    shift = shift_of(s.words[i])
    at = i + 1 if shift is not None else i
    name = s.words[at]
    if name not in MONTHS:
        return None
    found_year = year_after(s, at + 1)
    if found_year:
        return Calendar(MONTHS[name], year=found_year[0]), found_year[1]
    j = at + 2 if s.words[at + 1] in ("of", ",") else at + 1
    of_year = shift_of(s.words[j]) if s.words[j + 1] == "year" else None
    if of_year is not None:
        return Calendar(MONTHS[name], shift=of_year), j + 2
    if shift is None and not _month_is_meant(s, at):
        return None
    beyond = s.digits(at + 1) <= 2 and s.numbers[at + 1] > SHORTEST_MONTH
    if beyond and not s.words[at + 2][:1].isalnum():
        return None  # February 30th
    after = at + 2 if s.words[at + 1] == "." and s.glued[at + 1] and len(name) <= 4 else at + 1
    return Calendar(MONTHS[name], shift=shift), after


def _month_is_meant(s: Tokens, i: int) -> bool:
    """Not the verb (may, march) and not a person (April, June)."""
    name, before = s.words[i], s.words[i - 1]
    if name not in VERB_LIKE_MONTHS and name not in NAME_LIKE_MONTHS:
        return True
    if before in _MONTH_CUES:
        return name != "may" or before not in ("-", "to", "the")
    return s.words[i + 1] in ("to", "-", "through", "until") and s.words[i + 2] in MONTHS


def plain_year(s: Tokens, i: int) -> tuple[Days, int] | None:
    """2019, the year of 2008, cy18, nineteen ninety six."""
    j, cued = i, False
    if s.words[j] in ("year", "cy"):
        cued = True
        j += 2 if s.words[j + 1] == "of" else 1
    elif s.words[j] == "calendar" and s.words[j + 1] == "year":
        cued, j = True, j + 2
    found = year(s, j)
    if found is None and s.words[i] == "cy" and s.numbers[j] >= 0 and s.digits(j) == 2:
        found = (short_year(s.numbers[j]), j + 1)
    if found is None:
        return None
    return (_whole_year(found[0]), found[1]) if cued or _year_is_meant(s, i, found[1]) else None


def _year_is_meant(s: Tokens, i: int, after: int) -> bool:
    """Not a count ("2000 pieces"), not part of a longer number ("82-2100")."""
    following = s.words[after]
    joined = following in ("/", "-", ".", ":") and s.glued[after] and s.glued[after + 1]
    if joined and s.numbers[after + 1] >= 0:
        return False
    behind = s.words[i - 1]
    if behind in ("-", "/", "#", ".", ":", "+", "_", "\0") and (
        s.glued[i] or s.numbers[i - 2] >= 0
    ):
        return False
    if following in _COUNTED or following in UNITS:
        return False
    plain = not following[:1].isalnum() or following in FUNCTION_WORDS
    if behind in PREPOSITIONS or behind in ("=", ">", "<", "than", "year"):
        plural = following.endswith("s") and following not in FUNCTION_WORDS
        return plain or not plural
    common = OLDEST_BARE_YEAR <= s.numbers[i] < YEAR_LIMIT
    return plain and common and behind not in _NUMBERED


def _whole_year(value: int) -> Days:
    return Days(date(value, 1, 1), date(value + 1, 1, 1), "year")


def resolve(found: Calendar, now: Context) -> Days | None:
    """The days a calendar date means, said now."""
    if found.month is None:
        return _day_of_month(found.day or 1, now)
    if found.day is None:
        return days_of(_month_year(found, now), found.month, loose=found.year is None)
    if found.year is not None:
        day = valid_date(found.year, found.month, found.day)
    elif found.shift is not None:
        day = valid_date(now.today.year + found.shift, found.month, found.day)
    elif found.weekday is not None:
        day = _beside_weekday(found, now.today)
    else:
        day = month_day(found.month, found.day, now.now, now.prefer)
    if day is None:
        return None
    return Days(day, day + timedelta(days=1), "day", loose=found.year is None)


def _beside_weekday(found: Calendar, today: date) -> date | None:
    """The nearest year, if possible one where the date falls on the weekday said beside it."""
    years = range(today.year - 1, today.year + 2)
    days = [valid_date(y, found.month or 1, found.day or 1) for y in years]
    known = sorted((d for d in days if d), key=lambda d: (abs((d - today).days), d))
    fitting = [d for d in known if d.weekday() == found.weekday]
    return next(iter([*fitting, *known]), None)


def _month_year(found: Calendar, now: Context) -> int:
    today, month_ = now.today, found.month or 1
    if found.year is not None:
        return found.year
    if found.shift == -1 and month_ < today.month:
        return today.year  # last May, said in November
    if found.shift is not None:
        return today.year + found.shift
    if now.prefer is Prefer.FUTURE:
        return today.year + (month_ < today.month)
    return today.year - (month_ > today.month)


def days_of(year_: int, month_: int, *, loose: bool = False) -> Days:
    """One whole month."""
    first = date(year_, month_, 1)
    return Days(first, add_months(first, 1), "month", loose=loose)


def _day_of_month(day: int, now: Context) -> Days | None:
    step = 1 if now.prefer is Prefer.FUTURE else -1
    for months in range(MONTHS_TO_SEARCH):
        first = add_months(now.today.replace(day=1), step * months)
        found = valid_date(first.year, first.month, day)
        if found and (found - now.today).days * step >= 0:
            return Days(found, found + timedelta(days=1), "day", loose=True)
    return None
