"""The incremental BM25 against the formula written out, and after removals."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from device.recall import lexical
from device.recall.analysis import terms
from device.recall.bm25 import LENGTH_WEIGHT, SATURATION
from device.recall.lexical import LexicalIndex, _hashed
from device.recall.postings import find

WORDS = st.lists(st.sampled_from(["cat", "dog", "boat", "tree", "lamp"]), min_size=1, max_size=6)


def bm25(documents: list[list[str]], query: list[str]) -> list[float]:
    mean = sum(map(len, documents)) / len(documents)
    scores = [0.0] * len(documents)
    for term, repeats in Counter(query).items():
        frequency = sum(term in document for document in documents)
        idf = math.log(1 + (len(documents) - frequency + 0.5) / (frequency + 0.5))
        for number, document in enumerate(documents):
            count = document.count(term)
            norm = SATURATION * (1 - LENGTH_WEIGHT + LENGTH_WEIGHT * len(document) / mean)
            scores[number] += idf * repeats * count * (SATURATION + 1) / (count + norm)
    return scores


@settings(max_examples=60, deadline=None)
@given(
    documents=st.lists(WORDS, min_size=1, max_size=30),
    query=WORDS,
    tail=st.sampled_from([1, 7, 10_000]),
    dropped=st.sets(st.integers(0, 29)),
)
def test_equals_the_formula_whatever_was_sealed_or_removed(
    documents: list[list[str]], query: list[str], tail: int, dropped: set[int]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lexical, "TAIL_POSTINGS", tail)
        index = LexicalIndex(str.split)
        for document in documents:
            index.add([" ".join(document)])
        kept = [number not in dropped for number in range(len(documents))]
        if not all(kept):
            index.keep(np.asarray(kept))
            documents = [d for d, keep in zip(documents, kept, strict=True) if keep]
        assert len(index) == len(documents)
        if documents:
            found = index.score(" ".join(query))
            np.testing.assert_allclose(found.bm25, bm25(documents, query), rtol=1e-4, atol=1e-6)
            full = [set(query) <= set(document) for document in documents]
            np.testing.assert_array_equal(found.coverage > 0.9999, full)


def test_removed_documents_leave_no_posting() -> None:
    index = LexicalIndex(str.split)
    index.add(["secret word", "plain word"])
    index.keep(np.asarray([False, True]))
    assert not index.score("secret").bm25.any()
    assert sum(len(segment.loose()[0]) for segment in index._segments) == 2


@settings(max_examples=60, deadline=None)
@given(
    documents=st.lists(WORDS, min_size=2, max_size=30),
    query=WORDS,
    tail=st.sampled_from([1, 7, 10_000]),
    dropped=st.sets(st.integers(0, 29)),
)
def test_a_tombstone_scores_nothing_and_the_rest_as_if_it_had_never_been(
    documents: list[list[str]], query: list[str], tail: int, dropped: set[int]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lexical, "TAIL_POSTINGS", tail)
        index = LexicalIndex(str.split)
        for document in documents:
            index.add([" ".join(document)])
        gone = np.array([n for n in range(len(documents)) if n in dropped], np.intp)
        index.remove(gone)
        index.remove(gone)
        assert index.removed == len(gone)
        kept = np.ones(len(documents), np.bool_)
        kept[gone] = False
        found = index.score(" ".join(query))
        assert not found.bm25[gone].any()
        assert not found.coverage[gone].any()
        index.keep(kept)
        rebuilt = index.score(" ".join(query))
        np.testing.assert_allclose(found.bm25[kept], rebuilt.bm25, rtol=1e-5)
        np.testing.assert_allclose(found.coverage[kept], rebuilt.coverage, rtol=1e-5)
        assert index.removed == 0


@settings(max_examples=60, deadline=None)
@given(documents=st.lists(WORDS, min_size=3, max_size=30), query=WORDS, data=st.data())
def test_what_is_extracted_and_restored_scores_as_before(
    documents: list[list[str]], query: list[str], data: st.DataObject
) -> None:
    index = LexicalIndex(str.split)
    index.add([" ".join(document) for document in documents])
    index.remove(np.array([1]))
    middle = data.draw(st.integers(0, len(documents)))
    again = LexicalIndex(str.split)
    for first, last in ((0, middle), (middle, len(documents))):
        again.restore(*index.extract(first, last))
    assert again.removed == 1
    here, there = index.score(" ".join(query)), again.score(" ".join(query))
    np.testing.assert_allclose(here.bm25, there.bm25, rtol=1e-6)


def test_no_word_is_held_in_clear() -> None:
    index = LexicalIndex(str.split)
    index.add(["zanzibar"] * 3)
    held = b"".join(bytes(memoryview(part)) for part in (index._tail_terms, index._tail_counts))
    assert b"zanzibar" not in held


def test_chinese_pairs_and_english_stems_meet() -> None:
    index = LexicalIndex(terms)
    index.add(["下周三去杭州出差", "She moved to Lisbon", "猫喜欢晒太阳"])
    assert int(index.score("杭州的安排").bm25.argmax()) == 0
    assert int(index.score("when does she move").bm25.argmax()) == 1


def test_empty_index_and_empty_query() -> None:
    index = LexicalIndex(terms)
    assert len(index.score("anything").bm25) == 0
    index.add(["一句话", ""])
    assert not index.score("").bm25.any()


def term_by_term(
    index: LexicalIndex, query: str
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The formula as it reads, one term after the other, on the index's own postings."""
    size = len(index)
    bm25, matched = np.zeros(size, np.float32), np.zeros(size, np.float32)
    lengths = index._lengths.view
    live = size - index.removed
    mean = (float(lengths.sum(dtype=np.float64)) + index.removed) / max(live, 1)
    share = np.float32(LENGTH_WEIGHT / max(mean, 1.0))
    norms = np.float32(SATURATION) * (np.float32(1 - LENGTH_WEIGHT) + share * lengths)
    mass = 0.0
    for term, repeats in Counter(query.split()).items():
        hashed = _hashed(term)
        slots, counts = find(index._segments, [hashed])[0]
        here = [n for n, other in enumerate(index._tail_terms) if other == hashed]
        if here:
            before = np.ones(len(slots), np.intp) if counts is None else counts
            slots = np.concatenate(
                [slots, np.array([index._tail_slots[n] for n in here], np.int32)]
            )
            counts = np.concatenate([before, np.array([index._tail_counts[n] for n in here])])
        alive = lengths[slots] >= 0
        slots, counts = slots[alive], None if counts is None else counts[alive]
        idf = float(np.log1p((live - len(slots) + 0.5) / (len(slots) + 0.5)))
        mass += idf
        weight = np.float32(idf * repeats * (SATURATION + 1))
        if counts is None:
            bm25[slots] += weight / (np.float32(1.0) + norms[slots])
        else:
            bm25[slots] += weight * counts / (counts + norms[slots])
        matched[slots] += np.float32(idf)
    return bm25, matched / np.float32(mass)


TEXTS = st.lists(st.lists(st.sampled_from("abcdefg"), min_size=1, max_size=9), max_size=12)


@settings(max_examples=150, deadline=None)
@given(
    batches=st.lists(TEXTS, min_size=1, max_size=4),
    sealed=st.integers(0, 3),
    gone=st.sets(st.integers(0, 40), max_size=6),
    query=st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=8),
)
def test_all_terms_at_once_give_the_bits_of_one_after_the_other(
    batches: list[list[list[str]]], sealed: int, gone: set[int], query: list[str]
) -> None:
    index = LexicalIndex(str.split)
    for number, texts in enumerate(batches):
        index.add([" ".join(text) for text in texts])
        if number < sealed:
            index.keep(np.ones(len(index), np.bool_))
    doomed = [slot for slot in sorted(gone) if slot < len(index)]
    index.remove(np.array(doomed, np.intp))
    scores = index.score(" ".join(query))
    bm25, coverage = term_by_term(index, " ".join(query))
    assert scores.bm25.tobytes() == bm25.tobytes()
    assert scores.coverage.tobytes() == coverage.tobytes()
