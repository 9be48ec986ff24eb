"""Numbers, ordinals, years and lengths of time, in digits and in words.

Every reader takes tokens and an index and gives (value, index after it), or None.
"""

from __future__ import annotations

from datetime import date, datetime, timedelta

from device.language.english_times.lexer import Tokens
from device.language.english_times.lexicon import CARDINALS, MONTHS, ORDINALS, UNITS
from device.language.spans import Reference, Today, exactly, from_now

__all__ = [
    "Length",
    "amount",
    "cardinal",
    "count",
    "day_number",
    "length",
    "ordinal",
    "shifted",
    "short_year",
    "year",
    "year_after",
]

Length = tuple[tuple[float, str], ...]
"""Amounts with their units: 2 years, 1 month and 21 days."""
FIRST_YEAR, LAST_YEAR = 1000, 2299
"""Four digits outside are some other number."""
TWO_DIGIT_PIVOT = 40
"""Two digits below are of this century ("1/1/35"), the others of the last."""
LAST_DAY = 31
_FINE = {"second": 1.0, "minute": 60.0, "hour": 3600.0}
_SHORT_UNITS = frozenset({"s", "m", "h", "d", "w", "y"})
_WORKING = frozenset({"business", "working", "work", "week"})
_SOME = {"couple": 2.0, "few": 3.0, "several": 3.0}


def cardinal(s: Tokens, i: int) -> tuple[int, int] | None:
    """26, "six", "twenty-six"."""
    if s.numbers[i] >= 0:
        return s.numbers[i], i + 1
    value = CARDINALS.get(s.words[i])
    if value is None:
        return None
    after = i + 2 if s.words[i + 1] == "-" and s.glued[i + 1] else i + 1
    ones = CARDINALS.get(s.words[after], 0)
    if value >= 20 and 1 <= ones <= 9:
        return value + ones, after + 1
    return value, i + 1


def ordinal(s: Tokens, i: int) -> tuple[int, int] | None:
    """4th, "fourth", "twenty-third"."""
    if s.numbers[i] >= 0:
        suffixed = s.words[i + 1] in ("st", "nd", "rd", "th") and s.digits(i) <= 2
        return (s.numbers[i], i + 2) if suffixed else None
    word = s.words[i]
    if word in ORDINALS:
        return ORDINALS[word], i + 1
    tens = CARDINALS.get(word, 0)
    if tens < 20 or tens % 10:
        return None
    after = i + 2 if s.words[i + 1] == "-" else i + 1
    ones = ORDINALS.get(s.words[after], 0)
    return (tens + ones, after + 1) if 1 <= ones <= 9 else None


def day_number(s: Tokens, i: int) -> tuple[int, int] | None:
    """A day of a month: "9th", "ninth", 9, "twenty five" (a small number in words is a count)."""
    found = ordinal(s, i)
    if found is None:
        found = cardinal(s, i)
        if found is None or (s.numbers[i] >= 0 and s.digits(i) > 2):
            return None
        if s.numbers[i] < 0 and found[0] < 10:
            return None
    return found if 1 <= found[0] <= LAST_DAY else None


def amount(s: Tokens, i: int) -> tuple[float, int] | None:
    """2, 2.5, "a couple of", "half a", "one and a half", ½."""
    word = s.words[i]
    if word == "½":
        return 0.5, i + 1
    if word == "half":
        return 0.5, i + 2 if s.words[i + 1] in ("a", "an") else i + 1
    j = i + 1 if word in ("a", "the") and s.words[i + 1] in _SOME else i
    if s.words[j] in _SOME:
        return _SOME[s.words[j]], j + 2 if s.words[j + 1] == "of" else j + 1
    if word in ("a", "an"):
        return 1.0, i + 1
    found = cardinal(s, i)
    if found is None:
        return None
    value, j = float(found[0]), found[1]
    if s.words[j] == "." and s.glued[j] and s.glued[j + 1] and s.numbers[j + 1] >= 0:
        return value + s.numbers[j + 1] / 10 ** s.digits(j + 1), j + 2
    if s.words[j : j + 3] == ["and", "a", "half"]:
        return value + 0.5, j + 3
    return value, j


def count(s: Tokens, i: int) -> tuple[float, int] | None:
    """An amount that is said: not the article."""
    return None if s.words[i] in ("a", "an") and s.words[i + 1] not in _SOME else amount(s, i)


def _unit(s: Tokens, i: int) -> tuple[str, int] | None:
    word = s.words[i]
    if word in _WORKING and s.words[i + 1] in ("day", "days"):
        return "business day", i + 2
    name = UNITS.get(word)
    if name is None or (word in _SHORT_UNITS and not s.glued[i]):
        return None
    return name, i + 1


def length(s: Tokens, i: int, *, parts: int = 9) -> tuple[Length, int] | None:
    """3 hours 30 minutes, two weeks, a year and a half, 2h; at most `parts` amounts."""
    found: list[tuple[float, str]] = []
    j = i
    while len(found) < parts:
        number = amount(s, j)
        unit = _unit(s, number[1]) if number else None
        if number is None or unit is None:
            break
        found.append((number[0], unit[0]))
        j = unit[1]
        if s.words[j : j + 3] == ["and", "a", "half"] or s.words[j : j + 2] == ["and", "half"]:
            found[-1] = (found[-1][0] + 0.5, unit[0])
            j += 2 if s.words[j + 1] == "half" else 3
        following = j + 1 if s.words[j] in ("and", ",") else j
        if len(found) == parts or not _continues(s, following, found[-1][1]):
            break
        j = following
    return (tuple(found), j) if found else None


def _continues(s: Tokens, i: int, unit: str) -> bool:
    """Does a finer unit follow, so that both make one length?"""
    order = ("year", "month", "week", "day", "hour", "minute", "second")
    number = amount(s, i)
    finer = _unit(s, number[1]) if number else None
    if finer is None or unit not in order or finer[0] not in order:
        return False
    return order.index(finer[0]) > order.index(unit)


def shifted(origin: Reference, span: Length, sign: int) -> datetime | date:
    """`origin` moved by a length: a moment when it has hours or less, else the day reached."""
    day: date = origin.date()
    for value, unit in span:
        if unit == "business day":
            day = _business_days(day, round(value) * sign)
        elif unit == "weekend":
            day += timedelta(weeks=sign * round(value))
        elif unit == "century":
            day = from_now(value * 10, "decade", sign, Today(day)).start.date()
        elif unit not in _FINE:
            day = from_now(value, unit, sign, Today(day)).start.date()
    fine = [value * _FINE[unit] for value, unit in span if unit in _FINE]
    if not fine:
        return day
    moment = exactly(origin).replace(year=day.year, month=day.month, day=day.day)
    return moment + timedelta(seconds=sign * sum(fine))


def _business_days(day: date, steps: int) -> date:
    one = timedelta(days=1 if steps > 0 else -1)
    for _ in range(min(abs(steps), 3660)):
        day += one
        while day.weekday() > 4:
            day += one
    return day


def short_year(value: int) -> int:
    """The year two digits stand for."""
    if value >= 100:
        return value
    return value + (2000 if value < TWO_DIGIT_PIVOT else 1900)


def year(s: Tokens, i: int) -> tuple[int, int] | None:
    """2019, '87, "nineteen eighty six", "two thousand and fifteen"."""
    if s.numbers[i] >= 0:
        fits = s.digits(i) == 4 and FIRST_YEAR <= s.numbers[i] <= LAST_YEAR
        clock = s.words[i + 1] == ":" and s.glued[i + 1]
        return (s.numbers[i], i + 1) if fits and not clock else None
    if s.words[i] in ("'", "’") and s.numbers[i + 1] >= 0 and s.digits(i + 1) == 2:
        return short_year(s.numbers[i + 1]), i + 2
    return _spoken_year(s, i)


def _spoken_year(s: Tokens, i: int) -> tuple[int, int] | None:
    if s.words[i] == "two" and s.words[i + 1] == "thousand":
        j = i + 3 if s.words[i + 2] == "and" else i + 2
        rest = cardinal(s, j) if s.numbers[j] < 0 else None
        return (2000 + rest[0], rest[1]) if rest and rest[0] < 100 else (2000, i + 2)
    first = CARDINALS.get(s.words[i], 0)
    if not (16 <= first <= 20) or s.numbers[i + 1] >= 0:
        return None
    if s.words[i + 1] == "hundred":
        return first * 100, i + 2
    if s.words[i + 1] in ("oh", "o") and 1 <= CARDINALS.get(s.words[i + 2], 0) <= 9:
        return first * 100 + CARDINALS[s.words[i + 2]], i + 3
    if s.words[i + 1] == "-":
        return None
    second = cardinal(s, i + 1)
    if second is None or not 10 <= second[0] <= 99 or s.words[second[1]] in MONTHS:
        return None
    return first * 100 + second[0], second[1]


def year_after(s: Tokens, i: int, joiner: str = "") -> tuple[int, int] | None:
    """The year that completes a date: ", 2019", "of 1995", "-2020", "of 87".

    `joiner` is what joins the month and the day; only after the same do two digits make a year.
    """
    j = i
    if s.words[j] == "." and s.glued[j]:
        j += 1
    if s.words[j] == ",":
        j += 1
    joined = s.words[j] in ("-", "/") and s.glued[j] and s.glued[j + 1]
    if joined:
        j += 1
    linked = s.words[j] in ("of", "in")
    if linked:
        j += 2 if s.words[j + 1 : j + 3] == ["the", "year"] else 1
    if (
        ((joined and s.words[j - 1] == joiner) or linked)
        and s.numbers[j] >= 0
        and s.digits(j) == 2
        and s.words[j - 1] != "in"
    ):
        return (short_year(s.numbers[j]), j + 1) if _ends_number(s, j + 1) else None
    found = year(s, j)
    return found if found and _ends_number(s, found[1]) else None


def _ends_number(s: Tokens, i: int) -> bool:
    """No digits run on after index `i` ("2018-07", "5.3")."""
    runs_on = s.words[i] in ("/", ".", ":") and s.glued[i] and s.glued[i + 1]
    return not (runs_on and s.numbers[i + 1] >= 0)
