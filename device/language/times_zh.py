"""Chinese time words: each rule turns one match into a piece of a time expression."""

# ruff: noqa: E501 - a rule reads best on one line

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime, timedelta

from device.language.spans import (
    Kind,
    Piece,
    Prefer,
    Span,
    add_months,
    day_span,
    days_span,
    from_now,
    month_day,
    month_span,
    nth_weekday,
    quarter_span,
    valid_date,
    week_span,
    weekday_near,
    year_span,
)

__all__ = ["OFFSET", "RULES", "UNITS", "chinese_number"]

Rule = tuple[re.Pattern[str], Callable[[re.Match[str], datetime, Prefer], Piece | None]]

_DIGITS = {c: i for i, c in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2, "兩": 2}
_TENS = {"十": 10, "百": 100, "千": 1000}
_N = r"(?:\d+(?:\.\d+)?|[零〇一二两兩三四五六七八九十百千]+)"


def chinese_number(text: str) -> float:
    """Value of a Chinese or arabic number: 二十三, 一百零五, 两, 二零一九, 2.5."""
    if text and text[0].isascii():
        return float(text)
    text = text.replace("廿", "二十")
    if not any(c in _TENS for c in text):
        return float("".join(str(_DIGITS[c]) for c in text))
    total, digit = 0, 0
    for character in text:
        if character in _TENS:
            total += (digit or 1) * _TENS[character]
            digit = 0
        else:
            digit = _DIGITS[character]
    return float(total + digit)


def _day(span: Span | None) -> Piece | None:
    return None if span is None else Piece(0, 0, Kind.DAY, span)


def _instant(span: Span) -> Piece:
    return Piece(0, 0, Kind.INSTANT, span)


_RELATIVE_DAYS = {
    "大前天": -3, "前天": -2, "前日": -2, "昨天": -1, "昨日": -1, "昨儿": -1, "尋日": -1, "今天": 0,
    "今日": 0, "今儿": 0, "当天": 0, "當天": 0, "明天": 1, "明日": 1, "明儿": 1, "聽日": 1,
    "后天": 2, "後天": 2, "後日": 2, "大后天": 3, "大後天": 3, "大後日": 3,
    "昨": -1, "今": 0, "明": 1, "当": 0,
}  # fmt: skip
_RELATIVE_YEARS = {
    "大前年": -3, "前年": -2, "去年": -1, "上年": -1, "今年": 0,
    "這一年": 0, "本年": 0, "这一年": 0, "明年": 1,
    "来年": 1, "下年": 1, "后年": 2, "後年": 2,
}  # fmt: skip


def _relative_day(match: re.Match[str], now: datetime, _: Prefer) -> Piece | None:
    return _day(day_span(now.date() + timedelta(days=_RELATIVE_DAYS[match.group(1)]), now))


def _year_of(text: str | None, now: datetime) -> int | None:
    if not text:
        return None
    if text in _RELATIVE_YEARS:
        return now.year + _RELATIVE_YEARS[text]
    year = int(chinese_number(text.removesuffix("年")))
    if year < 100:
        year += 2000 if year < 50 else 1900
    return year


_MONTH_PARTS = {
    "初": (1, 5), "上旬": (1, 10), "中旬": (11, 20), "中": (11, 20), "下旬": (21, 31),
    "底": (-3, 31), "末": (-3, 31),
}  # fmt: skip
"""Days of a month's part; a negative first day counts from the month's end."""


def _shifted(word: str) -> int:
    """Steps a word like 上上个 / 这个 / 下 takes from the present unit."""
    steps = word.count("下") - word.count("上")
    return steps + 2 * word.count("前")


def _month_of(text: str, now: datetime, year: int | None, prefer: Prefer) -> tuple[int, int]:
    """(year, month) of a month word."""
    if text[0] in "上下这這本当當该今":
        moved = add_months(now.date().replace(day=1), _shifted(text))
        return moved.year, moved.month
    month = int(chinese_number(text.removesuffix("月").removesuffix("月份")))
    if year is not None:
        return year, month
    if prefer is Prefer.PAST and month > now.month:
        return now.year - 1, month
    if prefer is Prefer.FUTURE and month < now.month:
        return now.year + 1, month
    return now.year, month


def _calendar_date(match: re.Match[str], now: datetime, prefer: Prefer) -> Piece | None:
    year = _year_of(match["year"], now)
    month_text, day_text, part = match["month"], match["day"], match["part"]
    if month_text is None:
        return _day(_year_part(year, match["yearpart"], now)) if year is not None else None
    year_month = _month_of(month_text, now, year, prefer)
    if not 1 <= year_month[1] <= 12:
        return None
    if day_text:
        number = int(chinese_number(day_text))
        if year is None and month_text[0] not in "上下这這本当當该今":
            found = month_day(year_month[1], number, now, prefer)
        else:
            found = valid_date(*year_month, number)
        return _day(day_span(found, now)) if found else None
    return _day(_month_part(year_month, part, now))


def _month_part(year_month: tuple[int, int], part: str | None, now: datetime) -> Span:
    whole = month_span(*year_month, now)
    if part is None:
        return whole
    last = (whole.end - timedelta(days=1)).day
    first_day, last_day = _MONTH_PARTS[part]
    first_day = first_day if first_day > 0 else last + first_day + 1
    return days_span(
        date(*year_month, first_day), date(*year_month, min(last_day, last)), now, "month part"
    )


_YEAR_PARTS = {"初": (1, 2), "年初": (1, 2), "中": (6, 7), "底": (12, 12), "末": (12, 12), "年底": (12, 12),
               "年末": (12, 12), "上半年": (1, 6), "下半年": (7, 12), "上半": (1, 6), "下半": (7, 12)}  # fmt: skip


def _year_part(year: int, part: str | None, now: datetime) -> Span:
    if not 1000 <= year <= 9000:
        return year_span(now.year, now)
    if not part:
        return year_span(year, now)
    first, last = _YEAR_PARTS[part]
    return days_span(
        date(year, first, 1), (month_span(year, last, now).end - timedelta(days=1)).date(), now,
        "year part",
    )  # fmt: skip


def _bare_part(match: re.Match[str], now: datetime, _: Prefer) -> Piece | None:
    if match["unit"] == "月":
        return _day(_month_part((now.year, now.month), match["part"], now))
    return _day(_year_part(now.year, match["part"], now))


def _day_of_month(match: re.Match[str], now: datetime, prefer: Prefer) -> Piece | None:
    number = int(chinese_number(match[1]))
    step = 1 if prefer is Prefer.FUTURE else -1
    for offset in range(4):
        month = add_months(now.date().replace(day=1), step * offset)
        found = valid_date(month.year, month.month, number)
        if found and (found >= now.date() if step > 0 else found <= now.date()):
            return _day(day_span(found, now))
    return None


def _numeric_date(match: re.Match[str], now: datetime, _: Prefer) -> Piece | None:
    found = valid_date(int(match[1]), int(match[2]), int(match[3]))
    return _day(day_span(found, now)) if found else None


_WEEKDAYS = (
    {c: i for i, c in enumerate("一二三四五六日")} | {"天": 6} | {str(i + 1): i for i in range(7)}
)


def _week(match: re.Match[str], now: datetime, prefer: Prefer) -> Piece | None:
    prefix, day = match["prefix"], match["day"]
    if not prefix and day is None:
        return None
    if day is None:
        return Piece(0, 0, Kind.DAY, week_span(now, _shifted(prefix)), week=True)
    if day == "末":
        base = week_span(now, _shifted(prefix or ""))
        saturday = base.start.date() + timedelta(days=5)
        return _day(days_span(saturday, saturday + timedelta(days=1), now, "weekend"))
    if not prefix:
        day_of = day_span(weekday_near(_WEEKDAYS[day], now, prefer), now)
        return Piece(0, 0, Kind.DAY, day_of, weekday=True)
    monday = week_span(now, _shifted(prefix)).start.date()
    day_of = day_span(monday + timedelta(days=_WEEKDAYS[day]), now)
    return Piece(0, 0, Kind.DAY, day_of, weekday=True)


UNITS = {
    "秒": "second", "秒钟": "second", "分": "minute", "分钟": "minute", "分鐘": "minute", "小时": "hour",
    "小時": "hour", "钟头": "hour", "天": "day", "日": "day", "周": "week", "週": "week", "星期": "week",
    "礼拜": "week", "月": "month", "季度": "quarter", "年": "year",
}  # fmt: skip
_UNIT = "|".join(sorted(UNITS, key=len, reverse=True))


OFFSET = re.compile(rf"^的?(?P<side>前|后|後)(?P<n>{_N})个?(?P<unit>{_UNIT})")
"""After a date: counted back or on from it."""


def _amount(match: re.Match[str]) -> float:
    half = match["half"] is not None
    number = match["n"]
    if number is None:
        return 0.5
    return chinese_number(number) + (0.5 if half else 0.0)


def _ago_or_later(match: re.Match[str], now: datetime, _: Prefer) -> Piece | None:
    sign = -1 if "前" in match["side"] else 1
    span = from_now(_amount(match), UNITS[match["unit"]], sign, now)
    return _instant(span) if span.grain in ("second", "minute", "hour") else _day(span)


def _window(match: re.Match[str], now: datetime, _: Prefer) -> Piece | None:
    """最近三天, 过去两周, 未来一个月, 接下来的5天."""
    number = match["n"]
    amount = 3.0 if number == "几" else chinese_number(number)
    back = match["side"][0] in "最过過前近"
    other = from_now(amount, UNITS[match["unit"]], -1 if back else 1, now)
    today = day_span(now.date(), now)
    if other.grain in ("second", "minute", "hour"):
        edge = other.start
        return _instant(Span(min(edge, now), max(edge, now), other.grain))
    if back:
        return _day(Span(other.start, today.end, "days"))
    return _day(Span(today.start, other.end, "days"))


def _vague_days(match: re.Match[str], now: datetime, _: Prefer) -> Piece | None:
    back = match[1] in ("前几天", "前些天", "前两天", "前阵子", "这几天", "最近")
    week = timedelta(days=14 if match[1] in ("前阵子", "最近") else 7)
    today = now.date()
    span = (
        days_span(today - week, today, now, "days")
        if back
        else days_span(today, today + week, now, "days")
    )
    return _day(span)  # fmt: skip


def _quarter(match: re.Match[str], now: datetime, _: Prefer) -> Piece | None:
    if match["shift"]:
        moved = add_months(now.date().replace(day=1), 3 * _shifted(match["shift"]))
        return _day(quarter_span(moved.year, (moved.month - 1) // 3 + 1, now))
    year = _year_of(match["year"], now) or now.year
    number = int(chinese_number(match["n"]))
    return _day(quarter_span(year, number, now)) if 1 <= number <= 4 else None


_SEASONS = {"春": 3, "夏": 6, "秋": 9, "冬": 12}


def _season(match: re.Match[str], now: datetime, prefer: Prefer) -> Piece | None:
    year = _year_of(match["year"], now)
    first = _SEASONS[match["season"]]
    if year is None:
        year = now.year + (1 if prefer is Prefer.FUTURE and first + 2 < now.month else 0)
        year -= 1 if prefer is Prefer.PAST and first > now.month else 0
    start = date(year, first, 1)
    return _day(days_span(start, add_months(start, 3) - timedelta(days=1), now, "season"))


_FIXED_HOLIDAYS = {
    "元旦": (1, 1), "情人节": (2, 14), "妇女节": (3, 8), "植树节": (3, 12), "愚人节": (4, 1),
    "劳动节": (5, 1), "五一": (5, 1), "青年节": (5, 4), "儿童节": (6, 1), "六一": (6, 1),
    "建军节": (8, 1), "教师节": (9, 10), "国庆": (10, 1), "國慶": (10, 1), "十一": (10, 1), "万圣节": (10, 31),
    "双十一": (11, 11), "平安夜": (12, 24), "圣诞": (12, 25),
}  # fmt: skip
_FLOATING_HOLIDAYS = {"母亲节": (5, 6, 2), "父亲节": (6, 6, 3), "感恩节": (11, 3, 4)}
"""(month, weekday, which one)."""


def _holiday(match: re.Match[str], now: datetime, prefer: Prefer) -> Piece | None:
    name, year = match["name"], _year_of(match["year"], now)
    found: date | None
    if name in _FLOATING_HOLIDAYS:
        month, weekday, n = _FLOATING_HOLIDAYS[name]
        found = nth_weekday(year or now.year, month, weekday, n)
    else:
        month, day = _FIXED_HOLIDAYS[name]
        found = valid_date(year, month, day) if year else month_day(month, day, now, prefer)
    return _day(day_span(found, now)) if found else None


_PARTS = {
    "凌晨": (0, 6), "清晨": (5, 8), "清早": (5, 8), "一大早": (5, 9), "早上": (6, 12), "早晨": (6, 12),
    "上午": (8, 12), "早": (6, 12), "中午": (11, 14), "正午": (12, 13), "下午": (12, 18),
    "午后": (12, 18), "傍晚": (16, 19), "晚上": (18, 24), "晚间": (18, 24), "晚": (18, 24),
    "夜里": (20, 26), "夜晚": (18, 24), "深夜": (22, 26), "半夜": (23, 27), "午夜": (23, 25),
    "夜": (20, 26),
}  # fmt: skip


def _part(match: re.Match[str], _now: datetime, _: Prefer) -> Piece | None:
    return Piece(0, 0, Kind.PART, hours=_PARTS[match[1]])


def _clock(match: re.Match[str], _now: datetime, _: Prefer) -> Piece | None:
    hour = int(chinese_number(match["h"]))
    minute = _minutes(match["m"])
    second = int(chinese_number(match["s"])) if match["s"] else 0
    if match["less"]:
        total = hour * 60 - int(chinese_number(match["less"]))
        hour, minute = divmod(total, 60)
    if not (0 <= hour <= 24 and 0 <= minute < 60 and 0 <= second < 60):
        return None
    return Piece(0, 0, Kind.CLOCK, clock=(hour, minute, second), open_meridiem=1 <= hour <= 12)


def _minutes(text: str | None) -> int:
    if not text:
        return 0
    special = {"半": 30, "一刻": 15, "1刻": 15, "三刻": 45, "3刻": 45, "整": 0, "正": 0}
    return special[text] if text in special else int(chinese_number(text))


def _digital(match: re.Match[str], _now: datetime, _: Prefer) -> Piece | None:
    hour, minute, second = int(match[1]), int(match[2]), int(match[3] or 0)
    if hour > 24 or minute > 59 or second > 59:
        return None
    open_hour = 1 <= hour <= 12 and not match[1].startswith("0")
    return Piece(0, 0, Kind.CLOCK, clock=(hour, minute, second), open_meridiem=open_hour)


def _now(_match: re.Match[str], now: datetime, _: Prefer) -> Piece | None:
    return _instant(Span(now, now + timedelta(seconds=1), "second"))


_YEAR = (
    r"(?:\d{4}年|\d{2}年|[零〇一二三四五六七八九]{2,4}年|[二两]千(?:零|[一二三四五六七八九十])[一二三四五六七八九十]*年|"
    + "|".join(_RELATIVE_YEARS)
    + ")"
)
_MONTH_NUMBER = r"(?:1[0-2]|0?[1-9]|十[一二]|[一二三四五六七八九十])"
_MONTH = (
    rf"(?:{_MONTH_NUMBER}月(?:份)?(?!\d*日元)|[上下]{{1,3}}[个個]?月|[这這本当當该今][个個]?月)"
)
_DAY = r"(?:3[01]|[12]\d|0?[1-9]|三十一?|二?十[一二三四五六七八九]?|廿[一二三四五六七八九]?|[一二三四五六七八九])"

RULES: tuple[Rule, ...] = tuple(
    (re.compile(pattern), build)
    for pattern, build in (
        (r"(?<!\d)(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?!\d)", _numeric_date),
        (rf"(?:(?P<year>{_YEAR})的?)?(?:(?P<month>{_MONTH})的?(?:(?P<day>{_DAY})[日号號]?(?![\d点點个年月])|(?P<part>上旬|中旬|下旬|初|底|末|中(?!午|国)))?|(?P<yearpart>上半年|下半年|年初|年底|年末|初|底|末|中(?!午|国)))?", _calendar_date),
        (r"(?P<unit>[月年])(?P<part>初|底|末)", _bare_part),
        (rf"(?<![月\d点])({_DAY})[日号號](?!线|楼|店)", _day_of_month),
        (r"(大前天|前天|前日|昨天|昨日|昨儿|尋日|今天|今日|今儿|当天|當天|明天|明日|明儿|聽日|大后天|大後天|大後日|后天|後天|後日)", _relative_day),
        (r"([昨今明当])(?=早|晚|夜|晨)", _relative_day),
        (r"(?P<prefix>(?:[上下]{1,3}|这一?|這一?|本|今)[个個]?)?(?:周|週|星期|礼拜|禮拜)(?P<day>[一二三四五六日天末1-7])?(?![年期刊])", _week),
        (rf"(?P<n>{_N})?(?P<half>(?<![\d零一二两三四五六七八九十])半|(?<=[\d零一二两三四五六七八九十])个半)?个?(?P<unit>{_UNIT})(?:的?时间)?(?P<side>之?前|以前|之?后|以后|過後|之?後)(?!天|年)", _ago_or_later),
        (rf"(?P<side>最近|过去|過去|近|前|未来|接下来|今后|往后|之后|后)的?这?(?P<n>{_N}|几)个?(?P<unit>{_UNIT})", _window),
        (r"(前几天|前些天|前两天|前阵子|这几天|过几天|过两天|改天|最近)", _vague_days),
        (rf"(?:(?P<year>{_YEAR})的?)?(?:第(?P<n>[一二三四1-4])季度?|(?P<shift>[上下]个?|[这本]个?)季度?)", _quarter),
        (rf"(?:(?P<year>{_YEAR})的?)?(?P<season>[春夏秋冬])(?:天|季|日)", _season),
        (rf"(?:(?P<year>{_YEAR})的?)?(?<![零一二三四五六七八九十\d])(?P<name>{'|'.join([*_FIXED_HOLIDAYS, *_FLOATING_HOLIDAYS])})[节節]?(?![月点\d楼岁号层天个])", _holiday),
        (rf"({'|'.join(sorted((w for w in _PARTS if len(w) > 1), key=lambda w: (-len(w), w)))}|(?:(?<=[昨今明当天日号周一二三四五六末])|(?=[早晚夜](?:\\d|[一二两三四五六七八九十]+[点點])))[早晚夜])(?![饭餐安会班])", _part),
        (rf"(?:差(?P<less>{_N})分(?:到)?)?(?P<h>\d{{1,2}}|[零〇一二两兩三四五六七八九十]{{1,3}})(?:点钟|點鐘|[点點](?!没|都|也|不|儿|点|燃|名|菜|餐)|时(?!候|间)|時)(?P<m>半(?!天|个)|[一三13]刻|整|正|(?:{_N})(?=分)|(?:\d{{2}}|[零一二三四五][一二三四五六七八九十]{{1,2}})(?!\d))?分?(?:(?P<s>{_N})秒)?", _clock),
        (r"(?<![\d:])(\d{1,2})[:：](\d{2})(?:[:：](\d{2}))?(?![\d:])", _digital),
        (r"(?:现在|此时|此刻|当前|現在|此時|當前|目前)", _now),
    )
)  # fmt: skip
