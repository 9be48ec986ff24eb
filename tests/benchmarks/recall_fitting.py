"""The cross-scorer's weights fitted on some conversations and tried on others.

Shows that its round numbers are no child of the conversations they are measured on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from device.language import find_times
from device.recall.analysis import terms
from device.recall.index import Entry, LayerIndex
from device.recall.relevance import WEIGHTS, cross_features, only_asks
from device.recall.relevance import Question as Read
from protocol.models import EMBEDDING
from tests.benchmarks.recall_data import Conversation

__all__ = ["Candidates", "candidates_of", "fitted_recall", "relevance_auc"]

SHOWN = 10
DEPTH = 20
STEPS = (0.2, -0.2, 0.1, -0.1, 0.05, -0.05)
PASSES = 2
LEAST_GAIN = 2e-4
NAMES = tuple(WEIGHTS)
Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Candidates:
    """One question's best turns: index scores (n,), features (n, len(NAMES)), places and right."""

    scores: Array
    features: Array
    places: tuple[int, ...]
    right: NDArray[np.bool_]
    wanted: int


def candidates_of(conversation: Conversation) -> list[Candidates]:
    """The raw index's candidates for every question of a conversation."""
    index = LayerIndex(terms, dimension=EMBEDDING)
    index.add(
        [
            Entry(
                place, f"{turn.speaker}: {turn.text}", turn.at, turn.session,
                asks=only_asks(turn.text),
            )
            for place, turn in enumerate(conversation.turns)
        ]
    )  # fmt: skip
    at = datetime.fromtimestamp(conversation.asked_at, UTC)
    found = []
    for question in conversation.questions:
        spans = [(t.start, t.end) for t in find_times(question.text, at)]
        matches = index.search(question.text, DEPTH, spans=spans)
        read = Read.of(question.text)
        turns = [conversation.turns[match.number] for match in matches]
        shown = [cross_features(read, turn.text, turn.speaker) for turn in turns]
        features = [[each.get(name, 0.0) for name in NAMES] for each in shown]
        places = tuple(match.number for match in matches)
        found.append(
            Candidates(
                np.asarray([match.score for match in matches]),
                np.asarray(features).reshape(len(matches), len(NAMES)),
                places,
                np.asarray([place in question.evidence for place in places], bool),
                len(question.evidence),
            )
        )
    return found


def fitted_recall(folds: Sequence[Sequence[Candidates]]) -> float:
    """Mean recall@10 of each fold's questions with weights fitted on the other folds."""
    recalls: list[float] = []
    for place, tried in enumerate(folds):
        others = [c for n, fold in enumerate(folds) if n != place for c in fold]
        weights = _fit(others)
        recalls += [_recall(candidates, weights, SHOWN) for candidates in tried]
    return float(np.mean(recalls))


def relevance_auc(found: Sequence[Candidates], scores: Sequence[Array]) -> float:
    """Chance that an evidence turn scores above another candidate of the same question."""
    wins, pairs = 0.0, 0
    for candidates, values in zip(found, scores, strict=True):
        right, wrong = values[candidates.right], values[~candidates.right]
        difference = right[:, None] - wrong[None, :]
        wins += float((difference > 0).sum() + 0.5 * (difference == 0).sum())
        pairs += difference.size
    return wins / pairs


def _fit(found: Sequence[Candidates]) -> Array:
    """Coordinate ascent on recall from no weights at all."""
    weights = np.zeros(len(NAMES))
    best = _objective(found, weights)
    for _ in range(PASSES):
        for place in range(len(NAMES)):
            for step in STEPS:
                tried = weights.copy()
                tried[place] += step
                value = _objective(found, tried)
                if value > best + LEAST_GAIN:
                    weights, best = tried, value
    return weights


def _objective(found: Sequence[Candidates], weights: Array) -> float:
    """Recall@10 and, for a smoother hill, recall@5."""
    return float(
        np.mean([_recall(c, weights, SHOWN) + _recall(c, weights, SHOWN // 2) for c in found])
    )


def _recall(candidates: Candidates, weights: Array, k: int) -> float:
    scores = candidates.scores * np.maximum(1.0 + candidates.features @ weights, 0.0)
    order = np.argsort(-scores, kind="stable")[:k]
    return float(candidates.right[order].sum()) / candidates.wanted
