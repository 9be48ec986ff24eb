"""Portions of a run of days: its first week, early and late in it, the rest of it."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta

from device.language.english_times.calendar import month, resolve
from device.language.english_times.lexer import Tokens
from device.language.english_times.lexicon import NEXT, PREVIOUS, UNITS
from device.language.english_times.numbers import count, ordinal
from device.language.english_times.periods import first_week, whole
from device.language.english_times.relative import unit_days
from device.language.english_times.values import Context, Days, Moment
from device.language.spans import add_months, nth_weekday

__all__ = ["edge", "nth_of", "rest", "to_date", "weekday_of"]

WEEK = timedelta(days=7)
LOOK_BACK = timedelta(days=365)
"""How far back "to date" reaches."""
_EARLY = frozenset({"early", "earlier"})
_LATE = frozenset({"late", "later"})
_EDGES = {"beginning": "start", "start": "start", "middle": "mid", "mid": "mid", "end": "end"}
_TO_DATE = {"ytd": "year", "mtd": "month", "qtd": "quarter", "wtd": "week"}
_ENDS = {"eom": "month", "eoy": "year", "eow": "week"}
_HALF = {"first": "early", "second": "late"}


def _last_week(stop: date) -> date:
    return first_week(stop) - WEEK


def nth_of(s: Tokens, i: int, now: Context) -> tuple[Days, int] | None:
    """The first week of Jan 2015, last 3 weeks of this year, first ten days of last year."""
    j = i + 1 if s.words[i] == "the" else i
    last = s.words[j] in PREVIOUS
    number = (-1, j + 1) if last else ordinal(s, j)
    if number is None and s.words[j] in NEXT:
        return None
    if number is None:
        return None
    n, j = number
    several = count(s, j) if (last or n == 1) else None
    amount_ = 1
    if several and UNITS.get(s.words[several[1]]) is not None:
        amount_, j = round(several[0]), several[1]
    unit = UNITS.get(s.words[j], "") if len(s.words[j]) > 1 else ""
    if unit in ("", "second", "minute", "hour", "quarter") or s.words[j + 1] not in ("of", "in"):
        return None
    inside = whole(s, j + 2, now)
    if inside is None:
        return None
    found = _nth(inside[0], unit, -1 if last else n, amount_)
    return (found, inside[1]) if found else None


def _nth(inside: Days, unit: str, n: int, amount_: int) -> Days | None:
    first, stop = inside.first, inside.stop
    if unit == "day":
        begin = stop - timedelta(days=amount_) if n < 0 else first + timedelta(days=n - 1)
        end = begin + timedelta(days=amount_)
    elif unit in ("week", "fortnight"):
        size = WEEK * (2 if unit == "fortnight" else 1)
        begin = (
            _last_week(stop) + WEEK - size * amount_
            if n < 0
            else first_week(first) + size * (n - 1)
        )
        end = begin + size * amount_
    elif unit == "weekend":
        saturday = first + timedelta(days=(5 - first.weekday()) % 7)
        final = stop - timedelta(days=1)
        begin = (
            final - timedelta(days=(final.weekday() - 5) % 7)
            if n < 0
            else saturday + WEEK * (n - 1)
        )
        end = begin + timedelta(days=2)
    else:
        size_months = {"month": 1, "year": 12, "decade": 120}.get(unit)
        if size_months is None:
            return None
        begin = (
            add_months(stop, -size_months * amount_)
            if n < 0
            else add_months(first, size_months * (n - 1))
        )
        end = add_months(begin, size_months * amount_)
    grain = "day" if unit == "day" and amount_ == 1 else unit if amount_ == 1 else "range"
    return Days(begin, end, grain, loose=inside.loose)


def weekday_of(n: int, weekday: int, inside: Days) -> Days | None:
    """The n-th weekday (−1: the last) of a month."""
    found = nth_weekday(inside.first.year, inside.first.month, weekday, n)
    return Days(found, found + timedelta(days=1), "day", loose=inside.loose) if found else None


def edge(s: Tokens, i: int, now: Context) -> tuple[Days, int] | None:
    """Early March, mid-November, later this week, the end of 2000, end of month, EOM."""
    if s.words[i] in _ENDS:
        unit = _ENDS[s.words[i]]
        return _edge(Days(*unit_days(unit, 0, now.today), unit), "end", now), i + 1
    j = i + 1 if s.words[i] == "the" else i
    word = s.words[j]
    if word in _EARLY or word in _LATE:
        if s.words[j - 1] == "as":
            return None
        name = "early" if word in _EARLY else "later" if word == "later" else "late"
        j += 2 if s.words[j + 1] in ("in", "on", "-") else 1
    elif word == "mid":
        name, j = "mid", j + 2 if s.words[j + 1] in ("-", "in") else j + 1
    elif word in _EDGES and (s.words[j + 1] in ("of", "-") or s.words[j + 1] in ("this", "next")):
        name, j = _EDGES[word], j + 2 if s.words[j + 1] in ("of", "-") else j + 1
    elif (
        ordinal(s, j)
        and s.words[j + 1] == "half"
        and s.words[j + 2] == "of"
        and s.words[j] in _HALF
    ):
        name, j = _HALF[s.words[j]], j + 3
    else:
        return None
    inside = whole(s, j, now)
    if inside is None or inside[0].grain in ("day", "range"):
        return None
    return _edge(inside[0], name, now), inside[1]


def _edge(inside: Days, name: str, now: Context) -> Days:
    first, stop, grain = inside.first, inside.stop, inside.grain
    half = _middle(inside)
    at: date | None = None
    begin, end = first, stop
    if name == "mid":
        begin, end, at = (*_mid(inside), half)
    elif name in ("start", "end") and grain == "year":
        begin, end = (
            (first, add_months(first, 4)) if name == "start" else (add_months(first, 8), stop)
        )
    elif name in ("early", "start"):
        end = half
    else:
        begin = max(half, now.today) if name == "later" and first <= now.today < stop else half
    if name == "start":
        at = first
    elif name == "end":
        at = stop
    return Days(begin, end, f"{grain} part", at=at, loose=inside.loose)


def _middle(inside: Days) -> date:
    first, days = inside.first, (inside.stop - inside.first).days
    if inside.grain == "month":
        return first + timedelta(days=15)
    if days > 300:
        return add_months(first, (inside.stop.year - first.year) * 6)
    return first + timedelta(days=days // 2)


def _mid(inside: Days) -> tuple[date, date]:
    """The 10th to the 20th of a month, the middle third of anything else."""
    first, days = inside.first, (inside.stop - inside.first).days
    if inside.grain == "month":
        return first + timedelta(days=9), first + timedelta(days=20)
    if inside.grain == "year":
        return add_months(first, 4), add_months(first, 8)
    if inside.grain == "week":
        return first + timedelta(days=1), first + timedelta(days=5)
    return first + timedelta(days=days // 3), first + timedelta(days=days - days // 3)


def rest(s: Tokens, i: int, now: Context) -> tuple[Days | Moment, int] | None:
    """The rest of the week, the remainder of this year: from today to its end."""
    j = i + 1 if s.words[i] == "the" else i
    if s.words[j] not in ("rest", "remainder", "remaining"):
        return None
    j += 2 if s.words[j + 1] == "of" else 1
    j += s.words[j] in ("the", "this", "current", "my")
    unit = UNITS.get(s.words[j], "") if len(s.words[j]) > 1 else ""
    if unit == "day":
        midnight = datetime.combine(now.today + timedelta(days=1), time.min, now.now.tzinfo)
        return Moment(now.moment, midnight, "range"), j + 1
    if unit in ("", "second", "minute", "hour"):
        found = month(s, j)
        days = resolve(found[0], now) if found else None
        if found is None or days is None or not days.first <= now.today < days.stop:
            return None
        return Days(now.today, days.stop, "range", relative=True), found[1]
    _, stop = unit_days(unit, 0, now.today)
    return Days(now.today, stop, "range", relative=True), j + 1


def to_date(s: Tokens, i: int, now: Context) -> tuple[Moment, int] | None:
    """Year to date, ytd, so far this month; "to date" alone is all until now."""
    word = s.words[i]
    if word in _TO_DATE:
        return _until_now(_TO_DATE[word], now), i + 1
    j = i + 1 if word == "the" else i
    unit = UNITS.get(s.words[j], "")
    if s.words[j + 1 : j + 3] == ["to", "date"] and unit in ("week", "month", "quarter", "year"):
        return _until_now(unit, now), j + 3
    if s.words[i : i + 3] == ["so", "far", "this"]:
        unit = UNITS.get(s.words[i + 3], "")
        if unit in ("day", "week", "month", "quarter", "year"):
            return _until_now(unit, now), i + 4
    if s.words[i : i + 2] == ["to", "date"] and s.words[i - 1] not in ("up", "equals", "date"):
        closes = not s.words[i + 2][:1].isalnum()
        return (Moment(now.moment - LOOK_BACK, now.moment, "before"), i + 2) if closes else None
    return None


def _until_now(unit: str, now: Context) -> Moment:
    first, _ = unit_days(unit, 0, now.today)
    return Moment(datetime.combine(first, time.min, now.now.tzinfo), now.moment, "range")
