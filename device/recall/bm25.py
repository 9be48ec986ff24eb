"""BM25 after Robertson and Zaragoza, "The Probabilistic Relevance Framework" (2009), with the idf
of Lucene: its weights, and the formula summed posting by posting for a query that meets few."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from device.recall.few import Few, single

__all__ = ["LENGTH_WEIGHT", "SATURATION", "Posting", "idf_of", "score_few"]

SATURATION = 1.2
"""BM25 k1: how fast repeating a word stops counting."""
LENGTH_WEIGHT = 0.4
"""BM25 b: chat turns are short, so length is discounted less than the usual 0.75."""
_CACHED = 4_096
_SATURATION, _ANY_LENGTH = single(SATURATION), single(1 - LENGTH_WEIGHT)

Posting = tuple[int, int, int]
"""Which term of the query, the slot that holds it, and how often."""


@lru_cache(maxsize=_CACHED)
def idf_of(documents: int, holding: int) -> float:
    """Of a term in `holding` of so many documents."""
    return float(np.log1p((documents - holding + 0.5) / (holding + 0.5)))


def score_few(
    found: Sequence[Posting],
    alone: Collection[int],
    repeats: Sequence[int],
    documents: int,
    lengths: NDArray[Any],
    length_share: float,
) -> tuple[Few, Few]:
    """Score and coverage of every slot in `found`, which is in order of the terms.

    `alone`: the terms whose gains are in single precision; `length_share` is the weight of one unit
    of a document's length. The order of all sums is that of `lexical.LexicalIndex.score`.
    """
    sizes = [0] * len(repeats)
    for term, _, _ in found:
        sizes[term] += 1
    idfs = [idf_of(documents, holding) for holding in sizes]
    share = single(length_share)
    scores: Few = {}
    matched: Few = {}
    last, weight, part = -1, 0.0, 0.0
    for term, slot, count in found:
        if term != last:
            last, part = term, single(idfs[term])
            weight = single(idfs[term] * repeats[term] * (SATURATION + 1))
        by_length = single(_ANY_LENGTH + single(share * lengths.item(slot)))
        norm = single(_SATURATION * by_length)
        if term in alone:
            gain = single(weight / single(1.0 + norm))
        else:
            gain = weight * count / (count + norm)
        scores[slot] = single(scores.get(slot, 0.0) + gain)
        matched[slot] = single(matched.get(slot, 0.0) + part)
    mass = 0.0
    for idf in idfs:
        mass += idf
    whole = single(mass)
    return scores, {slot: single(held / whole) for slot, held in matched.items()}
