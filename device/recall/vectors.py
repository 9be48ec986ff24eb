"""A flat int8 index over the built-in embedder.

A flat scan of int8 rows is exact enough and fast below about 20,000 memories (100,000 x 96 in
under 10 ms), so there is no graph to keep: 96 bytes a memory (002, section on vectors).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from device.recall.columns import Column

__all__ = ["VectorIndex", "quantise_unit"]

INT8_LIMIT = 127.0
TINY = 1e-12
"""Keeps a zero vector from dividing by zero."""
SCAN_ROWS = 8192
"""Rows widened to float32 at a time: 3 MB of scratch whatever the size of the index."""


def quantise_unit(vectors: NDArray[np.float32]) -> NDArray[np.int8]:
    """Unit vectors (n, d) to int8 with one scale a row, its largest value at ±127.

    A scale per row and not per index: cosine needs only the direction, and rows of few features
    would waste most of a shared range.
    """
    peaks = np.abs(vectors).max(axis=1, keepdims=True)
    steps: NDArray[np.int8] = np.rint(vectors * (INT8_LIMIT / np.maximum(peaks, TINY))).astype(
        np.int8
    )
    return steps


class VectorIndex:
    """Cosine similarity over slots (0, 1, … in order of adding)."""

    def __init__(self, dimension: int) -> None:
        self._rows = Column(np.int8, dimension)
        self._inverse_norms = Column(np.float32)

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, vectors: NDArray[np.float32]) -> None:
        """Append vectors, float32 (n, dimension); a zero vector is similar to nothing."""
        rows = quantise_unit(vectors)
        norms = np.linalg.norm(rows.astype(np.float32), axis=1)
        self._rows.extend(rows)
        self._inverse_norms.extend(np.where(norms > 0, 1.0 / np.maximum(norms, TINY), 0.0))

    def similarities(self, vector: NDArray[np.float32]) -> NDArray[np.float32]:
        """Cosine of every slot with `vector`, float32 (n,)."""
        rows = self._rows.view
        norm = float(np.linalg.norm(vector))
        if not len(rows) or norm == 0.0:
            return np.zeros(len(rows), np.float32)
        unit = (vector / norm).astype(np.float32)
        dots = np.empty(len(rows), np.float32)
        for start in range(0, len(rows), SCAN_ROWS):
            span = slice(start, start + SCAN_ROWS)
            dots[span] = rows[span].astype(np.float32) @ unit
        similarities: NDArray[np.float32] = dots * self._inverse_norms.view
        return similarities

    def keep(self, mask: NDArray[np.bool_]) -> None:
        """Drop the rows whose mask is False."""
        self._rows.keep(mask)
        self._inverse_norms.keep(mask)
