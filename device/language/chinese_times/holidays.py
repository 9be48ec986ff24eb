"""Holidays and solar terms as Chinese names them."""

# ruff: noqa: E501 - a rule reads best on one line

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date, timedelta

from device.language.chinese_times.calendar import YEAR, any_of, year_of
from device.language.chinese_times.dates import day_piece
from device.language.chinese_times.lunar import TERMS, last_day, term_day, to_solar
from device.language.chinese_times.lunar_dates import lunar_day
from device.language.chinese_times.rules import rule
from device.language.spans import (
    Piece,
    Prefer,
    Reference,
    easter,
    month_day,
    nth_weekday,
    valid_date,
)

__all__ = ["RULES"]

_FIXED = {
    "元旦": (1, 1), "阳历新年": (1, 1), "公历新年": (1, 1), "情人节": (2, 14), "圣瓦伦丁节": (2, 14), "妇女节": (3, 8), "女神节": (3, 8),
    "女生节": (3, 7), "植树节": (3, 12), "消费者权益日": (3, 15), "国际消费者权益日": (3, 15), "愚人节": (4, 1),
    "地球日": (4, 22), "劳动节": (5, 1), "国际劳动节": (5, 1), "五一国际劳动节": (5, 1), "青年节": (5, 4), "五四青年节": (5, 4),
    "护士节": (5, 12), "儿童节": (6, 1), "国际儿童节": (6, 1), "六一儿童节": (6, 1), "建党节": (7, 1), "建军节": (8, 1),
    "八一建军节": (8, 1), "教师节": (9, 10), "国庆": (10, 1), "十一国庆": (10, 1), "万圣节": (10, 31), "万圣夜": (10, 31),
    "光棍节": (11, 11), "澳门回归纪念日": (12, 20), "平安夜": (12, 24), "圣诞": (12, 25), "圣诞节": (12, 25), "跨年夜": (12, 31),
    "老板节": (10, 16),
}  # fmt: skip
_NUMBERED = {
    "三八": (3, 8), "三一五": (3, 15), "五一": (5, 1), "五四": (5, 4), "六一": (6, 1), "七一": (7, 1), "八一": (8, 1), "十一": (10, 1),
    "双十一": (11, 11), "双11": (11, 11), "双十二": (12, 12), "双12": (12, 12), "618": (6, 18),
}  # fmt: skip
"""Days called by their numbers, which are mostly just numbers."""
_FLOATING = {
    "母亲节": (5, 6, 2), "父亲节": (6, 6, 3), "感恩节": (11, 3, 4),
}  # fmt: skip
"""(month, weekday, which one)."""
_LUNAR = {
    "春节": (1, 1), "农历新年": (1, 1), "新春佳节": (1, 1), "正月正时": (1, 1), "正月朔日": (1, 1), "新春": (1, 1), "元宵": (1, 15),
    "元宵节": (1, 15), "龙抬头": (2, 2), "端午": (5, 5), "端午节": (5, 5), "端阳节": (5, 5), "七夕": (7, 7), "七夕节": (7, 7),
    "中元节": (7, 15), "中秋": (8, 15), "中秋节": (8, 15), "重阳": (9, 9), "重阳节": (9, 9), "腊八": (12, 8), "腊八节": (12, 8),
    "小年": (12, 23),
}  # fmt: skip
_EVES = frozenset({"除夕", "除夕夜", "大年夜", "年夜", "大年三十"})
_EASTER = {
    "复活节": 0, "主复活日": 0, "复活节星期一": 1, "耶稣受难日": -2, "主受难日": -2, "主受难节": -2, "圣周五": -2, "圣周六": -1,
    "神圣周六": -1, "神圣星期四": -3, "圣周四": -3, "濯足节": -3, "棕枝主日": -7, "圣枝主日": -7, "五旬节": 49, "圣灵降临节": 49,
    "圣三一主日": 56, "基督圣体节": 60, "大斋首日": -46, "圣灰日": -46, "忏悔节": -47, "耶稣升天节": 39,
}  # fmt: skip
"""Days after Easter Sunday."""
_LONG_HOLIDAYS = {
    "国庆": 7,
    "春节": 7,
    "十一": 7,
    "五一": 5,
    "元旦": 3,
    "中秋": 3,
    "清明": 3,
    "端午": 3,
}
"""Days off work that "假期" after the name means."""
_WEATHER = frozenset({"雨水", "小雪", "大雪", "白露", "小满", "谷雨", "霜降"})
"""Terms that are also weather, or a name: taken only where something says that a day is meant."""


def _near(days: list[date | None], now: Reference, prefer: Prefer) -> date | None:
    """The nearest of the days on the preferred side of today."""
    known = [day for day in days if day is not None]
    if prefer is Prefer.PAST:
        return max((d for d in known if d <= now.date()), default=None)
    return min((d for d in known if d >= now.date()), default=None)


def _of_year(name: str, year: int) -> date | None:
    """The holiday in one solar year."""
    fixed = _FIXED.get(name) or _NUMBERED.get(name)
    if fixed:
        return valid_date(year, *fixed)
    if name in _FLOATING:
        return nth_weekday(year, *_FLOATING[name])
    if name in _EASTER:
        return easter(year) + timedelta(days=_EASTER[name])
    if name in TERMS:
        return term_day(year, name)
    lunar = (
        [last_day(year - 1)]
        if name in _EVES
        else [to_solar(y, *_LUNAR[name]) for y in (year - 1, year)]
    )
    return next((day for day in lunar if day is not None and day.year == year), None)


def _holiday(match: re.Match[str], now: Reference, prefer: Prefer) -> Piece | None:
    name, year = match["name"], year_of(match["year"], now)
    if name in _WEATHER and not match["mark"]:
        return None
    if year:
        found = _of_year(name, year)
    elif name in _LUNAR:
        found = lunar_day(*_LUNAR[name], now, prefer)
    elif name in _FIXED or name in _NUMBERED:
        found = month_day(*(_FIXED.get(name) or _NUMBERED[name]), now, prefer)
    else:
        found = _near([_of_year(name, now.year + n) for n in (-1, 0, 1)], now, prefer)
    if found is None:
        return None
    piece = day_piece(found, now, floating=year is None)
    days = _LONG_HOLIDAYS.get(name.removesuffix("节")) or _LONG_HOLIDAYS.get(name)
    if match["off"] and days and piece is not None and piece.span is not None:
        span = piece.span
        longer = replace(span, end=span.start + timedelta(days=days), grain="holiday")
        return replace(piece, span=longer)
    return piece


_KNOWN = frozenset({*_FIXED, *_FLOATING, *_LUNAR, *_EVES, *_EASTER, *TERMS})
_NAMES = any_of(_KNOWN)
_OFF = r"(?P<off>假期|长假|黄金周|小长假|期间)?"
_DAY_MARK = r"(?P<mark>节气|节|(?=那[天日]|这[天日]|当[天日]|前后))?"

RULES = (
    rule("".join(sorted({name[-1] for name in _KNOWN})), rf"(?:(?P<year>{YEAR})的?)?(?P<name>{_NAMES})(?:{_DAY_MARK})(?![月点\d楼岁号层个树老粽潮]|联欢|上河|很?好吃){_OFF}", _holiday, _NAMES),
    rule("三五六七八十双1", rf"(?:(?P<year>{YEAR})的?)?(?<![零一二三四五六七八九十百千\d.第])(?P<name>{any_of(_NUMBERED)})(?:(?P<mark>节)|(?=假期|长假|黄金周|期间|放假|小长假|[那当这]天|[前后](?![天年面])|之[前后]|过后|晚会|促销|大促|[我你他她们去出回想要打算准备]|快乐|快到|[，。！？；,!?]|$))(?![月点\d楼岁号层个天年分]){_OFF}", _holiday, any_of(_NUMBERED)),
)  # fmt: skip
