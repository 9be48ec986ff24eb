"""Chinese dates of the lunar calendar: 农历八月十五, 正月初一, 闰二月, 大年初二, 年三十."""

# ruff: noqa: E501 - a rule reads best on one line

from __future__ import annotations

import re
from datetime import date, timedelta

from device.language.chinese_times.calendar import LUNAR_MONTH, MONTH_NUMBER, YEAR, year_of
from device.language.chinese_times.dates import day_piece
from device.language.chinese_times.lunar import FIRST_YEAR, LAST_YEAR, to_solar
from device.language.chinese_times.numbers import chinese_number
from device.language.chinese_times.rules import rule
from device.language.spans import Piece, Prefer, Reference, Span, days_span, exactly, valid_date

__all__ = ["RULES", "lunar_day"]


def _lunar_number(text: str) -> int:
    return int(chinese_number(text.removeprefix("初").removesuffix("日").removesuffix("号")))


LEAP_REACH = 38
"""Years within which every doubled month comes again (two cycles of 19)."""
_LUNAR_MONTHS = {"正": 1, "冬": 11, "腊": 12}


def lunar_day(
    month: int, day: int, now: Reference, prefer: Prefer, *, leap: bool = False
) -> date | None:
    """The solar day of a lunar date said with no year: the nearest on the preferred side."""
    reach = LEAP_REACH if leap else 2
    years = range(now.year - reach, now.year + reach + 1)
    days = [d for d in (to_solar(y, month, day, leap=leap) for y in years) if d is not None]
    past, future = [d for d in days if d <= now.date()], [d for d in days if d >= now.date()]
    if prefer is Prefer.PAST:
        return past[-1] if past else None
    return future[0] if future else None


def _lunar(match: re.Match[str], now: Reference, prefer: Prefer) -> Piece | None:
    """农历八月十五, 正月初一, 2015年十月初一, 闰二月初三; off the table it is read as written."""
    word = match["month"].removesuffix("月")
    leap = word.startswith("闰")
    word = word.removeprefix("闰")
    month = _LUNAR_MONTHS.get(word) or int(chinese_number(word))
    day = _lunar_number(match["day"]) if match["day"] else None
    year = year_of(match["year"], now)
    if day is None:
        return _lunar_month(year, month, now, prefer, leap=leap)
    if year is None:
        return day_piece(lunar_day(month, day, now, prefer, leap=leap), now, floating=True)
    if FIRST_YEAR <= year <= LAST_YEAR:
        return day_piece(to_solar(year, month, day, leap=leap), now)
    return day_piece(valid_date(year, month, day), now)


def _lunar_month(
    year: int | None, month: int, now: Reference, prefer: Prefer, *, leap: bool
) -> Piece | None:
    reach = LEAP_REACH if leap else 2
    years = [year] if year else list(range(now.year - reach, now.year + reach + 1))
    each = (_lunar_month_span(y, month, now, leap=leap) for y in years)
    spans = [span for span in each if span is not None]
    if prefer is Prefer.PAST and year is None:
        spans = [span for span in reversed(spans) if span.start <= exactly(now)]
    elif year is None:
        spans = [span for span in spans if span.end > exactly(now)]
    return day_piece(spans[0], now, floating=year is None) if spans else None


def _lunar_month_span(year: int, month: int, now: Reference, *, leap: bool) -> Span | None:
    first = to_solar(year, month, 1, leap=leap)
    if first is None:
        return None
    last = to_solar(year, month, 30, leap=leap) or first + timedelta(days=28)
    return days_span(first, last, now, "month")


def _new_year_days(match: re.Match[str], now: Reference, prefer: Prefer) -> Piece | None:
    """大年初二, 年三十: the days about the Spring Festival."""
    month, day = (12, 30) if match["day"] == "三十" else (1, _lunar_number(match["day"]))
    year = year_of(match["year"], now)
    if month == 1:
        found = to_solar(year, 1, day) if year else lunar_day(1, day, now, prefer)
        return day_piece(found, now, floating=year is None)
    return _eve(year, now, prefer)


def _eve(year: int | None, now: Reference, prefer: Prefer) -> Piece | None:
    if year:
        first = to_solar(year, 1, 1)
        return day_piece(first - timedelta(days=1), now) if first else None
    firsts = (to_solar(now.year + n, 1, 1) for n in range(-2, 3))
    eves = [first - timedelta(days=1) for first in firsts if first is not None]
    if prefer is Prefer.PAST:
        return day_piece(
            max((d for d in eves if d <= now.date()), default=None), now, floating=True
        )
    return day_piece(min((d for d in eves if d >= now.date()), default=None), now, floating=True)


_LUNAR_DAY = r"(?:初(?:[一二三四五六七八九十]|10|[1-9])|三十|二?十[一二三四五六七八九]?|廿[一二三四五六七八九]?)"

RULES = (
    rule("初正腊农阴旧闰廿", rf"(?:农历|阴历|旧历)?(?:(?P<year>{YEAR})的?)?(?:农历|阴历|旧历)?(?P<month>{LUNAR_MONTH})(?P<day>初(?:[一二三四五六七八九十]|10|[1-9])|廿[一二三四五六七八九]?)日?", _lunar),
    rule("农阴旧正腊闰", rf"(?:(?P<year>{YEAR})的?)?(?:农历|阴历|旧历)的?(?P<month>{LUNAR_MONTH})(?P<day>(?:{_LUNAR_DAY}|[12]\d|30|[1-9])[日号]?)?", _lunar),
    rule("农阴旧", rf"(?:(?:农历|阴历|旧历)的?(?P<year>{YEAR})的?(?P<month>{LUNAR_MONTH})(?P<day>(?:{_LUNAR_DAY}|[12]\d|30|[1-9])[日号]?)?)", _lunar),
    rule("正腊冬闰", rf"(?:(?P<year>{YEAR})的?)?(?P<month>闰{MONTH_NUMBER}月|[正腊]月|冬月(?={_LUNAR_DAY}))(?P<day>{_LUNAR_DAY}[日号]?)?", _lunar),
    rule("年", rf"(?:(?P<year>{YEAR})的?)?(?<![今去明前后每多\d])(?:大年|(?<![一-鿿])年|(?<=[，。在到从])年|(?<=年)年)(?P<day>初(?:十?[一二三四五六七八九]|十)|三十)(?![分岁多几个年月天号])", _new_year_days),
)  # fmt: skip
