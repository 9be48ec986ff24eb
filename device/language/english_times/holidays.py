"""Holidays of the English-speaking calendar: fixed days, n-th weekdays of a month, and Easter's."""

from __future__ import annotations

from datetime import date, timedelta

from device.language.english_times.calendar import shift_of
from device.language.english_times.lexer import Tokens
from device.language.english_times.numbers import year
from device.language.english_times.values import Context, Days
from device.language.spans import Prefer, easter, nth_weekday

__all__ = ["holiday"]

_FIXED = {
    "new year day": (1, 1), "new years day": (1, 1), "new year": (1, 1), "new years": (1, 1),
    "inauguration day": (1, 20), "groundhog day": (2, 2), "valentine day": (2, 14),
    "valentines day": (2, 14), "valentines": (2, 14), "international women day": (3, 8),
    "women day": (3, 8), "st patrick day": (3, 17), "saint patrick day": (3, 17),
    "april fools": (4, 1), "april fool day": (4, 1), "april fools day": (4, 1),
    "earth day": (4, 22), "may day": (5, 1), "international workers day": (5, 1),
    "workers day": (5, 1), "labour day": (5, 1), "cinco de mayo": (5, 5), "juneteenth": (6, 19),
    "children day": (6, 1), "independence day": (7, 4), "halloween": (10, 31),
    "all hallows eve": (10, 31), "all saints day": (11, 1), "all souls day": (11, 2),
    "guy fawkes day": (11, 5), "bonfire night": (11, 5), "singles day": (11, 11),
    "veterans day": (11, 11), "remembrance day": (11, 11), "christmas eve": (12, 24),
    "christmas day": (12, 25), "christmas": (12, 25), "xmas": (12, 25), "xmas eve": (12, 24),
    "boxing day": (12, 26), "new year eve": (12, 31), "new years eve": (12, 31), "nye": (12, 31),
}  # fmt: skip
_FLOATING = {
    "martin luther king day": (1, 0, 3, 0), "mlk day": (1, 0, 3, 0),
    "martin luther king jr day": (1, 0, 3, 0), "presidents day": (2, 0, 3, 0),
    "president day": (2, 0, 3, 0), "mother day": (5, 6, 2, 0), "mothers day": (5, 6, 2, 0),
    "memorial day": (5, 0, -1, 0), "father day": (6, 6, 3, 0), "fathers day": (6, 6, 3, 0),
    "labor day": (9, 0, 1, 0), "columbus day": (10, 0, 2, 0),
    "indigenous people day": (10, 0, 2, 0),
    "thanksgiving": (11, 3, 4, 0), "thanksgiving day": (11, 3, 4, 0),
    "black friday": (11, 3, 4, 1), "cyber monday": (11, 3, 4, 4),
}  # fmt: skip
"""Month, weekday, which one of the month (−1: the last), and days on from it."""
_EASTER = {
    "easter": 0, "easter sunday": 0, "easter day": 0, "good friday": -2, "easter monday": 1,
    "maundy thursday": -3, "palm sunday": -7, "ash wednesday": -46, "shrove tuesday": -47,
    "mardi gras": -47, "pentecost": 49, "whit monday": 50, "ascension day": 39,
}  # fmt: skip
_NAMES = {tuple(name.split()): name for name in (*_FIXED, *_FLOATING, *_EASTER)}
_LONGEST = max(len(words) for words in _NAMES)
STARTS = frozenset(words[0] for words in _NAMES)
"""First words of every holiday."""


def holiday(s: Tokens, i: int, now: Context) -> tuple[Days, int] | None:
    """Christmas, next Easter, black friday 2010, Halloween weekend, labor day of this year."""
    shift = shift_of(s.words[i])
    at = i if shift is None else i + 1
    if s.words[at] == "the":
        at += 1
    found = _name(s, at) if s.words[at] in STARTS else None
    if found is None:
        return None
    name, j = found
    weekend = s.words[j] == "weekend"
    j += weekend
    said, j = _said_year(s, j, now)
    if not weekend and s.words[j] == "weekend":
        weekend, j = True, j + 1
    if said is not None:
        day, loose = _on(name, said), False
    else:
        day, loose = _near(name, shift, now), shift is None
    if day is None:
        return None
    return (_weekend(day) if weekend else Days(day, day + timedelta(days=1), "day", loose=loose)), j


def _name(s: Tokens, i: int) -> tuple[str, int] | None:
    words: list[str] = []
    places: list[int] = []
    j = i
    while len(words) < _LONGEST and s.words[j]:
        if s.words[j] not in ("'", "’", "."):
            words.append(s.words[j])
            places.append(j + 1)
        j += 1
    for size in range(len(words), 0, -1):
        name = _NAMES.get(tuple(words[:size]))
        if name is not None:
            return name, places[size - 1]
    return None


def _said_year(s: Tokens, i: int, now: Context) -> tuple[int | None, int]:
    j = i + 1 if s.words[i] in (",", "of", "in") else i
    found = year(s, j)
    if found:
        return found
    shift = shift_of(s.words[j])
    if shift is not None and s.words[j + 1] == "year":
        return now.today.year + shift, j + 2
    return None, i


def _on(name: str, in_year: int) -> date | None:
    if name in _FIXED:
        return date(in_year, *_FIXED[name])
    if name in _EASTER:
        return easter(in_year) + timedelta(days=_EASTER[name])
    month, weekday, n, extra = _FLOATING[name]
    found = nth_weekday(in_year, month, weekday, n)
    return found + timedelta(days=extra) if found else None


def _near(name: str, shift: int | None, now: Context) -> date | None:
    """Last or next is the nearest on that side; bare, the preferred side, today included."""
    today = now.today
    near = [_on(name, today.year + offset) for offset in (-1, 0, 1)]
    days = [day for day in near if day is not None]
    if shift == 0:
        return _on(name, today.year)
    if shift == -1:
        return max((d for d in days if d < today), default=None)
    if shift == 1:
        return min((d for d in days if d > today), default=None)
    if now.prefer is Prefer.PAST:
        return max((d for d in days if d <= today), default=None)
    return min((d for d in days if d >= today), default=None)


def _weekend(day: date) -> Days:
    """The weekend a holiday lies at: a Friday or a Monday off belongs to it."""
    saturday = day - timedelta(days=day.weekday()) + timedelta(days=5)
    if day.weekday() == 0:
        return Days(day - timedelta(days=2), day + timedelta(days=1), "weekend")
    return Days(
        min(day, saturday) if day.weekday() == 4 else saturday,
        saturday + timedelta(days=2),
        "weekend",
    )
