"""Time expressions in Chinese and English, made absolute (002: normalised when written).

The rules of both languages find pieces (a date, a part of the day, a clock time); here pieces that
stand together become one expression, two expressions joined by a range word become one range, and
a deadline word opens it to the past or the future. The original words are always kept.
"""

# ruff: noqa: E501 - a rule reads best on one line

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from device.language import english, times_en, times_zh
from device.language.spans import Kind, Piece, Prefer, Span, from_now
from device.language.words import HAN

__all__ = ["TimeExpression", "find_times", "prefer_of"]


@dataclass(frozen=True, slots=True)
class TimeExpression:
    """One expression of `text[position : position + len(text)]` as absolute time.

    ``start`` and ``end`` are unix seconds UTC, always finite and half-open: "from 10 to 12 January"
    ends where the 12th ends, "by Friday" where Friday ends, "before Friday" where it begins,
    "after Friday" starts where it ends. ``grain`` is how finely it was said (second, minute, hour,
    part, day, weekend, week, month, …, range, before, after).

    An open range keeps a finite stand-in for its unknown end, so that every expression can be
    compared and stored as two numbers: "before X" starts now or at X, whichever is earlier, "after
    X" ends `OPEN_END` later, "since X" now. `open_start` and `open_end` tell the stand-in apart.
    """

    text: str
    start: float
    end: float
    grain: str
    position: int

    @property
    def open_start(self) -> bool:
        """Nothing was said about when it begins: "before X", "by X"."""
        return self.grain == BEFORE

    @property
    def open_end(self) -> bool:
        """Nothing was said about when it ends: "after X", "since X"."""
        return self.grain == AFTER


BEFORE, AFTER = "before", "after"
"""Grains of expressions open to one side."""
OPEN_END = timedelta(days=365)
"""How far an expression open to the future ("after May") reaches."""
LAST_AFTERNOON_HOUR = 5
"""An hour up to this said bare ("at four", "三点") is one of the afternoon."""
_CHINESE = re.compile(f"[{HAN}]")
_JOIN_ZH = re.compile(r"^[的，,\s]?在?$")
_JOIN_EN = re.compile(r"^(?:\s|,|at|on|in|the|of|around|about|by|from|\()*$", re.IGNORECASE)
_JOIN_DAYS = re.compile(r"^(?:[\s,，(（]|on|the|of)*$", re.IGNORECASE)
_RANGE = re.compile(
    r"^\s*(?:到|至|~|～|-|–|—|to|until|till|through|thru|和|and)\s*(?:the\s)?$", re.IGNORECASE
)
_NEEDS_BETWEEN = re.compile(r"和|and", re.IGNORECASE)
_BETWEEN = re.compile(r"(?:between|从|在)\s*(?:the\s)?$", re.IGNORECASE)
_FROM = re.compile(r"(?:\bfrom|\bbetween|从|由|自)\s*(?:the\s)?$", re.IGNORECASE)
_BEFORE_ZH = re.compile(r"^(?:的)?(?:之前|以前|前(?!天|年|面|台)|之内|以内)")
_AFTER_ZH = re.compile(r"^(?:的)?(?:之后|以后|后(?!天|年|面|来)|之後|起|以来)")
_BEFORE_EN = re.compile(
    r"\b(?:before|until|till|prior\sto|no\slater\sthan)\s+(?:the\s)?$", re.IGNORECASE
)
_BY_EN = re.compile(r"\bby\s+(?:the\s)?$", re.IGNORECASE)
_AFTER_EN = re.compile(r"\b(?:after|since|starting|beginning|from)\s+(?:the\s)?$", re.IGNORECASE)
_PAST_WORDS = re.compile(
    r"(?<![约订报要改好忘])了|过(?!两|几|\d|敏|期)|曾|刚才|刚刚|以前|那时|\b(?:was|were|did|had|went|saw|met|ate|got|came|took|made|bought|said|told|felt|"
    r"have been|has been|spent|visited|ago|[a-z]{3,}ed)\b",
    re.IGNORECASE,
)  # fmt: skip
_FUTURE_WORDS = re.compile(
    r"要|会(?!议)|将|打算|计划|准备|想|安排|提醒|预[定订约]|约了|订了|报了|[改推延挪]到|\b(?:will|going to|plan|shall|gonna|"
    r"remind|schedule|book|want to|need to|let's|would like|[a-z]+'ll)\b",
    re.IGNORECASE,
)  # fmt: skip


def prefer_of(text: str) -> Prefer:
    """Which side of today an open date lies on, by the tense of the words around it."""
    past = len(_PAST_WORDS.findall(text))
    future = len(_FUTURE_WORDS.findall(text))
    return Prefer.PAST if past > future else Prefer.FUTURE


def find_times(
    text: str, reference: datetime, prefer: Prefer | None = None
) -> list[TimeExpression]:
    """Every time expression in `text`, in reading order, none overlapping.

    `reference` (aware) is when the words were said; its time zone is the speaker's. `prefer`
    settles dates that may lie either side of it; None reads the tense of the text.
    """
    if reference.tzinfo is None:
        raise ValueError("reference must carry a time zone")
    side = prefer if prefer is not None else prefer_of(text)
    composed = [_compose(group, reference) for group in _groups(text, reference, side)]
    spans = _ranges(text, _offsets(text, composed))
    return [_expression(text, item, reference) for item in spans]


@dataclass(frozen=True, slots=True)
class _Composed:
    begin: int
    stop: int
    span: Span
    pieces: tuple[Piece, ...]


def _pieces(text: str, reference: datetime, side: Prefer) -> list[Piece]:
    rules = times_zh.RULES if _CHINESE.search(text) else ()
    found: list[Piece] = []
    for pattern, build in (*rules, *times_en.RULES):
        for match in pattern.finditer(text):
            if match.end() == match.start():
                continue
            piece = _safely(build, match, reference, side)
            if piece is not None:
                found.append(piece.at(*match.span()))
    return _longest(found)


def _safely(build: object, match: re.Match[str], now: datetime, side: Prefer) -> Piece | None:
    """A date beyond the calendar is not a date (year 0, 10,000 years ago)."""
    try:
        return build(match, now, side)  # type: ignore[operator, no-any-return]
    except (OverflowError, ValueError):
        return None


def _longest(found: list[Piece]) -> list[Piece]:
    """The longest pieces first; whatever overlaps a chosen one goes."""
    chosen: list[Piece] = []
    for piece in sorted(found, key=lambda p: (p.begin - p.stop, p.begin)):
        if all(piece.stop <= other.begin or piece.begin >= other.stop for other in chosen):
            chosen.append(piece)
    return sorted(chosen, key=lambda p: p.begin)


def _groups(text: str, reference: datetime, side: Prefer) -> list[tuple[Piece, ...]]:
    """Neighbouring pieces that make one expression: at most one of each kind."""
    groups: list[tuple[Piece, ...]] = []
    for piece in _pieces(text, reference, side):
        if groups and _joins(text, groups[-1], piece):
            groups[-1] = (*groups[-1], piece)
        else:
            groups.append((piece,))
    return groups


def _joins(text: str, group: tuple[Piece, ...], piece: Piece) -> bool:
    gap = text[group[-1].stop : piece.begin]
    if group[-1].kind is piece.kind is Kind.DAY and _complement(group[-1], piece):
        return bool(_JOIN_DAYS.match(gap))
    kinds = {member.kind for member in group}
    if piece.kind in kinds or Kind.INSTANT in kinds or piece.kind is Kind.INSTANT:
        return False
    days = [m for m in (*group, piece) if m.kind is Kind.DAY and m.span is not None]
    fine = any(m.span is not None and m.span.grain in ("day", "part") for m in days)
    if days and not fine:
        return False
    return bool(_JOIN_ZH.match(gap) or _JOIN_EN.match(gap))


def _complement(first: Piece, second: Piece) -> bool:
    """A weekday beside the date, or beside the week, that it belongs to."""
    if first.weekday == second.weekday or first.span is None or second.span is None:
        return False
    other = second if first.weekday else first
    return other.week or (other.span is not None and other.span.grain == "day")


def _day_of(days: list[Piece]) -> Piece | None:
    """The one date that neighbouring date pieces say."""
    if len(days) < 2:
        return days[0] if days else None
    weekday, other = sorted(days[:2], key=lambda piece: not piece.weekday)
    if not other.week or other.span is None or weekday.span is None:
        return other
    start = other.span.start + timedelta(days=weekday.span.start.weekday())
    return replace(weekday, span=Span(start, start + timedelta(days=1), "day"))


def _compose(group: tuple[Piece, ...], reference: datetime) -> _Composed:
    begin, stop = group[0].begin, group[-1].stop
    if group[0].kind is Kind.INSTANT and group[0].span is not None:
        return _Composed(begin, stop, group[0].span, group)
    day = _day_of([piece for piece in group if piece.kind is Kind.DAY])
    part = next((piece for piece in group if piece.kind is Kind.PART), day)
    clock = next((piece for piece in group if piece.kind is Kind.CLOCK), None)
    hours = part.hours if part is not None else None
    base = day.span if day is not None and day.span is not None else None
    if base is not None and clock is None and hours is None:
        return _Composed(begin, stop, base, group)
    midnight = (base.start if base else reference).replace(
        hour=0, minute=0, second=0, microsecond=0
    )
    return _Composed(begin, stop, _hours(midnight, hours, clock), group)


def _hours(midnight: datetime, hours: tuple[int, int] | None, clock: Piece | None) -> Span:
    if clock is None or clock.clock is None:
        first, last = hours or (0, 24)
        return Span(midnight + timedelta(hours=first), midnight + timedelta(hours=last), "part")
    hour, minute, second = clock.clock
    if clock.open_meridiem and hours is not None:
        hour = _within(hour, hours)
    elif clock.open_meridiem and hour <= LAST_AFTERNOON_HOUR:
        hour += 12
    start = midnight + timedelta(hours=hour, minutes=minute, seconds=second)
    grain = "second" if second else "minute" if minute else "hour"
    length = {"second": timedelta(seconds=1), "minute": timedelta(minutes=1)}
    return Span(start, start + length.get(grain, timedelta(hours=1)), grain)


def _within(hour: int, hours: tuple[int, int]) -> int:
    """The reading of an hour said without am or pm that lies in a part of the day."""
    readings = (hour, hour + 12, 0 if hour == 12 else hour, 24 if hour == 12 else hour)
    fitting = [h for h in readings if hours[0] <= h < hours[1]]
    if fitting:
        return fitting[0]
    return min(readings, key=lambda h: (abs(h - (hours[0] + hours[1]) / 2), h))


def _offsets(text: str, items: list[_Composed]) -> list[_Composed]:
    """Two weeks before Christmas, 3 days from Tuesday, 国庆节前一天: counted from another time."""
    return [_offset_en(text, _offset_zh(text, item)) for item in items]


def _offset_en(text: str, item: _Composed) -> _Composed:
    match = english.OFFSET.search(text[: item.begin])
    if match is None:
        return item
    sign = -1 if match["side"].lower() in ("before", "prior to", "ahead of") else 1
    amount, unit = english.number(match["n"]), english.unit(match["unit"])
    span = from_now(amount, unit, sign, item.span.start)
    return _Composed(match.start(), item.stop, span, item.pieces)


def _offset_zh(text: str, item: _Composed) -> _Composed:
    match = times_zh.OFFSET.match(text[item.stop :])
    if match is None or item.span.grain not in ("day", "part"):
        return item
    sign = -1 if "前" in match["side"] else 1
    amount = times_zh.chinese_number(match["n"])
    span = from_now(amount, times_zh.UNITS[match["unit"]], sign, item.span.start)
    return _Composed(item.begin, item.stop + match.end(), span, item.pieces)


def _ranges(text: str, items: list[_Composed]) -> list[_Composed]:
    joined: list[_Composed] = []
    for item in items:
        if joined and _is_range(text, joined[-1], item):
            joined[-1] = _range(joined[-1], item)
        else:
            joined.append(item)
    return joined


def _is_range(text: str, first: _Composed, second: _Composed) -> bool:
    gap = text[first.stop : second.begin]
    if first.span.grain == "range" or not _RANGE.match(gap):
        return False
    return not _NEEDS_BETWEEN.search(gap) or bool(_BETWEEN.search(text[: first.begin]))


def _range(first: _Composed, second: _Composed) -> _Composed:
    end_span = second.span
    only_clock = all(piece.kind is Kind.CLOCK for piece in second.pieces)
    if only_clock:
        part = next((piece.hours for piece in first.pieces if piece.hours), None)
        midnight = first.span.start.replace(hour=0, minute=0, second=0, microsecond=0)
        end_span = _hours(midnight, part, second.pieces[0])
        if end_span.start < first.span.start and second.pieces[0].open_meridiem:
            half_day = timedelta(hours=12)
            end_span = Span(end_span.start + half_day, end_span.end + half_day, end_span.grain)
        end = end_span.start
    else:
        end = end_span.end if end_span.grain not in ("hour", "minute", "second") else end_span.start
    start = first.span.start
    if end <= start and not only_clock:
        # A year said once, at the end, holds for both: "May 4 to May 9, 2026".
        start = _in_year(start, end.year)
    if end <= start:
        end = first.span.end
    return _Composed(first.begin, second.stop, Span(start, end, "range"), first.pieces)


def _in_year(moment: datetime, year: int) -> datetime:
    leap_day = (moment.month, moment.day) == (2, 29)
    return moment if leap_day else moment.replace(year=year)


def _expression(text: str, item: _Composed, reference: datetime) -> TimeExpression:
    begin, stop, span = item.begin, item.stop, item.span
    ahead, behind = text[stop:], text[:begin]
    relative = any(piece.kind is Kind.INSTANT for piece in item.pieces)
    if not relative and (match := _BEFORE_ZH.match(ahead)):
        stop += match.end()
        span = Span(min(reference, span.start), span.end, BEFORE)
    elif not relative and (match := _AFTER_ZH.match(ahead)):
        stop += match.end()
        span = Span(span.start, span.start + OPEN_END, AFTER)
    elif match := _BEFORE_EN.search(behind):
        begin = match.start()
        span = Span(min(reference, span.start), span.start, BEFORE)
    elif match := _BY_EN.search(behind):
        begin = match.start()
        span = Span(min(reference, span.start), span.end, BEFORE)
    elif span.grain != "range" and (match := _AFTER_EN.search(behind)):
        begin = match.start()
        span = _after(match.group(), span, reference)
    elif span.grain == "range" and (match := _FROM.search(behind)):
        begin = match.start()
    return TimeExpression(
        _trimmed(text[begin:stop]),
        span.start.astimezone(UTC).timestamp(),
        span.end.astimezone(UTC).timestamp(),
        span.grain,
        begin,
    )


def _trimmed(words: str) -> str:
    """Without the full stop or bracket of the sentence around it; "p.m." keeps its own."""
    words = words.strip(" ,(")
    return words if words.lower().endswith("m.") else words.rstrip(".")


def _after(word: str, span: Span, reference: datetime) -> Span:
    if word.lower().startswith("since"):
        return replace(span, end=max(reference, span.end), grain=AFTER)
    start = span.end if word.lower().startswith("after") else span.start
    return Span(start, start + OPEN_END, AFTER)
