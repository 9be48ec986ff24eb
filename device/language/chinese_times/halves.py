"""The first number of 3-5月, 周一至五, 八到九点: the unit is said once, after both."""

# ruff: noqa: E501 - a rule reads best on one line

from __future__ import annotations

import re

from device.language.chinese_times import clock, dates
from device.language.chinese_times.calendar import DAY, MONTH_NUMBER, YEAR, named_span, year_of
from device.language.chinese_times.numbers import COUNT, DIGITS, chinese_number
from device.language.chinese_times.rules import rule
from device.language.spans import Kind, Piece, Prefer, Reference, day_span, weekday_near

__all__ = ["RULES"]

_TO = r"\s*(?:-+|~|—+|–|到|至|和|与)\s*"
"""Between the two numbers of 3-5月: the unit is said once, after both."""


def _first_year(match: re.Match[str], now: Reference, _: Prefer) -> Piece | None:
    year = year_of(match[1], now)
    return None if year is None else dates.day_piece(named_span((year, None), None, now), now)


def _first_month(match: re.Match[str], now: Reference, prefer: Prefer) -> Piece | None:
    year, number = year_of(match["year"], now), int(chinese_number(match["n"]))
    if not 1 <= number <= 12:
        return None
    near = year or _year_of_month(number, now, prefer)
    return dates.day_piece(named_span((near, number), None, now), now, floating=year is None)


def _year_of_month(month: int, now: Reference, prefer: Prefer) -> int:
    if prefer is Prefer.PAST:
        return now.year - (month > now.month)
    return now.year + (month < now.month)


def _first_hour(match: re.Match[str], _now: Reference, _: Prefer) -> Piece | None:
    hour = int(chinese_number(match[1]))
    return clock.clock_piece(hour, 0, 0, open_hour=1 <= hour <= 12)


def _last_weekday(match: re.Match[str], now: Reference, prefer: Prefer) -> Piece | None:
    number = "一二三四五六日天".index(match[1]) % 7 if match[1] != "天" else 6
    day = day_span(weekday_near(number, now, prefer), now)
    return Piece(0, 0, Kind.DAY, day, weekday=True, floating=True)


_PLAIN_YEAR = rf"(?:(?:19|20)\d\d|[一二][{DIGITS}]{{3}})"
_NOT_YEAR = r"[\d年月日号元块个人名米公里度次件套点:.\-/%]"

RULES = (
    rule("年", rf"(?<![\d.])([12]\d{{3}}|(?<![{DIGITS}])[一二][{DIGITS}]{{3}})(?={_TO}(?:\d{{4}}|[一二][{DIGITS}]{{3}})年)", _first_year),
    rule("月", rf"(?:(?P<year>{YEAR})的?)?(?<![\d.第个{DIGITS}十])(?P<n>{MONTH_NUMBER})(?={_TO}{MONTH_NUMBER}月(?![球亮饼薪]))", _first_month),
    rule("日号", rf"(?<![\d.第月{DIGITS}十])(?P<day>{DAY})(?={_TO}{DAY}[日号](?![线楼]))", dates.day_of_month),
    rule("点", rf"(?<![\d.:第{DIGITS}十百])({clock.HOUR})(?=\s*(?:-|~|—|到|至)\s*{clock.HOUR}点(?!{COUNT}))", _first_hour),
    rule("从", rf"(?<=从)({_PLAIN_YEAR})(?=(?:-|~|到|至){_PLAIN_YEAR}(?!{_NOT_YEAR}))", _first_year),
    rule("从", rf"(?<=从[\d{DIGITS}]{{4}}[到至~\-])({_PLAIN_YEAR})(?!{_NOT_YEAR})", _first_year),
    rule("周期拜", r"(?<=[周期拜][一二三四五六][到至\-~])([二三四五六日天])(?![点月号日年个天周])", _last_weekday),
)  # fmt: skip
