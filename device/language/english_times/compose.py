"""Items that stand together made one: "tomorrow at 8am", "Monday morning from 10 to 12"."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta

from device.language.english_times.calendar import resolve
from device.language.english_times.clock import clock
from device.language.english_times.clock_ranges import clock_range, counted_clock
from device.language.english_times.days import day_item
from device.language.english_times.lexer import Tokens
from device.language.english_times.lexicon import CARDINALS, FUNCTION_WORDS, MONTHS, word_set
from device.language.english_times.merging import merged
from device.language.english_times.parts import part, part_follows
from device.language.english_times.portions import weekday_of
from device.language.english_times.values import (
    Bound,
    Calendar,
    Clock,
    ClockRange,
    Context,
    Days,
    Item,
    Moment,
    NthWeekday,
    Part,
    one_day,
)

__all__ = ["When", "days_meant", "midnight", "when"]

MAX_CONNECTORS = 3
_CONNECTORS = word_set(
    ", at on in the of around about @ ( ) - – any time anytime sometime approximately circa t "
    "from between around"
)
_DAY_CONNECTORS = word_set(", ( ) on the of sometime for")
_BOUNDS = {
    "before": "before", "by": "before", "until": "before", "till": "before", "after": "after",
    "since": "after",
}  # fmt: skip
_TRAILING = {"later": "after", "after": "after", "earlier": "before", "before": "before"}
_FOLLOWING = FUNCTION_WORDS - frozenset(MONTHS)
_CLOSING = frozenset({"", ",", ".", "!", "?", ";", ")"})
_AT = frozenset({"at", "@", "exactly"})
_NEAR_DAYS = frozenset({"today", "tomorrow", "yesterday", "tonight"})
_HOUR_CUES = frozenset({"at", "@", "around", "about", "circa", "approximately", "t"})


@dataclass(frozen=True, slots=True)
class When:
    """Tokens [begin, stop) and what they say: a day, hours in it, or a moment."""

    begin: int
    stop: int
    day: Days | Calendar | None = None
    nth: NthWeekday | None = None
    part: Part | None = None
    clock: Clock | ClockRange | None = None
    bound: Bound | None = None
    moment: Moment | None = None

    @property
    def timed(self) -> bool:
        """Does it name hours?"""
        return self.clock is not None or self.part is not None or self.bound is not None


def when(s: Tokens, i: int, now: Context, *, bare: bool = False) -> When | None:
    """The longest expression without a range word or bound that begins at token `i`."""
    first = _first(s, i, now, bare=bare)
    if first is None:
        return None
    found = _with(When(i, first[1]), first[0], first[1], frozenset())
    while found is not None:
        longer = _trailing(s, found) or _extended(s, found, now)
        if longer is None:
            break
        found = longer
    if found is None or (found.nth is not None and found.day is None):
        return None
    hour = found.clock
    alone = found.day is None and found.part is None and not bare
    return None if alone and hour is not None and not _sure(s, found, hour) else found


def _sure(s: Tokens, found: When, hour: Clock | ClockRange) -> bool:
    """A bare number is an hour after "at", when nothing is counted."""
    if hour.sure:
        return True
    after = s.words[found.stop]
    closes = not after[:1].isalnum() or after in FUNCTION_WORDS
    union = s.words[found.begin] == "one" and after == "with"  # "at one with nature"
    return isinstance(hour, Clock) and s.words[found.begin - 1] in _AT and closes and not union


def _first(s: Tokens, i: int, now: Context, *, bare: bool) -> tuple[Item, int] | None:
    best = day_item(s, i, now)
    hours = part(s, i) if _part_is_meant(s, i) else None
    counted = counted_clock(s, i)
    for found in (_range_first(s, i), counted, _clock_first(s, i, bare=bare), hours):
        if found is not None and (best is None or found[1] > best[1]):
            best = found
        elif found is not None and s.words[i - 1] in _AT and s.numbers[i] >= 0:
            best = found  # "at 1730" is no year
    return best


def _part_is_meant(s: Tokens, i: int) -> bool:
    """ "The opening night", "a great morning" are no times of today."""
    before = s.words[i - 1]
    if s.words[i] not in _PART_NAMES or not before[:1].isalpha():
        return True
    return (before in FUNCTION_WORDS or before in CARDINALS) and before not in ("a", "an", "my")


_PART_NAMES = frozenset({"morning", "afternoon", "evening", "night"})


def _range_first(s: Tokens, i: int) -> tuple[ClockRange, int] | None:
    return clock_range(s, i, bare=True) if _hour_like(s, i) or s.words[i] == "for" else None


def _hour_like(s: Tokens, i: int) -> bool:
    word = s.words[i]
    return s.numbers[i] >= 0 or word in CARDINALS or word in _HOUR_WORDS


_HOUR_WORDS = frozenset({"half", "a", "quarter", "noon", "midnight", "mid", "midday", "noonish"})


def _clock_first(s: Tokens, i: int, *, bare: bool) -> tuple[Clock, int] | None:
    found = clock(s, i, bare=bare or s.words[i - 1] in _AT)
    if found is not None:
        return found
    found = clock(s, i, bare=True) if _hour_like(s, i) else None
    if found is None:
        return None
    ish = s.words[found[1] - 1] == "ish"
    cued = s.words[i - 1] in (*_BOUNDS, *_HOUR_CUES) and s.words[found[1]] in _NEAR_DAYS
    return found if ish or cued or part_follows(s, found[1]) else None


def _extended(s: Tokens, found: When, now: Context) -> When | None:
    if found.moment is not None:
        return None
    j = found.stop
    passed: set[str] = set()
    sure = found.clock is None or found.clock.sure or found.day is not None
    for _ in range(MAX_CONNECTORS + 1):
        for item, after in _candidates(s, j, now, passed, sure=sure):
            longer = _with(found, item, after, frozenset(passed))
            if longer is not None:
                return longer
        if s.words[j] not in _CONNECTORS or (s.words[j] == "t" and not s.glued[j]):
            return None
        passed.add(s.words[j])
        j += 1
    return None


def _candidates(
    s: Tokens, j: int, now: Context, passed: set[str], *, sure: bool
) -> Iterator[tuple[Item, int]]:
    """What may stand at token `j`; a part of the day after a mere number needs its preposition."""
    if s.words[j] in _BOUNDS:
        yield from _bound(s, j)
    adjacent = not passed or bool(passed & (_HOUR_CUES | {",", "from", "between"}))
    if _hour_like(s, j) or s.words[j] in ("from", "between"):
        several = clock_range(s, j, bare=adjacent)
        if several:
            yield several
        hour = clock(s, j, bare=bool(passed & _HOUR_CUES) or (adjacent and _worded(s, j)))
        if hour:
            yield hour
    hours = part(s, j)
    if hours and (sure or part_follows(s, j)):
        yield hours
    day = day_item(s, j, now)
    if day:
        yield day


def _worded(s: Tokens, j: int) -> bool:
    """Nine thirty, six pm: an hour in words right after a day."""
    return s.words[j] in CARDINALS and s.words[j + 1] in CARDINALS


def _bound(s: Tokens, j: int) -> Iterator[tuple[Bound, int]]:
    at = j + 1 + (s.words[j + 1] in ("around", "about", "the"))
    hour = clock(s, at, bare=True)
    if hour is not None:
        if part_follows(s, hour[1]):
            settled = part(s, hour[1])
            if settled:
                time_ = _settle(hour[0], settled[0])
                yield Bound(_BOUNDS[s.words[j]], time_), settled[1]
                return
        after = s.words[hour[1]]
        if hour[0].sure or after in _CLOSING or after in _FOLLOWING:
            yield Bound(_BOUNDS[s.words[j]], hour[0]), hour[1]
        return
    hours = part(s, at)
    if hours is not None and hours[0].shift is None:
        yield Bound(_BOUNDS[s.words[j]], hours[0]), hours[1]


def _settle(hour: Clock, hours: Part) -> Clock:
    if not hour.open:
        return hour
    return replace(hour, hour=hour.hour % 12 + (0 if hours.first < 12 else 12), open=False)


def _trailing(s: Tokens, found: When) -> When | None:
    """3 pm or later (on Monday)."""
    j = found.stop
    if not isinstance(found.clock, Clock) or found.bound or s.words[j] not in ("or", "and"):
        return None
    word = _TRAILING.get(s.words[j + 1])
    after = s.words[j + 2]
    if word is None or (after[:1].isalnum() and after not in ("on", "in", "today", "tomorrow")):
        return None
    return replace(found, clock=None, bound=Bound(word, found.clock), stop=j + 2)


def _with(found: When, item: Item, after: int, passed: frozenset[str]) -> When | None:
    """`found` with one more item, or None when the two do not make one expression."""
    grown = replace(found, stop=after)
    coarse = found.day is not None and not _is_day(found.day)
    if isinstance(item, Moment):
        empty = found.day is None and not found.timed and found.nth is None
        return replace(grown, moment=item) if empty else None
    if isinstance(item, NthWeekday):
        return replace(grown, nth=item) if found.nth is None and found.day is None else None
    if isinstance(item, Days | Calendar):
        return _with_day(found, grown, item, passed)
    if coarse:
        return None
    if isinstance(item, Part):
        clash = item.shift is not None and found.day is not None
        return replace(grown, part=item) if found.part is None and not clash else None
    if found.clock is not None or found.bound is not None:
        return None
    if isinstance(item, Bound):
        return replace(grown, bound=item) if found.day is not None or found.part else None
    if passed & {"-", "–"} and not (item.sure and passed <= {"-", "–", ")"}):
        return None
    return replace(grown, clock=item)


def _is_day(day: Days | Calendar) -> bool:
    return day.day is not None if isinstance(day, Calendar) else day.grain == "day"


def _with_day(
    found: When, grown: When, item: Days | Calendar, passed: frozenset[str]
) -> When | None:
    if found.nth is not None:
        if found.day is not None or not passed <= {"of", "in", "the"}:
            return None
        return replace(grown, day=item)
    if found.part is not None and found.part.shift is not None:
        return None
    if found.day is None:
        first = not found.timed
        return replace(grown, day=item) if first or _is_day(item) else None
    if not passed <= _DAY_CONNECTORS:
        return None
    one = merged(found.day, item) or merged(item, found.day)
    return replace(grown, day=one) if one is not None else None


def days_meant(found: When, now: Context) -> Days | None:
    """The days a When names, resolved; None when it names none (or none that exists)."""
    day = resolve(found.day, now) if isinstance(found.day, Calendar) else found.day
    if found.nth is not None and day is not None:
        return weekday_of(found.nth.n, found.nth.weekday, day) if day.grain == "month" else None
    if day is None and found.part is not None and found.part.shift is not None:
        return one_day(now.today + timedelta(days=found.part.shift), relative=True)
    return day


def midnight(day: date, now: Context) -> datetime:
    """The beginning of a day, in the speaker's zone."""
    return datetime.combine(day, time.min, now.now.tzinfo)
