"""The vector index: cosine similarity over int8 rows, in RAM only, with numpy alone.

Up to 96 dimensions (the built-in embedder) a row is its 96 bytes and every query looks at all of
them, a thousand at a time so that the widened rows stay in the processor's cache: exact but for
the rounding. At 100,000 rows on one x86-64 core that takes 1.4 ms, beside 0.7 of hnswlib (which
needs 43 s to build and 5 times the memory), 0.5 of usearch, 2.7 of faiss' flat SQ8 and 19 of
sqlite-vec: a graph gains a millisecond and costs minutes of a phone's battery, and none of the
four has a wheel for Termux. So there is no graph (002 proposes a trimmed HNSW).

Above 96 dimensions rows are first kept whole as int8; once the index is trained (`training`, when
idle), each has a code of 96 bytes (quantiser.py) and a row of its 448 leading components for
the exact rerank. A query scans the codes' heads, looks up the best thousands in the tables and
reranks the best. At most 600 bytes a vector with the tables; `drop_rows` leaves 100 when memory is
short, at a loss that the benchmark shows.

A removed vector is zeroed at once; its slot goes with the next `keep`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from device.recall.columns import Column
from device.recall.quantiser import (
    CENTROIDS,
    CODE_BYTES,
    HEAD,
    ROW_COMPONENTS,
    TABLES,
    ProductQuantiser,
    Training,
)

__all__ = ["VectorIndex", "quantise_unit", "quantised_rows"]

INT8_LIMIT = 127.0
TINY = 1e-12
"""Keeps a zero vector from dividing by zero."""
SCAN_ROWS = 1024
"""Rows widened to float32 at a time: they stay in the cache between widening and product."""
TRAIN_FROM = 16 * CENTROIDS
"""Vectors under which a flat scan is quick and centroids would be noise."""
SCANNED = 6_000
"""Candidates of the heads' scan that are looked up in the tables."""
RERANKED = 128
"""Of those, the ones compared by row: no query is answered with more."""
RECODED = 2_048
"""Rows coded between two checkpoints of the training."""
TABLE_STARTS = np.arange(TABLES, dtype=np.int32) * CENTROIDS

Floats = NDArray[np.float32]
Source = Callable[[], Iterable[tuple[int, NDArray[np.int8]]]]
"""Reads rows that are kept elsewhere: stretches of them, each with its first slot."""


def quantise_unit(vectors: Floats) -> NDArray[np.int8]:
    """Unit vectors (n, d) to int8 with one scale a row, its largest value at ±127.

    A scale per row and not per index: cosine needs only the direction, and rows of few features
    would waste most of a shared range.
    """
    peaks = np.abs(vectors).max(axis=1, keepdims=True)
    steps: NDArray[np.int8] = np.rint(vectors * (INT8_LIMIT / np.maximum(peaks, TINY))).astype(
        np.int8
    )
    return steps


def quantised_rows(vectors: Floats) -> tuple[Floats, NDArray[np.int8]]:
    """Scales and rows of vectors (n, d), as an index without codes holds them."""
    return _scaled_rows(_units(vectors))


def _units(vectors: Floats) -> Floats:
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    units: Floats = vectors / np.maximum(norms, TINY)
    return units


def _scaled_rows(units: Floats) -> tuple[Floats, NDArray[np.int8]]:
    rows = quantise_unit(units)
    norms = np.linalg.norm(rows.astype(np.float32), axis=1)
    scales: Floats = np.linalg.norm(units, axis=1) / np.maximum(norms, 1.0)
    return scales, rows


class VectorIndex:
    """Cosine similarity over slots (0, 1, … in order of adding); `keep` closes slots up."""

    __slots__ = (
        "_away",
        "_code_scales",
        "_codes",
        "_dimension",
        "_generation",
        "_heads",
        "_quantiser",
        "_removed",
        "_rows",
        "_rows_dropped",
        "_scales",
        "_source",
    )

    def __init__(self, dimension: int) -> None:
        self._dimension = dimension
        self._rows = Column(np.int8, dimension)
        self._scales = Column(np.float32)
        self._heads = Column(np.int8, HEAD)
        self._codes = Column(np.uint8, TABLES)
        self._code_scales = Column(np.float32)
        self._removed = Column(np.bool_)
        self._generation = 0
        self._away = 0
        self._source: Source = tuple
        self._quantiser: ProductQuantiser | None = None
        self._rows_dropped = False

    def __len__(self) -> int:
        return len(self._removed)

    @property
    def removed(self) -> int:
        """Slots whose vector was removed and not yet dropped."""
        return int(np.count_nonzero(self._removed.view))

    @property
    def nbytes(self) -> int:
        """Bytes of rows, codes, scales and tables in use."""
        columns = (self._rows, self._scales, self._heads, self._codes, self._code_scales)
        held = sum(column.view.nbytes for column in (*columns, self._removed))
        model = self._quantiser
        return held if model is None else held + model.nbytes

    @property
    def wants_training(self) -> bool:
        """Large enough, and of a dimension, for codes to be worth their training."""
        big = self._dimension > CODE_BYTES and len(self) - self.removed >= TRAIN_FROM
        return big and self._quantiser is None

    def add(self, vectors: Floats) -> None:
        """Append vectors, float32 (n, dimension); a zero vector is similar to nothing."""
        self._removed.extend([False] * len(vectors))
        units = _units(vectors)
        if self._quantiser is None:
            self._add_rows(units)
        else:
            self._add_codes(self._quantiser, units)

    def similarities(self, vector: Floats) -> Floats:
        """Cosine of every slot with `vector`, float32 (n,).

        Once trained, of the candidates only: every other slot has 0.
        """
        norm = float(np.sqrt(vector.dot(vector)))
        if not len(self) or norm == 0.0:
            return np.zeros(len(self), np.float32)
        unit = (vector / norm).astype(np.float32, copy=False)
        if self._quantiser is None:
            cosines: Floats = self._dots(unit) * self._scales.view
            return cosines
        found = np.zeros(len(self), np.float32)
        slots, found_cosines = self._candidates(self._quantiser, unit)
        found[slots] = found_cosines
        return found

    def nearest(self, vector: Floats, k: int) -> tuple[NDArray[np.intp], Floats]:
        """The `k` slots most similar to `vector`, best first, ties by slot, and their cosines."""
        cosines: Floats = self.similarities(vector)
        found = np.flatnonzero(cosines > 0)
        if len(found) > k:
            found = found[np.argpartition(-cosines[found], k - 1)[:k]]
        order = found[np.lexsort((found, -cosines[found]))]
        return order, cosines[order]

    def alike(self, vector: Floats, least: float, k: int) -> list[tuple[int, float]]:
        """Of the `k` nearest those whose cosine is `least` (over 0) or more, best first."""
        if len(self) > k:
            near, similar = self.nearest(vector, k)
            pairs = list(zip(near.tolist(), similar.tolist(), strict=True))
            return [pair for pair in pairs if pair[1] >= least]
        cosines = self.similarities(vector).tolist()
        alike = [(-cosine, slot) for slot, cosine in enumerate(cosines) if cosine >= least]
        return [(slot, -cosine) for cosine, slot in sorted(alike)]

    def remove(self, slots: NDArray[np.intp]) -> None:
        """Zero these vectors for good; the slots stay until `keep` drops them."""
        self._removed.view[slots] = True
        self._rows.view[slots[slots >= self._away] - self._away] = 0
        for column in (self._scales, self._heads, self._codes, self._code_scales):
            if len(column):
                column.view[slots] = 0

    def keep(self, mask: NDArray[np.bool_]) -> None:
        """Drop the slots whose mask is False."""
        if len(self._rows):
            self._rows.keep(mask[self._away :])
        for column in (self._scales, self._heads, self._codes, self._code_scales):
            if len(column):
                column.keep(mask)
        self._away = int(np.count_nonzero(mask[: self._away]))
        self._removed.keep(mask)
        self._generation += 1

    def training(self, rng: np.random.Generator) -> Generator[None, None, None]:
        """Fit the codes to the vectors held, a step (well under a second) at a time.

        Nothing changes before the last step; vectors may be added and removed meanwhile. For idle
        hours: at 384 dimensions and 100,000 vectors it takes about half a minute of one core.
        """
        if not self.wants_training:
            return
        live = np.flatnonzero(~self._removed.view & (self._scales.view > 0))
        for model in Training(self._unit_rows(live), rng).run():
            yield
            if model is not None:
                yield from self._recode(model)

    def extract(self, first: int, last: int) -> tuple[Floats, NDArray[np.int8]]:
        """Scales and rows of the slots in [first, last), for `restore`; rows must be here."""
        rows = self._rows.view[first - self._away : last - self._away]
        return self._scales.view[first:last].copy(), rows.copy()

    def restore(self, scales: Floats | list[float], rows: NDArray[np.int8]) -> None:
        """Append what `extract` or `quantised_rows` gave as the next slots."""
        self._scales.extend(scales)
        self._rows.extend(rows)
        self._removed.extend([False] * len(scales))

    def lean_on(self, source: Source, slots: int) -> None:
        """Let go of the rows of the first `slots`, which `source` reads whenever a query needs
        them. It must leave out what `keep` dropped since."""
        slots = min(slots, len(self))
        if slots > self._away:
            mask = np.ones(len(self._rows), np.bool_)
            mask[: slots - self._away] = False
            self._rows.keep(mask)
            self._away = slots
        self._source = source

    def drop_rows(self) -> int:
        """Give the rerank's rows up, where codes can do without them; bytes freed."""
        if self._quantiser is None:
            return 0
        freed = self._rows.view.nbytes
        self._rows, self._scales = Column(np.int8, self._row_width()), Column(np.float32)
        self._rows_dropped = True
        return freed

    # -- parts

    def _add_rows(self, units: Floats) -> None:
        scales, rows = _scaled_rows(units)
        self._rows.extend(rows)
        self._scales.extend(scales)

    def _add_codes(self, model: ProductQuantiser, units: Floats) -> None:
        heads, codes, scales = model.encode(model.rotate(units))
        self._heads.extend(heads)
        self._codes.extend(codes)
        self._code_scales.extend(np.where(units.any(axis=1), scales, 0.0))
        if not self._rows_dropped:
            self._add_rows(model.row_part(units))

    def _dots(self, unit: Floats) -> Floats:
        """The product of every row, here or away, with a unit vector."""
        here = _scan(self._rows.view, unit)
        if not self._away:
            return here
        dots = np.zeros(len(self), np.float32)
        dots[self._away :] = here
        for start, rows in self._source():
            dots[start : start + len(rows)] = _scan(rows, unit)
        return dots

    def _row_width(self) -> int:
        return min(self._dimension, ROW_COMPONENTS)

    def _unit_rows(self, slots: NDArray[np.intp]) -> Floats:
        rows: Floats = self._rows.view[slots].astype(np.float32)
        rows *= self._scales.view[slots, np.newaxis]
        return rows

    def _recode(self, model: ProductQuantiser) -> Iterator[None]:
        """Codes for every row, then all at once in place of the rows as they were."""
        fresh = VectorIndex(self._dimension)
        fresh._rows = Column(np.int8, self._row_width())
        generation = self._generation
        while len(fresh._heads) < len(self):
            start = len(fresh._heads)
            fresh._add_codes(model, self._unit_rows(np.arange(len(self))[start : start + RECODED]))
            yield
            if generation != self._generation:
                return  # slots closed up meanwhile: the next idle hour begins again
        self._quantiser = model
        self._rows, self._scales = fresh._rows, fresh._scales
        self._heads, self._codes = fresh._heads, fresh._codes
        self._code_scales = fresh._code_scales
        self.remove(np.flatnonzero(self._removed.view))

    def _candidates(self, model: ProductQuantiser, unit: Floats) -> tuple[NDArray[np.intp], Floats]:
        """Slots worth naming and their cosines: heads of all, tables of many, rows of the best."""
        query = model.rotate(unit)
        dots = _scan(self._heads.view, query[:HEAD] * model.steps)
        slots = _largest(dots, SCANNED)
        places = self._codes.view[slots] + TABLE_STARTS
        dots = dots[slots] + model.tables(query).ravel()[places].sum(axis=1)
        cosines: Floats = dots * self._code_scales.view[slots]
        if self._rows_dropped:
            return slots, cosines
        slots = slots[_largest(cosines, RERANKED)]
        rows = self._rows.view[slots].astype(np.float32)
        return slots, rows @ model.row_part(unit) * self._scales.view[slots]


def _scan(rows: NDArray[np.int8], query: Floats) -> Floats:
    """The product of every row with the query."""
    dots = np.empty(len(rows), np.float32)
    wide = np.empty((min(SCAN_ROWS, len(rows)), rows.shape[1]), np.float32)
    for start in range(0, len(rows), SCAN_ROWS):
        part = rows[start : start + SCAN_ROWS]
        np.copyto(wide[: len(part)], part)
        np.dot(wide[: len(part)], query, out=dots[start : start + len(part)])
    return dots


def _largest(values: Floats, k: int) -> NDArray[np.intp]:
    """Places of the `k` largest, in no order."""
    if len(values) <= k:
        return np.arange(len(values))
    return np.argpartition(-values, k - 1)[:k]
