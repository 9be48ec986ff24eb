"""Sentiment of a sentence: small word lists, phrases, negation, and what follows a "but".

Own lists, not a library: on sentences of public dialogues judged by a reader they are right in 90 %
(Chinese) and 83 % (English); JioNLP's lexicon (Chinese alone, 42 MB) in 82 %, VADER (MIT, English
alone) in 73 %; SnowNLP costs 420 MB. `bench_language.py` measures them in one run.
"""

# ruff: noqa: E501 - a rule reads best on one line

from __future__ import annotations

import re

from device.language.kept import kept
from device.language.sentiment_words import (
    CHINESE_NEGATIVE,
    CHINESE_POSITIVE,
    ENGLISH_NEGATIVE,
    ENGLISH_POSITIVE,
    PHRASES_NEGATIVE,
    PHRASES_POSITIVE,
)

__all__ = ["sentiment"]

MILD, STRONG = 0.5, 0.9
"""Sentiment of a plain and of an emphasised word."""
NOT_WINDOW = 3
"""English words a negation reaches over."""
NOT_CHARACTERS = 4
"""Chinese characters a negation reaches over."""
AFTER_BUT = 2.0
"""Weight of what follows a "but"."""

_VALUES = dict.fromkeys(CHINESE_NEGATIVE, -1) | dict.fromkeys(CHINESE_POSITIVE, 1)
_CHINESE = re.compile("|".join(sorted(_VALUES, key=lambda word: (-len(word), word))))
_LATIN = re.compile(r"[a-z]")
_HAN = re.compile(r"[\u4e00-\u9fff]")
_WORD = re.compile(r"[a-z][a-z'-]*")
_ENGLISH_NOT = re.compile(r"^(?:not|no|never|without|hardly|barely|nothing|neither|cannot|\w+n't)$")
_CHINESE_NOT = re.compile(
    r"(?:不|没有?|并非|(?<!特)别|无|未|毫不|从不|不太|不是很|不怎么|不再|不算)[很太再是算怎么那么够]*$"
)
_NEUTRAL = re.compile(
    r"烦请|麻烦|累计|累积|担保|高兴路|爱丁堡|爱人|爱好|可爱多|压力锅|疼痛科|精神病|精神科|精神卫生|健康[码证险]|笑话|慌忙|痛点|帅[哥府]|成了(?=.{2})"
    r"|感谢信|谢谢惠顾|开发烂|糟[糠鱼]|惨叫|赞助|夸[张克]|迟到早退|赞成|牛[津]|支持我们?公司|\bkind of\b|\bpretty (?=\w)|\bcold (?:water|drink|brew|front)|\bdown (?=the|to|on|in|by|at)"
    r"|\b(?:sit|lie|write|put|slow|come|go|went|look|looking|cut|up and|calm)(?:ting|ing)? down\b|\bmean(?=t|s|\s(?:that|it|to|the))|\bwon't\b|\bthanks? (?:to|for)\b|\bfun run\b|\blost and found\b",
    re.IGNORECASE,
)
"""Words that look like feeling and are none."""
_STRONG = re.compile(
    r"非常|特别|超级?|最|太|极|死了|透了|得要命|坏了|疯|完美|really|very|\bso |extremely|absolutely|\bmost\b|totally|love|hate|adore|thrilled|terribl|awful|amazing"
    r"|wonderful|fantastic|!|！",
    re.IGNORECASE,
)
_BUT = re.compile(r"但是|但|可是|不过|然而|反而|\b(?:but|however|though)\b", re.IGNORECASE)
_POSITIVE = re.compile(PHRASES_POSITIVE, re.IGNORECASE)
_NEGATIVE = re.compile(PHRASES_NEGATIVE, re.IGNORECASE)


@kept
def sentiment(text: str) -> float:
    """−1 (bad) … 1 (good); 0 when nothing in the text says."""
    lowered = _NEUTRAL.sub(" ", text.lower().replace("’", "'"))
    head, *tail = _BUT.split(lowered, maxsplit=1)
    balance = _balance(head) + AFTER_BUT * sum(map(_balance, tail))
    if balance == 0:
        return 0.0
    size = STRONG if _STRONG.search(lowered) else MILD
    return size if balance > 0 else -size


def _balance(text: str) -> int:
    """Good words and phrases minus bad ones; a phrase takes its words with it."""
    good = _POSITIVE.findall(text)
    text = _POSITIVE.sub(" ", text)
    bad = _NEGATIVE.findall(text)
    text = _NEGATIVE.sub(" ", text)
    balance = len(good) - len(bad)
    if _LATIN.search(text):
        balance += _english(text)
    return balance + _chinese(text) if _HAN.search(text) else balance


def _english(text: str) -> int:
    words = _WORD.findall(text)
    balance = 0
    for position, word in enumerate(words):
        value = (word in ENGLISH_POSITIVE) - (word in ENGLISH_NEGATIVE)
        before = words[max(0, position - NOT_WINDOW) : position]
        if value and any(_ENGLISH_NOT.match(w) for w in before):
            value = -value
        balance += value
    return balance


def _chinese(text: str) -> int:
    balance = 0
    for match in _CHINESE.finditer(text):
        before = text[max(0, match.start() - NOT_CHARACTERS) : match.start()]
        value = _VALUES[match.group()]
        balance += -value if _CHINESE_NOT.search(before) else value
    return balance
