"""The time expressions of an English text."""

from __future__ import annotations

from dataclasses import dataclass, replace

from device.language.english_times import holidays
from device.language.english_times.bounds import bounded, leading, trailing
from device.language.english_times.compose import When, when
from device.language.english_times.days import one_day_at
from device.language.english_times.hours import span_of
from device.language.english_times.lexer import OTHER, Tokens, tokenize
from device.language.english_times.lexicon import (
    CARDINALS,
    MONTHS,
    NEXT,
    ORDINALS,
    PREVIOUS,
    SEASONS,
    THIS,
    UNITS,
    WEEKDAYS,
    word_set,
)
from device.language.english_times.ranges import range_at, with_end
from device.language.english_times.values import Clock, ClockRange, Context
from device.language.kept import kept
from device.language.spans import Kind, Piece, Prefer, Reference, Span

__all__ = ["Found", "find_english", "pieces"]


@dataclass(frozen=True, slots=True)
class Found:
    """The characters [begin, stop) of a text and the local time they mean."""

    begin: int
    stop: int
    span: Span


_AMOUNTS = word_set("a an couple few several half some less ½")
_UNIT_NAMES = frozenset(word for word in UNITS if len(word) > 1) | {"working", "work"}
_STARTERS = (
    frozenset(MONTHS)
    | frozenset(WEEKDAYS)
    | frozenset(CARDINALS)
    | frozenset(ORDINALS)
    | frozenset(SEASONS)
    | THIS
    | NEXT
    | PREVIOUS
    | frozenset(word + "ish" for word in CARDINALS)
    | holidays.STARTS
    | word_set(
        "after today tomorrow yesterday tmr tmrw tmw tomorow yday otd tonight tonite noon midday "
        "noonish midnight midmorning midafternoon mid middle early earlier late later beginning "
        "start end eod eom eoy eow ytd mtd qtd wtd to so rest remainder remaining q h w cy week "
        "weekend quarter half morning mornings afternoon afternoons evening evenings night nights "
        "daytime nighttime dawn lunch lunchtime breakfast dinner dinnertime supper brunch in "
        "within for the a an few couple several business year month fortnight calendar w ' ’ "
        "twenties thirties forties fifties sixties seventies eighties nineties ½ now right just "
        "at currently presently day up more less"
    )
)


def _stop(s: Tokens, last: int) -> int:
    """Where the token ends, without the 's of "tomorrow's plan"."""
    owning = s.text[s.begins[last] : s.stops[last]].endswith(("'s", "’s"))
    return s.stops[last] - 2 if owning else s.stops[last]


_SHIFTS = THIS | NEXT | PREVIOUS
_PAIRED = {
    "to": frozenset({"date"}), "so": frozenset({"far"}), "right": frozenset({"now"}),
    "just": frozenset({"now"}), "at": frozenset({"the", "this", "present"}),
    "day": frozenset({"before", "after"}), "up": frozenset({"coming"}), "w": frozenset({"/"}),
    "more": frozenset({"than"}), "less": frozenset({"than"}), "business": frozenset({"hours"}),
}  # fmt: skip
"""Common words that begin an expression only before these."""


def find_english(text: str, reference: Reference, prefer: Prefer) -> list[Found]:
    """Every time expression of `text`, in reading order, none overlapping.

    `reference` is when the words were said, in the speaker's zone; HourWanted where its day is not
    enough. `prefer` settles dates that may lie either side of it.
    """
    if _timeless(text):
        return []
    s = tokenize(text)
    now = Context(reference, prefer)
    found: list[Found] = []
    i = floor = 0
    while i < s.count:
        item = _expression(s, i, floor, now) if _may_start(s, i) else None
        if item is None:
            i += 1
            continue
        begin, stop, span = item
        found.append(Found(s.begins[begin], _stop(s, stop - 1), span))
        i = floor = stop
    return found


@kept
def _timeless(text: str) -> bool:
    """Whether no expression can begin anywhere in `text`, whenever it is said."""
    s = tokenize(text)
    return not any(_may_start(s, i) for i in range(s.count))


def _may_start(s: Tokens, i: int) -> bool:
    """Can an expression begin here? Most words end the question at once."""
    word = s.words[i]
    if s.numbers[i] >= 0:
        chained = s.glued[i] and s.words[i - 1] in ("-", "/", ".", ":", "+") and s.glued[i - 1]
        return not (chained and s.numbers[i - 2] >= 0)
    if word not in _STARTERS or word == OTHER:
        return False
    following = s.words[i + 1]
    if word in ("in", "within", "for", "after"):
        return s.numbers[i + 1] >= 0 or following in _AMOUNTS or following in CARDINALS
    if word in _SHIFTS or word in _PAIRED:
        near = _PAIRED.get(word)
        if near is not None:
            return following in near
        return s.numbers[i + 1] >= 0 or following in _STARTERS or following in _UNIT_NAMES
    if word == "the":
        return s.numbers[i + 1] >= 0 or following in _STARTERS or following in _UNIT_NAMES
    if word in ("a", "an"):
        return following in UNITS or following in ("couple", "few", "quarter", "half")
    return True


def _expression(s: Tokens, i: int, floor: int, now: Context) -> tuple[int, int, Span] | None:
    """(first token, token after the last, meaning) of the expression at token `i`."""
    bound = leading(s, i)
    side = replace(now, prefer=Prefer.PAST) if bound and bound[0] == "since" else now
    try:
        return _read(s, i, floor, side, bound)
    except (OverflowError, ValueError):
        return None  # beyond the calendar: the year 0, 10,000 years ago


def _read(
    s: Tokens, i: int, floor: int, now: Context, bound: tuple[str, int] | None
) -> tuple[int, int, Span] | None:
    first = _end_of_day(s, i, now) or when(s, i, now)
    ranged = range_at(s, i, now) if first is None or s.numbers[i] >= 0 or not first.timed else None
    if first is not None:
        joined = with_end(s, first, now)
        if joined is not None and (ranged is None or joined[1] >= ranged[1]):
            ranged = joined
    if ranged is not None and (first is None or ranged[1] > first.stop):
        cue = i >= 1 and s.words[i - 1] in ("from", "between", "in") and i - 1 >= floor
        return (i - 1 if cue else i), ranged[1], ranged[0]
    span = span_of(first, now) if first is not None else None
    if first is None or span is None:
        return None
    return _bounded(s, i, floor, now, bound, first, span)


def _bounded(
    s: Tokens,
    i: int,
    floor: int,
    now: Context,
    bound: tuple[str, int] | None,
    first: When,
    span: Span,
) -> tuple[int, int, Span]:
    if isinstance(first.clock, ClockRange) and s.words[i - 1] in ("from", "between") and i > floor:
        return i - 1, first.stop, span
    if span.grain in ("before", "after"):
        return i, first.stop, span
    after = trailing(s, i, first.stop)
    if after is not None:
        begin = i - 1 if s.words[i - 1] == "from" and i > floor else i
        return begin, after[1], bounded(after[0], first, span, now)
    if bound is not None and bound[1] >= floor and span.grain != "range":
        return bound[1], first.stop, bounded(bound[0], first, span, now)
    return i, first.stop, span


def _end_of_day(s: Tokens, i: int, now: Context) -> When | None:
    """End of the day, EOD, end of Sunday: its last second."""
    last = Clock(23, 59, 59)
    if s.words[i] == "eod":
        following = when(s, i + 1, now)
        if following is not None and following.day is not None and not following.timed:
            return replace(following, begin=i, clock=last)
        return When(i, i + 1, clock=last)
    j = i + 1 if s.words[i] == "the" else i
    if s.words[j : j + 2] != ["end", "of"]:
        return None
    at = j + 3 if s.words[j + 2] in ("the", "this") else j + 2
    if s.words[at] == "day":
        return When(i, at + 1, clock=last)
    day = one_day_at(s, at, now)
    return When(i, day[1], day=day[0], clock=last) if day else None


def pieces(text: str, reference: Reference, prefer: Prefer) -> list[Piece]:
    """The dates and hours written in figures or English inside a text of another language."""
    if _timeless(text):
        return []
    s = tokenize(text)
    now = Context(reference, prefer)
    found: list[Piece] = []
    i = 0
    while i < s.count:
        one = when(s, i, now) if _may_start(s, i) else None
        piece = _piece(s, one, now) if one is not None else None
        if piece is None or one is None:
            i += 1
            continue
        found.append(piece)
        i = one.stop
    return found


def _piece(s: Tokens, one: When, now: Context) -> Piece | None:
    try:
        span = span_of(one, now)
    except (OverflowError, ValueError):
        return None
    begin, stop = s.begins[one.begin], s.stops[one.stop - 1]
    if span is None:
        return None
    if one.day is None and isinstance(one.clock, Clock) and one.part is None:
        time = one.clock
        clock = (time.hour, time.minute, time.second)
        return Piece(begin, stop, Kind.CLOCK, clock=clock, open_meridiem=time.open)
    dated = one.day is not None and not one.timed
    return Piece(begin, stop, Kind.DAY if dated else Kind.INSTANT, span)
