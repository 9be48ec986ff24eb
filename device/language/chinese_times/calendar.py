"""Chinese words for years, months and weeks: the patterns, and what span of time they name."""

# ruff: noqa: E501 - a pattern reads best on one line

from __future__ import annotations

import re
from datetime import date, timedelta

from device.language.chinese_times.eras import ERAS
from device.language.chinese_times.numbers import COUNT, DIGITS, chinese_number
from device.language.spans import (
    Prefer,
    Reference,
    Span,
    add_months,
    days_span,
    month_span,
    week_span,
    year_span,
)

__all__ = [
    "BASE",
    "DAY",
    "LUNAR_MONTH",
    "MONTH",
    "MONTH_NUMBER",
    "WEEK",
    "YEAR",
    "any_of",
    "base_span",
    "is_relative",
    "month_of",
    "named_span",
    "shift_of",
    "year_of",
]

CENTURY_TURN = 50
"""A two-digit year under this is one of the 2000s."""

_RELATIVE_YEARS = {
    "大前年": -3, "次年": 1, "翌年": 1, "前年": -2, "去年": -1, "上年": -1, "上一年": -1, "旧年": -1, "今年": 0, "这一年": 0,
    "本年": 0, "明年": 1, "来年": 1, "下年": 1, "下一年": 1, "后年": 2, "大后年": 3,
}  # fmt: skip


def any_of(words: object) -> str:
    """A pattern of any of the words, the longest first."""
    return "|".join(sorted(map(str, words), key=lambda word: (-len(word), word)))  # type: ignore[call-overload]


_PAIRS = "一二|二三|三四|四五|五六|六七|七八|八九"
_TWO_DIGITS = (
    r"(?<![\d.])0\d年|(?<![\d.了过满近超约有整第共达这])[5-9][1-9]年(?![了来间内多时期龄限代])"
    r"|(?:^|(?<=[在从自到至于是我他她它们和跟比，。、；： (（]))[12]\d年(?=[一二三四五六七八九十\d]{1,2}月|[春夏秋冬上下年的初底末中毕出入高奥第国元端除清])"
    r"|(?<![\d.])\d\d年(?=的?第)"
    rf"|(?<![{DIGITS}十百千])(?!{_PAIRS})[零五六七八九一二][{DIGITS}]年"
)
_FOUR_DIGITS = rf"(?<!\d)(?<!元前)[12]\d{{3}}|(?<![\d前])[1-9]\d{{2}}(?=年)|[一二][{DIGITS}]{{3}}|[二两]千(?:零{COUNT}|零?{COUNT}?十{COUNT}?)?"
YEAR = (
    rf"(?:(?<![马晚以之])(?:{any_of(_RELATIVE_YEARS)})|本年度|上年度|(?:公元)?(?:{_FOUR_DIGITS})年度?"
    rf"|(?:{any_of(ERAS)})(?:元|\d{{1,2}}|[一二三四五六七八九十廿卅]{{1,3}})年|{_TWO_DIGITS})"
)
MONTH_NUMBER = r"(?:1[0-2]|0?[1-9]|十[一二]?|[一二三四五六七八九])"
_NEW_YEAR_MONTH = "元"
LUNAR_MONTH = rf"(?:闰?(?:正|冬|腊|{MONTH_NUMBER})月)"
_RELATIVE_MONTH = r"(?:[上下]{1,3}一?个?月|[这本当该今]一?个?月)"
MONTH = (
    rf"(?:(?<![\d.个第])(?:{MONTH_NUMBER}|{_NEW_YEAR_MONTH})月(?:份)?(?![球亮饼薪经季色光票子台租卡嫂供息天]|怀胎)"
    rf"|{_RELATIVE_MONTH}(?![球亮饼薪经色光票]))"
)
DAY = rf"(?:3[01]|[12]\d|0?[1-9]|三十一?|卅一?|二?十{COUNT}?|廿{COUNT}?|{COUNT})"
WEEK = r"(?:(?:[上下]{1,3}一?|这一?|本|今|该|当)个?(?:周|星期|礼拜))"

BASE = rf"(?:(?P<year>{YEAR})?的?(?P<month>{MONTH})?|(?P<week>{WEEK}))"
"""What "the first three days of" counts in; every group may be empty."""


def shift_of(word: str) -> int:
    """Steps a word like 上上个 / 这个 / 下 takes from the present unit."""
    return word.count("下") - word.count("上")


def year_of(text: str | None, now: Reference) -> int | None:
    """The year a year word names; None without a word."""
    if not text:
        return None
    text = text.removeprefix("公元").removesuffix("度")
    if text in _RELATIVE_YEARS:
        return now.year + _RELATIVE_YEARS[text]
    number = text.removesuffix("年")
    for era, first in ERAS.items():
        if number.startswith(era):
            count = number.removeprefix(era)
            return first - 1 + (1 if count == "元" else int(chinese_number(count)))
    year = int(chinese_number(number))
    if len(number) == 2 and year < 100:
        return year + (2000 if year < CENTURY_TURN else 1900)
    return year


def month_of(text: str, now: Reference, year: int | None, prefer: Prefer) -> tuple[int, int]:
    """(year, month) of a month word; a bare month is the nearest on the preferred side."""
    if text[0] in "上下这本当该今":
        moved = add_months(now.date().replace(day=1), shift_of(text))
        return moved.year, moved.month
    number = re.sub("月份?$", "", text)
    month = 1 if number == _NEW_YEAR_MONTH else int(chinese_number(number))
    if year is not None:
        return year, month
    if prefer is Prefer.PAST and month > now.month:
        return now.year - 1, month
    if prefer is Prefer.FUTURE and month < now.month:
        return now.year + 1, month
    return now.year, month


def is_relative(month: str) -> bool:
    """A month word that says its year by itself: 上个月, 本月."""
    return month[0] in "上下这本当该今"


_MONTH_PARTS = {
    "初": (1, 5), "上旬": (1, 10), "中旬": (11, 20), "中": (11, 20), "下旬": (21, 31), "底": (-3, 31),
    "末": (-3, 31), "上半月": (1, 15), "下半月": (16, 31), "前半月": (1, 15), "后半月": (16, 31),
}  # fmt: skip
"""Days of a month's part; a negative first day counts from the month's end."""
_YEAR_PARTS = {
    "初": (1, 2), "中": (6, 7), "底": (12, 12), "末": (12, 12), "上半年": (1, 6), "下半年": (7, 12),
    "前半年": (1, 6), "后半年": (7, 12),
}  # fmt: skip


def named_span(year_month: tuple[int, int | None], part: str | None, now: Reference) -> Span:
    """A year or month, or the part of it that a word like 底 or 上半年 names."""
    year, month = year_month
    whole = year_span(year, now) if month is None else month_span(year, month, now)
    if not part:
        return whole
    if month is None:
        first, last = _YEAR_PARTS[part.removeprefix("年")]
        end = month_span(year, last, now).end.date() - timedelta(days=1)
        return days_span(date(year, first, 1), end, now, "year part")
    final = (whole.end - timedelta(days=1)).day
    first_day, last_day = _MONTH_PARTS[part]
    first_day = first_day if first_day > 0 else final + first_day + 1
    days = date(year, month, first_day), date(year, month, min(last_day, final))
    return days_span(*days, now, "month part")


def base_span(match: re.Match[str], now: Reference, prefer: Prefer) -> Span | None:
    """The year, month or week of a `BASE`; None when it says nothing."""
    if match["week"]:
        return week_span(now, shift_of(match["week"]))
    year = year_of(match["year"], now)
    if match["month"]:
        return named_span(month_of(match["month"], now, year, prefer), None, now)
    return None if year is None else named_span((year, None), None, now)
