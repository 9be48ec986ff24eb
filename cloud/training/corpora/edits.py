"""Edits of a sentence that leave its meaning: what makes two tellings of one thing differ."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import numpy as np

from cloud.training.corpora.templates import choose, read_lines
from protocol.models.synonyms import CHINESE, ENGLISH

__all__ = ["echo", "in_context", "other_words"]

EDITS = 2
"""Lesser words exchanged at most."""
MOVED_CONTEXT_SHARE = 0.3
"""Chinese pairs that have their common context before the one and after the other."""
_LONGEST_WORD = 4

_ECHOES = {
    "zh": "请问{} 求问{} 谁知道{} 想问一下{} {}，谢谢 你好，{} 大家说{} {}。 {}！ {}，嗯 {}啊 "
    "{}哦，对 我说过，{} {}呢 话说{}",
    "en": "{}.|{}!|{}, yes|{}, right|{}, you know|well, {}|as I said, {}|please, {}|hi, {}"
    "|{}, thanks",
}
_LESSER = {
    "zh": "周/星期 星期/礼拜 我们/咱们 和/跟 跟/和 怎么/如何 怎样/怎么 什么/啥 没有/没 喜欢/爱 "
    "哪里/哪儿 的/ 了/ 是/ 要/得 去/到 都/ 我/ 请问/ 定在/在 多少/几 怎么/到底怎么 有/都有 "
    "什么/些什么 哪个/那个 吗/么",
    "en": "I_am/I'm I'm/I_am don't/do_not is/'s can't/cannot my/the the/my the/ a/one about/on "
    "I_have/I've really/ love/like like/love every/each usually/mostly starts/begins bought/got "
    "near/close_to with/together_with I/me_I on/this",
}
"""Words to put another word for without a change of meaning; "_" stands for a space."""


def echo(said: str, language: str, rng: np.random.Generator) -> str:
    """The sentence with an opener or ending, or with up to EDITS lesser words exchanged."""
    if rng.random() < 0.5:
        return _opened(said, language, rng)
    gap = " " if language == "en" else ""
    text = f"{gap}{said}{gap}"
    swaps = [tuple(pair.replace("_", " ").split("/", 1)) for pair in _LESSER[language].split()]
    fitting = [(old, new) for old, new in swaps if f"{gap}{old}{gap}" in text]
    for _ in range(min(EDITS, len(fitting))):
        old, new = choose(fitting, rng)
        spaced = f"{gap}{new}{gap}" if new and new[0] != "'" else f"{new}{gap}"
        text = text.replace(f"{gap}{old}{gap}", spaced or gap, 1)
    return text.strip() if text.strip() != said else _opened(said, language, rng)


def _opened(said: str, language: str, rng: np.random.Generator) -> str:
    separator = " " if language == "zh" else "|"
    return choose(_ECHOES[language].split(separator), rng).format(said)


def other_words(said: str, language: str, rng: np.random.Generator) -> str:
    """The sentence with one word in the place of another that says the same, if it has such."""
    mates = _mates(language)
    if language == "zh":
        spots = [
            (start, start + length)
            for start in range(len(said))
            for length in range(2, _LONGEST_WORD + 1)
            if said[start : start + length] in mates
        ]
        if not spots:
            return said
        start, end = choose(spots, rng)
        return said[:start] + choose(mates[said[start:end]], rng) + said[end:]
    words = said.split(" ")
    places = [place for place, word in enumerate(words) if word in mates]
    if places:
        place = choose(places, rng)
        words[place] = choose(mates[words[place]], rng)
    return " ".join(words)


@cache
def _mates(language: str) -> Mapping[str, tuple[str, ...]]:
    """Word → other words for its concept; single characters mean too much to be exchanged."""
    groups: dict[str, list[str]] = {}
    for word, concept in (CHINESE if language == "zh" else ENGLISH).items():
        if language == "en" or len(word) > 1:
            groups.setdefault(concept, []).append(word)
    return {
        word: tuple(mate for mate in mates if mate != word)
        for mates in groups.values()
        if len(mates) > 1
        for word in mates
    }


def in_context(
    pair: tuple[str, str], language: str, rng: np.random.Generator, *, same: bool
) -> tuple[str, str]:
    """Both sentences with the same words around them; with `same` meaning, sometimes elsewhere.

    What two texts say alike at length is mostly one thing, and without it a model would learn that
    long texts are never repeated.
    """
    first = second = choose(_contexts(language), rng)
    if same and language == "zh" and rng.random() < MOVED_CONTEXT_SHARE:
        words = first.replace("{}", "").strip("，")
        second = f"{{}}，{words}" if first.endswith("{}") else f"{words}，{{}}"
    return first.format(pair[0]), second.format(pair[1])


@cache
def _contexts(language: str) -> tuple[str, ...]:
    return tuple(read_lines(f"dedup.context.{language}.txt"))
