"""A vector of any dimension in 96 bytes: 48 leading components as int8, 48 product-quantised codes.

The components are those of a principal component analysis of the phone's own vectors. The leading
ones, with most of the variance, keep one byte each and can be scanned with a matrix product, which
numpy does at the speed of C; the rest is cut into 48 subspaces of like variance, each vector told
by the nearest of 256 centroids (Jégou, Douze, Schmid, "Product quantization for nearest neighbor
search", 2011; asymmetric distance: the query is never quantised). Only the candidates of the scan
are looked up in the tables, which numpy does slowly.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["CODE_BYTES", "ROW_COMPONENTS", "ProductQuantiser", "Training"]

CODE_BYTES = 96
HEAD = 48
"""Leading components kept as one byte each."""
TABLES = CODE_BYTES - HEAD
CENTROIDS = 256
SAMPLE = 8_192
"""Vectors that the centroids are fitted to: 32 for each."""
ROUNDS = 8
"""Of Lloyd's algorithm; more change recall by less than 0.1 points."""
PEAK = 127.0
HEADROOM = 1.15
"""Room above the sample's largest component, for vectors still to come: cutting loses more."""
ROW_COMPONENTS = 448
"""Components that a row keeps for the rerank: 600 bytes a vector with code and tables."""
TINY = 1e-9

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class ProductQuantiser:
    """Trained on vectors of one embedder; useless for another's."""

    rotation: Floats
    """(dimension, dimension), columns are principal components, most variance first."""
    steps: Floats
    """(HEAD,), what one step of the int8 of a leading component is worth."""
    centroids: Floats
    """(TABLES, CENTROIDS, width of a subspace), the last ones padded with zeros."""
    subspaces: NDArray[np.int32]
    """(TABLES, width): the components of each subspace; −1 is padding."""
    row_axes: Floats | None
    """(dimension, ROW_COMPONENTS), what a row of a longer vector keeps: the leading components,
    turned at random so that no one of them is far larger than the rest. None: all as it is."""

    def row_part(self, vectors: Floats) -> Floats:
        """What of vectors (n, dimension), or of one, goes into its row."""
        return vectors if self.row_axes is None else vectors @ self.row_axes

    @property
    def nbytes(self) -> int:
        """Bytes of the tables and axes."""
        axes = 0 if self.row_axes is None else self.row_axes.nbytes
        return self.rotation.nbytes + self.centroids.nbytes + axes

    def rotate(self, vectors: Floats) -> Floats:
        """Vectors (n, dimension) as components."""
        rotated: Floats = vectors @ self.rotation
        return rotated

    def encode(self, components: Floats) -> tuple[NDArray[np.int8], NDArray[np.uint8], Floats]:
        """Head (n, HEAD), codes (n, TABLES) and the inverse norm of what they stand for (n,)."""
        head = np.clip(np.rint(components[:, :HEAD] / self.steps), -PEAK, PEAK).astype(np.int8)
        codes = np.empty((len(components), TABLES), np.uint8)
        norms = np.square(head * self.steps).sum(axis=1, dtype=np.float32)
        for table, columns in enumerate(self._columns(components)):
            codes[:, table] = _nearest(columns, self.centroids[table])
            norms += np.square(self.centroids[table][codes[:, table]]).sum(axis=1)
        return head, codes, 1.0 / np.sqrt(np.maximum(norms, np.float32(TINY)))

    def tables(self, query: Floats) -> Floats:
        """Of a rotated query (dimension,), its product with every centroid (TABLES, CENTROIDS)."""
        cut = np.where(self.subspaces >= 0, query[self.subspaces], 0.0).astype(np.float32)
        products: Floats = np.einsum("tw,tcw->tc", cut, self.centroids)
        return products

    def _columns(self, components: Floats) -> Iterator[Floats]:
        for subspace in self.subspaces:
            kept = subspace[subspace >= 0]
            columns = np.zeros((len(components), len(subspace)), np.float32)
            columns[:, : len(kept)] = components[:, kept]
            yield columns


class Training:
    """Fits a quantiser step by step, so that a closing window can stop it at any step."""

    def __init__(self, vectors: Floats, rng: np.random.Generator) -> None:
        """`vectors` (n, dimension), unit length, n ≥ CENTROIDS; `rng` picks the sample."""
        size = min(SAMPLE, len(vectors))
        self._sample = vectors[np.sort(rng.choice(len(vectors), size, replace=False))]
        self._rng = rng

    def run(self) -> Iterator[ProductQuantiser | None]:
        """None after every step but the last, which gives the quantiser."""
        # About the origin, not the mean: inner products must stay what they are.
        scatter = (self._sample.T @ self._sample).astype(np.float64)
        yield None
        axes = np.linalg.eigh(scatter).eigenvectors
        yield None
        rotation = np.ascontiguousarray(axes[:, ::-1], np.float32)
        components = self._sample @ rotation
        yield None
        dimension = components.shape[1]
        steps = HEADROOM / PEAK * np.abs(components[:, :HEAD]).max(axis=0) + np.float32(TINY)
        subspaces = _subspaces(dimension)
        width = subspaces.shape[1]
        centroids = np.zeros((TABLES, CENTROIDS, width), np.float32)
        for table, subspace in enumerate(subspaces):
            kept = subspace[subspace >= 0]
            centroids[table, :, : len(kept)] = self._lloyd(components[:, kept])
            yield None
        yield ProductQuantiser(
            rotation, steps.astype(np.float32), centroids, subspaces, self._row_axes(rotation)
        )

    def _row_axes(self, rotation: Floats) -> Floats | None:
        if len(rotation) <= ROW_COMPONENTS:
            return None
        turn, _ = np.linalg.qr(self._rng.normal(size=(ROW_COMPONENTS, ROW_COMPONENTS)))
        axes: Floats = rotation[:, :ROW_COMPONENTS] @ turn.astype(np.float32)
        return axes

    def _lloyd(self, points: Floats) -> Floats:
        first = self._rng.choice(len(points), CENTROIDS, replace=False)
        centroids = points[first].copy()
        for _ in range(ROUNDS):
            nearest = _nearest(points, centroids)
            sizes = np.bincount(nearest, minlength=CENTROIDS)
            taken = sizes > 0
            for column in range(points.shape[1]):
                sums = np.bincount(nearest, points[:, column], CENTROIDS)
                centroids[taken, column] = sums[taken] / sizes[taken]
        return centroids


def _subspaces(dimension: int) -> NDArray[np.int32]:
    """The components after the head dealt out in turn, so that each subspace gets a like share of
    the variance."""
    width = -(-(dimension - HEAD) // TABLES)
    dealt = np.full(width * TABLES, -1, np.int32)
    dealt[: dimension - HEAD] = np.arange(HEAD, dimension)
    return np.ascontiguousarray(dealt.reshape(width, TABLES).T)


def _nearest(points: Floats, centroids: Floats) -> NDArray[np.uint8]:
    """The centroid nearest to each point."""
    halves = 0.5 * np.square(centroids).sum(axis=1)
    found = np.empty(len(points), np.uint8)
    for start in range(0, len(points), SAMPLE):
        span = slice(start, start + SAMPLE)
        found[span] = (points[span] @ centroids.T - halves).argmax(axis=1)
    return found
