"""Hours from and to: 5 to 6 pm, 8am-3, from 9 for 2.5 hours."""

from __future__ import annotations

from datetime import timedelta

from device.language.english_times.clock import clock
from device.language.english_times.lexer import Tokens
from device.language.english_times.lexicon import RANGE_WORDS, UNITS
from device.language.english_times.numbers import length
from device.language.english_times.parts import part
from device.language.english_times.values import Clock, ClockRange

__all__ = ["clock_range", "counted_clock"]


def clock_range(s: Tokens, i: int, *, bare: bool = False) -> tuple[ClockRange, int] | None:
    """5 to 6 pm, 8am-3, from 9 for 2.5 hours, between 0730-0930; two bare numbers when `bare`."""
    if s.words[i] == "for":
        return _length_first(s, i)
    inside = s.words[i] in ("from", "between")
    at = i + 1 if inside else i
    cue = s.words[at - 1] if s.words[at - 1] in ("from", "between") else ""
    at += s.words[at] in ("around", "about")
    first = clock(s, at, bare=True)
    if first is None:
        return None
    time, j = first
    parted = _part_hour(s, j, time)
    if parted and s.words[parted[1]] in (*RANGE_WORDS, "and"):
        time, j = parted
    if s.words[j] == "for" and cue == "from":
        span = length(s, j + 1)
        if span and all(unit in ("hour", "minute", "second") for _, unit in span[0]):
            return ClockRange(time, length=_hours(span[0])), span[1]
    joined = s.words[j] in RANGE_WORDS or (s.words[j] == "and" and cue == "between")
    if not joined:
        return None
    after = j + 1 + (s.words[j + 1] in ("the", "around", "about", "at"))
    last = clock(s, after, bare=True)
    if last is None or not _ends(s, last[1], sure=last[0].sure or time.sure):
        return None
    found = ClockRange(time, last[0])
    if not found.sure and not bare and not cue:
        return None
    return found, last[1]


def _length_first(s: Tokens, i: int) -> tuple[ClockRange, int] | None:
    """For 2.5 hours from 9."""
    span = length(s, i + 1)
    if span is None or s.words[span[1]] not in ("from", "starting", "beginning"):
        return None
    if any(unit not in ("hour", "minute", "second") for _, unit in span[0]):
        return None
    first = clock(s, span[1] + 1 + (s.words[span[1] + 1] == "at"), bare=True)
    return (ClockRange(first[0], length=_hours(span[0])), first[1]) if first else None


def _ends(s: Tokens, i: int, *, sure: bool) -> bool:
    """A range of bare numbers must not be a date ("9 to 12 of June") or go on ("10-4-2018")."""
    word = s.words[i]
    if word == "/" or (word == "-" and s.glued[i] and s.numbers[i + 1] >= 0):
        return False
    return sure or not (word in UNITS or word in ("people", "times", "percent"))


def _part_hour(s: Tokens, i: int, time: Clock) -> tuple[Clock, int] | None:
    """3 in the morning: the part settles the half of the day."""
    found = part(s, i) if s.words[i] in ("in", "at") else None
    if found is None or not time.open:
        return None
    hour = time.hour % 12 + (0 if found[0].first < 12 else 12)
    return Clock(hour, time.minute, time.second), found[1]


def _hours(span: tuple[tuple[float, str], ...]) -> timedelta:
    seconds = {"hour": 3600, "minute": 60, "second": 1}
    return timedelta(seconds=sum(value * seconds[unit] for value, unit in span))


def counted_clock(s: Tokens, i: int) -> tuple[Clock, int] | None:
    """Two hours after 3pm, an hour before midnight."""
    span = length(s, i)
    if span is None or s.words[span[1]] not in ("before", "after"):
        return None
    origin = clock(s, span[1] + 1)
    if origin is None or any(unit not in ("hour", "minute") for _, unit in span[0]):
        return None
    time, after = origin
    sign = -1 if s.words[span[1]] == "before" else 1
    seconds = (time.hour * 60 + time.minute) * 60 + sign * round(_hours(span[0]).total_seconds())
    minutes = seconds // 60 % (24 * 60)
    return Clock(minutes // 60, minutes % 60, open=time.open), after
