"""Days named from today: yesterday, next Friday, this month, the week after next."""

from __future__ import annotations

from datetime import date, timedelta

from device.language.english_times.calendar import shift_of
from device.language.english_times.lexer import Tokens
from device.language.english_times.lexicon import (
    FUNCTION_WORDS,
    MONTHS,
    NEXT,
    PREVIOUS,
    RANGE_WORDS,
    UNITS,
    WEEKDAYS,
    WORD_LIKE_WEEKDAYS,
    word_set,
)
from device.language.english_times.numbers import ordinal
from device.language.english_times.values import Context, Days, Moment, NthWeekday, one_day
from device.language.spans import add_months, weekday_near

__all__ = ["named_day", "nth_weekday_name", "period", "present", "unit_days", "weekday"]

FIRST_YEAR, LAST_YEAR = 1000, 9000
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
_NOW: tuple[tuple[str, ...], ...] = (
    ("right", "now"), ("just", "now"), ("now",), ("at", "the", "moment"), ("at", "present"),
    ("at", "this", "time"), ("at", "this", "moment"), ("currently",), ("presently",),
)  # fmt: skip
_PHRASES_BEGIN = frozenset(words[0] for words, _ in _PHRASES)
_NOW_BEGINS = frozenset(words[0] for words in _NOW)
"""First words: nearly every token is none, and needs no further look."""
_PERIOD_CUES = word_set("in for of during over this unavailable throughout within all by")


def present(s: Tokens, i: int, now: Context) -> tuple[Moment, int] | None:
    """Now, at the moment; not "now that"."""
    if s.words[i] not in _NOW_BEGINS:
        return None
    for words in _NOW:
        after = i + len(words)
        if tuple(s.words[i:after]) == words and s.words[after] != "that":
            return Moment(now.moment, now.moment + timedelta(seconds=1), "second"), after
    return None


def named_day(s: Tokens, i: int, now: Context) -> tuple[Days, int] | None:
    """Today, the day after tomorrow, the previous day; "the day" itself at the end of a clause."""
    if s.words[i] in _NAMED:
        return _day(now, _NAMED[s.words[i]], i + 1)
    article = s.words[i] == "the"
    j = i + 1 if article else i
    if s.words[j] not in _PHRASES_BEGIN:
        return None
    for words, steps in _PHRASES:
        if tuple(s.words[j : j + len(words)]) != words:
            continue
        after = j + len(words)
        bare = words in (("day", "before"), ("day", "after"))
        counted = words == ("last", "day") and s.words[after] in ("of", "in")
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
    j = i
    words: list[str] = []
    while len(words) < 2 and (shift_of(s.words[j]) is not None or s.words[j] == "up"):
        words.append(s.words[j])
        j += 1
    if s.words[j] not in WEEKDAYS or not _weekday_is_meant(s, j, shifted_=bool(words)):
        return None
    number = WEEKDAYS[s.words[j]]
    after = j + 2 if s.words[j + 1] == "." and s.glued[j + 1] and len(s.words[j]) <= 4 else j + 1
    beyond = () if words else (s.words[after], s.words[after + 1])
    if beyond == ("after", "next"):  # next Friday is next week's
        return _in_week(number, 2, after + 2, now)
    if beyond == ("before", "last"):
        day = _shifted_weekday(number, ["last"], now) - timedelta(weeks=1)
        return one_day(day, relative=True), after + 2
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
    dated = s.numbers[i + 1] >= 0 or after in (
        "the",
        "at",
        "morning",
        "afternoon",
        "evening",
        "night",
    )
    if dated and (after != "the" or ordinal(s, i + 2)) and (after != "at" or s.numbers[i + 2] >= 0):
        return True
    beyond = s.words[i + 2]
    listed = beyond in WEEKDAYS or beyond in MONTHS or s.numbers[i + 2] >= 0
    if listed and (after in RANGE_WORDS or after in (",", "and", "or")):
        return True
    closes = not after[:1].isalnum() or after in FUNCTION_WORDS
    if not closes or before in ("the", "a", "", ".", "!", "?"):
        return False
    return s.capital(i) or before == "on"


def nth_weekday_name(s: Tokens, i: int) -> tuple[NthWeekday, int] | None:
    """The first Monday, the last Friday: of a month said elsewhere."""
    j = i + 1 if s.words[i] == "the" else i
    number = (-1, j + 1) if s.words[j] == "last" else ordinal(s, j)
    if number is None or not -1 <= number[0] <= 5 or s.words[number[1]] not in WEEKDAYS:
        return None
    return NthWeekday(number[0], WEEKDAYS[s.words[number[1]]]), number[1] + 1


def period(s: Tokens, i: int, now: Context) -> tuple[Days, int] | None:
    """Next week, this calendar year, that weekend, the week after next; "the year" at an end."""
    j = i + 1 if s.words[i] == "the" else i
    shift = shift_of(s.words[j])
    at = j if shift is None else j + 1
    at += s.words[at] in _KINDS
    unit = UNITS.get(s.words[at], "")
    if s.words[at] in ("s", "m", "h", "d", "w", "y") or unit in (
        "",
        "second",
        "minute",
        "hour",
        "day",
    ):
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
        after = at + 4 if UNITS.get(s.words[at + 3]) == unit else at + 3
        return Days(*unit_days(unit, twice, now.today), unit, relative=True), after
    article = s.words[i] == "the"
    if s.words[at].endswith("s") or s.words[at + 1] in ("of", "after", "before"):
        return None
    closes = not s.words[at + 1][:1].isalnum() or s.words[at + 1] in ("and", "or", "but", "at")
    weekend = unit == "weekend" and s.words[i - 1] not in (
        "every",
        "each",
        "any",
        "a",
        "one",
        "per",
    )
    if not closes or not (article or weekend):
        return None
    if article and not weekend and s.words[i - 1] not in _PERIOD_CUES:
        return None
    return Days(*unit_days(unit, 0, now.today), unit, relative=True), at + 1


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
