"""Features of two texts for the dedup model: what they share, and what sets them apart.

A cosine cannot decide a merge (002 and our own measurements: at cosine ≥ .95 one pair in four is
wrong; beside these features it adds nothing), so most of them are about differences: what only one
side says, what stands in its place on the other side, numbers and times that conflict, negation,
opposites, kinds of question, word order. Every feature is symmetric: which of two memories came
first says nothing, and a model need not learn everything twice.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol.models.alignment import (
    Alignment,
    align,
    common_prefix,
    common_subsequence,
    longest_run,
)
from protocol.models.differences import Parts, additions, half, rarest, swaps
from protocol.models.kept import kept_up_to
from protocol.models.tokens import MAX_TEXT
from protocol.models.views import MANNERS, View, view_of

__all__ = ["PAIR_FEATURE_NAMES", "dedup_features"]

_QUESTIONS = (
    *("how", "what", "why", "where", "when", "who", "many", "price", "which", "mean", "good"),
    *("cope", "yes"),
)
_WORTH_ADDING = 8
"""Weight from which what one side adds is news and not another way to say it."""
_FEW_WORDS = 30.0
"""Left-over weight at which a feature is full."""
_MANY_WORDS = 60.0
"""Shared weight at which a feature is full."""
_LONG = 20.0
_CACHED_PAIRS = 512
"""Two memories are compared again in every answer that holds both."""

PAIR_FEATURE_NAMES: tuple[str, ...] = (
    "unit_jaccard",
    "bigram_jaccard",
    "trigram_jaccard",
    "order_similarity",
    "longest_run",
    "common_prefix",
    "common_suffix",
    "length_ratio",
    "equal_text",
    "same_language",
    "shorter_length",
    "longer_length",
    "lighter_weight",
    "heavier_weight",
    "dice",
    "lighter_contained",
    "heavier_contained",
    "dice_in_order",
    "moved",
    "displacement",
    "shared_weight",
    "lighter_left",
    "heavier_left",
    "less_left",
    "more_left",
    "lighter_rarest_left",
    "heavier_rarest_left",
    "pair_dice",
    "pair_contained",
    "content_dice",
    "content_contained",
    "content_order",
    "nothing_left",
    "one_adds",
    "only_order_differs",
    "swapped",
    "widest_swap",
    "rarest_swap",
    "swaps",
    "one_swap",
    "swap_place",
    "swap_length",
    "concepts_swapped",
    "opposites",
    "added",
    "widest_addition",
    "additions",
    "both_add",
    "addition_length",
    "added_at_start",
    "added_at_end",
    "same_start",
    "same_end",
    "same_two_starts",
    "same_two_ends",
    "numbers_conflict",
    "numbers_added",
    "numbers_shared",
    "times_conflict",
    "times_added",
    "times_shared",
    "people_conflict",
    "people_added",
    "latin_conflict",
    "latin_added",
    "latin_shared",
    "titles_conflict",
    "questions_overlap",
    "questions_conflict",
    "one_asks",
    "nobody_asks",
    *(f"{name}_asked_by_one" for name in _QUESTIONS),
    "negation_differs",
    "negation_odd",
    *(f"{name}_differs" for name, _ in MANNERS),
    "clauses_differ",
)
"""Names of the pair features, in order."""


def dedup_features(a: str, b: str) -> NDArray[np.float32]:
    """float32[PAIR_FEATURES] of a pair, in the order of PAIR_FEATURE_NAMES.

    Each in 0–1; dedup_features(a, b) equals dedup_features(b, a).
    """
    return featured_pairs(a, b).copy()


@kept_up_to(_CACHED_PAIRS, longest=MAX_TEXT)
def featured_pairs(a: str, b: str) -> NDArray[np.float32]:
    """As `dedup_features`, the newest answers kept; not to be changed by who gets them."""
    lighter, heavier = sorted((view_of(a), view_of(b)), key=_size)
    alignment = align(lighter.words, heavier.words)
    parts = Parts.of(lighter, heavier, alignment)
    features = (
        *_wording(lighter, heavier),
        *_shares(lighter, heavier, alignment, parts),
        *swaps(lighter, heavier, parts),
        *additions(lighter, heavier, parts),
        *_edges(lighter, heavier),
        *_kinds(lighter, heavier),
        *_manner(lighter, heavier),
    )
    return np.array(features, dtype=np.float32)


def _size(view: View) -> tuple[int, list[str], tuple[str, ...], str]:
    return view.weight, view.words, view.units, view.text


def _wording(a: View, b: View) -> tuple[float, ...]:
    """Likeness of the texts as they stand."""
    least, most = sorted((len(a.units), len(b.units)))
    return (
        _jaccard(a.bag, b.bag),
        _jaccard(a.bigrams, b.bigrams),
        _jaccard(a.trigrams, b.trigrams),
        2.0 * common_subsequence(a.units, b.units) / max(least + most, 1),
        longest_run(a.units, b.units) / max(least, 1),
        common_prefix(a.units, b.units) / max(least, 1),
        common_prefix(a.units[::-1], b.units[::-1]) / max(least, 1),
        least / max(most, 1),
        float(a.units == b.units),
        1.0 - abs(a.cjk_share - b.cjk_share),
        min(least / _LONG, 1.0),
        min(most / _LONG, 1.0),
        min(a.weight / _MANY_WORDS, 1.0),
        min(b.weight / _MANY_WORDS, 1.0),
    )


def _shares(a: View, b: View, alignment: Alignment, parts: Parts) -> tuple[float, ...]:
    """How much of either text the other one says too, and in the same order."""
    in_order = sum([a.weights[place] for place, _ in alignment.in_order])
    moved = sum([a.weights[place] for place, _ in alignment.moved])
    shared, total = in_order + moved, max(a.weight + b.weight, 1)
    left, right = parts.left
    pairs = sum([weight for pair, weight in a.pairs.items() if pair in b.pairs])
    content = sum(
        [weight for word, weight in a.content_weights.items() if word in b.content_weights]
    )
    in_content = common_subsequence(a.content, b.content)
    alone = not min(left, right)
    return (
        2.0 * shared / total,
        shared / max(a.weight, 1),
        shared / max(b.weight, 1),
        2.0 * in_order / total,
        moved / max(shared, 1),
        _displacement(a, b, alignment),
        min(shared / _MANY_WORDS, 1.0),
        min(left / _FEW_WORDS, 1.0),
        min(right / _FEW_WORDS, 1.0),
        half(min(left, right)),
        half(max(left, right)),
        rarest(a, parts, 0),
        rarest(b, parts, 1),
        2.0 * pairs / max(a.pair_weight + b.pair_weight, 1),
        pairs / max(min(a.pair_weight, b.pair_weight), 1),
        min(2.0 * content / max(a.content_weight + b.content_weight, 1), 1.0),
        min(content / max(min(a.content_weight, b.content_weight), 1), 1.0),
        2.0 * in_content / max(len(a.content) + len(b.content), 1),
        float(bool(content) and alone),
        float(bool(content) and alone and max(left, right) >= _WORTH_ADDING),
        float(not left and not right and bool(alignment.moved)),
    )


def _displacement(a: View, b: View, alignment: Alignment) -> float:
    """How far partners stand from where the other text has them, 0–1."""
    pairs = [*alignment.in_order, *alignment.moved]
    long, wide = max(len(a.words) - 1, 1), max(len(b.words) - 1, 1)
    # fsum: exact, so the same on every machine.
    apart = math.fsum([abs(x / long - y / wide) for x, y in pairs])
    return apart / max(len(pairs), 1)


def _edges(a: View, b: View) -> tuple[float, ...]:
    """Texts about one thing mostly begin, or end, with it."""
    return (
        float(a.content[:1] == b.content[:1]),
        float(a.content[-1:] == b.content[-1:]),
        float(a.content[:2] == b.content[:2]),
        float(a.content[-2:] == b.content[-2:]),
    )


def _kinds(a: View, b: View) -> tuple[float, ...]:
    """Where both say something of one kind and not the same, or only one says it."""
    mine, theirs = a.kinds, b.kinds
    asked, wanted = mine["questions"], theirs["questions"]
    titles = bool(a.titles - b.titles) and bool(b.titles - a.titles)
    return (
        *_clash(mine["numbers"], theirs["numbers"]),
        *_clash(mine["times"], theirs["times"]),
        *_clash(mine["people"], theirs["people"])[:2],
        *_clash(a.latin, b.latin),
        float(titles),
        _jaccard(asked, wanted) if asked or wanted else 1.0,
        _clash(asked, wanted)[0],
        float(bool(asked) != bool(wanted)),
        float(not asked and not wanted),
        *(float((f"@q.{name}" in asked) != (f"@q.{name}" in wanted)) for name in _QUESTIONS),
    )


def _manner(a: View, b: View) -> tuple[float, ...]:
    """Denials, and words of change, limits and being done, that one side has more of."""
    denials = abs(a.negations - b.negations)
    return (
        min(denials, 2) / 2.0,
        float(denials % 2),
        *(min(abs(x - y), 2) / 2.0 for x, y in zip(a.manners, b.manners, strict=True)),
        min(abs(a.clauses - b.clauses), 2) / 2.0,
    )


def _clash(a: frozenset[str], b: frozenset[str]) -> tuple[float, float, float]:
    """Whether each side has its own, whether only one side has, and whether some are shared."""
    only_a, only_b = bool(a - b), bool(b - a)
    return float(only_a and only_b), float(only_a != only_b), float(bool(a & b))


def _jaccard(a: frozenset[Any], b: frozenset[Any]) -> float:
    shared = len(a & b)
    return shared / (len(a) + len(b) - shared) if shared else 0.0
