"""Pieces that stand together made one expression, and two expressions made one range."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, time, timedelta

from device.language.chinese_times.bounds import counted_from
from device.language.spans import UNIT_SECONDS, Kind, Piece, Prefer, Reference, Span, exactly

__all__ = ["Composed", "again", "composed", "joined"]

LAST_AFTERNOON_HOUR = 5
"""An hour up to this said bare (三点) is one of the afternoon."""
YEARS_TO_FIT = 2
"""Readings tried to make a date and the weekday beside it agree."""
DAY = timedelta(days=1)
_LENGTHS = {"second": timedelta(seconds=1), "minute": timedelta(minutes=1)}
_JOIN = re.compile(r"^[的，,、\s（(]*(?:在|的|at|on|the|of)?\s*$", re.IGNORECASE)
_JOIN_DAYS = re.compile(r"^[的，,、\s（(]*$")
_TO = re.compile(r"^\s*(?:一直)?(?:直到|到|至|-+|~|—+|–|to|until)\s*$", re.IGNORECASE)
_FROM_TO = re.compile(r"^(?:起|开始)(?:一直)?(?:到|至)$")
_AND = re.compile(r"^\s*(?:和|与|跟|同|及)\s*$")
_LIST = re.compile(r"^\s*[，,、和与跟及或]\s*$")
_BETWEEN = re.compile(r"^的?(?:之?间|中间|期间)")
_BEFORE = re.compile("^(?:之前|以前|前)")


@dataclass(frozen=True, slots=True)
class Composed:
    """Characters [begin, stop), what they mean, and the pieces they are made of."""

    begin: int
    stop: int
    span: Span
    pieces: tuple[Piece, ...]

    @property
    def dated(self) -> bool:
        """Whether it says a day, or is a moment of its own."""
        return any(piece.kind in (Kind.DAY, Kind.INSTANT) for piece in self.pieces)

    @property
    def floating(self) -> bool:
        """Whether its year, month or week was left to the reader."""
        return any(piece.floating for piece in self.pieces)


def composed(said: str, pieces: Iterable[Piece], now: Reference) -> list[Composed]:
    """Neighbouring pieces as expressions: at most one day, part and clock time each."""
    groups: list[tuple[Piece, ...]] = []
    for piece in pieces:
        if groups and _joins(said, groups[-1], piece):
            groups[-1] = (*groups[-1], piece)
        else:
            groups.append((piece,))
    return [_counted(said, _compose(group, now)) for group in groups]


def _joins(said: str, group: tuple[Piece, ...], piece: Piece) -> bool:
    gap = said[group[-1].stop : piece.begin]
    if group[-1].kind is piece.kind is Kind.DAY and _complement(group[-1], piece):
        return bool(_JOIN_DAYS.match(gap))
    kinds = {member.kind for member in group}
    if piece.kind in kinds or Kind.INSTANT in kinds or piece.kind is Kind.INSTANT:
        return False
    days = [m for m in (*group, piece) if m.kind is Kind.DAY and m.span is not None]
    if days and not any(m.span is not None and m.span.grain in ("day", "part") for m in days):
        return False
    return bool(_JOIN.match(gap))


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
    if other.span is None or weekday.span is None or not other.week:
        return _fitting(other, weekday)
    start = other.span.start + timedelta(days=weekday.span.start.weekday())
    return replace(weekday, span=Span(start, start + DAY, "day"), floating=False)


def _fitting(day: Piece, weekday: Piece) -> Piece:
    """A date with no year, in the nearest year in which it falls on the weekday beside it."""
    if not day.floating or day.again is None or day.span is None or weekday.span is None:
        return day
    wanted = weekday.span.start.weekday()
    for step, prefer in ((-DAY, Prefer.PAST), (DAY, Prefer.FUTURE)):
        span: Span | None = day.span
        for _ in range(YEARS_TO_FIT):
            if span is not None and span.start.weekday() == wanted:
                return replace(day, span=span)
            other = day.again(span.start + step, prefer) if span is not None else None
            span = other.span if other is not None else None
    return day


def _compose(group: tuple[Piece, ...], now: Reference) -> Composed:
    begin, stop = group[0].begin, group[-1].stop
    if group[0].kind is Kind.INSTANT and group[0].span is not None:
        return Composed(begin, stop, group[0].span, group)
    day = _day_of([piece for piece in group if piece.kind is Kind.DAY])
    part = next((piece for piece in group if piece.kind is Kind.PART), day)
    clock = next((piece for piece in group if piece.kind is Kind.CLOCK), None)
    hours = part.hours if part is not None else None
    base = day.span if day is not None and day.span is not None else None
    if base is not None and clock is None and hours is None:
        return Composed(begin, stop, base, group)
    return Composed(
        begin, stop, _hours(_midnight(base.start if base else now), hours, clock), group
    )


def _midnight(moment: Reference) -> datetime:
    return datetime.combine(moment.date(), time.min, moment.tzinfo)


def _hours(midnight: datetime, hours: tuple[int, int] | None, clock: Piece | None) -> Span:
    if clock is None or clock.clock is None:
        first, last = hours or (0, 24)
        return Span(midnight + timedelta(hours=first), midnight + timedelta(hours=last), "part")
    hour = clock.clock[0]
    if clock.open_meridiem and hours is not None:
        hour = _within(hour, hours)
    elif clock.open_meridiem and hour <= LAST_AFTERNOON_HOUR:
        hour += 12
    return _at(midnight + timedelta(hours=hour), clock)


def _at(hour: datetime, clock: Piece) -> Span:
    """The clock time whose hour is known."""
    _, minute, second = clock.clock or (0, 0, 0)
    start = hour + timedelta(minutes=minute, seconds=second)
    grain = "second" if second else "minute" if minute else "hour"
    return Span(start, start + _LENGTHS.get(grain, timedelta(hours=1)), grain)


def _within(hour: int, hours: tuple[int, int]) -> int:
    """The reading of an hour said without am or pm that lies in a part of the day."""
    readings = (hour, hour + 12, 0 if hour == 12 else hour, 24 if hour == 12 else hour + 24)
    fitting = [h for h in readings if hours[0] <= h < hours[1]]
    if fitting:
        return fitting[0]
    return min(readings, key=lambda h: (abs(h - (hours[0] + hours[1]) / 2), h))


def _counted(said: str, item: Composed) -> Composed:
    counted = counted_from(said, item.stop, item.span)
    return item if counted is None else Composed(item.begin, counted[1], counted[0], item.pieces)


def joined(said: str, items: list[Composed], now: Reference) -> list[Composed]:
    """The expressions with every "A to B" made one range."""
    result: list[Composed] = []
    for item in items:
        if result and _is_range(said, result[-1], item):
            result[-1] = _range(result[-1], item, now)
        elif result and _is_listed(said, result[-1], item):
            result.append(again(item, result[-1].span.start, Prefer.FUTURE))
        else:
            result.append(item)
    return result


def _is_listed(said: str, first: Composed, second: Composed) -> bool:
    """9月10号、11号, 下周一和周三: the month or week said with the first holds for the second."""
    day = next((piece for piece in second.pieces if piece.kind is Kind.DAY), None)
    if day is None or not day.floating or not _LIST.match(said[first.stop : second.begin]):
        return False
    same = any(piece.weekday == day.weekday for piece in first.pieces if piece.kind is Kind.DAY)
    return same and "月" not in said[day.begin : day.stop] and _bare(said, day)


def _bare(said: str, day: Piece) -> bool:
    """A weekday, or a day of the month by its number alone."""
    return day.weekday or said[day.stop - 1] in "日号"


def _is_range(said: str, first: Composed, second: Composed) -> bool:
    gap, ahead = said[first.stop : second.begin], said[second.stop :]
    if first.span.grain == "range":
        return False
    if _FROM_TO.match(gap):
        return not _BEFORE.match(ahead)
    return bool(_TO.match(gap) or (_AND.match(gap) and _BETWEEN.match(ahead)))


def _range(first: Composed, second: Composed, now: Reference) -> Composed:
    if second.dated:
        first, second = _dated(first, second, now)
        end = _end(second)
    else:
        first = _meridiem(first, second)
        end = _clock_end(first, second)
    start = first.span.start
    if end <= start:
        end = max(first.span.end, second.span.end)
    return Composed(first.begin, second.stop, Span(start, end, "range"), first.pieces)


def _end(item: Composed) -> datetime:
    return item.span.start if item.span.grain in UNIT_SECONDS else item.span.end


def _dated(first: Composed, second: Composed, now: Reference) -> tuple[Composed, Composed]:
    """Both ends, where one may leave out the year, month or week that the other says.

    When both do, the range that holds the present is meant (八月到二月, said in September).
    """
    if first.dated and second.floating:
        if first.floating:
            past = again(first, now, Prefer.PAST)
            then = again(second, past.span.start, Prefer.FUTURE)
            if past.span.start <= exactly(now) < then.span.end:
                return past, then
        return first, again(second, first.span.start, Prefer.FUTURE)
    if first.floating:
        return again(first, second.span.start, Prefer.PAST), second
    return first, second


def again(item: Composed, reference: Reference, prefer: Prefer) -> Composed:
    """The expression with its floating dates read against another reference."""
    pieces = []
    for piece in item.pieces:
        fresh = piece.again(reference, prefer) if piece.floating and piece.again else None
        pieces.append(piece if fresh is None else replace(piece, span=fresh.span))
    span = _compose(tuple(pieces), reference).span
    return Composed(item.begin, item.stop, span, tuple(pieces))


def _clock_of(item: Composed) -> Piece | None:
    return next((piece for piece in item.pieces if piece.kind is Kind.CLOCK), None)


def _part_of(item: Composed) -> tuple[int, int] | None:
    return next((piece.hours for piece in item.pieces if piece.kind is Kind.PART), None)


def _meridiem(first: Composed, second: Composed) -> Composed:
    """三点到下午五点: the half of the day said once, at the end, holds for both."""
    begins, ends = _clock_of(first), _clock_of(second)
    if begins is None or not begins.open_meridiem or _part_of(first) is not None:
        return first
    if _part_of(second) is None and (ends is None or ends.open_meridiem):
        return first
    hour = (begins.clock or (0, 0, 0))[0] % 12
    midnight = _midnight(first.span.start)
    limit = midnight + (second.span.start - _midnight(second.span.start))
    readings = [_at(midnight + timedelta(hours=h), begins) for h in (hour, hour + 12)]
    before = [span for span in readings if span.start < limit]
    return replace(first, span=before[-1]) if before else first


def _clock_end(first: Composed, second: Composed) -> datetime:
    """The end on the day of the start, or the next when it is said earlier in the day."""
    midnight, clock, part = _midnight(first.span.start), _clock_of(second), _part_of(second)
    if clock is None:
        return midnight + timedelta(hours=(part or (0, 24))[1])
    if part is None and clock.open_meridiem:
        hour = (clock.clock or (0, 0, 0))[0]
        readings = [
            _at(midnight + timedelta(hours=h), clock).start for h in range(hour % 12, 37, 12)
        ]
        return next((moment for moment in readings if moment > first.span.start), readings[-1])
    end = _hours(midnight, part, clock).start
    return end if end > first.span.start else end + DAY
