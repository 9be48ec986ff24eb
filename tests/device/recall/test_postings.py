"""Compressed postings give back what went in, whole or merged."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from device.recall import postings
from device.recall.postings import Loose, Postings, find

ROWS = st.dictionaries(
    st.tuples(st.integers(0, 2**21), st.integers(0, 2**32 - 1) | st.integers(0, 5)),
    st.integers(1, 255) | st.just(1),
    min_size=1,
    max_size=60,
)


def loose(rows: dict[tuple[int, int], int]) -> Loose:
    ordered = sorted(rows.items())
    return (
        np.array([term for (_, term), _ in ordered], np.uint32),
        np.array([slot for (slot, _), _ in ordered], np.int32),
        np.array([count for _, count in ordered], np.uint8),
    )


def held(rows: dict[tuple[int, int], int], term: int) -> list[tuple[int, int]]:
    return sorted((slot, count) for (slot, other), count in rows.items() if other == term)


def found(parts: list[Postings], term: int) -> list[tuple[int, int]]:
    slots, counts = find(parts, [term])[0]
    times = np.ones(len(slots), np.intp) if counts is None else counts
    return list(zip(slots.tolist(), times.tolist(), strict=True))


@settings(max_examples=200, deadline=None)
@given(rows=ROWS, absent=st.integers(0, 2**32 - 1))
def test_every_posting_is_found_with_its_count(
    rows: dict[tuple[int, int], int], absent: int
) -> None:
    packed = Postings.of(loose(rows))
    for term in {term for _, term in rows} | {absent}:
        assert found([packed], term) == held(rows, term)
    terms, slots, counts = packed.loose()
    back = zip(slots.tolist(), terms.tolist(), strict=True)
    assert dict(zip(back, counts.tolist(), strict=True)) == rows


@settings(max_examples=100, deadline=None)
@given(rows=ROWS, cut=st.integers(0, 2**21), at_once=st.sampled_from([1, 20, 1 << 20]))
def test_parts_are_searched_and_merged_as_one(
    rows: dict[tuple[int, int], int], cut: int, at_once: int
) -> None:
    halves = [
        {key: count for key, count in rows.items() if key[0] < cut},
        {key: count for key, count in rows.items() if key[0] >= cut},
    ]
    parts = [Postings.of(loose(half)) for half in halves if half]
    before, postings.MERGED_BYTES = postings.MERGED_BYTES, at_once
    try:
        merged = Postings.merged(parts)
    finally:
        postings.MERGED_BYTES = before
    for term in {term for _, term in rows}:
        assert found(parts, term) == found([merged], term) == held(rows, term)


def test_a_posting_of_common_words_takes_about_a_byte() -> None:
    rng = np.random.Generator(np.random.Philox(key=4))
    slots = np.repeat(np.arange(5_000, dtype=np.int32), 20)
    terms = np.minimum(rng.zipf(1.3, len(slots)), 3_000).astype(np.uint32)
    rows = np.unique(np.stack([slots, terms.astype(np.int32)], axis=1), axis=0)
    packed = Postings.of((rows[:, 1].astype(np.uint32), rows[:, 0], np.ones(len(rows), np.uint8)))
    assert packed.nbytes < 1.8 * len(rows)


@settings(max_examples=100, deadline=None)
@given(rows=ROWS, cut=st.integers(0, 2**21))
def test_a_short_list_is_read_byte_by_byte_to_the_same(
    rows: dict[tuple[int, int], int], cut: int
) -> None:
    halves = [
        {key: count for key, count in rows.items() if (key[0] < cut) is below}
        for below in (True, False)
    ]
    parts = [Postings.of(loose(half)) for half in halves if half]
    known = sorted({term for _, term in rows})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(postings, "FEW_BYTES", 0)
        by_arrays = find(parts, known)
        patch.setattr(postings, "FEW_BYTES", 1 << 30)
        by_bytes = find(parts, known)
    for (slots, counts), (same, times) in zip(by_arrays, by_bytes, strict=True):
        assert slots.dtype == same.dtype
        assert slots.tolist() == same.tolist()
        assert (counts is None) == (times is None)
        if counts is not None and times is not None:
            assert counts.tolist() == times.tolist()
