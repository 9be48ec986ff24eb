"""Times on the clock: 8:45a, half past seven, noonish, five-thirty, 1140 a.m."""

from __future__ import annotations

from dataclasses import replace

from device.language.english_times.lexer import Tokens
from device.language.english_times.lexicon import CARDINALS, UNITS, word_set
from device.language.english_times.numbers import cardinal
from device.language.english_times.values import Clock

__all__ = ["clock"]

MINUTES = 60
HOURS = 24
_MERIDIEMS = {"am": 0, "a": 0, "pm": 12, "p": 12}
_NAMED = {
    "noon": 12, "midday": 12, "noonish": 12, "midnight": 0, "midmorning": 10,
    "midafternoon": 14,
}  # fmt: skip
_AFTER_MID = {"night": 0, "day": 12, "morning": 10, "afternoon": 14}
_WHOLE_MINUTES = frozenset({5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55})
_CUES = word_set("at @ around about by circa before after until till since")


def clock(s: Tokens, i: int, *, bare: bool = False) -> tuple[Clock, int] | None:
    """A time on the clock; with `bare`, a number alone may be an hour."""
    found = _clock(s, i, bare=bare)
    if found is None:
        return None
    time, j = found
    if s.words[j] in ("sharp", "exactly"):
        j += 1
    if s.words[j] == "ish" or (s.words[j] == "-" and s.words[j + 1] == "ish"):
        return replace(time, sure=True), j + (1 if s.words[j] == "ish" else 2)
    return time, j


def _clock(s: Tokens, i: int, *, bare: bool) -> tuple[Clock, int] | None:
    word = s.words[i]
    if word in _NAMED:
        return Clock(_NAMED[word]), i + 1
    if word == "mid":
        j = i + 2 if s.words[i + 1] == "-" else i + 1
        hour = _AFTER_MID.get(s.words[j])
        return None if hour is None else (Clock(hour), j + 1)
    if word.endswith("ish") and 1 <= CARDINALS.get(word[:-3], 0) <= 12:
        return Clock(CARDINALS[word[:-3]], open=True), i + 1
    if s.numbers[i] == 12 and s.words[i + 1] in ("noon", "midnight"):
        return Clock(_NAMED[s.words[i + 1]]), i + 2
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
        return _MERIDIEMS[word], i + 1
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
    elif s.words[j] == "h" and s.glued[j] and s.glued[j + 1] and s.digits(j + 1) == 2:
        minute, j, written = s.numbers[j + 1], j + 2, True
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
    if s.digits(i) == 4 and s.words[j] in ("hours", "hrs"):
        return Clock(hour % HOURS, minute), j + 1
    if s.digits(i) == 4 and bare and not 1900 <= s.numbers[i] < 2200:
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
    if word in ("st", "nd", "rd", "th", "%", "of") or (word in UNITS and word != "m"):
        return False
    return not (
        word in (".", ":", "/", ",") and s.glued[i] and s.glued[i + 1] and s.numbers[i + 1] >= 0
    )


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
    """Six pm, six thirty, five-thirty, seven oh five, ten o'clock; six when `bare`."""
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
