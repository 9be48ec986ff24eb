"""Features of two texts for the dedup model: what they share, and what sets them apart.

A cosine alone cannot decide a merge (002 and our own measurements: at cosine ≥ .95 one pair in four
is wrong), so most of the features are about differences: what only one side says, numbers and times
that conflict, negation, opposites, word order. Every feature is symmetric: which of two memories
came first says nothing, and a model need not learn everything twice.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol.models import lexicon
from protocol.models.concepts import OPPOSITES, concepts, weight_of
from protocol.models.embedding import embed
from protocol.models.tokens import tokens

__all__ = ["PAIR_FEATURE_NAMES", "dedup_features"]

_ORDER_LIMIT = 256
"""Units compared in order; longer texts are compared on their beginning."""
_HEAVY = 18.0
"""Weight (about six words) of shared or left-over words at which a feature is full."""
_WORTH_ADDING = 4
"""Weight from which what one side adds is news and not another way to say it."""
_MANY_GAPS = 3.0
_CACHED_VIEWS = 256
_MANNERS = (
    ("negation", lexicon.NEGATION),
    ("change", lexicon.CHANGE),
    ("update", lexicon.UPDATE),
    ("limit", lexicon.LIMIT),
    ("done", lexicon.DONE),
)
"""Kinds of words that tell a rewrite from a repetition when one text alone has them."""

PAIR_FEATURE_NAMES: tuple[str, ...] = (
    "unit_jaccard",
    "bigram_jaccard",
    "trigram_jaccard",
    "embedding_cosine",
    "order_similarity",
    "longest_run",
    "common_prefix",
    "common_suffix",
    "length_ratio",
    "equal_text",
    "same_language",
    "content_dice",
    "larger_containment",
    "smaller_containment",
    "shared_weight",
    "smaller_leftover",
    "larger_leftover",
    "nothing_left",
    "one_adds",
    "one_swap",
    "content_order",
    "longer_gaps",
    "same_topic",
    "same_end",
    "displacement",
    "numbers_conflict",
    "numbers_added",
    "numbers_shared",
    "times_conflict",
    "times_added",
    "times_shared",
    "people_conflict",
    "people_added",
    "meanings_conflict",
    "opposites",
    "same_bag_other_order",
    "question_words_differ",
    *(f"{name}_differs" for name, _ in _MANNERS),
    "clauses_differ",
)
"""Names of the pair features, in order."""


class _View:
    """What is compared of one text."""

    __slots__ = (
        "bag",
        "bigrams",
        "cjk_share",
        "clauses",
        "content",
        "heavy",
        "kinds",
        "manners",
        "places",
        "questions",
        "sequence",
        "trigrams",
        "units",
        "vector",
    )

    def __init__(self, text: str) -> None:
        cut = tokens(text)
        self.units = cut.units[:_ORDER_LIMIT]
        self.bag = frozenset(self.units)
        self.bigrams = _grams(self.units, 2)
        self.trigrams = _grams(self.units, 3)
        self.sequence = concepts(cut)[:_ORDER_LIMIT]
        self.content = frozenset(self.sequence)
        self.heavy = _weight(self.content)
        last = max(len(self.sequence) - 1, 1)
        self.places = {word: place / last for place, word in enumerate(self.sequence)}
        self.kinds = {kind: _of_kind(kind, self.content) for kind in _KINDS}
        self.questions = frozenset(lexicon.QUESTION.findall(cut.text))
        self.manners = [len(pattern.findall(cut.text)) for _, pattern in _MANNERS]
        self.clauses = len(lexicon.CLAUSE.findall(cut.text.rstrip(_ENDS)))
        self.cjk_share = cut.cjk / (cut.cjk + len(cut.words)) if cut.units else 0.0
        self.vector: list[float] = embed(text).tolist()


_ENDS = " .!?,;。！？，；…"
_KINDS = ("#", "@t", "@p", "@")


def _of_kind(kind: str, content: frozenset[str]) -> frozenset[str]:
    """Numbers, times, people, or other concepts of the lexicon."""
    if kind == "@":
        return frozenset(word for word in content if word[0] == "@" and word[1] not in "tp")
    return frozenset(word for word in content if word.startswith(kind))


def dedup_features(a: str, b: str) -> NDArray[np.float32]:
    """float32[PAIR_FEATURES] of a pair, in the order of PAIR_FEATURE_NAMES.

    Each in 0–1 (cosine in −1–1); dedup_features(a, b) equals dedup_features(b, a).
    """
    shorter, longer = sorted((_view(a), _view(b)), key=_size)
    features = (
        *_wording(shorter, longer),
        *_content(shorter, longer),
        *_conflicts(shorter, longer),
    )
    return np.array(features, dtype=np.float32)


def _size(view: _View) -> tuple[int, tuple[str, ...]]:
    return view.heavy, view.units


@lru_cache(maxsize=_CACHED_VIEWS)
def _view(text: str) -> _View:
    return _View(text)


def _wording(a: _View, b: _View) -> tuple[float, ...]:
    """Likeness of the texts as they stand."""
    least, most = sorted((len(a.units), len(b.units)))
    return (
        _jaccard(a.bag, b.bag),
        _jaccard(a.bigrams, b.bigrams),
        _jaccard(a.trigrams, b.trigrams),
        # fsum: exact, so the same on every machine.
        math.fsum(x * y for x, y in zip(a.vector, b.vector, strict=True)),
        2.0 * _common_subsequence(a.units, b.units) / max(least + most, 1),
        _longest_run(a.units, b.units) / max(least, 1),
        _common(a.units, b.units) / max(least, 1),
        _common(a.units[::-1], b.units[::-1]) / max(least, 1),
        least / max(most, 1),
        float(a.units == b.units),
        1.0 - abs(a.cjk_share - b.cjk_share),
    )


def _content(a: _View, b: _View) -> tuple[float, ...]:
    """What they share and what is left on either side, function words aside."""
    both = a.content & b.content
    shared = _weight(both)
    left_a, left_b = a.heavy - shared, b.heavy - shared
    gaps = sorted((_gaps(a.sequence, both), _gaps(b.sequence, both)))
    moved = math.fsum(abs(a.places[word] - b.places[word]) for word in both)
    return (
        2.0 * shared / max(a.heavy + b.heavy, 1),
        shared / max(min(a.heavy, b.heavy), 1),
        shared / max(a.heavy, b.heavy, 1),
        min(shared / _HEAVY, 1.0),
        min(min(left_a, left_b) / _HEAVY, 1.0),
        min(max(left_a, left_b) / _HEAVY, 1.0),
        float(bool(both) and not min(left_a, left_b)),
        float(bool(both) and not min(left_a, left_b) and max(left_a, left_b) >= _WORTH_ADDING),
        float(bool(both) and gaps == [1, 1]),
        2.0
        * _common_subsequence(a.sequence, b.sequence)
        / max(len(a.sequence) + len(b.sequence), 1),
        min(gaps[1] / _MANY_GAPS, 1.0),
        float(a.sequence[:1] == b.sequence[:1]),
        float(a.sequence[-1:] == b.sequence[-1:]),
        moved / max(len(both), 1),
    )


def _conflicts(a: _View, b: _View) -> tuple[float, ...]:
    """Where both say something of one kind and not the same, or only one says it."""
    numbers, times, people, meanings = (_clash(a.kinds[k], b.kinds[k]) for k in _KINDS)
    left = (a.content - b.content, b.content - a.content)
    against = sum(1 for x in left[0] for y in left[1] if frozenset((x[1:], y[1:])) in OPPOSITES)
    return (
        *numbers,
        *times,
        *people[:2],
        meanings[0],
        float(bool(against)),
        float(a.bag == b.bag and a.units != b.units),
        _distance(a.questions, b.questions),
        *(min(abs(x - y), 2) / 2.0 for x, y in zip(a.manners, b.manners, strict=True)),
        min(abs(a.clauses - b.clauses), 2) / 2.0,
    )


def _clash(a: frozenset[str], b: frozenset[str]) -> tuple[float, float, float]:
    """Whether each side has its own, whether only one side has, and whether some are shared."""
    only_a, only_b = bool(a - b), bool(b - a)
    return float(only_a and only_b), float(only_a != only_b), float(bool(a & b))


def _weight(words: Collection[str]) -> int:
    return sum(map(weight_of, words))


def _gaps(sequence: Sequence[str], shared: frozenset[str]) -> int:
    """Stretches of words that the other text does not have."""
    gaps, inside = 0, False
    for word in sequence:
        left = word not in shared
        gaps += left and not inside
        inside = left
    return gaps


def _grams(units: Sequence[str], size: int) -> frozenset[tuple[str, ...]]:
    return frozenset(zip(*(units[start:] for start in range(size)), strict=False))


def _jaccard(a: frozenset[Any], b: frozenset[Any]) -> float:
    shared = len(a & b)
    return shared / (len(a) + len(b) - shared) if shared else 0.0


def _distance(a: frozenset[Any], b: frozenset[Any]) -> float:
    """0 for equal sets, two empty ones included, 1 for disjoint ones."""
    return 0.0 if a == b else 1.0 - _jaccard(a, b)


def _common(a: Sequence[str], b: Sequence[str]) -> int:
    """Length of the common beginning."""
    for index, (x, y) in enumerate(zip(a, b, strict=False)):
        if x != y:
            return index
    return min(len(a), len(b))


def _places(units: Sequence[str]) -> dict[str, int]:
    """Unit → the bits of its places."""
    places: dict[str, int] = {}
    for index, unit in enumerate(units):
        places[unit] = places.get(unit, 0) | 1 << index
    return places


def _common_subsequence(a: Sequence[str], b: Sequence[str]) -> int:
    """Length of the longest common subsequence, bit-parallel (Hyyrö 2004): one row an integer."""
    places = _places(a)
    full = (1 << len(a)) - 1
    row = full
    for unit in b:
        matched = row & places.get(unit, 0)
        row = (row + matched | row - matched) & full
    return len(a) - row.bit_count()


def _longest_run(a: Sequence[str], b: Sequence[str]) -> int:
    """Length of the longest stretch both have: places are ANDed with those of one unit before."""
    places = _places(a)
    ends, longest = [0], 0
    for unit in b:
        here = places.get(unit, 0)
        # ends[n]: bits of the places in a where a run of more than n units ends with this unit.
        runs = [here]
        for before in ends:
            grown = before << 1 & here
            if not grown:
                break
            runs.append(grown)
        ends = runs if here else [0]
        longest = max(longest, len(runs) if here else 0)
    return longest
