"""What every embedder offers, and the two ways in which one can be wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from device.actors import DomainError

__all__ = ["Embedder", "EmbedderError", "Floats", "unit_rows"]

Floats = NDArray[np.float32]
TINY = 1e-12


class EmbedderError(DomainError):
    """An embedder cannot be used or gave no usable vectors; the line says what to do."""


class Embedder(Protocol):
    """Turns texts into vectors; slow ones await, so that nothing else waits for them."""

    @property
    def name(self) -> str:
        """Names model and version: vectors of two names are never mixed or compared."""

    @property
    def dimension(self) -> int:
        """Length of every vector; 0 while a service has not answered yet."""

    @property
    def leaves_phone(self) -> str:
        """The host that texts are sent to; empty when they stay on the phone."""

    async def embed_many(self, texts: Sequence[str]) -> Floats:
        """float32 (len(texts), dimension), each row of length 1, or all zero without any word.

        Raises:
            EmbedderError: no vectors this time.
        """

    async def close(self) -> None:
        """Let go of whatever is held."""


def unit_rows(vectors: Floats) -> Floats:
    """Rows scaled to length 1; what is no number makes its row zero, and a zero row stays."""
    clean = np.where(np.isfinite(vectors).all(axis=1, keepdims=True), vectors, 0.0)
    norms = np.linalg.norm(clean, axis=1, keepdims=True)
    units: Floats = (clean / np.maximum(norms, TINY)).astype(np.float32)
    return units
