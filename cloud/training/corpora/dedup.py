"""Pairs of remembered sentences: the same fact, one fact to rewrite, or two facts.

duplicate: the second adds nothing. merge: it completes or changes the first. independent: another
fact, however alike the words (article 000: a wrong merge loses both sides).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from cloud.training.corpora.corpus import Line
from cloud.training.corpora.edits import echo, in_context, other_words
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
STRANGER_SHARE = 0.4
"""Independent pairs from two families: what a phone's search for neighbours mostly brings up."""

SIBLING_SHARE = 0.4
"""Independent pairs of one family about the same things; the others name another thing."""
AGAIN_SHARE = 0.4
"""Duplicates in other wording that also have an opener or lesser words exchanged."""
OTHER_WORDS_SHARE = 0.6
"""Duplicates with a word of the lexicon in the place of another."""
CONTEXT_SHARE = {"duplicate": 0.7, "merge": 0.3, "independent": 0.1}
"""Pairs with the same words around both: a long stretch in common speaks for one thing."""
_SOURCES = (("dedup", "slots"), ("dedup.asked", "slots.asked"))
"""Families and the slots they draw from: what people tell of their days, and what they ask."""


@dataclass(frozen=True)
class _Family:
    """Templates about one fact; `keys` are the slots that say which fact it is."""

    keys: tuple[str, ...]
    paraphrases: tuple[str, ...]
    complements: tuple[str, ...]
    siblings: tuple[str, ...]


def dedup_lines() -> Iterator[Line]:
    """Every labelled pair: from templates first, then those written by hand."""
    for language, (source, of_slots) in product(LANGUAGES, _SOURCES):
        slots = read_slots(language, of_slots)
        families = list(_families(language, source))
        trained = [f for position, f in enumerate(families) if not held_out(position)]
        for position, family in enumerate(families):
            out = held_out(position)
            # Held-out sets have no strangers: easy pairs would only flatter their figures.
            strangers = () if out else [other for other in trained if other is not family]
            rng = generator_for("dedup", language, family.paraphrases[0])
            for _ in range(PAIRS_PER_LABEL_HELD_OUT if out else PAIRS_PER_LABEL):
                for label, drawn in _pairs(family, strangers, language, slots, rng):
                    pair = drawn
                    if rng.random() < CONTEXT_SHARE[label]:
                        pair = in_context(pair, language, rng, same=label == "duplicate")
                    swapped = (pair[1], pair[0]) if rng.random() < 0.5 else pair
                    origin = "template-held-out" if out else "template"
                    yield Line(swapped, (label,), language, origin, family.paraphrases[0])
    for name, origin in (("handwritten", "handwritten"), ("probes", "probe")):
        for line in read_lines(f"dedup.{name}.txt"):
            language, label, first, second = split_label(line, 4)
            yield Line((first, second), (label,), language, origin, first)


def _pairs(
    family: _Family,
    strangers: Sequence[_Family],
    language: str,
    slots: Slots,
    rng: np.random.Generator,
) -> Iterator[tuple[str, tuple[str, str]]]:
    values = draw(slots, rng)
    while values.get("friend", "") == values.get("person"):
        values = draw(slots, rng)
    first, second = rng.permutation(len(family.paraphrases))[:2]
    said = fill(family.paraphrases[first], values, rng)
    again = fill(family.paraphrases[second], values, rng)
    yield "duplicate", (said, _said_again(said, again, language, rng))
    yield "merge", (said, _rewrite(family, values, slots, said, rng))
    if strangers and rng.random() < STRANGER_SHARE:
        stranger = choose(strangers, rng)
        yield "independent", (said, fill(choose(stranger.paraphrases, rng), draw(slots, rng), rng))
    else:
        yield "independent", (said, _other_fact(family, values, slots, again, rng))


def _said_again(said: str, again: str, language: str, rng: np.random.Generator) -> str:
    """`again`, another wording of `said`, or `said` itself, edited."""
    if rng.random() < ECHO_SHARE:
        again = echo(said, language, rng)
    elif rng.random() < AGAIN_SHARE:
        again = echo(again, language, rng)
    return other_words(again, language, rng) if rng.random() < OTHER_WORDS_SHARE else again


def _rewrite(
    family: _Family, values: dict[str, str], slots: Slots, said: str, rng: np.random.Generator
) -> str:
    """The fact completed or changed, or said again with another time or number."""
    if rng.random() < VALUE_SHARE:
        changed = draw(slots, rng)
        varying = [name for name in _VALUES if name in values]
        same = {name: value for name, value in values.items() if name not in _VALUES}
        template = choose(family.paraphrases, rng)
        if any(f"{{{name}}}" in template and changed[name] != values[name] for name in varying):
            text = fill(template, changed | same, rng)
            if any(values[name] in said and changed[name] in text for name in varying):
                return text
    fixed = {name: values[name] for name in family.keys}
    return fill(choose(family.complements, rng), draw(slots, rng) | fixed, rng)


def _other_fact(
    family: _Family, values: dict[str, str], slots: Slots, again: str, rng: np.random.Generator
) -> str:
    """A sibling about the same people and places, or the same wording about others."""
    if not family.keys or rng.random() < SIBLING_SHARE:
        return fill(choose(family.siblings, rng), values, rng)
    key = choose([name for name in family.keys if name not in _VALUES], rng)
    others = [value for value in slots[key] if value != values[key]]
    changed = values | {key: choose(others, rng)}
    text = fill(choose(family.paraphrases, rng), changed, rng)
    return text if text != again else fill(choose(family.siblings, rng), values, rng)


def _families(language: str, source: str) -> Iterator[_Family]:
    keys: tuple[str, ...] = ()
    parts: dict[str, list[str]] = {}
    for line in [*read_lines(f"{source}.{language}.txt"), "="]:
        mark, _, rest = line.partition(" ")
        if mark == "=":
            if parts:
                yield _Family(keys, tuple(parts["p"]), tuple(parts["m"]), tuple(parts["i"]))
            # "= -": a family about nothing that could be exchanged.
            keys, parts = tuple(rest.replace("-", "").split()), {"p": [], "m": [], "i": []}
        else:
            parts[mark].append(rest)
