"""What decides about a pair in the dedup benchmark: our architecture, and its plain peers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from difflib import SequenceMatcher
from typing import Any

import numpy as np

from cloud.training.config import TRAINING
from cloud.training.corpora import load_corpus
from cloud.training.dpsgd import network_of, train_private, weights_of
from cloud.training.seeds import generator
from protocol.models import DEDUP, Weights, forward, initial_weights
from protocol.params import Parameters
from tests.benchmarks.pair_sets import Array, Pair

__all__ = ["gram_cosine", "lightgbm_fit", "ours_fit", "plain_features", "shipped_weights"]

KEY = 7
EPOCHS, BATCH, RATE, DECAY, DROPOUT = 30, 128, 4e-3, 0.1, 0.1
DUPLICATE, INDEPENDENT = DEDUP.outputs.index("duplicate"), DEDUP.outputs.index("independent")
LEAST_SPREAD = 0.3
"""Added to the spread of a feature: weights on one that hardly varies would leave the grid."""


def shipped_weights() -> Weights:
    """The first release as the cloud trains it: by DP-SGD on the project's own corpus alone."""
    config, examples = TRAINING["dedup"], load_corpus("dedup").train
    weights = train_private(
        DEDUP,
        initial_weights(DEDUP, generator(KEY)),
        examples,
        np.ones(len(examples), dtype=np.float32),
        config,
        steps=config.steps,
        learning_rate=config.learning_rate,
        key=KEY,
    )
    return Parameters.of(weights, DEDUP, 1).weights()


def ours_fit(x: Array, y: Array) -> Callable[[Array], Array]:
    """The phone's network of `DEDUP.layers` trained on pairs labelled 1 or 0, on its grid."""
    import torch

    torch.manual_seed(KEY)
    torch.set_num_threads(1)
    middle, spread = x.mean(axis=0), x.std(axis=0) + LEAST_SPREAD
    network = _with_dropout(network_of(DEDUP, initial_weights(DEDUP, generator(KEY))))
    inputs = torch.tensor((x - middle) / spread, dtype=torch.float32)
    labels = torch.tensor(np.where(y == 1, DUPLICATE, INDEPENDENT))
    optimiser = torch.optim.AdamW(network.parameters(), lr=RATE, weight_decay=DECAY)
    steps = EPOCHS * -(-len(inputs) // BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, RATE, total_steps=steps)
    for _ in range(EPOCHS):
        order = torch.randperm(len(inputs))
        for start in range(0, len(order), BATCH):
            batch = order[start : start + BATCH]
            optimiser.zero_grad()
            torch.nn.functional.cross_entropy(network(inputs[batch]), labels[batch]).backward()
            optimiser.step()
            schedule.step()
    weights = _taking_raw_features(weights_of(network, DEDUP), middle, spread)
    released = Parameters.of(weights, DEDUP, 1).weights()
    return lambda rows: forward(released, rows.astype(np.float32), DEDUP)[:, DUPLICATE].astype(
        np.float64
    )


def _with_dropout(network: Any) -> Any:
    import torch

    first, *rest = network
    return torch.nn.Sequential(first, rest[0], torch.nn.Dropout(DROPOUT), *rest[1:])


def _taking_raw_features(weights: Weights, middle: Array, spread: Array) -> Weights:
    """Weights for features as they come, from weights for centred and scaled ones."""
    first = weights["w1"] / spread[:, None]
    return weights | {
        "w1": first.astype(np.float32),
        "b1": (weights["b1"] - middle @ first).astype(np.float32),
    }


def lightgbm_fit(x: Array, y: Array) -> Callable[[Array], Array]:
    """Gradient boosting with LightGBM's defaults at 300 trees."""
    import lightgbm

    model = lightgbm.LGBMClassifier(
        n_estimators=300, learning_rate=0.05, verbose=-1, n_jobs=1, random_state=KEY
    )
    model.fit(x, y)
    return lambda rows: np.asarray(model.predict_proba(rows))[:, 1]


def plain_features(pairs: Sequence[Pair]) -> Array:
    """Textbook lexical features of each pair: overlaps of n-grams, lengths, edits, figures."""
    return np.array([_plain(pair.a, pair.b) for pair in pairs])


def _plain(a: str, b: str) -> list[float]:
    least, most = sorted((len(a), len(b)))
    features: list[float] = [least, most, most - least, least / max(most, 1)]
    for size in (1, 2, 3):
        first, second = _grams(a, size), _grams(b, size)
        shared = len(first & second)
        features += [
            shared / max(len(first | second), 1),
            shared / max(min(len(first), len(second)), 1),
            shared / max(max(len(first), len(second)), 1),
        ]
    matcher = SequenceMatcher(None, a, b, autojunk=False)
    run = matcher.find_longest_match().size
    digits = [{letter for letter in text if letter.isdigit()} for text in (a, b)]
    return [
        *features,
        matcher.ratio(),
        run / max(least, 1),
        float(a[:1] == b[:1]),
        float(a[-1:] == b[-1:]),
        float(digits[0] == digits[1]),
    ]


def _grams(text: str, size: int) -> set[str]:
    return {text[start : start + size] for start in range(len(text) - size + 1)}


def gram_cosine(pairs: Sequence[Pair]) -> Array:
    """Cosine of the character trigrams' counts, shorter n-grams included."""
    return np.array([_cosine(pair.a, pair.b) for pair in pairs])


def _cosine(a: str, b: str) -> float:
    first, second = (_all_grams(text) for text in (a, b))
    shared = len(first & second)
    return shared / (len(first) * len(second)) ** 0.5 if shared else 0.0


def _all_grams(text: str) -> set[str]:
    return _grams(text, 1) | _grams(text, 2) | _grams(text, 3)
