"""The time expressions of a text with Chinese in it."""

# ruff: noqa: E501 - a rule reads best on one line

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from device.language.chinese_times import (
    clock,
    dates,
    holidays,
    relative,
)
from device.language.chinese_times.bounds import bound, opened
from device.language.chinese_times.calendar import DAY, MONTH_NUMBER, YEAR, named_span, year_of
from device.language.chinese_times.compose import composed, joined
from device.language.chinese_times.numbers import COUNT, DIGITS, chinese_number, compact, simplified
from device.language.chinese_times.rules import Build, rule
from device.language.spans import Kind, Piece, Prefer, Span, month_day, weekday_near, day_span

__all__ = ["Found", "find_chinese"]


@dataclass(frozen=True, slots=True)
class Found:
    """The characters [begin, stop) of a text and the local time they mean."""

    begin: int
    stop: int
    span: Span


_TO = r"\s*(?:-|~|—|–|到|至|和|与)\s*"
"""Between the two numbers of 3-5月: the unit is said once, after both."""


def _first_year(match: re.Match[str], now: datetime, _: Prefer) -> Piece | None:
    year = year_of(match[1], now)
    return None if year is None else dates.day_piece(named_span((year, None), None, now), now)


def _first_month(match: re.Match[str], now: datetime, prefer: Prefer) -> Piece | None:
    year, number = year_of(match["year"], now), int(chinese_number(match["n"]))
    if not 1 <= number <= 12:
        return None
    near = year or _year_of_month(number, now, prefer)
    return dates.day_piece(named_span((near, number), None, now), now, floating=year is None)


def _year_of_month(month: int, now: datetime, prefer: Prefer) -> int:
    if prefer is Prefer.PAST:
        return now.year - (month > now.month)
    return now.year + (month < now.month)


def _first_hour(match: re.Match[str], _now: datetime, _: Prefer) -> Piece | None:
    hour = int(chinese_number(match[1]))
    return clock.clock_piece(hour, 0, 0, open_hour=1 <= hour <= 12)


def _last_weekday(match: re.Match[str], now: datetime, prefer: Prefer) -> Piece | None:
    number = "一二三四五六日天".index(match[1]) % 7 if match[1] != "天" else 6
    day = day_span(weekday_near(number, now, prefer), now)
    return Piece(0, 0, Kind.DAY, day, weekday=True, floating=True)


_HALVES = (
    rule("年", rf"(?<![\d.])([12]\d{{3}}|(?<![{DIGITS}])[一二][{DIGITS}]{{3}})(?={_TO}(?:\d{{4}}|[一二][{DIGITS}]{{3}})年)", _first_year),
    rule("月", rf"(?:(?P<year>{YEAR})的?)?(?<![\d.第个{DIGITS}十])(?P<n>{MONTH_NUMBER})(?={_TO}{MONTH_NUMBER}月(?![球亮饼薪]))", _first_month),
    rule("日号", rf"(?<![\d.第月{DIGITS}十])(?P<day>{DAY})(?={_TO}{DAY}[日号](?![线楼]))", dates.day_of_month),
    rule("点", rf"(?<![\d.:第{DIGITS}十百])({clock.HOUR})(?=\s*(?:-|~|—|到|至)\s*{clock.HOUR}点(?!{COUNT}))", _first_hour),
    rule("周期拜", r"(?<=[周期拜][一二三四五六][到至\-~])([二三四五六日天])(?![点月号日年个天周])", _last_weekday),
)  # fmt: skip

_RULES = (*dates.RULES, *relative.RULES, *clock.RULES, *holidays.RULES, *_HALVES)
_ASCII_LETTER = re.compile("[A-Za-z]")
_TITLE = re.compile("《[^》]*》")
_TRIGGERS = frozenset().union(*(one.triggers for one in _RULES))


def find_chinese(
    text: str, now: datetime, prefer: Prefer, foreign: Callable[[str], list[Piece]]
) -> list[Found]:
    """Every time expression of `text`, in reading order, none overlapping.

    `now` is aware: when the words were said, in the speaker's zone. `prefer` settles dates that may
    lie either side of it. `foreign` finds the pieces written in Latin script among the Chinese.
    """
    said = simplified(text)
    if _TRIGGERS.isdisjoint(said) and not _ASCII_LETTER.search(said):
        return []
    pieces = list(_pieces(said, now, prefer))
    if _ASCII_LETTER.search(said):
        pieces += foreign(said)
    if not pieces:
        return []
    items = joined(said, composed(said, _longest(pieces), now), now)
    return [
        _found(said, item.begin, item.stop, item.span, now, relative_to_now(item.pieces))
        for item in items
    ]


def relative_to_now(pieces: tuple[Piece, ...]) -> bool:
    """A moment counted from now takes no 之前 or 之后 of its own."""
    return any(piece.kind is Kind.INSTANT for piece in pieces)


def _found(said: str, begin: int, stop: int, span: Span, now: datetime, moment: bool) -> Found:
    to = None if moment and span.grain != "range" else bound(said, begin, stop, span)
    if to is None or (span.grain == "days" and to.side):
        return Found(begin, stop, span)
    return Found(to.begin, to.stop, opened(span, to, now))


def _pieces(said: str, now: datetime, prefer: Prefer) -> Iterator[Piece]:
    text, places = compact(said)
    characters = frozenset(text)
    titles = [match.span() for match in _TITLE.finditer(text)] if "《" in characters else []
    for one in _RULES:
        if one.triggers.isdisjoint(characters) or (one.needs and not one.needs.search(text)):
            continue
        for match in one.pattern.finditer(text):
            begin, stop = match.span()
            if begin == stop or any(a <= begin and stop <= b for a, b in titles):
                continue
            piece = _built(one.build, match, now, prefer)
            if piece is not None:
                if places is not None:
                    begin, stop = places[begin], places[stop - 1] + 1
                again = partial(_built, one.build, match) if piece.floating else None
                yield replace(piece, begin=begin, stop=stop, again=again)


def _built(build: Build, match: re.Match[str], now: datetime, prefer: Prefer) -> Piece | None:
    """A date beyond the calendar is not a date (year 0, 10,000 years ago)."""
    try:
        return build(match, now, prefer)
    except (OverflowError, ValueError):
        return None


def _longest(found: list[Piece]) -> list[Piece]:
    """The longest pieces first; whatever overlaps a chosen one goes."""
    chosen: list[Piece] = []
    for piece in sorted(found, key=lambda p: (p.begin - p.stop, p.begin)):
        if all(piece.stop <= other.begin or piece.begin >= other.stop for other in chosen):
            chosen.append(piece)
    return sorted(chosen, key=lambda p: p.begin)
