"""Chinese parts of a period by number: 2021年的第二周, 十月的第一个星期一, 去年的前10天."""

# ruff: noqa: E501 - a rule reads best on one line

from __future__ import annotations

import re
from datetime import timedelta

from device.language.chinese_times.calendar import (
    BASE,
    MONTH,
    YEAR,
    base_span,
    is_relative,
    month_of,
    year_of,
)
from device.language.chinese_times.dates import day_piece
from device.language.chinese_times.numbers import NUMBER, chinese_number
from device.language.chinese_times.relative import UNITS, WEEKDAYS
from device.language.chinese_times.rules import rule
from device.language.spans import (
    MONTHS_IN_YEAR,
    Piece,
    Prefer,
    Reference,
    Span,
    add_months,
    days_span,
    nth_weekday,
)

__all__ = ["RULES"]


def _nth_weekday(match: re.Match[str], now: Reference, prefer: Prefer) -> Piece | None:
    """十月的第一个星期一, 下个月最后一个周五, 2018年的第一个星期一."""
    year, word = year_of(match["year"], now), match["month"]
    number = int(chinese_number(match["n"])) if match["n"] else -1
    if word is None and year is None:
        return None
    if word is not None:
        month = month_of(word, now, year, prefer)
    else:
        month = year or now.year, 1 if number > 0 else MONTHS_IN_YEAR
    found = nth_weekday(*month, WEEKDAYS[match["day"]], number)
    floating = word is not None and year is None and not is_relative(word)
    return day_piece(found, now, floating=floating)


def _nth_unit(match: re.Match[str], now: Reference, prefer: Prefer) -> Piece | None:
    """2021年的第二周, 明年第九个月, 下个月第三天, 去年最后一天."""
    base = base_span(match, now, prefer)
    if base is None:
        return None
    said = match["n"] or match["n2"]
    number = (1 if said == "首" else int(chinese_number(said))) if said else -1
    return day_piece(_counted(base, UNITS[match["unit"]], number, 1, now), now)


def _edge_units(match: re.Match[str], now: Reference, prefer: Prefer) -> Piece | None:
    """去年的前10天, 今年最后3周."""
    base = base_span(match, now, prefer)
    if base is None:
        return None
    length = int(chinese_number(match["n"]))
    first = 1 if match["edge"] in ("前", "头", "最初", "最初的", "开头", "首") else -1
    return day_piece(_counted(base, UNITS[match["unit"]], first, length, now), now)


def _counted(base: Span, unit: str, first: int, length: int, now: Reference) -> Span | None:
    """`length` units of `base` from its `first` on (1 …), or its last ones (−1).

    Weeks run from Monday; the first is the one with most of its days in the base (ISO 8601), the
    last the last that ends in it.
    """
    start, end = base.start.date(), base.end.date()
    grain = unit if length == 1 else f"{unit}s"
    if unit == "week":
        start += timedelta(days=-start.weekday() if start.weekday() < 4 else 7 - start.weekday())
        end -= timedelta(days=end.weekday())
    months = {"month": 1, "quarter": 3, "year": 12}.get(unit)
    days = {"day": 1, "week": 7}.get(unit, 0)
    if months:
        begin = add_months(
            start if first > 0 else end, months * (first - 1 if first > 0 else -length)
        )
        stop = add_months(begin, months * length)
    elif days:
        step = first - 1 if first > 0 else -length
        begin = (start if first > 0 else end) + timedelta(days=days * step)
        stop = begin + timedelta(days=days * length)
    else:
        return None
    if begin >= base.end.date():
        return None
    return days_span(begin, stop - timedelta(days=1), now, grain)


_COUNTED_UNIT = r"(?P<unit>天|日|周|星期|礼拜|月|季度)"
_NOT_THING = r"(?![一二三四五六日天末年期])"

RULES = (
    rule("第最", rf"(?:(?P<year>{YEAR})的?)?(?P<month>{MONTH})?的?(?:第(?P<n>[一二三四五1-5])个?|最后(?:的?一个|一|的)?)(?:周|星期|礼拜)(?P<day>[一二三四五六日天])", _nth_weekday, r"(?:第[一二三四五1-5]个?|最后(?:的?一个|一|的)?)(?:周|星期|礼拜)"),
    rule("第最首", rf"{BASE}的?(?:第(?P<n>{NUMBER})个?|最后(?:的?一个?)|(?P<n2>首)个?)(?:{_COUNTED_UNIT}){_NOT_THING}", _nth_unit, rf"(?:第{NUMBER}个?|最后的?一个?|首个?){_COUNTED_UNIT}"),
    rule("前头最后开", rf"{BASE}的?(?P<edge>前|头|最初的?|开头|最后|最末|后|末)的?(?P<n>{NUMBER})个?{_COUNTED_UNIT}{_NOT_THING}(?!前|后)", _edge_units, rf"[前头初后末]的?{NUMBER}个?{_COUNTED_UNIT}"),
)  # fmt: skip
