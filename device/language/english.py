"""English number, month, weekday and unit words, and patterns that match them."""

# ruff: noqa: E501 - a rule reads best on one line

from __future__ import annotations

import re

__all__ = [
    "AMBIGUOUS_MONTHS",
    "DAY",
    "MONTH",
    "MONTHS",
    "NUMBER",
    "NUMBERS",
    "OFFSET",
    "ORDINAL",
    "UNIT",
    "WEEKDAY",
    "WEEKDAYS",
    "YEAR",
    "alternatives",
    "number",
    "ordinal",
    "unit",
]

MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january jan", "february feb", "march mar", "april apr", "may", "june jun", "july jul",
            "august aug", "september sept sep", "october oct", "november nov", "december dec",
        ),
        start=1,
    )
    for name in names.split()
}  # fmt: skip
AMBIGUOUS_MONTHS = frozenset({"may", "mar", "march", "dec"})
"""Written small and alone these are verbs or nothing, not months."""
WEEKDAYS = {
    name: number
    for number, names in enumerate(
        (
            "monday mon", "tuesday tues tue", "wednesday wednes wed", "thursday thurs thur thu",
            "friday fri", "saturday sat", "sunday sun",
        )
    )
    for name in names.split()
}  # fmt: skip
NUMBERS = {
    word: value
    for value, words in (
        (0.5, "half"), (1, "a an one"), (2, "two"), (3, "three"), (4, "four"), (5, "five"),
        (6, "six"), (7, "seven"), (8, "eight"), (9, "nine"), (10, "ten"), (11, "eleven"),
        (12, "twelve"), (13, "thirteen"), (14, "fourteen"), (15, "fifteen"), (16, "sixteen"),
        (17, "seventeen"), (18, "eighteen"), (19, "nineteen"), (20, "twenty"), (30, "thirty"),
        (40, "forty"), (50, "fifty"),
    )
    for word in words.split()
} | {"couple": 2, "few": 3, "several": 3}  # fmt: skip
ORDINALS = {
    word: value
    for value, word in enumerate(
        [
            "first",
            "second",
            "third",
            "fourth",
            "fifth",
            "sixth",
            "seventh",
            "eighth",
            "ninth",
            "tenth",
            "eleventh",
            "twelfth",
            "thirteenth",
            "fourteenth",
            "fifteenth",
            "sixteenth",
            "seventeenth",
            "eighteenth",
            "nineteenth",
            "twentieth",
            "twenty-first",
            "twenty-second",
            "twenty-third",
            "twenty-fourth",
            "twenty-fifth",
            "twenty-sixth",
            "twenty-seventh",
            "twenty-eighth",
            "twenty-ninth",
            "thirtieth",
            "thirty-first",
        ],
        start=1,
    )
}


def alternatives(table: dict[str, int] | dict[str, float]) -> str:
    """The table's words as a pattern, longest first."""
    return "|".join(sorted(table, key=lambda word: (-len(word), word)))


MONTH = rf"(?:{alternatives(MONTHS)})"
WEEKDAY = rf"(?:{alternatives(WEEKDAYS)})"
ORDINAL_WORDS = alternatives(ORDINALS).replace("-", r"[\s-]")
DAY = rf"(?:(?:3[01]|[12]\d|0?[1-9])(?:st|nd|rd|th)?|(?:{ORDINAL_WORDS}))"
ORDINAL = rf"(?:(?:3[01]|[12]\d|0?[1-9])(?:st|nd|rd|th)|(?:{ORDINAL_WORDS}))"
YEAR = r"(?:(?:1[0-9]|20|21)\d{2})"
NUMBER = (
    rf"(?:half\s+an?|\d+(?:\.\d+)?|(?:a\s)?(?:couple|few)(?:\sof)?|several|{alternatives(NUMBERS)})"
)
UNIT = r"(?:seconds?|secs?|minutes?|mins?|hours?|hrs?|days?|weeks?|fortnights?|months?|quarters?|years?|yrs?|decades?)"
OFFSET = re.compile(
    rf"\b(?P<n>{NUMBER})\s*(?P<unit>{UNIT}|fortnights?)\s+(?P<side>from|after|since|following|before|prior\sto|ahead\sof)\s+(?:the\s)?$",
    re.IGNORECASE,
)
"""Before a date: counted back or on from it."""
_SHORT = {"fortnight": "fortnight", "sec": "second", "min": "minute", "hr": "hour", "yr": "year"}


def number(text: str) -> float:
    """Value of "3", "two", "a couple of" …"""
    word = text.lower().removeprefix("a ").removesuffix(" of").strip()
    if word.startswith("half"):
        return 0.5
    return float(word) if word[0].isdigit() else float(NUMBERS.get(word or "a", 1))


def unit(text: str) -> str:
    """Canonical unit of "hrs", "Weeks" …"""
    word = text.lower().removesuffix("s")
    return _SHORT.get(word, word)


def ordinal(text: str) -> int:
    """Value of "3rd", "third", "twenty third", "3"."""
    word = text.lower()
    word = re.sub(r"[\s-]+", "-", word)
    return ORDINALS[word] if word in ORDINALS else int(re.sub(r"\D", "", word))
