"""The rows that a text's built-in vector becomes in a layer's index."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from device.language.kept import kept
from device.recall.vectors import quantised_rows
from protocol.models.embedding import embed_many

__all__ = ["rows_of"]


def rows_of(texts: Sequence[str]) -> tuple[list[float], NDArray[np.int8]]:
    """Scales and rows of a few texts, for `VectorIndex.restore`."""
    made = [_row_of(text) for text in texts]
    rows = np.frombuffer(b"".join([row for _, row in made]), np.int8)
    return [scale for scale, _ in made], rows.reshape(len(made), -1)


@kept
def _row_of(text: str) -> tuple[float, bytes]:
    """Kept: many phones of one process may be told the same."""
    scales, rows = quantised_rows(embed_many([text]))
    return float(scales[0]), rows.tobytes()
