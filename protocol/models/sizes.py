"""Sizes of the feature vectors, apart so that specs and features can share them."""

from __future__ import annotations

from typing import Final

__all__ = ["EMBEDDING", "FEATURE_VERSION", "HAND_FEATURES", "PAIR_FEATURES", "QUERY_FEATURES"]

FEATURE_VERSION: Final = 1
"""Raised by any change that alters a feature's value: old weights mean nothing on new features."""

EMBEDDING: Final = 96
HAND_FEATURES: Final = 16
QUERY_FEATURES: Final = EMBEDDING + HAND_FEATURES
PAIR_FEATURES: Final = 24
