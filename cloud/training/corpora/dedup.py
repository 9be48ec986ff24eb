"""Pairs of remembered sentences: the same fact, one fact to rewrite, or two facts.

duplicate: the second adds nothing. merge: it completes or changes the first. independent: another
fact, however alike the words (article 000: a wrong merge loses both sides).
"""

from __future__ import annotations

from collections.abc import Iterator
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
ECHO_SHARE = 0.1
"""Duplicates that are the very same sentence but for a mark or a particle."""

_ECHOES = {
    "zh": ("。", "！", "，嗯", "啊", "哦，对"),
    "en": (".", "!", ", yes", ", right", ", you know"),
}


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
        for position, family in enumerate(_families(language)):
            out = held_out(position)
            rng = generator_for("dedup", language, family.paraphrases[0])
            for _ in range(PAIRS_PER_LABEL_HELD_OUT if out else PAIRS_PER_LABEL):
                for label, pair in _pairs(family, language, slots, rng):
                    swapped = (pair[1], pair[0]) if rng.random() < 0.5 else pair
                    origin = "template-held-out" if out else "template"
                    yield Line(swapped, (label,), language, origin)
    for line in read_lines("dedup.handwritten.txt"):
        language, label, first, second = split_label(line, 4)
        yield Line((first, second), (label,), language, "handwritten")


def _pairs(
    family: _Family, language: str, slots: Slots, rng: np.random.Generator
) -> Iterator[tuple[str, tuple[str, str]]]:
    values = draw(slots, rng)
    first, second = rng.permutation(len(family.paraphrases))[:2]
    said = fill(family.paraphrases[first], values, rng)
    again = fill(family.paraphrases[second], values, rng)
    if rng.random() < ECHO_SHARE:
        again = said + choose(_ECHOES[language], rng)
    yield "duplicate", (said, again)
    yield (
        "merge",
        (
            said,
            fill(choose(family.complements, rng), draw(slots, rng) | _keys(family, values), rng),
        ),
    )
    yield "independent", (said, _other_fact(family, values, slots, again, rng))


def _other_fact(
    family: _Family, values: dict[str, str], slots: Slots, again: str, rng: np.random.Generator
) -> str:
    """A sibling about the same people and places, or the same wording about others."""
    if rng.random() < 0.5:
        return fill(choose(family.siblings, rng), values, rng)
    key = choose(family.keys, rng)
    others = [value for value in slots[key] if value != values[key]]
    changed = values | {key: choose(others, rng)}
    text = fill(choose(family.paraphrases, rng), changed, rng)
    return text if text != again else fill(choose(family.siblings, rng), values, rng)


def _keys(family: _Family, values: dict[str, str]) -> dict[str, str]:
    return {name: values[name] for name in family.keys}


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
