"""Sentiment of a sentence from two small word lists, with negation."""

from __future__ import annotations

import re

from device.language.words import (
    CHINESE_NEGATIVE,
    CHINESE_POSITIVE,
    ENGLISH_NEGATIVE,
    ENGLISH_POSITIVE,
)

__all__ = ["sentiment"]

_WORD = re.compile(r"[a-z']+")
_ENGLISH_NOT = frozenset({"not", "no", "never", "don't", "didn't", "doesn't", "isn't", "wasn't"})
_STRONG = re.compile(r"非常|特别|超级|最|太|极|really|very|so |extremely|absolutely|most|!|！")
_CHINESE_NOT = ("不", "没", "别", "不太", "不是很")
NOT_WINDOW = 3
"""English words a negation reaches over."""
MILD, STRONG = 0.5, 0.9
"""Sentiment of a plain and of an emphasised word."""


def sentiment(text: str) -> float:
    """−1 (bad) … 1 (good); 0 when nothing in the text says."""
    balance = _english(text.lower()) + _chinese(text)
    if balance == 0:
        return 0.0
    size = STRONG if _STRONG.search(text.lower()) else MILD
    return size if balance > 0 else -size


def _english(text: str) -> int:
    words = _WORD.findall(text)
    balance = 0
    for position, word in enumerate(words):
        value = (word in ENGLISH_POSITIVE) - (word in ENGLISH_NEGATIVE)
        if value and any(
            w in _ENGLISH_NOT for w in words[max(0, position - NOT_WINDOW) : position]
        ):
            value = -value
        balance += value
    return balance


def _chinese(text: str) -> int:
    balance = 0
    rest = text
    for word in CHINESE_NEGATIVE:
        balance -= rest.count(word)
        rest = rest.replace(word, "")
    for word in CHINESE_POSITIVE:
        for match in re.finditer(word, rest):
            negated = rest[: match.start()].endswith(_CHINESE_NOT)
            balance += -1 if negated else 1
    return balance
