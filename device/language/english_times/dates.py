"""Dates in every way of writing: 4th of Jan 2019, 04-Jan, 1/2/2016, 2019-aug-1, Friday the 13th."""

from __future__ import annotations

from device.language.english_times.calendar import shift_of
from device.language.english_times.lexer import Tokens
from device.language.english_times.lexicon import (
    CARDINALS,
    FUNCTION_WORDS,
    MONTHS,
    PREPOSITIONS,
    UNITS,
    WEEKDAYS,
    word_set,
)
from device.language.english_times.numbers import day_number, ordinal, short_year, year, year_after
from device.language.english_times.values import Calendar, Context, Days, one_day
from device.language.spans import Prefer, add_months, valid_date

__all__ = ["calendar_date"]

MONTHS_TO_SEARCH = 40
"""Friday the 13th and the like come round well within this many months."""
_SEPARATORS = ("/", "-", ".")
_COUNTED = word_set(
    "people persons person men women times miles km kg pieces units items points dollars "
    "euros pages percent degrees cups cup"
)
_CLOCKLIKE = frozenset({":", "am", "pm", "o'clock", "oclock", "a.m", "p.m"})
_FRACTIONS = frozenset({2, 3, 4, 5, 8, 10})
_DATE_CUES = PREPOSITIONS | frozenset({"the", "date", "this", "next", ",", "(", ""}) | set(WEEKDAYS)


def calendar_date(s: Tokens, i: int, now: Context) -> tuple[Calendar | Days, int] | None:
    """A date of the calendar at token `i`."""
    if s.numbers[i] >= 0:
        found = _year_first(s, i) or _numeric(s, i) or _day_first(s, i)
        return found or _of_month(s, i, now) or _bare_ordinal(s, i, i)
    if s.words[i] == "the":
        return _day_first(s, i + 1) or _the_ordinal(s, i, now)
    if s.words[i] in MONTHS:
        return _month_first(s, i)
    if s.words[i] in WEEKDAYS:
        return _weekday_and_number(s, i, now)
    shift = shift_of(s.words[i])
    if shift is not None and s.numbers[i + 1] >= 0:
        slashed = _numeric(s, i + 1)
        if slashed and isinstance(slashed[0], Calendar) and slashed[0].year is None:
            found_date = slashed[0]
            return Calendar(found_date.month, found_date.day, shift=shift), slashed[1]
    return _day_first(s, i) or _of_month(s, i, now)


def _date(year_: int | None, month_: int, day: int) -> Calendar | Days | None:
    if year_ is None:
        return Calendar(month_, day) if valid_date(2000, month_, day) else None
    found = valid_date(year_, month_, day)
    return one_day(found) if found else None


def _month_first(s: Tokens, i: int) -> tuple[Calendar | Days, int] | None:
    """March 5th, Dec31, Sep-23-2020, jan/3, april the ninth."""
    j = i + 1
    if s.words[j] == "." and s.glued[j]:
        j += 1
    if s.words[j] in ("-", "/", ",") or (s.words[j] == "the" and ordinal(s, j + 1)):
        j += 1
    day = day_number(s, j)
    if day is None or not _is_day(s, j, day[1]):
        return None
    found_year = year_after(s, day[1], s.words[i + 1])
    found = _date(found_year[0] if found_year else None, MONTHS[s.words[i]], day[0])
    return (found, found_year[1] if found_year else day[1]) if found else None


def _is_day(s: Tokens, i: int, after: int) -> bool:
    """The number at `i` counts no hours, people or months."""
    word = s.words[after]
    if word in _CLOCKLIKE or (word in ("a", "p") and s.glued[after]):
        return False
    if word == "." and s.glued[after] and s.glued[after + 1] and s.numbers[after + 1] >= 0:
        return False
    return s.numbers[i] < 0 or not (word in _COUNTED or (word in UNITS and word != "day"))


def _day_first(s: Tokens, i: int) -> tuple[Calendar | Days, int] | None:
    """4th of Jan 2019, 30 December, 23/Sep/2020, twenty third day of September, 12Nov."""
    day = day_number(s, i)
    if day is None:
        return None
    j = day[1]
    if s.words[j] == "day" and s.words[j + 1] == "of":
        j += 1
    if s.words[j] in ("of", "-", "/", "."):
        j += 1
    if s.words[j] == "the":
        j += 1
    if s.words[j] not in MONTHS:
        return None
    found_year = year_after(s, j + 1, s.words[j - 1])
    found = _date(found_year[0] if found_year else None, MONTHS[s.words[j]], day[0])
    return (found, found_year[1] if found_year else j + 1) if found else None


def _year_first(s: Tokens, i: int) -> tuple[Calendar | Days, int] | None:
    """2019-03-05, 2020/23/Sep, 2019-aug-1, 2016 10 16, 2018-05."""
    if s.digits(i) != 4 or year(s, i) is None:
        return None
    separator = s.words[i + 1]
    if separator in _SEPARATORS and s.glued[i + 1]:
        if s.words[i + 3] == separator and s.glued[i + 3]:
            return _three(s, i, (i + 2, i + 4))
        short = s.digits(i + 2) == 1 and not s.words[i + 3][:1].isalnum()
        two = s.numbers[i + 2] >= 0 and (s.digits(i + 2) == 2 or short) and separator != "."
        ended = two and not (s.glued[i + 3] and s.words[i + 3] in (*_SEPARATORS, ":"))
        if ended and s.glued[i + 2] and 1 <= s.numbers[i + 2] <= 12:
            return Calendar(s.numbers[i + 2], year=s.numbers[i]), i + 3
        return None
    named = i + 2 if s.words[i + 1] == "," else i + 1
    if s.words[named] in MONTHS and s.numbers[named + 1] < 0:
        return Calendar(MONTHS[s.words[named]], year=s.numbers[i]), named + 1
    spaced = all(s.numbers[k] >= 0 and s.digits(k) == 2 for k in (i + 1, i + 2))
    return _three(s, i, (i + 1, i + 2)) if spaced else None


def _three(s: Tokens, i: int, places: tuple[int, int]) -> tuple[Days, int] | None:
    first, second = places
    month_, day = MONTHS.get(s.words[first], s.numbers[first]), day_number(s, second)
    if s.words[second] in MONTHS and s.numbers[first] >= 0:
        month_, day = MONTHS[s.words[second]], (s.numbers[first], second + 1)
    found = valid_date(s.numbers[i], month_, day[0]) if day else None
    return (one_day(found), day[1]) if found and day else None


def _numeric(s: Tokens, i: int) -> tuple[Calendar | Days, int] | None:
    """22/04, 1/2/2016, 13.04.2021, 12-2015: month first unless that is impossible."""
    separator = s.words[i + 1]
    if separator not in _SEPARATORS or s.digits(i) > 2:
        return None
    if not (s.glued[i + 1] and s.glued[i + 2]) or s.numbers[i + 2] < 0:
        return None
    first, second = s.numbers[i], s.numbers[i + 2]
    if s.digits(i + 2) == 4 and separator != ".":
        fits = 1 <= first <= 12 and year(s, i + 2) is not None
        return (Calendar(first, year=second), i + 3) if fits else None
    if s.digits(i + 2) > 2:
        return None
    month_, day = (second, first) if first > 12 else (first, second)
    if s.words[i + 3] == separator and s.glued[i + 3] and s.glued[i + 4]:
        if s.numbers[i + 4] < 0 or s.digits(i + 4) not in (2, 4):
            return None
        if separator == "." and s.digits(i + 4) == 2 and s.words[i - 1] not in PREPOSITIONS:
            return None  # a version number
        found = valid_date(short_year(s.numbers[i + 4]), month_, day)
        return (one_day(found), i + 5) if found else None
    return _month_and_day(s, i, month_, day)


def _month_and_day(s: Tokens, i: int, month_: int, day: int) -> tuple[Calendar | Days, int] | None:
    separator, after = s.words[i + 1], s.words[i + 3]
    cued = s.words[i - 1] in _DATE_CUES
    if separator == "." and s.words[i - 1] not in WEEKDAYS and s.words[i - 1] != "on":
        return None
    if separator == "-" and not (s.words[i - 1] in PREPOSITIONS or s.words[i - 1] in WEEKDAYS):
        return None
    if separator == "/" and (not cued or s.words[i - 1] == ""):
        fraction = s.numbers[i] < s.numbers[i + 2] and s.numbers[i + 2] in _FRACTIONS
        if (fraction and after) or (s.numbers[i], s.numbers[i + 2]) == (24, 7):
            return None
    if (
        after in _COUNTED
        or after == "of"
        or (after in UNITS and after != "day")
        or (after == "." and s.glued[i + 4])
    ):
        return None
    if after == "," and s.numbers[i + 4] >= 0 and s.digits(i + 4) == 4 and year(s, i + 4):
        found = valid_date(s.numbers[i + 4], month_, day)
        return (one_day(found), i + 5) if found else None
    unsaid = _date(None, month_, day)
    return (unsaid, i + 3) if unsaid else None


def _the_ordinal(s: Tokens, i: int, now: Context) -> tuple[Calendar | Days, int] | None:
    """The 18th, the 15th day of next month, the thirty-first of the month, the 17 from 2pm."""
    return _of_month(s, i + 1, now) or _bare_ordinal(s, i + 1, i)


def _of_month(s: Tokens, i: int, now: Context) -> tuple[Days, int] | None:
    number = ordinal(s, i)
    if number is None:
        return None
    j = number[1] + 1 if s.words[number[1]] == "day" else number[1]
    if s.words[j] not in ("of", "in"):
        return None
    j += 1
    if s.words[j] == "the":
        j += 1
    shift = shift_of(s.words[j])
    j += shift is not None
    if s.words[j] != "month":
        return None
    first = add_months(now.today.replace(day=1), shift or 0)
    found = valid_date(first.year, first.month, number[0])
    return (one_day(found, relative=True), j + 1) if found else None


def _bare_ordinal(s: Tokens, i: int, begin: int) -> tuple[Calendar, int] | None:
    """The 18th; on 29th; the 17 (only before an hour)."""
    number = ordinal(s, i)
    article = begin != i
    if number is None:
        hour_follows = s.words[i + 1] in ("from", "at", "between") and s.numbers[i + 2] >= 0
        ends = s.words[begin - 1] == "on" and not s.words[i + 1][:1].isalnum()
        if not (article and (hour_follows or ends) and 1 <= s.numbers[i] <= 31):
            return None
        return Calendar(None, s.numbers[i]), i + 1
    cued = s.words[begin - 1] in (
        "on",
        "by",
        "until",
        "till",
        "since",
        "before",
        "after",
        "from",
        "to",
    )
    if not 1 <= number[0] <= 31 or not (article or cued):
        return None
    if s.numbers[i] < 0 and not cued:
        return None
    after = s.words[number[1]]
    closes = not after[:1].isalnum() or after in FUNCTION_WORDS
    return (Calendar(None, number[0]), number[1]) if closes else None


def _weekday_and_number(s: Tokens, i: int, now: Context) -> tuple[Days, int] | None:
    """Friday the 13th, Monday 21: the nearest month in which that day is that weekday."""
    j = i + 2 if s.words[i + 1] == "the" else i + 1
    number = ordinal(s, j)
    if number is None and s.numbers[j] > 0 and s.digits(j) <= 2:
        number = (s.numbers[j], j + 1)
    if number is None or not 1 <= number[0] <= 31 or not _is_day(s, j, number[1]):
        return None
    after = s.words[number[1]]
    dated = after in MONTHS or after in ("/", "of", "-") or s.words[number[1] + 1] in MONTHS
    hour = after in CARDINALS or after in ("morning", "afternoon", "evening", "night", "noon")
    if dated or (after[:1].isalpha() and after not in FUNCTION_WORDS and not hour):
        return None
    step = -1 if now.prefer is Prefer.PAST else 1
    for months in range(MONTHS_TO_SEARCH):
        first = add_months(now.today.replace(day=1), step * months)
        found = valid_date(first.year, first.month, number[0])
        fits = found is not None and found.weekday() == WEEKDAYS[s.words[i]]
        if found and fits and (found - now.today).days * step >= 0:
            return one_day(found), number[1]
    return None
