"""Chinese time counted from now or within a period: 后天, 上周三, 三天前, 最近两周, 今年的前10天."""

# ruff: noqa: E501 - a rule reads best on one line

from __future__ import annotations

import re
from datetime import date, timedelta

from device.language.chinese_times.calendar import (
    YEAR,
    any_of,
    shift_of,
    year_of,
)
from device.language.chinese_times.dates import day_piece
from device.language.chinese_times.numbers import DIGITS, NUMBER, chinese_number
from device.language.chinese_times.rules import rule
from device.language.spans import (
    MONTHS_IN_YEAR,
    UNIT_SECONDS,
    Kind,
    Piece,
    Prefer,
    Reference,
    Span,
    add_months,
    day_span,
    days_span,
    exactly,
    from_now,
    quarter_span,
    week_span,
    weekday_near,
)

__all__ = [
    "AMOUNT",
    "DURATION",
    "RULES",
    "UNITS",
    "WEEKDAYS",
    "amount_of",
    "instant_piece",
    "shifted",
]

UNITS = {
    "秒": "second", "秒钟": "second", "分": "minute", "分钟": "minute", "刻钟": "quarter hour", "小时": "hour",
    "钟头": "hour", "个钟": "hour", "天": "day", "日": "day", "周": "week", "星期": "week", "礼拜": "week",
    "月": "month", "季度": "quarter", "季": "quarter", "年": "year", "周年": "year", "世纪": "century",
}  # fmt: skip
_UNIT = any_of(UNITS)
_LENGTH = any_of(word for word in UNITS if word != "月")
AMOUNT = rf"(?:(?:{NUMBER}|半)个?(?:{_LENGTH})[半多]?|{NUMBER}分半钟?|{NUMBER}个?[半多](?:{_UNIT})|(?:{NUMBER}个|[两半])月半?|半个月)"
"""An amount of one unit: 三天, 半年, 两年半, 一个半小时; months are counted with 个."""
DURATION = rf"(?P<amounts>{AMOUNT}(?:[又零和]?{AMOUNT})*)(?:的?时间)?"
_ONE_AMOUNT = re.compile(
    rf"(?P<n>{NUMBER}|[半几数])(?P<half>个?半)?个?多?(?P<unit>{_UNIT})(?P<tail>半钟?)?"
)
_WORDS = {"半": 0.5, "几": 3.0, "数": 3.0}
_LONG_UNITS = {"quarter hour": ("minute", 15), "century": ("year", 100)}


MAX_YEARS = 300
"""More years than this are a date: 2018年."""
_SAID_YEAR = re.compile(rf"0\d年|(?:[{DIGITS}]{{2,4}})年$")
_CALENDAR_DAY = re.compile(r"\d+日$")
"""前 after an arabic day is before that day of the month: 12日前."""


def amount_of(match: re.Match[str]) -> tuple[float, str]:
    """(number, unit) of one amount."""
    number = _WORDS.get(match["n"]) or chinese_number(match["n"])
    if match["half"] or match["tail"]:
        number += 0.5
    unit, times = UNITS[match["unit"]], 1
    if unit in _LONG_UNITS:
        unit, times = _LONG_UNITS[unit]
    if unit == "year" and number > MAX_YEARS:
        raise ValueError("a date, not a number of years")
    return number * times, unit


def shifted(amounts: str, sign: int, start: Reference) -> Span:
    """The day or moment that lies a duration like 两年零三个月 before or after `start`."""
    found = [amount_of(match) for match in _ONE_AMOUNT.finditer(amounts)]
    span = from_now(*found[0], sign, start)
    for number, unit in found[1:]:
        within = (
            span.start
            if unit not in UNIT_SECONDS or span.grain in UNIT_SECONDS
            else (start + (span.start - day_span(start.date(), start).start))
        )
        span = from_now(number, unit, sign, within)
    return span


def instant_piece(span: Span) -> Piece:
    """A piece that is complete in itself."""
    return Piece(0, 0, Kind.INSTANT, span)


def _whole(span: Span, now: Reference) -> Piece | None:
    return instant_piece(span) if span.grain in UNIT_SECONDS else day_piece(span, now)


_DAYS = {
    "大前天": -3, "大前日": -3, "前天": -2, "前日": -2, "前儿": -2, "昨天": -1, "昨日": -1, "昨儿": -1, "寻日": -1,
    "琴日": -1, "今天": 0, "今日": 0, "今儿": 0, "当天": 0, "当日": 0, "本日": 0, "明天": 1, "明日": 1, "明儿": 1, "听日": 1,
    "后天": 2, "后日": 2, "后儿": 2, "大后天": 3, "大后日": 3, "大大后天": 4, "大大前天": -4, "次日": 1, "翌日": 1, "昨": -1, "今": 0, "明": 1, "当": 0, "前": -2,
    "后": 2, "寻": -1, "琴": -1, "听": 1, "次": 1, "翌": 1,
}  # fmt: skip


def _day(match: re.Match[str], now: Reference, _: Prefer) -> Piece | None:
    return day_piece(now.date() + timedelta(days=_DAYS[match[1]]), now)


WEEKDAYS = (
    {c: i for i, c in enumerate("一二三四五六日")} | {"天": 6} | {str(i + 1): i for i in range(7)}
)


def _week(match: re.Match[str], now: Reference, prefer: Prefer) -> Piece | None:
    """上周, 下下周三, 这个周末, 周五."""
    prefix, day = match["prefix"], match["day"]
    if day is None:
        span = week_span(now, shift_of(prefix)) if prefix else None
        return Piece(0, 0, Kind.DAY, span, week=True) if span else None
    if day == "末":
        saturday = week_span(now, shift_of(prefix or "")).start.date() + timedelta(days=5)
        return day_piece(days_span(saturday, saturday + timedelta(days=1), now, "weekend"), now)
    if not prefix:
        near = day_span(weekday_near(WEEKDAYS[day], now, prefer), now)
        return Piece(0, 0, Kind.DAY, near, weekday=True, floating=True)
    monday = week_span(now, shift_of(prefix)).start.date()
    day_of = day_span(monday + timedelta(days=WEEKDAYS[day]), now)
    return Piece(0, 0, Kind.DAY, day_of, weekday=True)


def _weekday_after(match: re.Match[str], now: Reference, _: Prefer) -> Piece | None:
    """两周后的周六: that day of the week so many weeks on."""
    monday = week_span(now, int(chinese_number(match["n"]))).start.date()
    day_of = day_span(monday + timedelta(days=WEEKDAYS[match["day"]]), now)
    return Piece(0, 0, Kind.DAY, day_of, weekday=True)


def _ago_or_later(match: re.Match[str], now: Reference, _: Prefer) -> Piece | None:
    """三天前, 两年零三个月后, 再过五分钟."""
    sign, amounts = (-1 if "前" in (match["side"] or "") else 1), match["amounts"]
    if _SAID_YEAR.match(amounts) or _CALENDAR_DAY.match(amounts):
        return None
    return _whole(shifted(match["amounts"], sign, now), now)


def _window(match: re.Match[str], now: Reference, _: Prefer) -> Piece | None:
    """过去两周 ends where today begins, 未来三天 begins tomorrow, 最近三天 includes today."""
    side, amount = match["side"], _ONE_AMOUNT.fullmatch(match["amounts"])
    if amount is None:
        return None
    number, unit = amount_of(amount)
    back = side[0] in "最近过前上" or side == "之前"
    today = day_span(now.date(), now)
    if unit in UNIT_SECONDS:
        moment, edge = exactly(now), from_now(number, unit, -1 if back else 1, now).start
        return instant_piece(Span(min(edge, moment), max(edge, moment), "days"))
    if unit == "quarter":
        return _quarters_window(int(number), now, back=back)
    if back:
        end = today.end if side[0] in "最近" else today.start
        return day_piece(Span(from_now(number, unit, -1, now).start, end, "days"), now)
    return day_piece(Span(today.end, from_now(number, unit, 1, today.end).start, "days"), now)


def _quarters_window(number: int, now: Reference, *, back: bool) -> Piece | None:
    first = add_months(now.date().replace(day=1), -3 * number if back else 3)
    span = quarter_span(first.year, (first.month - 1) // 3 + 1, now)
    end = add_months(span.start.date(), 3 * number) - timedelta(days=1)
    return day_piece(days_span(span.start.date(), end, now, "quarters"), now)


def _within(match: re.Match[str], now: Reference, prefer: Prefer) -> Piece | None:
    """三天内, 24小时之内: from now on, or up to now when the words speak of the past."""
    span = shifted(match["amounts"], -1 if prefer is Prefer.PAST else 1, now)
    if span.grain in UNIT_SECONDS:
        moment = exactly(now)
        return instant_piece(Span(min(span.start, moment), max(span.start, moment), "range"))
    today = day_span(now.date(), now)
    return day_piece(Span(min(span.start, today.start), max(span.end, today.end), "range"), now)


def _up_to_now(match: re.Match[str], now: Reference, _: Prefer) -> Piece | None:
    """三个多月以来, 一周来: that long up to now."""
    return instant_piece(Span(shifted(match["amounts"], -1, now).start, exactly(now), "range"))


_PAIRS = {"昨今": -1, "今明": 0, "明后": 1}


def _pair(match: re.Match[str], now: Reference, _: Prefer) -> Piece | None:
    """今明两天, 今明两年."""
    first = _PAIRS[match[1]]
    if match[2] == "年":
        start, stop = (date(now.year + n, 1, 1) for n in (first, first + 2))
        return day_piece(days_span(start, stop - timedelta(days=1), now, "years"), now)
    start = now.date() + timedelta(days=first)
    return day_piece(days_span(start, start + timedelta(days=1), now, "days"), now)


def _left(match: re.Match[str], now: Reference, _: Prefer) -> Piece | None:
    """还剩5分钟: from now until then."""
    span = shifted(match["amounts"], 1, now)
    fine = span.grain in UNIT_SECONDS
    return instant_piece(Span(exactly(now), span.start, "range")) if fine else None


_PAST_DAYS = frozenset(
    {"前几天", "前些天", "前两天", "前阵子", "前段时间", "这几天", "这两天", "最近", "近来", "近期"}
)
_LONG_DAYS = frozenset({"前阵子", "前段时间", "最近", "近来", "近期"})


def _vague_days(match: re.Match[str], now: Reference, _: Prefer) -> Piece | None:
    week = timedelta(days=14 if match[1] in _LONG_DAYS else 7)
    today = now.date()
    days = (today - week, today) if match[1] in _PAST_DAYS else (today, today + week)
    return day_piece(days_span(*days, now, "days"), now)


def _now(_match: re.Match[str], now: Reference, _: Prefer) -> Piece | None:
    moment = exactly(now)
    return instant_piece(Span(moment, moment + timedelta(seconds=1), "second"))


def _this_time(_match: re.Match[str], now: Reference, _: Prefer) -> Piece | None:
    """明天这个时候: the present time of another day."""
    moment = exactly(now)
    return Piece(0, 0, Kind.CLOCK, clock=(moment.hour, moment.minute, 0))


def _same_day(match: re.Match[str], now: Reference, _: Prefer) -> Piece | None:
    """去年的今天, 三个月前的今天."""
    if match["amounts"]:
        return day_piece(shifted(match["amounts"], -1, now), now)
    if match["month"]:
        return day_piece(add_months(now.date(), shift_of(match["month"])), now)
    years = (year_of(match["year"], now) or now.year) - now.year
    return day_piece(add_months(now.date(), MONTHS_IN_YEAR * years), now)


RULES = (
    rule("天日儿", rf"({any_of(word for word in _DAYS if len(word) > 1)})(?!头条)", _day),
    rule("早晚夜晨朝", r"([昨今明当前后寻琴听次翌])(?=早|晚|夜|晨|朝)(?![晚]上?辈)", _day),
    rule("周星礼", r"(?P<prefix>(?:[上下]{1,3}一?|这一?|本|今|该|当)个?)?(?:周|星期|礼拜)(?:(?P<day>[一二三四五六日天末1-7])(?![\d岁次个小]|(?<=\d)天))?(?![年期刊几边围转日岁])", _week),
    rule("后", rf"(?P<n>{NUMBER})个?(?:周|星期|礼拜)(?:之后|以后|后)的?(?:周|星期|礼拜)(?P<day>[一二三四五六日天])", _weekday_after),
    rule("前后", rf"(?<![第最\d.这那上下]){DURATION}(?P<side>之?前|以前|之?后|以后|过后)(?![天年面台排途续果])", _ago_or_later),
    rule("过", rf"(?:再过|(?<![度经超通路])过)(?P<side>){DURATION}(?![前内])", _ago_or_later),
    rule("最近过前上后下未接今往之随", rf"(?P<side>最近|过去|(?<![附接靠])近|(?:^|(?<=[，。、：；！？ 在的我你他她们和跟与]))[前后上下]|之前|未来|接下来|今后|往后|之后|随后)的?这?(?P<amounts>{AMOUNT}|[几数]个?(?:{_UNIT}))(?![前内半])", _window),
    rule("内", rf"(?:在|于)?(?:未来|接下来)?{DURATION}(?:之内|以内|内)", _within),
    rule("来", rf"{DURATION}以来", _up_to_now),
    rule("今明", rf"({any_of(_PAIRS)})两?([天日年])", _pair),
    rule("剩还", rf"(?:还剩下?|还有|剩下|剩余){DURATION}", _left),
    rule("天子期近来", r"(前几天|前些天|前两天|前阵子|前段时间|这几天|这两天|过几天|过两天|改天|最近|近来|近期)", _vague_days),
    rule("现此当目宜而依如眼马立这", r"(?:现在|此时此刻|此时|此刻|当前|目前|而家|依家|宜家(?!家)|如今|眼下|这会儿|马上|立刻|立即)", _now),
    rule("今", rf"(?:(?P<year>{YEAR})|(?P<month>[上下]{{1,2}}个?月)|{DURATION}之?前)的?(?:今天|今日)", _same_day),
    rule("时", r"(?:这个?|同一)(?:时候|时间|时刻)", _this_time),
)  # fmt: skip
