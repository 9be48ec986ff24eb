"""A hundred thousand memories: vector indexes side by side, embedders, and one whole phone.

The turns are made by `scale_corpus` from the public dialogues (or, without them, from sentences of
our own). The vectors of other dimensions are all-MiniLM-L6-v2's (384) of the first turns, brought
to 100,000 by adding half the difference of two others to each, and lifted to 768 dimensions by a
fixed random layer with a tanh: so dense a set of near neighbours that recall is hard.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from device.memory.records import TurnDraft
from device.recall.vectors import VectorIndex
from protocol.models.embedding import embed_many
from tests.benchmarks.phone_at_scale import MEASURES
from tests.benchmarks.row import Row
from tests.benchmarks.scale_corpus import corpus_turns, own_turns, questions

SHARED = Path(__file__).parents[3] / "shared" / "data"
RECORDS = 100_000
QUERIES = 200
DEPTH = 10
MINILM_TEXTS = 3_000
SEARCH_MS = 8.0
LOSS_POINTS = 3.0
BYTES_A_VECTOR = 600.0
CODE_BYTES = 96.0
RECALL_P50_MS, RECALL_P95_MS = 15.0, 40.0
IMPORT_SECONDS = 60.0
PRIVATE_MB = 50.0
Floats = NDArray[np.float32]
Search = Callable[[Floats], Sequence[int]]


def rows() -> Iterator[Row]:
    """All rows of this room."""
    drafts, asked = _world()
    own = embed_many([draft.text for draft in drafts])
    queries = embed_many(asked)
    yield from _indexes(own, queries)
    minilm = _minilm([draft.text for draft in drafts[:MINILM_TEXTS]], asked)
    if minilm is not None:
        vectors, dense_queries = minilm
        yield from _codes("MiniLM, 384-d", vectors, dense_queries)
        yield from _codes("MiniLM lifted, 768-d", *_lifted(vectors, dense_queries))
    yield from _phone(drafts, asked)


def _world() -> tuple[list[TurnDraft], list[str]]:
    if SHARED.is_dir():
        return corpus_turns(SHARED, RECORDS), questions(SHARED, QUERIES)
    drafts = own_turns(RECORDS)
    return drafts, [draft.text for draft in drafts[:: RECORDS // QUERIES]][:QUERIES]


def _indexes(vectors: Floats, queries: Floats) -> Iterator[Row]:
    """The built-in embedder's vectors: our flat int8 scan beside the libraries."""
    queries = queries[queries.any(axis=1)]
    exact = _exact(vectors, queries)
    start = time.perf_counter()
    index = VectorIndex(vectors.shape[1])
    for first in range(0, len(vectors), 512):
        index.add(vectors[first : first + 512])
    built = time.perf_counter() - start
    ours = _searched(lambda query: index.nearest(query, DEPTH)[0].tolist(), queries, exact)
    yield Row(
        "vector top-10 p95, 100k, built-in 96-d",
        ours[0],
        "ms",
        bound=SEARCH_MS,
        target=SEARCH_MS,
    )
    yield Row(
        "loss of recall@10 against exact float32, built-in 96-d",
        100.0 * (1.0 - ours[1]),
        "points",
        bound=LOSS_POINTS,
        target=LOSS_POINTS,
    )
    yield Row(
        "vector index all in, built-in 96-d",
        index.nbytes / len(index),
        "bytes/vector",
        bound=BYTES_A_VECTOR,
        target=BYTES_A_VECTOR,
    )
    for name, make in _LIBRARIES.items():
        try:
            start = time.perf_counter()
            search = make(vectors)
            seconds = time.perf_counter() - start
        except (ImportError, AttributeError):
            continue  # not installed, or Python's sqlite3 loads no extensions
        p95, recall = _searched(search, queries[:50], exact[:50])
        yield Row(f"vector top-10 p95 beside {name}", ours[0], "ms", name, p95)
        yield Row(f"recall@10 beside {name}", ours[1], "share", name, recall, better="high")
        yield Row(f"building the index beside {name}", built, "s", name, seconds)


def _exact(vectors: Floats, queries: Floats) -> list[float]:
    """Of each query the tenth best cosine: with many equal texts, any memory as near counts."""
    cosines = queries @ vectors.T
    return np.sort(np.partition(cosines, -DEPTH, axis=1)[:, -DEPTH:], axis=1)[:, 0].tolist()


def _searched(search: Search, queries: Floats, exact: Sequence[float]) -> tuple[float, float]:
    """95th percentile in ms and recall@10 of a search."""
    vectors = _searched_vectors[0]
    times, recalls = [], []
    for query, tenth in zip(queries, exact, strict=True):
        start = time.perf_counter()
        found = list(search(query))
        times.append(1e3 * (time.perf_counter() - start))
        near = vectors[found] @ query if found else np.empty(0)
        recalls.append(float(np.count_nonzero(near >= tenth - 1e-6)) / DEPTH)
    return float(np.percentile(times, 95)), float(np.mean(recalls))


_searched_vectors: list[Floats] = []
