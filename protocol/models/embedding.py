"""A hashed bag of n-grams: no weights to ship, no vocabulary, Chinese and English alike.

Signed feature hashing (Weinberger et al. 2009, "Feature Hashing for Large Scale Multitask
Learning") into 96 dimensions, square-root term frequency, function words weighted down. All
sums are of integers and the one square root is correctly rounded, so every machine gives the
same bits.
"""

from __future__ import annotations

import math
import zlib
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from protocol.models.lexicon import FUNCTION_CHARACTERS, STOP_WORDS
from protocol.models.sizes import EMBEDDING
from protocol.models.tokens import Tokens, tokens

__all__ = ["embed"]

# Weights of the kinds of n-gram: integers, so that sums do not depend on their order; ratios tuned
# on LCQMC (zh, same meaning or not) and LoCoMo (en, which turn answers a question).
_CHARACTER = 64
_FUNCTION_CHARACTER = 16
_BIGRAM = 36
_FUNCTION_BIGRAM = 18
_TRIGRAM = 10
_WORD = 64
_STOP_WORD = 3
_WORD_PAIR = 6
_PIECE = 20
_PIECE_SIZES = (3, 4, 5)

_CACHED_GRAMS = 16_384
_CACHED_TEXTS = 512
"""A phone asks for the same text again when it routes, searches and compares it."""
_MIX = 0x9E37_79B9_7F4A_7C15
"""2^64 / golden ratio (Knuth's multiplicative hashing): spreads a CRC's linear structure."""
_MASK = 2**64 - 1


def embed(text: str) -> NDArray[np.float32]:
    """The text's float32[96], L2 norm 1; all zero when it holds no letter or digit."""
    return _embedded(text).copy()


@lru_cache(maxsize=_CACHED_TEXTS)
def _embedded(text: str) -> NDArray[np.float32]:
    sums = [0] * EMBEDDING
    for gram, (count, weight) in _counted(tokens(text)).items():
        slot, sign = _slot(gram)
        # sqrt is correctly rounded by IEEE 754; log is not the same on every machine.
        sums[slot] += sign * (weight if count == 1 else int(weight * math.sqrt(count)))
    norm = math.sqrt(sum(value * value for value in sums))
    vector = np.array(sums, dtype=np.float64)
    return (vector / norm if norm else vector).astype(np.float32)


def _counted(cut: Tokens) -> dict[str, tuple[int, int]]:
    """Every n-gram with its count and weight; a prefix keeps kinds apart."""
    grams: dict[str, tuple[int, int]] = {}

    def add(gram: str, weight: int) -> None:
        known = grams.get(gram)
        grams[gram] = (1, weight) if known is None else (known[0] + 1, weight)

    for run in cut.runs:
        before = False
        for index, character in enumerate(run):
            light = character in FUNCTION_CHARACTERS
            add(character, _FUNCTION_CHARACTER if light else _CHARACTER)
            if index >= 1:
                add(run[index - 1 : index + 1], _FUNCTION_BIGRAM if light or before else _BIGRAM)
            if index >= 2:
                add(run[index - 2 : index + 1], _TRIGRAM)
            before = light
    previous = ""
    for word in cut.words:
        if previous:
            add(f"{previous} {word}", _WORD_PAIR)
        previous = word
        if word in STOP_WORDS:
            add(" " + word, _STOP_WORD)
            continue
        add(" " + word, _WORD)
        padded = f"<{word}>"
        for size in _PIECE_SIZES:
            for start in range(len(padded) - size + 1):
                add(padded[start : start + size], _PIECE)
    return grams


@lru_cache(maxsize=_CACHED_GRAMS)
def _slot(gram: str) -> tuple[int, int]:
    mixed = zlib.crc32(gram.encode("utf-8", "surrogatepass")) * _MIX & _MASK
    return (mixed >> 32) * EMBEDDING >> 32, 1 if mixed & 0x8000_0000 else -1
