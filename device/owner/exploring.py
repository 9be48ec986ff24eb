"""Cold start: what a new phone would still like to know (002, cold start).

For its first turns it offers one question at a time. Nothing is asked out loud: an agent or the
command line may show the question, and once the owner has told enough, it stops.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from device.language import language_of
from device.memory.records import Item, ItemKind

__all__ = ["UNKNOWN", "question_for", "sentence_for", "still_unknown"]

UNKNOWN: tuple[str, ...] = ("name", "home", "work", "likes", "dislikes", "allergy", "birthday")
"""What is worth asking, the most useful first."""
_KEYS = {
    "name": {"name"},
    "home": {"address", "city"},
    "work": {"job", "company"},
    "allergy": {"allergy"},
    "birthday": {"birthday"},
}
"""Attributes of the user that answer each."""
_ACTIONS = {"likes": "like", "dislikes": "dislike"}
_QUESTIONS = {
    "name": ("What should I call you?", "我该怎么称呼你？"),
    "home": ("Which city do you live in, or what is your address?", "你住在哪里？"),
    "work": ("What do you do for a living?", "你是做什么工作的？"),
    "likes": ("What do you like to eat or do?", "你喜欢吃什么、做什么？"),
    "dislikes": ("Is there anything you cannot stand?", "有什么是你受不了的吗？"),
    "allergy": ("Are you allergic to anything?", "你对什么东西过敏吗？"),
    "birthday": ("When is your birthday?", "你的生日是哪天？"),
}


_SENTENCES = {
    "name": ("My name is {}", "我叫{}"),
    "home": ("I live in {}", "我住在{}"),
    "work": ("I work as {}", "我的工作是{}"),
    "likes": ("I like {}", "我喜欢{}"),
    "dislikes": ("I dislike {}", "我讨厌{}"),
    "allergy": ("I am allergic to {}", "我对{}过敏"),
    "birthday": ("My birthday is {}", "我的生日是{}"),
}


def still_unknown(keys: Collection[str], preferences: Sequence[Item]) -> tuple[str, ...]:
    """Which of `UNKNOWN` neither a value (`keys`) nor a preference of the user tells."""
    actions = {item.action for item in preferences if item.kind is ItemKind.PREFERENCE}
    return tuple(
        topic
        for topic in UNKNOWN
        if not (_KEYS[topic] & set(keys) if topic in _KEYS else _ACTIONS[topic] in actions)
    )


def question_for(topic: str, language: str) -> str:
    """The question for one of `UNKNOWN`, in ``zh`` or else in English."""
    english, chinese = _QUESTIONS[topic]
    return chinese if language == "zh" else english


def sentence_for(topic: str, answer: str) -> str:
    """An answer to the question of `topic` as the user would have said it outright, in the
    language of the answer."""
    english, chinese = _SENTENCES[topic]
    return (chinese if language_of(answer) == "zh" else english).format(answer)
