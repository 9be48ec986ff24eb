"""The vector index: 96 bytes a vector, little lost, removal at once, codes trained in steps."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from device.recall import quantiser
from device.recall import vectors as room
from device.recall.quantiser import CODE_BYTES, HEAD, ROW_COMPONENTS, TABLES
from device.recall.vectors import VectorIndex

Floats = NDArray[np.float32]


def rng() -> np.random.Generator:
    return np.random.Generator(np.random.Philox(key=21))


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Training that is over at once: these tests ask what it does, not how well."""
    monkeypatch.setattr(room, "TRAIN_FROM", 1_000)
    monkeypatch.setattr(room, "RECODED", 512)
    monkeypatch.setattr(quantiser, "SAMPLE", 1_024)
    monkeypatch.setattr(quantiser, "ROUNDS", 2)


def clustered(count: int, dimension: int) -> Floats:
    """Unit vectors around 200 centres with a falling spectrum, as embeddings have."""
    random = rng()
    spectrum = 1.0 / np.sqrt(1.0 + np.arange(dimension))
    centres = random.normal(size=(200, dimension)) * spectrum
    chosen = centres[random.integers(200, size=count)]
    found = chosen + 0.7 * spectrum * random.normal(size=(count, dimension))
    found = found @ np.linalg.qr(random.normal(size=(dimension, dimension)))[0]
    units: Floats = (found / np.linalg.norm(found, axis=1, keepdims=True)).astype(np.float32)
    return units


def trained(vectors: Floats) -> VectorIndex:
    index = VectorIndex(vectors.shape[1])
    index.add(vectors)
    for _ in index.training(rng()):
        pass
    return index


def recall_at_10(index: VectorIndex, vectors: Floats, queries: Floats) -> float:
    exact = np.argsort(-(queries @ vectors.T), axis=1)[:, :10]
    found = [set(index.nearest(query, 10)[0].tolist()) for query in queries]
    return float(
        np.mean([len(f & set(e.tolist())) / 10 for f, e in zip(found, exact, strict=True)])
    )


@pytest.mark.parametrize("dimension", [384, 768])
def test_any_dimension_is_96_bytes_and_loses_at_most_3_points(dimension: int) -> None:
    every = clustered(6_040, dimension)
    vectors, queries = every[:6_000], every[6_000:]
    index = trained(vectors)
    assert HEAD + TABLES == CODE_BYTES == 96
    assert recall_at_10(index, vectors, queries) >= 0.97
    held = index.nbytes
    freed = index.drop_rows()
    assert freed == 6_000 * min(dimension, ROW_COMPONENTS)
    codes_only = recall_at_10(index, vectors, queries)
    assert 0.6 < codes_only < 0.97
    assert index.nbytes < held - freed + 1


def test_the_builtin_96_dimensions_are_96_bytes_directly() -> None:
    every = clustered(6_040, 96)
    vectors, queries = every[:6_000], every[6_000:]
    index = trained(vectors)
    assert index._rows.view.nbytes == 96 * 6_000
    assert not index.wants_training
    assert recall_at_10(index, vectors, queries) >= 0.97
    assert index.drop_rows() == 0


def test_at_most_600_bytes_a_vector_all_in() -> None:
    per_vector = ROW_COMPONENTS + CODE_BYTES + 2 * 4 + 1
    tables = 4 * (768 * 768 + 768 * ROW_COMPONENTS + TABLES * 256 * 15)
    assert per_vector + tables / 100_000 <= 600


def test_a_removed_vector_is_zeroed_at_once_and_skipped(quick: None) -> None:
    for index in (trained(clustered(1_200, 128)), trained(clustered(300, 96))):
        vector = clustered(300, index._dimension)[37]
        slot = int(index.nearest(vector, 1)[0][0])
        index.remove(np.array([slot]))
        assert index.removed == 1
        assert slot not in index.nearest(vector, 100)[0]
        for column in (index._rows, index._heads, index._codes):
            assert not len(column) or not column.view[slot].any()


def test_slots_close_up_and_the_rest_is_still_found(quick: None) -> None:
    vectors = clustered(1_200, 128)
    index = trained(vectors)
    assert not index.wants_training
    mask = np.arange(1_200) % 3 > 0
    index.remove(np.flatnonzero(~mask))
    index.keep(mask)
    assert (len(index), index.removed) == (int(mask.sum()), 0)
    assert recall_at_10(index, vectors[mask], vectors[mask][:40]) >= 0.97


def test_vectors_come_and_go_while_codes_are_trained(quick: None) -> None:
    vectors = clustered(1_400, 128)
    index = VectorIndex(128)
    index.add(vectors[:1_200])
    for step, _ in enumerate(index.training(rng())):
        if step == 2:
            index.remove(np.array([7]))
            index.add(vectors[1_200:])
    assert not index.wants_training
    assert len(index) == 1_400
    assert int(index.nearest(vectors[1_300], 1)[0][0]) == 1_300
    assert 7 not in index.nearest(vectors[7], 100)[0]


def test_training_interrupted_or_overtaken_changes_nothing(quick: None) -> None:
    vectors = clustered(1_200, 128)
    index = VectorIndex(128)
    index.add(vectors)
    steps = index.training(rng())
    next(steps)
    steps.close()
    assert index.wants_training
    mask = np.ones(1_200, np.bool_)
    mask[:100] = False
    taken = 0
    for _ in index.training(rng()):
        taken += 1
        if taken == TABLES + 6:  # rows are being coded
            index.keep(mask)
    assert taken == TABLES + 6
    assert index.wants_training
    assert len(index) == 1_100
    assert int(index.nearest(vectors[1_199], 1)[0][0]) == 1_099


def test_rows_kept_elsewhere_are_read_when_a_query_needs_them() -> None:
    vectors = clustered(900, 96)
    index = VectorIndex(96)
    index.add(vectors)
    whole = index.similarities(vectors[5])
    scales, rows = index.extract(0, 600)
    index.lean_on(lambda: [(0, rows[:400]), (400, rows[400:])], 600)
    assert len(index._rows) == 300
    np.testing.assert_allclose(index.similarities(vectors[5]), whole, rtol=1e-6)
    again = VectorIndex(96)
    again.restore(scales, rows)
    np.testing.assert_allclose(again.similarities(vectors[5]), whole[:600], rtol=1e-6)
    mask = np.ones(900, np.bool_)
    mask[[3, 700]] = False
    index.remove(np.array([3, 700]))
    assert index.similarities(vectors[3])[3] == 0.0
    index.keep(mask)
    left = np.delete(rows, 3, axis=0)
    index.lean_on(lambda: [(0, left)], 599)
    np.testing.assert_allclose(index.similarities(vectors[5]), whole[mask], rtol=1e-6)


def test_an_empty_index_and_a_zero_query_find_nothing() -> None:
    index = VectorIndex(96)
    assert len(index.nearest(np.ones(96, np.float32), 5)[0]) == 0
    index.add(np.zeros((2, 96), np.float32))
    assert len(index.nearest(np.ones(96, np.float32), 5)[0]) == 0
    assert not index.similarities(np.zeros(96, np.float32)).any()
