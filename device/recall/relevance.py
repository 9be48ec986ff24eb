"""The cross-scorer: how well one memory answers one query, read side by side (002, agentic recall).

An index compares words; this looks at what the query is after (a time, a place, a number, a
reason; whose words) and at whether the memory tells it. No model and no vectors: a handful of
patterns, microseconds a memory, Chinese and English alike.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from math import log
from types import MappingProxyType
from typing import Final

from device.language import attribute_asked, is_user
from device.language.entities import find_people, find_place
from device.language.kept import kept
from protocol.models import lexicon

__all__ = ["CARRIERS", "Question", "aspects_asked", "cross_score", "only_asks"]

WEIGHTS: Final[Mapping[str, float]] = MappingProxyType(
    {
        "time": 0.4,
        "place": 0.2,
        "number": 0.3,
        "reason": 0.15,
        "speaker": 0.25,
        "first_hand": 0.2,
        "asks": -0.2,
        "length": 0.05,
    }
)
"""Share of a memory's score that each feature adds.

time … reason  it tells what is asked for
speaker        it is the words of the one whom the query is about
first_hand     it tells of its speaker's own life
asks           it ends in a question: such a turn seldom answers one
length         for every e-fold of words above SHORT_WORDS: a longer turn tells more
"""
SHORT_WORDS = 15.0
LEAST = 0.1
"""Lowest factor: nothing that an index found is thrown away here."""
CJK_CHARACTERS_A_WORD = 2

BOOKING_NEEDS = ("name", "time", "number")
"""What booking a table, a room or a seat takes: where, when, for how many."""

_ASKED: dict[str, lexicon.Words | re.Pattern[str]] = {
    "time": lexicon.WHEN_ASKED,
    "place": lexicon.WHERE_ASKED,
    "person": lexicon.PERSON_ASKED,
    "number": lexicon.Words(
        "多少 几个 几次 几位 几人 几口 几趟 几样", r"how (?:many|much|often|old|far|big|tall)"
    ),
    "reason": lexicon.Words("为什么 为何 为啥 怎么会 原因 理由", r"why|reasons?|how come"),
}
_NUMBER = re.compile(
    r"\d|[二两三四五六七八九十百千万几][个位人次年天岁块元斤趟口只条遍点]|一[位人次年天岁块元斤趟]"
    r"|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|dozens?|couple|several|once|twice"
    r"|hundreds?|thousands?)\b",
    re.IGNORECASE,
)
_REASON = lexicon.Words(
    "因为 所以 为了 由于 原因 怕 担心 压力",
    r"because|since|so that|reason|inspired?|cause[ds]?|to help|love",
)
_DATED = lexicon.Words(
    "去年 今年 明年 上周 下周 上个月 下个月 昨天 今天 明天 前天 后天 周末 刚刚 最近",
    r"ago|last|next|recently|just|days?",
)
_NAME = re.compile(r"(?<=[a-z,] )(?!I\b)[A-Z][a-z]+")
"""A capitalised word inside an English sentence."""
_FIRST_PERSON = re.compile(r"[我咱俺]|\b(?:i|i['’]\w+|my|mine|we|our|us)\b", re.IGNORECASE)
_SELF_ASKED = re.compile(r"[我咱]|\b(?:i|my|mine|me)\b", re.IGNORECASE)
_OTHER_DOES = re.compile(
    r"你(?:们)?(?:曾经?|以前|之前|上次|还|都)*(?:给我|跟我|和我|对我|向我|为我|告诉|推荐|建议|教|劝|说|提|介绍|分享)"
    r"|\byou\b[^,.;?]{0,20}?\b(?:recommend|suggest|told|tell|sa(?:y|id)|advise|share|teach|taught|g[ai]ve|mention)",
    re.IGNORECASE,
)  # fmt: skip
"""The one who answered is asked about: "what did you recommend to me"."""
_BOOKING = re.compile(
    r"(?:[订定留占]|预[订定约])(?:个|一个|一张|张|两张|好)?(?:位|座|桌|房|票|餐厅|包间)|预[订定约]"
    r"|\bbook\b|\breserv(?:e|ation)\b|\bget (?:me |us )?(?:a table|seats?)",
    re.IGNORECASE,
)
_NAMED = re.compile(
    r"[《“「『][^》”」』]+[》”」』]|(?:名字|店名|名)?叫(?:做|作)?[\u4e00-\u9fffA-Za-z]"
    r"|\b(?:called|named|name is|name's)\b",
)
_I_DO = re.compile(r"\bI (?:have )?(?:recommend|suggest|told|shared?|mention)", re.IGNORECASE)
_WORD = re.compile(r"[A-Za-z0-9]+|[\u3400-\u4dbf\u4e00-\u9fff]")


@dataclass(frozen=True, slots=True)
class Question:
    """A query, taken apart once for all the memories it is read against."""

    text: str
    aspects: tuple[str, ...]
    """What it asks for, of ``time``, ``place``, ``person``, ``number``, ``reason``."""
    needs: tuple[str, ...]
    """What must be found for an answer: the aspects, what a request such as a booking needs, and
    ``attribute`` when it asks for one of the user's."""
    attribute: str
    """Key of that attribute, or empty."""
    words: frozenset[str]
    """Its words, case folded: a speaker named among them is asked about."""
    own: bool
    """It asks about the user's own words."""
    other: bool
    """It asks about the words of the one who answered."""

    @classmethod
    def of(cls, query: str) -> Question:
        """Take `query` apart."""
        return _question(query)

    def asks_about(self, speaker: str) -> bool:
        """Whether it is this speaker's words that the query is after."""
        if is_user(speaker):
            return self.own
        folded = speaker.casefold().split()
        return self.other or bool(folded and folded[0] in self.words)


@kept
def _question(query: str) -> Question:
    other = bool(_OTHER_DOES.search(query)) and not _I_DO.search(query)
    words = frozenset(word.casefold().removesuffix("'s") for word in re.findall(r"[\w']+", query))
    own = not other and bool(_SELF_ASKED.search(query))
    aspects, attribute = aspects_asked(query), attribute_asked(query) or ""
    wanted = BOOKING_NEEDS if _BOOKING.search(query) else ()
    needs = ("attribute",) if attribute else tuple(dict.fromkeys((*aspects, *wanted)))
    return Question(query, aspects, needs, attribute, words, own, other)


def aspects_asked(query: str) -> tuple[str, ...]:
    """Which of time, place, person, number and reason the query asks for."""
    folded = query.casefold()
    return tuple(aspect for aspect, pattern in _ASKED.items() if pattern.search(folded))


def cross_score(
    question: Question, text: str, speaker: str = "", known: Collection[str] = ()
) -> float:
    """How well `text` answers, as a factor on what an index gave it: LEAST … about 2.

    `known` names aspects that are known of it beside its words, such as an event's time.
    """
    return _factor(text, question.text, speaker, frozenset(known))


@kept
def _factor(text: str, query: str, speaker: str, known: frozenset[str]) -> float:
    total = 0.0
    for name, value in cross_features(_question(query), text, speaker, known).items():
        total += WEIGHTS[name] * value
    return max(1.0 + total, LEAST)


def cross_features(
    question: Question, text: str, speaker: str = "", known: Collection[str] = ()
) -> dict[str, float]:
    """The features of WEIGHTS that `text` shows, each 1 but for ``length`` (about −2 … 2)."""
    found = {
        aspect: 1.0
        for aspect in question.aspects
        if aspect in WEIGHTS and (aspect in known or CARRIERS[aspect](text))
    }
    if speaker and question.asks_about(speaker):
        found["speaker"] = 1.0
    found.update(_shown(text))
    return found


@kept
def _shown(text: str) -> Mapping[str, float]:
    """The features that `text` shows whatever is asked."""
    shown = {}
    if _FIRST_PERSON.search(text):
        shown["first_hand"] = 1.0
    if only_asks(text):
        shown["asks"] = 1.0
    shown["length"] = log(max(_length(text), 1.0) / SHORT_WORDS)
    return MappingProxyType(shown)


def only_asks(text: str) -> bool:
    """Whether `text` ends in a question."""
    return text.rstrip().endswith(("?", "？"))


def _length(text: str) -> float:
    """Words, two Chinese characters counting as one."""
    if text.isascii():
        return float(text.count(" ") + 1)
    pieces = _WORD.findall(text)
    return sum(1.0 if piece.isascii() else 1.0 / CJK_CHARACTERS_A_WORD for piece in pieces)


@kept
def _tells_time(text: str) -> bool:
    folded = text.casefold()
    return bool(lexicon.TIME.search(folded) or _DATED.search(folded))


@kept
def _tells_person(text: str) -> bool:
    return bool(find_people(text) or _NAME.search(text))


@kept
def _tells_number(text: str) -> bool:
    return bool(_NUMBER.search(text))


@kept
def _tells_reason(text: str) -> bool:
    return bool(_REASON.search(text.casefold()))


@kept
def _tells_name(text: str) -> bool:
    return bool(_NAMED.search(text) or find_place(text))


CARRIERS: dict[str, Callable[[str], bool]] = {
    "time": _tells_time,
    "place": lambda text: bool(find_place(text)),
    "person": _tells_person,
    "number": _tells_number,
    "reason": _tells_reason,
    "name": _tells_name,
}
"""Whether a text tells an aspect."""
