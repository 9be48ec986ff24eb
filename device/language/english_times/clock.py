"""Hours: 8:45a, half past seven, noonish, five-thirty, in the late morning, 5 to 6 pm."""

from __future__ import annotations

from datetime import timedelta

from device.language.english_times.calendar import shift_of
from device.language.english_times.lexer import Tokens
from device.language.english_times.lexicon import CARDINALS, FUNCTION_WORDS, RANGE_WORDS, UNITS
from device.language.english_times.numbers import cardinal, length
from device.language.english_times.values import Clock, ClockRange, Part

__all__ = ["clock", "clock_range", "part", "part_follows"]

MINUTES = 60
HOURS = 24
_MERIDIEMS = {"am": 0, "a": 0, "pm": 12, "p": 12}
_NAMED = {
    "noon": 12, "midday": 12, "noonish": 12, "lunchtimeish": 12, "midnight": 0, "midmorning": 10,
    "midafternoon": 14,
}  # fmt: skip
_AFTER_MID = {"night": 0, "day": 12, "morning": 10, "afternoon": 14}
_PARTS: dict[str, tuple[float, float]] = {
    "morning": (6, 12), "afternoon": (12, 18), "evening": (18, 24), "night": (20, 26),
    "daytime": (8, 18), "nighttime": (20, 30), "dawn": (4, 7), "lunchtime": (11, 13),
    "lunch": (11, 13), "breakfast": (7, 9), "dinner": (17, 20), "supper": (17, 20),
    "dinnertime": (17, 20), "suppertime": (17, 20), "breakfasttime": (7, 9), "brunch": (10, 13),
}  # fmt: skip
"""Hours people mean by a part of the day."""
_HALVES: dict[str, tuple[tuple[float, float], tuple[float, float]]] = {
    "morning": ((6, 9), (10, 12)), "afternoon": ((12, 14), (15, 18)), "evening": ((18, 20), (21, 24)),
    "night": ((20, 22), (23, 27)), "day": ((0, 12), (12, 24)),
}  # fmt: skip
"""Early and late in it."""
TONIGHT = (18.0, 26.0)
"""This evening and the night after it."""
_MEALS = frozenset({"lunch", "breakfast", "dinner", "supper", "brunch"})
_EARLY, _LATE = frozenset({"early", "earlier"}), frozenset({"late", "later"})
_WHOLE_MINUTES = frozenset({5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55})
_CUES = frozenset("at @ around about by circa before after until till since".split())
_CLOCK_FOLLOWS = FUNCTION_WORDS | {"sharp", "eastern", "pacific", "central", "est", "pst", "gmt"}


def clock(s: Tokens, i: int, *, bare: bool = False) -> tuple[Clock, int] | None:
    """A time on the clock; with `bare`, a number alone may be an hour."""
    found = _clock(s, i, bare=bare)
    if found is None:
        return None
    time, j = found
    if s.words[j] in ("sharp", "exactly"):
        j += 1
    if s.words[j] == "ish" or (s.words[j] == "-" and s.words[j + 1] == "ish"):
        j += 1 if s.words[j] == "ish" else 2
    return time, j


def _clock(s: Tokens, i: int, *, bare: bool) -> tuple[Clock, int] | None:
    word = s.words[i]
    if word in _NAMED:
        return Clock(_NAMED[word]), i + 1
    if word == "mid":
        j = i + 2 if s.words[i + 1] == "-" else i + 1
        hour = _AFTER_MID.get(s.words[j])
        return None if hour is None else (Clock(hour), j + 1)
    if word in ("half", "a", "quarter") or s.numbers[i] >= 0 or word in CARDINALS:
        return _spoken(s, i) or _digital(s, i, bare=bare) or _in_words(s, i, bare=bare)
    return None


def _meridiem(s: Tokens, i: int) -> tuple[int, int] | None:
    """(hours to add, index after) of am, p.m., p, "in the morning"-less forms only."""
    word = s.words[i]
    if word == "ampm" and s.glued[i]:
        return -1, i + 1
    if word in ("a", "p"):
        if s.words[i + 1] == "." and s.words[i + 2] == "m":
            dotted = s.words[i + 3] == "." and s.glued[i + 3]
            return _MERIDIEMS[word], i + 4 if dotted else i + 3
        if s.words[i + 1] == "m" and s.words[i + 2] != "'":
            return _MERIDIEMS[word], i + 2
        return (_MERIDIEMS[word], i + 1) if s.glued[i] else None
    if word in ("am", "pm"):
        dotted = s.words[i + 1] == "." and s.glued[i + 1] and False
        return _MERIDIEMS[word], i + 2 if dotted else i + 1
    return None


def _with_meridiem(hour: int, minute: int, second: int, add: int) -> Clock | None:
    if not 1 <= hour <= 12:
        return Clock(hour, minute, second) if add == 12 and 12 < hour < HOURS else None
    if add < 0:
        return Clock(hour, minute, second, open=True)
    return Clock(hour % 12 + add, minute, second)


def _digital(s: Tokens, i: int, *, bare: bool) -> tuple[Clock, int] | None:
    """7:56:30 pm, 8.30pm, 1140 a.m., 17:30, 8am; 4 when `bare`."""
    hour, minute, second, j, written = s.numbers[i], 0, 0, i + 1, False
    if hour < 0 or s.digits(i) not in (1, 2, 3, 4):
        return None
    if s.digits(i) > 2:
        hour, minute = divmod(hour, 100)
    elif s.words[j] == ":" and s.glued[j] and s.glued[j + 1] and s.digits(j + 1) == 2:
        minute, j, written = s.numbers[j + 1], j + 2, True
        if s.words[j] == ":" and s.glued[j] and s.glued[j + 1] and s.digits(j + 1) == 2:
            second, j = s.numbers[j + 1], j + 2
            if s.words[j] == "." and s.glued[j + 1] and s.numbers[j + 1] >= 0:
                j += 2
    elif s.words[j] == "." and s.glued[j] and s.glued[j + 1] and s.digits(j + 1) == 2:
        minute, j = s.numbers[j + 1], j + 2
        written = bare or s.words[i - 1] in ("at", "until", "till", "by")
        if not written and _meridiem(s, j) is None:
            return None
    if minute < 0 or minute >= MINUTES or second < 0 or second >= MINUTES or hour > HOURS:
        return None
    meridiem = _meridiem(s, j)
    if meridiem:
        time = _with_meridiem(hour, minute, second, meridiem[0])
        return (time, meridiem[1]) if time else None
    if s.words[j] in ("o'clock", "oclock"):
        return _open(hour, 0, 0, s.text[s.begins[i]], sure=True), j + 1
    if s.words[j] == "z" and s.glued[j] and written:
        j += 1
    if s.digits(i) == 4 and bare and not (s.glued[j] and s.words[j] == "."):
        return _open(hour, minute, second, s.text[s.begins[i]], sure=True), j
    if written:
        runs_on = s.words[j] == ":" and s.glued[j]
        return None if runs_on else (_open(hour, minute, second, s.text[s.begins[i]], sure=True), j)
    if not bare or s.digits(i) > 2 or not _hour_ends(s, j):
        return None
    return _open(hour, 0, 0, s.text[s.begins[i]], sure=False), j


def _open(hour: int, minute: int, second: int, first: str, *, sure: bool) -> Clock:
    return Clock(hour % HOURS, minute, second, open=1 <= hour <= 12 and first != "0", sure=sure)


def _hour_ends(s: Tokens, i: int) -> bool:
    """What follows a bare hour: no unit, no ordinal ending, no decimals."""
    word = s.words[i]
    if word in ("st", "nd", "rd", "th", "%", "of", "and a half") or (word in UNITS and word != "m"):
        return False
    return not (word in (".", ":", "/", ",") and s.glued[i] and s.glued[i + 1] and s.numbers[i + 1] >= 0)


def _spoken(s: Tokens, i: int) -> tuple[Clock, int] | None:
    """Half past seven, a quarter to 5, 20 min past eight, half nine."""
    j, minutes = i, 0
    if s.words[i] == "half":
        j, minutes = i + 1, 30
    elif s.words[i : i + 2] == ["a", "quarter"] or s.words[i] == "quarter":
        j, minutes = (i + 2 if s.words[i] == "a" else i + 1), 15
    else:
        number = cardinal(s, i)
        if number is None or not 1 <= number[0] < MINUTES or s.words[i] == "a":
            return None
        minutes, j = number
    named = s.words[j] in ("min", "mins", "minute", "minutes")
    j += named
    word = s.words[j]
    if word in ("past", "after") and (word == "past" or named or s.words[i] in ("a", "quarter")):
        hour = _hour(s, j + 1)
        return _from_hour(s, hour, minutes) if hour else None
    if word in ("to", "of", "before", "til", "till") and (word == "to" or named or minutes == 15):
        hour = _hour(s, j + 1)
        sure = named or s.words[i] in ("a", "quarter") or _minutes_to(s, i, minutes, hour)
        return _from_hour(s, hour, -minutes) if hour and sure else None
    if minutes == 30 and s.words[i] == "half" and s.words[j] in CARDINALS:
        hour = _hour(s, j)
        fits = hour and 1 <= hour[0] <= 12 and s.words[hour[1]] not in UNITS
        return _from_hour(s, hour, 30) if hour and fits else None
    return None


def _minutes_to(s: Tokens, i: int, minutes: int, hour: tuple[int, int] | None) -> bool:
    """ "Ten to five" is 4:50; "five to seven" is so only after "at", else a range."""
    if hour is None or minutes not in _WHOLE_MINUTES or s.words[i - 1] in ("from", "between"):
        return False
    if s.numbers[i] >= 0 or _meridiem(s, hour[1]):
        return False
    return minutes > hour[0] or s.words[i - 1] in _CUES or s.words[i - 1] in ("it", "is", "was")


def _hour(s: Tokens, i: int) -> tuple[int, int] | None:
    if s.words[i] in ("noon", "midnight"):
        return (12 if s.words[i] == "noon" else HOURS), i + 1
    found = cardinal(s, i)
    return found if found and 1 <= found[0] <= HOURS else None


def _from_hour(s: Tokens, hour: tuple[int, int], minutes: int) -> tuple[Clock, int]:
    j = hour[1] + 1 if s.words[hour[1]] in ("o'clock", "oclock") else hour[1]
    named = s.words[hour[1] - 1] in ("noon", "midnight")
    at, minute = divmod(hour[0] * MINUTES + minutes, MINUTES)
    meridiem = _meridiem(s, j)
    if meridiem and 1 <= hour[0] <= 12:
        total = ((hour[0] % 12 + max(meridiem[0], 0)) * MINUTES + minutes) % (HOURS * MINUTES)
        return Clock(total // MINUTES, total % MINUTES), meridiem[1]
    return Clock(at % HOURS, minute, open=1 <= at <= 12 and not named), j


def _in_words(s: Tokens, i: int, *, bare: bool) -> tuple[Clock, int] | None:
    """Six pm, six thirty, two forty five, five-thirty, seven oh five, ten o'clock; six when `bare`."""
    hour = CARDINALS.get(s.words[i], 0)
    if not 1 <= hour <= 12:
        return None
    j, minute, said = i + 1, 0, False
    at = j + 1 if s.words[j] == "-" and s.glued[j] else j
    number = cardinal(s, at) if s.numbers[at] < 0 else None
    if s.words[at] in ("oh", "o") and 1 <= CARDINALS.get(s.words[at + 1], 0) <= 9:
        minute, j, said = CARDINALS[s.words[at + 1]], at + 2, True
    elif number and 10 <= number[0] < MINUTES:
        minute, j, said = number[0], number[1], True
        j += bare and s.words[j] == "minutes"
    meridiem = _meridiem(s, j)
    if meridiem:
        time = _with_meridiem(hour, minute, 0, meridiem[0])
        return (time, meridiem[1]) if time else None
    if s.words[j] in ("o'clock", "oclock"):
        return Clock(hour, minute, open=True), j + 1
    ish = s.words[j] == "ish" or s.words[j : j + 2] == ["-", "ish"]
    if not (bare or ish or (said and minute in _WHOLE_MINUTES and s.words[i - 1] in _CUES)):
        return None
    if s.words[j] in UNITS or s.words[j] in ("st", "hundred", "thousand", "million", "percent"):
        return None
    return Clock(hour, minute, open=True, sure=said or ish), j


def clock_range(s: Tokens, i: int, *, bare: bool = False) -> tuple[ClockRange, int] | None:
    """5 to 6 pm, 8am-3, from 9 for 2.5 hours, between 0730-0930; two bare numbers when `bare`."""
    cue = s.words[i] if s.words[i] in ("from", "between") else ""
    at = i + 1 if cue else i
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


def _ends(s: Tokens, i: int, *, sure: bool) -> bool:
    """A range of bare numbers must not be a date ("9 to 12 of June") or go on ("10-4-2018")."""
    word = s.words[i]
    if word in ("of", "/") or (word == "-" and s.glued[i] and s.numbers[i + 1] >= 0):
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


def part(s: Tokens, i: int) -> tuple[Part, int] | None:
    """In the morning, tonight, late this afternoon, next evening, early in the day, at lunch."""
    j = i
    j += s.words[j] in ("in", "at", "on", "during") and s.words[i + 1] != ""
    half, j = _half(s, j)
    j += s.words[j] in ("in", "on") and bool(half)
    j += s.words[j] in ("the", "a")
    if not half:
        half, j = _half(s, j)
    shift = shift_of(s.words[j])
    word = s.words[j] if shift is None else s.words[j + 1]
    after = j + 1 if shift is None else j + 2
    if word in ("tonight", "tonite") and shift is None:
        return Part(*TONIGHT, shift=0), after
    if half and word in ("today", "yesterday", "tomorrow", "day"):
        named = {"today": 0, "yesterday": -1, "tomorrow": 1}.get(word)
        return Part(*_HALVES["day"][half == "late"], shift=named), after
    if s.words[after : after + 2] == ["-", "time"]:
        word, after = word + "time", after + 2
    elif word in ("day", "night", "lunch", "dinner", "supper", "breakfast") and s.words[after] == "time":
        word, after = word + "time", after + 1
    return _named_part(s, i, j, word, after, shift, half)


def _half(s: Tokens, i: int) -> tuple[str, int]:
    if s.words[i - 1] == "as":
        return "", i
    if s.words[i] in _EARLY:
        return "early", i + 1
    return ("late", i + 1) if s.words[i] in _LATE else ("", i)


def _named_part(
    s: Tokens, i: int, j: int, word: str, after: int, shift: int | None, half: str
) -> tuple[Part, int] | None:
    name = word.removesuffix("s") if word.endswith(("mornings", "evenings", "noons", "nights")) else word
    hours = _PARTS.get(name)
    if hours is None or s.words[i - 1] == "good" or s.words[j - 1] in ("every", "each"):
        return None
    meal = name in _MEALS
    if meal and not (s.words[i - 1] in _CUES or s.words[i] in ("at", "during")):
        return None
    if meal and s.words[after][:1].isalpha() and s.words[after] not in FUNCTION_WORDS:
        return None
    if half:
        hours = _HALVES.get(name, (hours, hours))[half == "late"]
    if shift == 0 and word == "night":
        hours = TONIGHT
    return Part(*hours, shift=shift), after


def part_follows(s: Tokens, i: int) -> bool:
    """Does a part of the day follow, so that the number before it is an hour?"""
    return (
        s.words[i] in ("in", "at", "tonight", "tonite", "this", "early", "late") and part(s, i) is not None
    )
