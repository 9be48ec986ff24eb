"""Chinese calendar dates: years, months, days, seasons, quarters, decades, lunar dates."""

# ruff: noqa: E501 - a rule reads best on one line

from __future__ import annotations

import re
from datetime import date, timedelta

from device.language.chinese_times.calendar import (
    DAY,
    MONTH,
    YEAR,
    is_relative,
    month_of,
    named_span,
    shift_of,
    year_of,
)
from device.language.chinese_times.numbers import COUNT, DIGITS, NUMBER, chinese_number
from device.language.chinese_times.rules import rule
from device.language.spans import (
    Kind,
    Piece,
    Prefer,
    Reference,
    Span,
    add_months,
    day_span,
    days_span,
    month_day,
    quarter_span,
    valid_date,
)

__all__ = ["RULES", "day_of_month", "day_piece"]


def day_piece(span: Span | date | None, now: Reference, *, floating: bool = False) -> Piece | None:
    """A piece that says a day, or a run of days."""
    if span is None:
        return None
    whole = span if isinstance(span, Span) else day_span(span, now)
    return Piece(0, 0, Kind.DAY, whole, floating=floating)


def _group(match: re.Match[str], name: str) -> str | None:
    """A named group that a pattern may not have."""
    return match.groupdict().get(name)


def _numeric(match: re.Match[str], now: Reference, _: Prefer) -> Piece | None:
    """2015-3-3, 12-11-10 (the year first, as Chinese dates are said), 20150303."""
    year = int(match["y"])
    if len(match["y"]) == 2:
        year += 2000 if year < 50 else 1900
    return day_piece(valid_date(year, int(match["m"]), int(match["d"])), now)


def _slashed(match: re.Match[str], now: Reference, prefer: Prefer) -> Piece | None:
    """12/1 (month first), 1/2/2020 (day first, month first when it must be), 3/3/15."""
    first, second = int(match["a"]), int(match["b"])
    if not match["y"]:
        return day_piece(month_day(first, second, now, prefer), now, floating=True)
    year = int(match["y"])
    if len(match["y"]) == 2:
        year += 2000 if year < 50 else 1900
    return day_piece(valid_date(year, second, first) or valid_date(year, first, second), now)


def _year_month(match: re.Match[str], now: Reference, _: Prefer) -> Piece | None:
    """2018-10, 2018/10."""
    month = int(match[2])
    return (
        day_piece(named_span((int(match[1]), month), None, now), now) if 1 <= month <= 12 else None
    )


def _date(match: re.Match[str], now: Reference, prefer: Prefer) -> Piece | None:
    """2018年10月1日, 10月底, 下个月12号, 去年上半年, 明年."""
    year = year_of(match["year"], now)
    month = match["month"]
    if month is None:
        return (
            None
            if year is None
            else day_piece(named_span((year, None), match["yearpart"], now), now)
        )
    floating = year is None and not is_relative(month)
    year_month = month_of(month, now, year, prefer)
    if match["day"] is None:
        return day_piece(
            named_span(year_month, (match["part"] or "").removeprefix("月"), now),
            now,
            floating=floating,
        )
    if "廿" in match["day"] and match.string[match.end("day") :][:1] not in ("日", "号"):
        return None  # 五月廿二 is a lunar date
    number = int(chinese_number(match["day"]))
    if floating:
        return day_piece(month_day(year_month[1], number, now, prefer), now, floating=True)
    return day_piece(valid_date(*year_month, number), now)


def _bare_part(match: re.Match[str], now: Reference, _: Prefer) -> Piece | None:
    """月底, 年初, 上半年, 下旬: of the present month or year."""
    part = match["part"]
    if part.endswith("年") or part.startswith("年"):
        return day_piece(named_span((now.year, None), part, now), now)
    return day_piece(named_span((now.year, now.month), part.removeprefix("月"), now), now)


def _half_year(match: re.Match[str], now: Reference, _: Prefer) -> Piece | None:
    """上个半年: the half before the present one."""
    index = now.year * 2 + (now.month > 6) + shift_of(match[1])
    part = "下半年" if index % 2 else "上半年"
    return day_piece(named_span((index // 2, None), part, now), now)


def day_of_month(match: re.Match[str], now: Reference, prefer: Prefer) -> Piece | None:
    """12号: the nearest on the preferred side."""
    number = int(chinese_number(match["day"]))
    step = 1 if prefer is Prefer.FUTURE else -1
    for offset in range(4):
        month = add_months(now.date().replace(day=1), step * offset)
        found = valid_date(month.year, month.month, number)
        if found and (found >= now.date() if step > 0 else found <= now.date()):
            return day_piece(found, now, floating=True)
    return None


def _quarter(match: re.Match[str], now: Reference, _: Prefer) -> Piece | None:
    if shift := _group(match, "shift"):
        moved = add_months(now.date().replace(day=1), 3 * shift_of(shift))
        return day_piece(quarter_span(moved.year, (moved.month - 1) // 3 + 1, now), now)
    year = year_of(match["year"], now) or now.year
    said = match["n"] or _group(match, "q") or ""
    number = 1 if said == "首" else int(chinese_number(said))
    return day_piece(quarter_span(year, number, now), now)


def _several_quarters(match: re.Match[str], now: Reference, _: Prefer) -> Piece | None:
    """前三季度: the first three of the year."""
    year = year_of(match["year"], now) or now.year
    last = quarter_span(year, int(chinese_number(match["n"])), now)
    return day_piece(Span(quarter_span(year, 1, now).start, last.end, "quarters"), now)


_SEASONS = {"春": (3, 3), "夏": (6, 3), "秋": (9, 3), "冬": (12, 3), "暑假": (7, 2), "寒假": (1, 2)}
"""First month, and how many."""
_SEASON_YEARS = {"今": 0, "去": -1, "明": 1, "来": 1}


def _season(match: re.Match[str], now: Reference, prefer: Prefer) -> Piece | None:
    """去年夏天, 今冬; December opens the winter of its year."""
    first, months = _SEASONS[match["season"]]
    year = year_of(_group(match, "year"), now)
    if near := _group(match, "near"):
        year = now.year + _SEASON_YEARS[near]
    floating = year is None
    if year is None:
        year = now.year + (1 if prefer is Prefer.FUTURE and first + months <= now.month else 0)
        year -= 1 if prefer is Prefer.PAST and first > now.month else 0
    start = date(year, first, 1)
    end = add_months(start, months) - timedelta(days=1)
    return day_piece(days_span(start, end, now, "season"), now, floating=floating)


def _years(first: int, last: int, grain: str, now: Reference) -> Piece | None:
    return day_piece(days_span(date(first, 1, 1), date(last, 12, 31), now, grain), now)


def _century(match: re.Match[str], now: Reference, _: Prefer) -> Piece | None:
    """二十世纪九十年代, 上世纪80年代, 21世纪, 1990年代, 九十年代; 20世纪 is 1900 to 1999."""
    century: int | None = None
    if match["n"]:
        century = int(chinese_number(match["n"])) - 1
    elif match["near"]:
        century = now.year // 100 + shift_of(match["near"])
    said = _group(match, "decade")
    if said is None:
        return (
            None if century is None else _years(century * 100, century * 100 + 99, "century", now)
        )
    decade = int(chinese_number(said))
    if decade >= 1000:
        return _years(decade, decade + 9, "decade", now)
    if decade % 10 or decade >= 100:
        return None
    if century is None:
        century = now.year // 100 - (decade > now.year % 100)
    return _years(century * 100 + decade, century * 100 + decade + 9, "decade", now)


_NOT_AFTER_DAY = r"(?![\d点个年月天时分秒:多来几万百千人岁块元])"

RULES = (
    rule("-/.", r"(?<![\d.])(?P<y>\d{4})[-/.](?P<m>\d{1,2})[-/.](?P<d>\d{1,2})(?![\d])", _numeric),
    rule("-/.", r"(?<![\d.\-])(?P<y>\d\d)-(?P<m>\d{1,2})-(?P<d>\d{1,2})(?![\d\-])", _numeric),
    rule("0", r"(?<![\d.])(?P<y>(?:19|20)\d\d)(?P<m>[01]\d)(?P<d>[0-3]\d)(?![\d.])", _numeric),
    rule("/", r"(?<![\d/.占约近剩有宽])(?P<a>\d{1,2})/(?P<b>\d{1,2})(?:/(?P<y>\d{4}|\d\d))?[日号]?(?![\d/%]|的[人钱量])", _slashed),
    rule("-", r"(?<![\d.\-])(?P<a>0\d|1[0-2])-(?P<b>[0-3]\d)(?P<y>(?!))?(?=\s*(?:[01]?\d|2[0-4]):)", _slashed),
    rule("-/", r"(?<![\d.\-])([12]\d{3})[-/]([01]?\d)(?![\d\-/年])", _year_month),
    rule("年月", rf"(?:(?P<year>{YEAR})的?)?(?:(?P<month>{MONTH})的?(?:(?P<day>{DAY})(?:[日号](?![线楼馆店])|{_NOT_AFTER_DAY}(?<=\d)|{_NOT_AFTER_DAY}(?=[晚早上下凌中到至，。]|$))|(?P<part>[上中下]旬|[上下前后]半月|月?初(?!{DAY})|月?[底末]|中(?![午国间心小大文学])))?|(?P<yearpart>[上下前后]半年|年?[初底末](?![{DIGITS}])|年?中(?![午国间心小大文学])))?", _date),
    rule("月年旬半", rf"(?<![\d{DIGITS}十个半])(?P<part>月[初底末]|月中(?!旬)|年[初底末](?!{DAY})|年中(?![央])|[上下前后]半[年月]|[上中下]旬)", _bare_part),
    rule("半", r"([上下]个|[上下]一个)半年", _half_year),
    rule("日号", rf"(?<![月\d.点第]|[{DIGITS}十百千])(?P<day>{DAY})[日号](?![线楼店馆门桌院房车球机院员选病文码子演]|电池|[游内间]|[之以]内|不见|三餐|(?<!\d[日号])[之以]?[前后])", day_of_month),
    rule("季Qq", rf"(?:(?P<year>{YEAR})的?)?(?:第?(?P<n>[一二三四首1-4])季度|(?:(?<=年)|(?<=年的)|(?<![A-Za-z]))Q(?P<q>[1-4])(?![\dA-Za-z])|(?P<shift>[上下]{{1,3}}个?|[这本]个?)季度?(?!节))", _quarter),
    rule("季", rf"(?P<year>{YEAR})的?第(?P<n>[一二三四1-4])季", _quarter),
    rule("季", rf"(?:(?P<year>{YEAR})的?)?前(?P<n>[两二三23])个?季度", _several_quarters),
    rule("春夏秋冬", rf"(?P<year>{YEAR})的?(?P<season>[春夏秋冬])[天季]?(?![节分至游运晚装令奥])", _season),
    rule("春夏秋冬", r"(?P<near>[今去明来])?(?P<season>[春夏秋冬])[天季](?!节)", _season),
    rule("春夏秋冬", r"(?P<near>[今去明])(?P<season>[春夏秋冬])(?![节分至游运晚装令奥天季日])", _season),
    rule("假", rf"(?:(?P<year>{YEAR})的?)?(?P<season>[暑寒]假)", _season),
    rule("年", rf"(?:(?:(?P<n>{NUMBER})|(?P<near>[上本下]个?))世纪的?)?(?P<decade>\d{{2}}|\d{{4}}|[{DIGITS}]{{4}}|{COUNT}十)年代", _century),
    rule("世", rf"(?:(?P<n>{NUMBER})|(?P<near>[上本下]个?))世纪", _century),
)  # fmt: skip
