"""Text → numbers, the same on every phone and in the cloud: the models' only inputs.

Pure functions of the text: no vocabulary file, no state a caller can see. A change that moves any
value raises FEATURE_VERSION, because weights trained on other features mean nothing.
"""

from __future__ import annotations

from typing import Any

from protocol.models.embedding import embed, embedded_texts
from protocol.models.kept import Kept
from protocol.models.pairs import PAIR_FEATURE_NAMES, dedup_features, featured_pairs
from protocol.models.queries import QUERY_FEATURE_NAMES, featured_queries, router_features
from protocol.models.sizes import (
    EMBEDDING,
    FEATURE_VERSION,
    HAND_FEATURES,
    PAIR_FEATURES,
    QUERY_FEATURES,
)
from protocol.models.tokens import tokens
from protocol.models.views import view_of

__all__ = [
    "EMBEDDING",
    "FEATURE_VERSION",
    "HAND_FEATURES",
    "PAIR_FEATURES",
    "PAIR_FEATURE_NAMES",
    "QUERY_FEATURES",
    "QUERY_FEATURE_NAMES",
    "dedup_features",
    "embed",
    "forget_texts",
    "keep_texts",
    "router_features",
]


_READERS: tuple[Kept[Any, Any], ...] = (
    tokens,
    embedded_texts,
    featured_queries,
    featured_pairs,
    view_of,
)


def forget_texts() -> None:
    """Let go of texts kept for speed: nothing of a forgotten one may linger, nor more than is
    needed when memory is short."""
    for reader in _READERS:
        reader.forget()


def keep_texts(readings: int | None) -> None:
    """Have each reader of texts keep so many readings from now on; None: as a phone does."""
    for reader in _READERS:
        reader.keep(readings)
