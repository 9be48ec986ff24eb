"""Parts of the day: in the late morning, tonight, next evening, at lunch."""

from __future__ import annotations

from device.language.english_times.calendar import shift_of
from device.language.english_times.lexer import Tokens
from device.language.english_times.lexicon import FUNCTION_WORDS, WEEKDAYS, word_set
from device.language.english_times.values import Part

__all__ = ["part", "part_follows"]

_PARTS: dict[str, tuple[float, float]] = {
    "morning": (6, 12), "afternoon": (12, 18), "evening": (18, 24), "night": (20, 26),
    "daytime": (8, 18), "nighttime": (20, 30), "dawn": (4, 7), "lunchtime": (11, 13),
    "lunch": (11, 13), "breakfast": (7, 9), "dinner": (17, 20), "supper": (17, 20),
    "dinnertime": (17, 20), "suppertime": (17, 20), "breakfasttime": (7, 9), "brunch": (10, 13),
}  # fmt: skip
"""Hours people mean by a part of the day."""
_HALVES: dict[str, tuple[tuple[float, float], tuple[float, float]]] = {
    "morning": ((6, 9), (10, 12)), "afternoon": ((12, 14), (15, 18)),
    "evening": ((18, 20), (21, 24)),
    "night": ((20, 22), (23, 27)), "day": ((0, 12), (12, 24)),
}  # fmt: skip
"""Early and late in it."""
TONIGHT = (18.0, 26.0)
"""This evening and the night after it."""
_MEALS = frozenset({"lunch", "breakfast", "dinner", "supper", "brunch"})
_EARLY, _LATE = frozenset({"early", "earlier"}), frozenset({"late", "later"})
_CUES = word_set("at @ around about by circa before after until till since")


def part(s: Tokens, i: int) -> tuple[Part, int] | None:
    """In the morning, tonight, late this afternoon, next evening, early in the day, at lunch."""
    j = i
    j += s.words[j] in ("in", "at", "on", "during") and s.words[i + 1] != ""
    half, j = _half(s, j)
    if half and s.words[j + (s.words[j] == "on")] in WEEKDAYS:
        return Part(*_HALVES["day"][half == "late"]), j
    j += s.words[j] in ("in", "on", "at") and bool(half)
    j += s.words[j] in ("the", "a")
    if not half:
        half, j = _half(s, j)
    shift = shift_of(s.words[j])
    word = s.words[j] if shift is None else s.words[j + 1]
    after = j + 1 if shift is None else j + 2
    if word in ("tonight", "tonite") and shift is None:
        return Part(*TONIGHT, shift=0, onward=s.words[i] == "later"), after
    if word == "night" and s.words[after : after + 2] == ["before", "last"]:
        return Part(*_PARTS["night"], shift=-2), after + 2
    if word == "business" and s.words[after] == "hours":
        return Part(*_PARTS["daytime"]), after + 1
    if half and word in ("today", "yesterday", "tomorrow", "day"):
        named = {"today": 0, "yesterday": -1, "tomorrow": 1}.get(word)
        later = s.words[j - 1] == "later" or s.words[i] == "later"
        return Part(*_HALVES["day"][half == "late"], shift=named, onward=later), after
    if s.words[after : after + 2] == ["-", "time"]:
        word, after = word + "time", after + 2
    elif (
        word in ("day", "night", "lunch", "dinner", "supper", "breakfast")
        and s.words[after] == "time"
    ):
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
    name = (
        word.removesuffix("s")
        if word.endswith(("mornings", "evenings", "noons", "nights"))
        else word
    )
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
        s.words[i] in ("in", "at", "tonight", "tonite", "this", "early", "late")
        and part(s, i) is not None
    )
