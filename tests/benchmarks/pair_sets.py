"""Labelled sentence pairs of the public sets, their folds, and the figures taken on them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Array",
    "Fit",
    "Pair",
    "auc",
    "best_f1",
    "cross_validated",
    "f1",
    "halves",
    "rank_correlation",
    "read_pairs",
]

Array = NDArray[np.float64]
Fit = Callable[[Array, Array], Callable[[Array], Array]]
"""Trains on (x, y) and gives back a scorer of further rows."""
FOLDS = 5
SEED = 0


@dataclass(frozen=True)
class Pair:
    """Two texts and their label: 1 for the same meaning, or STS-B's 0–5."""

    a: str
    b: str
    label: float


def read_pairs(path: Path) -> list[Pair]:
    """The pairs of a tab-separated file: two texts and a label, an id before them or not."""
    pairs = []
    for line in path.read_text("utf-8").splitlines():
        fields = line.split("\t")[-3:]
        if len(fields) == 3 and fields[2].replace(".", "", 1).isdigit():
            pairs.append(Pair(fields[0], fields[1], float(fields[2])))
    return pairs


def halves(pairs: list[Pair]) -> tuple[list[Pair], list[Pair]]:
    """Every other pair: one half to tune on, the other to report on."""
    return pairs[::2], pairs[1::2]


def cross_validated(x: Array, y: Array, fit: Fit) -> Array:
    """The score of each row by a model that never saw it."""
    scores = np.zeros(len(y))
    for held in _folds(len(y)):
        trained = np.setdiff1d(np.arange(len(y)), held)
        scores[held] = fit(x[trained], y[trained])(x[held])
    return scores


def _folds(size: int) -> Iterator[NDArray[np.int64]]:
    order = np.random.Generator(np.random.Philox(key=SEED)).permutation(size)
    yield from np.array_split(order, FOLDS)


def f1(scores: Array, y: Array, threshold: float = 0.5) -> float:
    """F1 of "the same" at a threshold."""
    said = scores >= threshold
    return float(2.0 * (said & (y == 1)).sum() / max(said.sum() + (y == 1).sum(), 1))


def best_f1(scores: Array, y: Array) -> float:
    """F1 at the best of all thresholds: what a score without a scale of its own can reach."""
    order = np.argsort(-scores, kind="stable")
    hits = np.cumsum(y[order] == 1)
    return float((2.0 * hits / (np.arange(1, len(y) + 1) + (y == 1).sum())).max())


def auc(scores: Array, y: Array) -> float:
    """Chance that a pair of the same meaning scores above one that is not, ties counting half."""
    values, place = np.unique(scores, return_inverse=True)
    positive = np.bincount(place[y == 1], minlength=values.size)
    negative = np.bincount(place[y == 0], minlength=values.size)
    below = np.cumsum(negative) - negative
    return float((positive * (below + negative / 2)).sum() / positive.sum() / negative.sum())


def rank_correlation(first: Array, second: Array) -> float:
    """Spearman's ρ, ties sharing their mean rank."""
    return float(np.corrcoef(_ranks(first), _ranks(second))[0, 1])


def _ranks(values: Array) -> Array:
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    ranks: Array = (ends - (counts - 1) / 2.0)[place]
    return ranks
