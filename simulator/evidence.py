"""Which turns answer a question, for corpora that do not say: shared rare words.

Used for MemoryBank only. It stands for the user's own judgement of what helped, so it must not lean
on the phone's retrieval code that it will be compared with.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

__all__ = ["find_evidence"]

_WORD = re.compile(r"[a-z0-9']+|[\u4e00-\u9fff]+")
_MIN_SCORE = 0.30
"""Least share of the question's information that a turn must hold to count as its answer."""
_MAX_TURNS = 2


def find_evidence(query: str, texts: Sequence[str]) -> list[int]:
    """Indices of the (at most two) texts that hold most of the query's rare words, best first."""
    bags = [_terms(text) for text in texts]
    frequency = Counter(term for bag in bags for term in bag)
    weights = {
        term: math.log(1.0 + len(texts) / frequency[term])
        for term in sorted(_terms(query))
        if term in frequency
    }
    total = sum(weights.values())
    if not total:
        return []
    scores = [sum(w for term, w in weights.items() if term in bag) / total for bag in bags]
    ranked = sorted(range(len(texts)), key=lambda index: (-scores[index], index))
    return [index for index in ranked[:_MAX_TURNS] if scores[index] >= _MIN_SCORE]


def _terms(text: str) -> frozenset[str]:
    """English words and Chinese character pairs."""
    terms: set[str] = set()
    for word in _WORD.findall(text.lower()):
        if word[0] >= "\u4e00":
            terms.update(word[i : i + 2] for i in range(max(1, len(word) - 1)))
        else:
            terms.add(word)
    return frozenset(terms)
