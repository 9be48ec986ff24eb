"""Words and numbers of a text, as parallel lists that the grammar reads by index."""

from __future__ import annotations

import re
from functools import lru_cache

from device.language.english_times.lexicon import MONTHS

__all__ = ["Tokens", "tokenize"]

PADDING = 16
"""Empty tokens at the end, so that looking ahead (and behind the first) needs no check."""
OTHER = "\0"
"""The word of a token that is no part of a time: money, an identifier, a percentage."""
_TOKEN = re.compile(
    r"\d{1,3}(?:,\d{3})+(?!\d)(?:\.\d+)?|[$€£¥]\s?\d[\d.,]*\w*|\d+(?:\.\d+)?\s?[%$€£¥°]|\d+"
    r"|[A-Za-z]+(?:['’][A-Za-z]+)*|[^\sA-Za-z\d]"
)
_MONTH = "|".join(sorted(MONTHS, key=lambda word: (-len(word), word)))
_MIXED = re.compile(
    r"\d+(?:st|nd|rd|th|am|pm|a|p|ampm|ish|h|hrs?|m|mins?|s|secs?|d|days?|w|wks?|weeks?|y|yrs?|z)"
    rf"|(?:{_MONTH})\d+(?:st|nd|rd|th)?|\d+(?:st|nd|rd|th)?(?:{_MONTH})\d*"
    r"|(?:q|h|w|cy|week)\d+|\d{4}(?:q|h|w)\d+|\d+t\d+|\d+h\d+(?:m|mins?)?|\d+(?:days?|years?|months?)",
    re.IGNORECASE,
)
"""Letters and digits run together that can be a time; any other such run is an identifier."""

_ALTERNATING = re.compile(r"\d[A-Za-z]|[A-Za-z]\d")


class Tokens:
    """The words of `text` in lower case, their values and places.

    ``numbers[i]`` is the value of a token of digits and −1 for words; ``glued[i]`` says that no
    space stands before the token.
    """

    __slots__ = ("begins", "count", "glued", "numbers", "stops", "text", "words")

    def __init__(self, text: str) -> None:
        self.text = text
        words: list[str] = []
        begins: list[int] = []
        stops: list[int] = []
        for match in _TOKEN.finditer(text):
            words.append(_word(match.group()))
            begins.append(match.start())
            stops.append(match.end())
        self.words, self.begins, self.stops, self.count = words, begins, stops, len(words)
        self.glued = [begin == stop for begin, stop in zip(begins, [-1, *stops], strict=False)]
        if _ALTERNATING.search(text):
            self._strike_identifiers()
        self.numbers = [int(w) if w.isdecimal() and w.isascii() else -1 for w in words]
        words.extend([""] * PADDING)
        self.numbers.extend([-1] * PADDING)
        self.glued.extend([False] * PADDING)
        begins.extend([len(text)] * PADDING)
        stops.extend([len(text)] * PADDING)

    def _strike_identifiers(self) -> None:
        first = 0
        while first < self.count:
            stop = first + 1
            while stop < self.count and self.glued[stop] and self.words[stop].isalnum():
                stop += 1
            if stop - first > 1 and self.words[first].isalnum():
                run = self.text[self.begins[first] : self.stops[stop - 1]]
                if run.isascii() and not _MIXED.fullmatch(run):
                    self.words[first:stop] = [OTHER] * (stop - first)
            first = stop

    def digits(self, index: int) -> int:
        """How many digits the number at `index` is written with."""
        return self.stops[index] - self.begins[index]

    def capital(self, index: int) -> bool:
        """Does the token begin with a capital letter?"""
        return self.text[self.begins[index] : self.begins[index] + 1].isupper()


@lru_cache(maxsize=4096)
def _word(raw: str) -> str:
    if len(raw) > 1 and not (raw.isdecimal() or raw[0].isalpha()):
        return OTHER
    word = raw.lower().replace("’", "'")
    return word.removesuffix("'s") if len(word) > 3 else word


def tokenize(text: str) -> Tokens:
    """The tokens of `text`."""
    return Tokens(text)
