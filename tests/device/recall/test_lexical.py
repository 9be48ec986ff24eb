"""The incremental BM25 against the formula written out, and after removals."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from device.recall import lexical
from device.recall.analysis import terms
from device.recall.lexical import LENGTH_WEIGHT, SATURATION, LexicalIndex

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
