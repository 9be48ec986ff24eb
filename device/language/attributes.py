"""What the user says about themself and theirs: name, address, phone, birthday, job, car …

The tables of `attribute_rules` serve both directions: statements ("我叫林晓") give values, questions
("我叫什么") give the key that is asked for. 我 / 我的 / 本人 / 自己 / I / my / me / myself all mean
the one user; a wife, a child or a cat is known by what they are to the user (`wife.name`).
"""

# ruff: noqa: E501 - a rule reads best on one line

from __future__ import annotations

import re
from dataclasses import dataclass

from device.language.attribute_rules import (
    LABELS_ZH,
    NOT_A_NAME,
    PETS_ZH,
    QUESTIONS,
    RELATION_ASKED,
    RELATION_STATED,
    RELATION_VALUES,
    STATEMENTS,
    TRIGGERS,
)
from device.language.kept import kept
from device.language.modality import is_supposed
from device.language.tokens import language_of
from device.language.words import RELATIONS_EN, RELATIONS_ZH

__all__ = [
    "Attribute",
    "attribute_asked",
    "attribute_label",
    "find_attributes",
    "is_user",
]

USER_SPEAKERS = frozenset({"user", "me", "myself", "i", "我", "本人", "自己", "用户", "human"})
_SIBLINGS = {"哥": "brother", "姐": "sister", "弟": "brother", "妹": "sister"}
_FIRST_PERSON = re.compile(
    r"我|本人|家|住址|地址|号|过敏|\b(?:I|i|my|My|we|We|our|Our|me)\b|[Tt]his is|^home"
)
_RELATED = re.compile(r"叫|岁|生日|电话|手机|\b(?:my|our|My|Our|have|own|got|adopted)\b")
_NO_NAME = re.compile(r"^[下了个辆他她你它份声]|^(?:一|外卖|出租)")
_ASKS = re.compile(r"[?？]\s*$|[吗呢]$|来着$")
_ASKED_VALUE = ("什么", "哪", "谁", "多少", "吗", "几", "啥", "怎么")
_TRIGGERED = tuple((word, key) for key, words in TRIGGERS.items() for word in words)
"""Each word with the key it opens."""
_SENTENCE_END = re.compile(r"(?<=[。！？!?；;\n])|(?<=[.])(?=\s)")


@dataclass(frozen=True, slots=True)
class Attribute:
    """One stated attribute of the user, e.g. key `name`, value `林晓`."""

    key: str
    value: str
    text: str
    """The words that state it."""


def is_user(speaker: str) -> bool:
    """Whether this speaker is the phone's user."""
    return speaker.strip().lower() in USER_SPEAKERS


def find_attributes(text: str, speaker: str = "user") -> list[Attribute]:
    """Attributes the user states in `text`; empty for any other speaker, for questions, for ifs."""
    return list(_stated(text)) if is_user(speaker) else []


@kept
def _stated(text: str) -> tuple[Attribute, ...]:
    if not _FIRST_PERSON.search(text):
        return ()
    found: dict[str, Attribute] = {}
    for sentence in _SENTENCE_END.split(text):
        if sentence.strip() and not _ASKS.search(sentence.strip()) and not is_supposed(sentence):
            _of_relations(sentence, found)
            _of_user(sentence, found)
    return tuple(found.values())


def _of_relations(sentence: str, found: dict[str, Attribute]) -> None:
    if not _RELATED.search(sentence):
        return
    for pattern in RELATION_STATED:
        for match in pattern.finditer(sentence):
            _keep(found, f"{_relation(match[1])}.name", match[2], match.group())
    for what, pattern in RELATION_VALUES:
        for match in pattern.finditer(sentence):
            _keep(found, f"{_relation(match[1])}.{what}", match[2], match.group())


def _of_user(sentence: str, found: dict[str, Attribute]) -> None:
    lowered = sentence.lower()
    open_keys = {key for word, key in _TRIGGERED if word in lowered}
    if not open_keys:
        return
    for key, pattern in STATEMENTS:
        if key not in open_keys or key in found:
            continue
        stated = pattern.search(sentence)
        if stated is not None:
            _keep(found, key, next(g for g in stated.groups() if g), stated.group())


def _relation(word: str) -> str:
    lowered = word.lower()
    return (
        RELATIONS_ZH.get(word)
        or _SIBLINGS.get(word)
        or PETS_ZH.get(word)
        or RELATIONS_EN.get(lowered)
        or RELATIONS_EN[lowered.removesuffix("s")]
    )


def _keep(found: dict[str, Attribute], key: str, value: str, text: str) -> None:
    value = value.strip(" ，,：:").removesuffix("'s").removesuffix("’s")
    question = any(mark in value for mark in _ASKED_VALUE)
    named = not key.endswith("name") or not _NO_NAME.match(value)
    if value and not question and value.lower() not in NOT_A_NAME and named and key not in found:
        found[key] = Attribute(key, value, text.strip(" .，。！"))


@kept
def attribute_asked(query: str) -> str | None:
    """The key a question about the user asks for (`name`, `sister.name` …), or None."""
    query = query.replace("本人", "我")
    for what, pattern in RELATION_ASKED:
        match = pattern.search(query)
        if match is not None:
            return f"{_relation(next(g for g in match.groups() if g))}.{what}"
    if find_attributes(query):
        return None
    return next((key for key, pattern in QUESTIONS if pattern.search(query)), None)


def attribute_label(key: str, query: str) -> str:
    """The key in the query's own language, to stand before a value."""
    if language_of(query) != "zh":
        return key.replace(".", "'s ").replace("_", " ")
    relation, dot, part = key.rpartition(".")
    label = LABELS_ZH.get(part, part)
    asked = next(
        (w for w in sorted(RELATIONS_ZH) if w in query and RELATIONS_ZH[w] == relation), ""
    )
    return f"{asked or relation}的{label}" if dot else label
