"""English holidays: fixed, n-th weekday of a month, and Easter."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta

from device.language.english_dates import date_piece
from device.language.spans import Piece, Prefer, month_day, nth_weekday, valid_date

__all__ = ["FIXED", "FLOATING", "holiday_rule"]

FIXED = {
    "new year's day": (1, 1), "new years day": (1, 1), "new year's eve": (12, 31),
    "new years eve": (12, 31), "valentine's day": (2, 14), "valentines day": (2, 14),
    "april fools": (4, 1), "may day": (5, 1), "independence day": (7, 4), "halloween": (10, 31),
    "christmas eve": (12, 24), "christmas day": (12, 25), "christmas": (12, 25), "xmas": (12, 25),
    "international workers' day": (5, 1), "workers' day": (5, 1), "labour day": (5, 1),
    "st patrick's day": (3, 17), "earth day": (4, 22), "new year": (1, 1),
}  # fmt: skip
FLOATING = {
    "thanksgiving": (11, 3, 4), "thanksgiving day": (11, 3, 4), "mother's day": (5, 6, 2),
    "mothers day": (5, 6, 2), "father's day": (6, 6, 3), "fathers day": (6, 6, 3),
    "labor day": (9, 0, 1), "memorial day": (5, 0, -1), "martin luther king day": (1, 0, 3),
    "mlk day": (1, 0, 3), "columbus day": (10, 0, 2),
}  # fmt: skip


def _easter(year: int) -> date:
    """Western Easter Sunday (Meeus, Jones and Butcher's algorithm)."""
    a, (b, c) = year % 19, divmod(year, 100)
    d, e = divmod(b, 4)
    g = (8 * b + 13) // 25
    h = (19 * a + b - d - g + 15) % 30
    i, k = divmod(c, 4)
    m = (32 + 2 * e + 2 * i - h - k) % 7
    n = (a + 11 * h + 22 * m) // 451
    month, day = divmod(h + m - 7 * n + 114, 31)
    return date(year, month, day + 1)


def _easter_near(now: datetime, year: int | None, word: str) -> date:
    if year is not None and word not in ("last", "next", "following"):
        return _easter(year)
    near = [_easter(now.year + offset) for offset in (-1, 0, 1)]
    if word == "last":
        return max(day for day in near if day < now.date())
    return min(day for day in near if day >= now.date())


def holiday_rule(match: re.Match[str], now: datetime, prefer: Prefer) -> Piece | None:
    """Christmas, next Easter, black friday 2010."""
    name = match["name"].lower().replace("’", "'")
    word = (match["of"] or match["shift"] or "").lower()
    shift = {"last": -1, "next": 1, "this": 0}.get(word)
    year = int(match["year"]) if match["year"] else None
    if year is None and shift is not None:
        year = now.year + shift
    if name == "easter":
        return date_piece(_easter_near(now, year, (match["shift"] or "").lower()), now)
    if name == "black friday":
        found = nth_weekday(year or now.year, 11, 3, 4)
        return date_piece(found + timedelta(days=1), now) if found else None
    if name in FLOATING:
        month, weekday, n = FLOATING[name]
        return date_piece(nth_weekday(year or now.year, month, weekday, n), now)
    month, number = FIXED[name]
    found = valid_date(year, month, number) if year else month_day(month, number, now, prefer)
    return date_piece(found, now)
