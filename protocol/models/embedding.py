"""A hashed bag of n-grams: no weights to ship, no vocabulary, Chinese and English alike.

Signed feature hashing (Weinberger et al. 2009, "Feature Hashing for Large Scale Multitask
Learning") into 96 dimensions, square-root term frequency, function words weighted down. All
sums are of integers and the one square root is correctly rounded, so every machine gives the
same bits.
"""

from __future__ import annotations

import math
import zlib
from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from protocol.models.kept import kept_up_to
from protocol.models.lexicon import FUNCTION_CHARACTERS, STOP_WORDS
from protocol.models.sizes import EMBEDDING, QUERY_EMBEDDING
from protocol.models.tokens import MAX_TEXT, Tokens, tokens

__all__ = ["QUERY_NORM", "embed", "embed_many", "embed_query"]

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

# The router's: tuned on held-back training templates.
_QUERY_CHARACTER = 6
_QUERY_BIGRAM = 5
_QUERY_WORD = 6
_QUERY_PAIR = 2
_QUERY_STEM = 3
_STEM_LENGTH = 4
QUERY_NORM = 1.0
"""Longer, and wording is learnt by heart; next to 0/1 features this is loud enough."""

_CACHED_GRAMS = 4_096
_AT_ONCE = 32
"""Texts whose n-grams are held at a time: their small strings leave holes in the heap."""
_CACHED_TEXTS = 1_024
"""A phone asks for the same text again when it routes, searches and compares it."""
_FEW = 16
"""Texts up to which `embed_many` looks for each among the kept ones first: talk, not an import."""
_MIX = 0x9E37_79B9_7F4A_7C15
"""2^64 / golden ratio (Knuth's multiplicative hashing): spreads a CRC's linear structure."""
_MASK = 2**64 - 1


def embed(text: str) -> NDArray[np.float32]:
    """The text's float32[96], L2 norm 1; all zero when it holds no letter or digit."""
    return embedded_texts(text).copy()


def embed_many(texts: Sequence[str]) -> NDArray[np.float32]:
    """float32[len(texts), 96], each row the very bits of `embed`, at less than half of its cost."""
    vectors = np.empty((len(texts), EMBEDDING), np.float32)
    if len(texts) <= _FEW:
        for row, text in enumerate(texts):
            vectors[row] = embedded_texts(text)
        return vectors
    for start in range(0, len(texts), _AT_ONCE):
        vectors[start : start + _AT_ONCE] = _embedded_together(texts[start : start + _AT_ONCE])
    return vectors


def _embedded_together(texts: Sequence[str]) -> NDArray[np.float32]:
    rows: list[int] = []
    checksums: list[int] = []
    values: list[int] = []
    for row, text in enumerate(texts):
        for weight, grams in _counted(tokens(text)):
            rows += [row] * len(grams)
            checksums += map(_checksum, grams)
            values += [weight if n == 1 else _worth(weight, n) for n in grams.values()]
    mixed = np.array(checksums, np.uint64) * np.uint64(_MIX)
    slots = (mixed >> np.uint64(32)) * np.uint64(EMBEDDING) >> np.uint64(32)
    signs = np.where(mixed & np.uint64(0x8000_0000), 1, -1)
    places = np.array(rows, np.int64) * EMBEDDING + slots.astype(np.int64)
    # Sums of integers below 2^53: exact as float64 in whatever order.
    sums = np.bincount(places, signs * np.array(values, np.int64), len(texts) * EMBEDDING)
    vectors = sums.reshape(len(texts), EMBEDDING)
    norms = np.sqrt(np.square(vectors).sum(axis=1, keepdims=True))
    units: NDArray[np.float32] = (vectors / np.where(norms == 0.0, 1.0, norms)).astype(np.float32)
    return units


@kept_up_to(_CACHED_TEXTS, longest=MAX_TEXT)
def embedded_texts(text: str) -> NDArray[np.float32]:
    """As `embed`, the newest answers kept; not to be changed by who gets them."""
    vector: NDArray[np.float32] = _embedded_together((text,))[0]
    return vector


def _counted(cut: Tokens) -> list[tuple[int, Counter[str]]]:
    """Every n-gram with its count, by weight; a prefix keeps kinds apart, so none has two."""
    grams: dict[int, list[str]] = defaultdict(list)
    for run in cut.runs:
        light = [character in FUNCTION_CHARACTERS for character in run]
        for index, character in enumerate(run):
            grams[_FUNCTION_CHARACTER if light[index] else _CHARACTER].append(character)
        for index in range(len(run) - 1):
            weak = light[index] or light[index + 1]
            grams[_FUNCTION_BIGRAM if weak else _BIGRAM].append(run[index : index + 2])
        grams[_TRIGRAM] += [run[index : index + 3] for index in range(len(run) - 2)]
    grams[_WORD_PAIR] += [f"{one} {next_}" for one, next_ in pairwise(cut.words)]
    for word in cut.words:
        if word in STOP_WORDS:
            grams[_STOP_WORD].append(" " + word)
            continue
        grams[_WORD].append(" " + word)
        padded = f"<{word}>"
        for size in _PIECE_SIZES:
            grams[_PIECE] += [padded[i : i + size] for i in range(len(padded) - size + 1)]
    return [(weight, Counter(held)) for weight, held in grams.items()]


def _worth(weight: int, count: int) -> int:
    # sqrt is correctly rounded by IEEE 754; log is not the same on every machine.
    return weight if count == 1 else int(weight * math.sqrt(count))


def embed_query(text: str) -> NDArray[np.float32]:
    """A question's float32[QUERY_EMBEDDING], L2 norm QUERY_NORM; all zero without any letter.

    Other weights than embed(): what a question asks for is in its function words.
    """
    sums = [0] * QUERY_EMBEDDING
    for gram, weight in _question_grams(tokens(text)).items():
        slot, sign = _query_slot(gram)
        sums[slot] += sign * weight
    norm = math.sqrt(sum(value * value for value in sums)) / QUERY_NORM
    vector = np.array(sums, dtype=np.float64)
    return (vector / norm if norm else vector).astype(np.float32)


def _question_grams(cut: Tokens) -> dict[str, int]:
    """The n-grams of a question and their weights, each once."""
    grams: dict[str, int] = {}
    for run in cut.runs:
        for index, character in enumerate(run):
            grams[character] = _QUERY_CHARACTER
            if index >= 1:
                grams[run[index - 1 : index + 1]] = _QUERY_BIGRAM
    previous = "^"
    for word in cut.words:
        grams[" " + word] = _QUERY_WORD
        grams[f"{previous} {word}"] = _QUERY_PAIR
        if len(word) > _STEM_LENGTH:
            grams["<" + word[:_STEM_LENGTH]] = _QUERY_STEM
        previous = word
    return grams


@lru_cache(maxsize=_CACHED_GRAMS)
def _query_slot(gram: str) -> tuple[int, int]:
    mixed = _mixed(gram)
    return (mixed >> 32) * QUERY_EMBEDDING >> 32, 1 if mixed & 0x8000_0000 else -1


def _mixed(gram: str) -> int:
    return _checksum(gram) * _MIX & _MASK


def _checksum(gram: str) -> int:
    return zlib.crc32(gram.encode("utf-8", "surrogatepass"))
