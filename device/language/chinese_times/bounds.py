"""Words around a Chinese expression that open it to one side, frame it, or count from it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta

from device.language.chinese_times.numbers import NUMBER, chinese_number
from device.language.chinese_times.relative import UNITS
from device.language.spans import (
    AFTER,
    BEFORE,
    FROM,
    UNIT_SECONDS,
    Reference,
    Span,
    exactly,
    from_now,
)

__all__ = ["OPEN_END", "Bound", "bound", "counted_from", "opened"]

OPEN_END = timedelta(days=365)
"""How far a stand-in reaches: to the future (五月以后), or from before a past (2018年以前)."""
_FUZZY = frozenset({"month part", "year part"})
"""Loose ends of a period: 月底之前 runs to the end of the month."""


@dataclass(frozen=True, slots=True)
class Bound:
    """What the words around an expression make of it; it then covers characters [begin, stop).

    `side` is the grain of the open range, or "" when the words only frame it (从…到…之间).
    `inclusive`: the expression lies in the range itself (周五为止, 五月以来). `until_now`: the
    range is known to last until now.
    """

    begin: int
    stop: int
    side: str = ""
    inclusive: bool = False
    until_now: bool = False


_NOT_BEFORE = "(?![后天日年面台排景途往方所辈期提夕夜])"
_NOT_AFTER = "(?![天日年面来台悔果续半排者])"
_SUFFIXES: tuple[tuple[re.Pattern[str], str, bool, bool], ...] = tuple(
    (re.compile(pattern), side, inclusive, until_now)
    for pattern, side, inclusive, until_now in (
        (rf"^(?:或者?|及|以及|和)(?:更早|在?此?之?前{_NOT_BEFORE}|以前)", BEFORE, True, False),
        (r"^(?:或者?|及|以及|和)(?:更晚|在?此?之后|以后)", FROM, True, False),
        (r"^(?:为止|截止|止(?![疼痛血咳步跌]))", BEFORE, True, False),
        (rf"^的?(?:之前|以前|前{_NOT_BEFORE})", BEFORE, False, False),
        (r"^(?:以来|起?至今|到现在为止)", AFTER, True, True),
        (r"^(?:起(?![床来立点飞草])|之?后起|开始起)", FROM, True, False),
        (rf"^的?(?:之后|以后|过后|后{_NOT_AFTER})", AFTER, False, False),
        (r"^(?:之间|之内|以内|期间|之中|内(?![容部心存外])|间(?![隔接]))", "", True, False),
    )
)
_BEGUN = re.compile(r"^(?:就|才)?开始")
_FROM_BEFORE = re.compile(r"(?:自从|打从|从|自|由)$")
_SINCE = re.compile(r"(?:自从|打从|(?<![来各])自(?!己))$")
_PREFIXES: tuple[tuple[re.Pattern[str], str, bool], ...] = tuple(
    (re.compile(pattern), side, inclusive)
    for pattern, side, inclusive in (
        (r"(?:不早于|>=|≥|大于等于|大于或等于)\s*$", FROM, True),
        (r"(?:不晚于|不迟于|截[止至]到?|最晚|最迟|<=|≤|小于等于|小于或等于)在?\s*$", BEFORE, True),
        (r"(?:早于|小于|<)\s*$", BEFORE, False),
        (r"(?:晚于|迟于|大于|>)\s*$", AFTER, False),
    )
)
_FRAME = re.compile(r"(?:从|自|由|在|介于)$")
_OFFSET = re.compile(
    rf"^的?(?:(?P<side>之?前|之?后)的?第?(?P<n>{NUMBER})个?(?P<unit>天|日|周|星期|礼拜|月|年)(?!.?[内里])"
    r"|(?P<eve>前夕|前夜)|(?P<next>第二天|次日|翌日|隔天))"
)


def counted_from(said: str, stop: int, span: Span) -> tuple[Span, int] | None:
    """(span, where it ends) of 国庆节前一天, 周五后两周, 春节前夕; None when nothing is counted."""
    match = _OFFSET.match(said[stop:])
    if match is None or span.grain not in ("day", "part", "holiday"):
        return None
    end = stop + match.end()
    if match["eve"] or match["next"]:
        return from_now(1, "day", -1 if match["eve"] else 1, span.start), end
    sign = -1 if "前" in match["side"] else 1
    number, unit = chinese_number(match["n"]), UNITS[match["unit"]]
    return from_now(number, unit, sign, span.start), end


def bound(said: str, begin: int, stop: int, span: Span) -> Bound | None:
    """The open side or frame that the words around said[begin : stop] give it."""
    ahead, behind = said[stop:], said[:begin]
    ranged = span.grain == "range"
    for pattern, side, inclusive, until_now in _SUFFIXES:
        match = pattern.match(ahead)
        if match and not (ranged and side):
            first = _first(_FROM_BEFORE, behind, begin) if side != BEFORE else begin
            return Bound(first, stop + match.end(), side, inclusive, until_now)
    if ranged:
        return Bound(_first(_FRAME, behind, begin), stop)
    if (began := _BEGUN.match(ahead)) and (word := _FROM_BEFORE.search(behind)):
        return Bound(word.start(), stop + began.end(), FROM, inclusive=True)
    for pattern, side, inclusive in _PREFIXES:
        if word := pattern.search(behind):
            return Bound(word.start(), stop, side, inclusive)
    if word := _SINCE.search(behind):
        return Bound(word.start(), stop, AFTER, inclusive=True, until_now=True)
    return None


def _first(pattern: re.Pattern[str], behind: str, begin: int) -> int:
    match = pattern.search(behind)
    return match.start() if match else begin


def opened(span: Span, to: Bound, now: Reference) -> Span:
    """The span with an open side: its own end stays exact, the other is a stand-in."""
    if not to.side:
        return span
    clock = span.grain in UNIT_SECONDS
    if to.side == BEFORE:
        whole = to.inclusive or span.grain in _FUZZY
        end = span.end if whole and not clock else span.start
        said = exactly(now)
        return Span(said if said < end else end - OPEN_END, end, BEFORE)
    start = span.start if to.inclusive or clock else span.end
    end = max(exactly(now), span.end) if to.until_now else start + OPEN_END
    return Span(start, max(start, end), to.side)
