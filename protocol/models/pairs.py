"""Features of two texts for the dedup model: what they share, and what sets them apart.

A cosine alone cannot decide a merge (002 and our own measurements: at cosine ≥ .95 one pair in four
is wrong), so half of the features are about differences: numbers, times, negation, word order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol.models import lexicon
from protocol.models.embedding import embed
from protocol.models.lexicon import FUNCTION_CHARACTERS, STOP_WORDS
from protocol.models.tokens import tokens

__all__ = ["PAIR_FEATURE_NAMES", "dedup_features"]

_ORDER_LIMIT = 256
"""Units compared in order; longer texts are compared on their beginning."""
_LONG_TEXT = 60.0
_CACHED_VIEWS = 256
_RARE_LENGTH = 6
"""Letters from which a shared word says more than a common one."""

PAIR_FEATURE_NAMES: tuple[str, ...] = (
    "unit_jaccard",
    "bigram_jaccard",
    "trigram_jaccard",
    "content_jaccard",
    "first_in_second",
    "second_in_first",
    "bigram_containment",
    "embedding_cosine",
    "order_similarity",
    "common_prefix",
    "common_suffix",
    "same_first",
    "same_last",
    "length_ratio",
    "mean_length",
    "equal_text",
    "numbers_differ",
    "times_differ",
    "negation_differs",
    "question_words_differ",
    "names_jaccard",
    "same_bag_other_order",
    "same_language",
    "change_word",
)
"""Names of the pair features, in order."""


_UNIMPORTANT = FUNCTION_CHARACTERS | STOP_WORDS


class _View:
    """What is compared of one text."""

    __slots__ = (
        "bag",
        "bigrams",
        "changes",
        "cjk_share",
        "content",
        "names",
        "negations",
        "numbers",
        "questions",
        "times",
        "trigrams",
        "units",
        "vector",
    )

    def __init__(self, text: str) -> None:
        cut = tokens(text)
        self.units = cut.units[:_ORDER_LIMIT]
        self.bag = frozenset(self.units)
        self.content = self.bag - _UNIMPORTANT
        self.bigrams = _grams(self.units, 2)
        self.trigrams = _grams(self.units, 3)
        self.names = _names(self.content, self.bigrams)
        self.numbers = frozenset(lexicon.NUMBER.findall(cut.text))
        self.times = frozenset(lexicon.TIME.findall(cut.text))
        self.questions = frozenset(lexicon.QUESTION.findall(cut.text))
        self.negations = len(lexicon.NEGATION.findall(cut.text))
        self.changes = lexicon.CHANGE.search(cut.text) is not None
        self.cjk_share = cut.cjk / (cut.cjk + len(cut.words)) if cut.units else 0.0
        self.vector: list[float] = embed(text).tolist()


def dedup_features(a: str, b: str) -> NDArray[np.float32]:
    """float32[24] of a pair, in the order of PAIR_FEATURE_NAMES, each in 0–1 (cosine in −1–1)."""
    first, second = _view(a), _view(b)
    shorter, longer = sorted((len(first.units), len(second.units)))
    prefix = _common(first.units, second.units)
    suffix = _common(first.units[::-1], second.units[::-1])
    same_bag = first.bag == second.bag
    same_order = first.units == second.units
    return np.array(
        (
            _jaccard(first.bag, second.bag),
            _jaccard(first.bigrams, second.bigrams),
            _jaccard(first.trigrams, second.trigrams),
            _jaccard(first.content, second.content),
            _containment(first.content, second.content),
            _containment(second.content, first.content),
            max(
                _containment(first.bigrams, second.bigrams),
                _containment(second.bigrams, first.bigrams),
            ),
            # fsum: exact, so the same on every machine.
            math.fsum(x * y for x, y in zip(first.vector, second.vector, strict=True)),
            2.0 * _common_subsequence(first.units, second.units) / max(shorter + longer, 1),
            prefix / max(shorter, 1),
            suffix / max(shorter, 1),
            float(bool(prefix)),
            float(bool(suffix)),
            shorter / max(longer, 1),
            min((shorter + longer) / 2.0 / _LONG_TEXT, 1.0),
            float(same_order),
            _distance(first.numbers, second.numbers),
            _distance(first.times, second.times),
            min(abs(first.negations - second.negations), 2) / 2.0,
            _distance(first.questions, second.questions),
            _jaccard(first.names, second.names),
            float(same_bag and not same_order),
            1.0 - abs(first.cjk_share - second.cjk_share),
            float(first.changes or second.changes),
        ),
        dtype=np.float32,
    )


@lru_cache(maxsize=_CACHED_VIEWS)
def _view(text: str) -> _View:
    return _View(text)


def _grams(units: Sequence[str], size: int) -> frozenset[tuple[str, ...]]:
    return frozenset(zip(*(units[start:] for start in range(size)), strict=False))


def _jaccard(a: frozenset[Any], b: frozenset[Any]) -> float:
    shared = len(a & b)
    return shared / (len(a) + len(b) - shared) if shared else 0.0


def _containment(inner: frozenset[Any], outer: frozenset[Any]) -> float:
    return len(inner & outer) / len(inner) if inner else 0.0


def _distance(a: frozenset[Any], b: frozenset[Any]) -> float:
    """0 for equal sets, two empty ones included, 1 for disjoint ones."""
    return 0.0 if a == b else 1.0 - _jaccard(a, b)


def _common(a: Sequence[str], b: Sequence[str]) -> int:
    """Length of the common beginning."""
    for index, (x, y) in enumerate(zip(a, b, strict=False)):
        if x != y:
            return index
    return min(len(a), len(b))


def _common_subsequence(a: Sequence[str], b: Sequence[str]) -> int:
    """Length of the longest common subsequence, bit-parallel (Hyyrö 2004): one row an integer."""
    places: dict[str, int] = {}
    for index, unit in enumerate(a):
        places[unit] = places.get(unit, 0) | 1 << index
    full = (1 << len(a)) - 1
    row = full
    for unit in b:
        matched = row & places.get(unit, 0)
        row = (row + matched | row - matched) & full
    return len(a) - row.bit_count()


def _names(content: frozenset[str], bigrams: frozenset[tuple[str, ...]]) -> frozenset[object]:
    """What names look like: long words, numbers, and Chinese bigrams free of function words."""
    words = {unit for unit in content if len(unit) >= _RARE_LENGTH or unit[0].isdigit()}
    pairs = {pair for pair in bigrams if all(len(u) == 1 and u in content for u in pair)}
    return frozenset(words | pairs)
