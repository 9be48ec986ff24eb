"""A text as concepts, numbers and plain words, each with how much it says.

A pair may share a meaning and no word: "周三 3 点" and "礼拜三下午三点", "mum" and "mother".
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache
from typing import Final

from protocol.models.frequencies import COMMON, FREQUENT, VERY_COMMON
from protocol.models.lexicon import FUNCTION_CHARACTERS, STOP_WORDS
from protocol.models.synonyms import CHINESE, ENGLISH
from protocol.models.tokens import Tokens

__all__ = ["CONTENT", "concepts", "number_of", "numeral_at", "weight_of"]

CONTENT: Final = 3
"""Weight from which a word is content; function words weigh less."""

_FUNCTION = 1
_QUESTION = 5
_NAMED = 8
"""A concept of the lexicon, or a number."""
_CHARACTER_WEIGHTS = ((VERY_COMMON, 3), (COMMON, 4), (FREQUENT, 5))
_RARE_CHARACTER = 6
_WORD = 6
_LONG_WORD = 9
"""Letters from which a word weighs no more."""
_LIGHT_NAMES = (
    "want seek q.yes q.what very all also can tell know good now need people make give go look"
)
_LIGHT = frozenset("@" + name for name in _LIGHT_NAMES.split())
"""Concepts that hardly tell one text from another."""

_COUNTED = "zero one two three four five six seven eight nine ten eleven twelve"
_NUMBERS = {word: str(value) for value, word in enumerate(_COUNTED.split())} | {
    "once": "1",
    "twice": "2",
    "half": "30",
    "twenty": "20",
    "thirty": "30",
    "forty": "40",
    "fifty": "50",
    "hundred": "100",
}
_DIGITS = {character: value for value, character in enumerate("零一二三四五六七八九")} | {"两": 2}
_UNITS = {"十": 10, "百": 100, "千": 1_000, "万": 10_000}
_NUMERAL = re.compile(
    "[零一二两三四五六七八九十百千万]{2,}|[零二两三四五六七八九十百千万]"
    "|一(?=[点号月日楼岁年班级折期季集部元块])"
)
"""A lone 一 is mostly an article, and a number only before what is counted or numbered."""
_ENDINGS = ("ing", "ies", "ed", "es", "s", "'s")
_SHORTEST_STEM = 3
_CACHED_WORDS = 8_192


def _lengths(words: Collection[str]) -> dict[str, tuple[int, ...]]:
    """First character → the lengths of the words that begin with it, longest first."""
    lengths: dict[str, set[int]] = {}
    for word in words:
        lengths.setdefault(word[0], set()).add(len(word))
    return {first: tuple(sorted(found, reverse=True)) for first, found in lengths.items()}


_LENGTHS = _lengths(CHINESE)


def concepts(cut: Tokens) -> list[str]:
    """The text as concepts ("@like"), numbers ("#3") and other words, in order.

    Chinese outside the lexicon stays single characters, function words stay as they are.
    """
    found: list[str] = []
    for piece, chinese in cut.pieces:
        if chinese:
            _cut_run(piece, found)
        else:
            found.append(_of_word(piece))
    return found


@lru_cache(maxsize=_CACHED_WORDS)
def weight_of(concept: str) -> int:
    """How much a shared or a left-over concept says: whole numbers, so that sums are exact."""
    if concept[0] == "#":
        return _NAMED
    if concept[0] == "@":
        if concept in _LIGHT:
            return CONTENT
        return _QUESTION if concept.startswith("@q.") else _NAMED
    if len(concept) > 1 or concept.isascii():
        return _FUNCTION if concept in STOP_WORDS else _WORD + min(len(concept), _LONG_WORD) // 2
    if concept in FUNCTION_CHARACTERS:
        return _FUNCTION
    return next((w for known, w in _CHARACTER_WEIGHTS if concept in known), _RARE_CHARACTER)


def _cut_run(run: str, found: list[str]) -> None:
    """Longest word of the lexicon first, then numerals, then single characters."""
    start = 0
    while start < len(run):
        for length in _LENGTHS.get(run[start], ()):
            concept = CHINESE.get(run[start : start + length])
            if concept is not None:
                found.append(concept)
                start += length
                break
        else:
            word, start = numeral_at(run, start) or (run[start], start + 1)
            found.append(word)


def numeral_at(run: str, start: int) -> tuple[str, int] | None:
    """The Chinese numeral that begins at `start`, as "#3", and where it ends."""
    if run[start] not in _DIGITS and run[start] not in _UNITS:
        return None
    numeral = _NUMERAL.match(run, start)
    return (f"#{_value(numeral[0])}", numeral.end()) if numeral else None


def number_of(word: str) -> str | None:
    """The number that a word is, as "#3": digits alone, or an English number word."""
    if word.isdecimal():
        return "#" + (word.lstrip("0") or "0")
    return f"#{_NUMBERS[word]}" if word in _NUMBERS else None


def _value(numeral: str) -> int:
    """The number a Chinese numeral says (digits in a row are read as digits)."""
    if not any(character in _UNITS for character in numeral):
        return int("".join(str(_DIGITS[character]) for character in numeral))
    total = section = digit = 0
    place = 1
    for character in numeral:
        if character in _DIGITS:
            digit = _DIGITS[character]
            place = 1 if character == "零" else place // 10 or 1
        elif (unit := _UNITS[character]) == _UNITS["万"]:
            total, section, digit, place = (total + section + digit) * unit, 0, 0, unit
        else:
            section, digit, place = section + (digit or 1) * unit, 0, unit
    # 四千三 is 4,300: a digit that ends the numeral counts the next lower unit.
    return total + section + digit * place


@lru_cache(maxsize=_CACHED_WORDS)
def _of_word(word: str) -> str:
    """The word's concept, its number, its stem, or the word itself."""
    if word in ENGLISH:
        return ENGLISH[word]
    if word in _NUMBERS:
        return "#" + _NUMBERS[word]
    if word[0].isdigit():
        digits = "".join(character for character in word if character.isdecimal())
        return "#" + (digits.lstrip("0") or "0")
    if word in STOP_WORDS:
        return word
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_STEM:
            stem = word.removesuffix(ending)
            for form in (stem, stem + "e", stem + "y", stem[:-1]):
                if form in ENGLISH:
                    return ENGLISH[form]
            return stem
    return word
