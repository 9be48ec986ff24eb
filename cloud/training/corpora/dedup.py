"""Pairs of remembered sentences: the same fact, one fact to rewrite, or two facts.

duplicate: the second adds nothing. merge: it completes or changes the first. independent: another
fact, however alike the words (article 000: a wrong merge loses both sides).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from cloud.training.corpora.corpus import Line
from cloud.training.corpora.templates import (
    LANGUAGES,
    Slots,
    choose,
    draw,
    fill,
    generator_for,
    held_out,
    read_lines,
    read_slots,
    split_label,
)

__all__ = ["dedup_lines"]

PAIRS_PER_LABEL = 40
PAIRS_PER_LABEL_HELD_OUT = 16
ECHO_SHARE = 0.35
"""Duplicates that are the same sentence but for an opener, a particle or a lesser word."""

_VALUES = ("day", "hour", "past", "price", "num", "wday")
"""Slots that say when or how much: another value rewrites a fact, it does not make another one."""
VALUE_SHARE = 0.3
"""Merges that are the same sentence with another value, where a family has one."""
STRANGER_SHARE = 0.2
"""Independent pairs from two families: what a phone's search for neighbours mostly brings up."""

_ECHOES = {
    "zh": ("{}。", "{}！", "{}，嗯", "{}啊", "{}哦，对", "我说过，{}", "请问{}", "{}呢", "话说{}"),
    "en": ("{}.", "{}!", "{}, yes", "{}, right", "{}, you know", "well, {}", "as I said, {}"),
}


_LESSER = {
    "zh": "周/星期 星期/礼拜 我们/咱们 和/跟 跟/和 怎么/如何 怎样/怎么 什么/啥 没有/没 喜欢/爱 "
    "哪里/哪儿 的/ 了/ 是/ 要/得 去/到 都/ 我/ 请问/ 定在/在 多少/几",
    "en": "I_am/I'm I'm/I_am don't/do_not is/'s can't/cannot my/the the/my the/ a/one about/on "
    "I_have/I've really/ love/like like/love every/each usually/mostly starts/begins bought/got "
    "near/close_to with/together_with I/me_I on/this",
}
"""Words to put another word for without a change of meaning; "_" stands for a space."""
EDITS = 2


@dataclass(frozen=True)
class _Family:
    """Templates about one fact; `keys` are the slots that say which fact it is."""

    keys: tuple[str, ...]
    paraphrases: tuple[str, ...]
    complements: tuple[str, ...]
    siblings: tuple[str, ...]


def dedup_lines() -> Iterator[Line]:
    """Every labelled pair: from templates first, then those written by hand."""
    for language in LANGUAGES:
        slots = read_slots(language)
        families = list(_families(language))
        trained = [f for position, f in enumerate(families) if not held_out(position)]
        for position, family in enumerate(families):
            out = held_out(position)
            # Held-out sets have no strangers: easy pairs would only flatter their figures.
            strangers = () if out else [other for other in trained if other is not family]
            rng = generator_for("dedup", language, family.paraphrases[0])
            for _ in range(PAIRS_PER_LABEL_HELD_OUT if out else PAIRS_PER_LABEL):
                for label, pair in _pairs(family, strangers, language, slots, rng):
                    swapped = (pair[1], pair[0]) if rng.random() < 0.5 else pair
                    origin = "template-held-out" if out else "template"
                    yield Line(swapped, (label,), language, origin)
    for line in read_lines("dedup.handwritten.txt"):
        language, label, first, second = split_label(line, 4)
        yield Line((first, second), (label,), language, "handwritten")


def _pairs(
    family: _Family,
    strangers: Sequence[_Family],
    language: str,
    slots: Slots,
    rng: np.random.Generator,
) -> Iterator[tuple[str, tuple[str, str]]]:
    values = draw(slots, rng)
    while values["friend"] == values["person"]:
        values = draw(slots, rng)
    first, second = rng.permutation(len(family.paraphrases))[:2]
    said = fill(family.paraphrases[first], values, rng)
    again = fill(family.paraphrases[second], values, rng)
    if rng.random() < ECHO_SHARE:
        again = _echo(said, language, rng)
    yield "duplicate", (said, again)
    yield "merge", (said, _rewrite(family, values, slots, said, rng))
    if strangers and rng.random() < STRANGER_SHARE:
        stranger = choose(strangers, rng)
        yield "independent", (said, fill(choose(stranger.paraphrases, rng), draw(slots, rng), rng))
    else:
        yield "independent", (said, _other_fact(family, values, slots, again, rng))


def _echo(said: str, language: str, rng: np.random.Generator) -> str:
    """The sentence with an opener or ending, or with up to EDITS lesser words exchanged."""
    if rng.random() < 0.5:
        return choose(_ECHOES[language], rng).format(said)
    gap = " " if language == "en" else ""
    text = f"{gap}{said}{gap}"
    swaps = [tuple(pair.replace("_", " ").split("/", 1)) for pair in _LESSER[language].split()]
    fitting = [(old, new) for old, new in swaps if f"{gap}{old}{gap}" in text]
    for _ in range(min(EDITS, len(fitting))):
        old, new = choose(fitting, rng)
        spaced = f"{gap}{new}{gap}" if new and new[0] != "'" else f"{new}{gap}"
        text = text.replace(f"{gap}{old}{gap}", spaced or gap, 1)
    return text.strip() if text.strip() != said else choose(_ECHOES[language], rng).format(said)


def _rewrite(
    family: _Family, values: dict[str, str], slots: Slots, said: str, rng: np.random.Generator
) -> str:
    """The fact completed or changed, or said again with another time or number."""
    if rng.random() < VALUE_SHARE:
        changed = draw(slots, rng)
        same = {name: value for name, value in values.items() if name not in _VALUES}
        template = choose(family.paraphrases, rng)
        if any(f"{{{name}}}" in template and changed[name] != values[name] for name in _VALUES):
            text = fill(template, changed | same, rng)
            if any(values[name] in said and changed[name] in text for name in _VALUES):
                return text
    fixed = {name: values[name] for name in family.keys}
    return fill(choose(family.complements, rng), draw(slots, rng) | fixed, rng)


def _other_fact(
    family: _Family, values: dict[str, str], slots: Slots, again: str, rng: np.random.Generator
) -> str:
    """A sibling about the same people and places, or the same wording about others."""
    if rng.random() < 0.5:
        return fill(choose(family.siblings, rng), values, rng)
    key = choose([name for name in family.keys if name not in _VALUES], rng)
    others = [value for value in slots[key] if value != values[key]]
    changed = values | {key: choose(others, rng)}
    text = fill(choose(family.paraphrases, rng), changed, rng)
    return text if text != again else fill(choose(family.siblings, rng), values, rng)


def _families(language: str) -> Iterator[_Family]:
    keys: tuple[str, ...] = ()
    parts: dict[str, list[str]] = {}
    for line in [*read_lines(f"dedup.{language}.txt"), "="]:
        mark, _, rest = line.partition(" ")
        if mark == "=":
            if parts:
                yield _Family(keys, tuple(parts["p"]), tuple(parts["m"]), tuple(parts["i"]))
            keys, parts = tuple(rest.split()), {"p": [], "m": [], "i": []}
        else:
            parts[mark].append(rest)
