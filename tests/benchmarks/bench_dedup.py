"""Dedup: telling paraphrases from look-alikes, the shipped model, and the gate before a merge.

LCQMC, xiaobu and PAWS-X (zh) are labelled 1 for the same meaning. "5-fold" figures train on four
fifths and score the last; "shipped" ones are of the model every phone gets, which never saw them.
PAWS-X swaps words about without changing them, so bags of words fail there by design.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from device.memory.judgement import Judgement
from protocol.models import DEDUP, Weights, dedup_features, forward
from protocol.models.views import view_of
from tests.benchmarks.pair_models import (
    gram_cosine,
    lightgbm_fit,
    ours_fit,
    plain_features,
    shipped_weights,
)
from tests.benchmarks.pair_sets import (
    Array,
    Pair,
    auc,
    best_f1,
    cross_validated,
    f1,
    halves,
    rank_correlation,
    read_pairs,
)
from tests.benchmarks.row import Row, best_seconds

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data" / "pairs"
LCQMC_F1 = 0.82
GATE_PRECISION = 0.95
PAIR_BOUND_US = 300.0
TIMED_PAIRS = 400
DUPLICATE = DEDUP.outputs.index("duplicate")
LEXICAL = "LightGBM on plain lexical features"
COSINE = "cosine of character 1–3-grams"


def rows() -> Iterator[Row]:
    """All rows of this room; none where the public pairs are not there."""
    if not SHARED.is_dir():
        return
    shipped = shipped_weights()
    for name in ("lcqmc", "xiaobu", "pawsx"):
        yield from _set_rows(name, read_pairs(SHARED / f"{name}_zh.tsv"), shipped)
    yield from _similarity(read_pairs(SHARED / "stsb_zh.tsv"), shipped)
    for name in ("xiaobu", "pawsx"):
        yield from _gate_rows(name, read_pairs(SHARED / f"{name}_zh.tsv"), Judgement(shipped))
    yield _cost(read_pairs(SHARED / "lcqmc_zh.tsv")[:TIMED_PAIRS])


def _set_rows(name: str, pairs: Sequence[Pair], shipped: Weights) -> Iterator[Row]:
    x, y = _features(pairs), np.array([pair.label for pair in pairs])
    ours, cosine = cross_validated(x, y, ours_fit), gram_cosine(pairs)
    lexical = _lexical(pairs, y)
    for figure, measure in (("f1", f1), ("auc", auc)):
        theirs = None if lexical is None else measure(lexical, y)
        target = LCQMC_F1 if (name, figure) == ("lcqmc", "f1") else None
        yield Row(
            f"dedup.{name}.{figure}_5fold",
            measure(ours, y),
            "share",
            peer=LEXICAL,
            peer_value=theirs,
            target=target,
            better="high",
        )
    yield _beside_cosine(f"dedup.{name}.best_f1_5fold", best_f1(ours, y), best_f1(cosine, y))
    said = _said(shipped, x)
    yield _beside_cosine(f"dedup.{name}.auc_shipped_model", auc(said, y), auc(cosine, y))


def _beside_cosine(name: str, value: float, theirs: float) -> Row:
    return Row(name, value, "share", peer=COSINE, peer_value=theirs, better="high")


def _lexical(pairs: Sequence[Pair], y: Array) -> Array | None:
    """Scores of the peer, None where LightGBM is not installed."""
    try:
        return cross_validated(plain_features(pairs), y, lightgbm_fit)
    except ImportError:
        return None


def _similarity(pairs: Sequence[Pair], shipped: Weights) -> Iterator[Row]:
    graded = np.array([pair.label for pair in pairs])
    said = _said(shipped, _features(pairs))
    yield _beside_cosine(
        "dedup.stsb.rho_shipped_model",
        rank_correlation(said, graded),
        rank_correlation(gram_cosine(pairs), graded),
    )


def _gate_rows(name: str, pairs: list[Pair], judgement: Judgement) -> Iterator[Row]:
    """The gate on pairs that differ: equal texts need no judgement, and 9 of the 72 in PAWS-X are
    labelled as different all the same, which the last row shows."""
    for half, chosen in zip(("tuned", "held"), halves(pairs), strict=True):
        differ = [pair for pair in chosen if pair.a != pair.b]
        precision, recall = _gate(differ, judgement)
        yield Row(
            f"dedup.gate.{name}.precision_{half}_half",
            precision,
            "share",
            bound=GATE_PRECISION,
            target=GATE_PRECISION,
            better="high",
        )
        yield Row(f"dedup.gate.{name}.recall_{half}_half", recall, "share", better="high")
    precision, recall = _gate(pairs, judgement)
    yield Row(f"dedup.gate.{name}.precision_equal_texts_too", precision, "share", better="high")
    yield Row(f"dedup.gate.{name}.recall_equal_texts_too", recall, "share", better="high")


def _gate(pairs: Sequence[Pair], judgement: Judgement) -> tuple[float, float]:
    merged = [pair.label for pair in pairs if judgement.may_merge(pair.a, pair.b)]
    right = sum(merged)
    return right / max(len(merged), 1), right / max(sum(pair.label for pair in pairs), 1)


def _cost(pairs: Sequence[Pair]) -> Row:
    def compare() -> None:
        view_of.forget()
        for pair in pairs:
            dedup_features(pair.a, pair.b)

    return Row(
        "dedup.features_of_two_new_texts",
        best_seconds(compare, 7) / len(pairs) * 1e6,
        "µs",
        bound=PAIR_BOUND_US,
        target=PAIR_BOUND_US,
    )


def _features(pairs: Sequence[Pair]) -> Array:
    return np.array([dedup_features(pair.a, pair.b) for pair in pairs], dtype=np.float64)


def _said(weights: Weights, x: Array) -> Array:
    """Probability of "duplicate" of each row."""
    outputs = forward(weights, x.astype(np.float32), DEDUP)
    return outputs[:, DUPLICATE].astype(np.float64)
