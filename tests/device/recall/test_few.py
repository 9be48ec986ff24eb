"""What few postings are summed to, one by one, is to the bit what arrays make of them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from device.recall import index as index_module
from device.recall import lexical
from device.recall.analysis import terms
from device.recall.index import Entry, LayerIndex, Match, Ranking
from device.recall.latest import Latest
from device.recall.rows import rows_of
from device.recall.vectors import VectorIndex
from protocol.models import EMBEDDING, embed
from protocol.models.embedding import embed_many

DAY = 86_400.0
WORDS = ["kite", "sea", "oak", "boat", "lamp", "tea", "运河", "咖啡", "swimming"]
SAID = st.builds(
    Entry,
    number=st.just(0),
    text=st.lists(st.sampled_from(WORDS), max_size=7).map(" ".join),
    at=st.floats(0.0, 20 * DAY),
    session=st.sampled_from(["", "a", "b"]),
    starts=st.none() | st.floats(0.0, 40 * DAY),
    ends=st.none() | st.floats(40 * DAY, 50 * DAY),
    past=st.booleans(),
    asks=st.booleans(),
)
SPANS = st.lists(st.tuples(st.floats(0.0, 30 * DAY), st.floats(30 * DAY, 50 * DAY)), max_size=2)


def found(index: LayerIndex, few: int, query: str, **how: object) -> list[Match]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lexical, "FEW", few)
        return index.search(query, 8, **how)  # type: ignore[arg-type]


@settings(max_examples=300, deadline=None)
@given(
    batches=st.lists(st.lists(SAID, max_size=12), min_size=1, max_size=4),
    sealed=st.integers(0, 3),
    gone=st.sets(st.integers(0, 40), max_size=5),
    query=st.lists(st.sampled_from([*WORDS, "swimmer", "other"]), max_size=6).map(" ".join),
    spans=SPANS,
    ask_past=st.booleans(),
    context=st.booleans(),
)
def test_few_rank_as_many_do_to_the_bit(
    batches: list[list[Entry]],
    sealed: int,
    gone: set[int],
    query: str,
    spans: list[tuple[float, float]],
    ask_past: bool,
    context: bool,
) -> None:
    ranking = Ranking(time_boost=0.7) if context else Ranking(neighbours=(), episode=0.0)
    index = LayerIndex(terms, dimension=EMBEDDING, ranking=ranking)
    number = 0
    for batch, said in enumerate(batches):
        entries = [
            Entry(number + n, e.text, e.at, e.session, e.starts, e.ends, e.past, e.asks)
            for n, e in enumerate(said)
        ]
        index.add(entries)
        number += len(said)
        if batch < sealed:
            index.remove([number - 1])
            index.tidy(every=True)
    index.remove(gone)
    one_by_one = found(index, 10_000, query, spans=spans, ask_past=ask_past)
    assert one_by_one == found(index, -1, query, spans=spans, ask_past=ask_past)


@settings(max_examples=60, deadline=None)
@given(
    texts=st.lists(st.lists(st.sampled_from(WORDS), max_size=4).map(" ".join), max_size=12),
    query=st.sampled_from([*WORDS, "swim in the sea"]),
    least=st.floats(0.0625, 0.875, width=32),
)
def test_few_vectors_are_alike_as_many_are(texts: list[str], query: str, least: float) -> None:
    index = VectorIndex(EMBEDDING)
    if texts:
        index.restore(*rows_of(texts))
    near, similar = index.nearest(embed(query), 20)
    wanted = [
        (slot, cosine)
        for slot, cosine in zip(near.tolist(), similar.tolist(), strict=True)
        if cosine >= least
    ]
    assert index.alike(embed(query), least, 20) == wanted
    nearest = [cosine for _, cosine in index.alike(embed(query), least, 3)]
    assert nearest == [cosine for _, cosine in wanted[:3]]


def test_a_kept_row_is_the_row_that_an_index_makes() -> None:
    texts = ["a kite by the sea", "运河边的咖啡", "", "..."]
    made, restored = VectorIndex(EMBEDDING), VectorIndex(EMBEDDING)
    made.add(embed_many(texts))
    restored.restore(*rows_of(texts))
    (scales, rows), (again, same) = made.extract(0, 4), restored.extract(0, 4)
    assert (scales.tobytes(), rows.tobytes()) == (again.tobytes(), same.tobytes())


def test_the_same_memories_are_removed_from_a_small_index_and_a_large_one() -> None:
    entries = [Entry(number, f"note {number}", float(number)) for number in range(30)]
    with pytest.MonkeyPatch.context() as patch:
        for few in (0, 256):
            patch.setattr(index_module, "FEW_SLOTS", few)
            index = LayerIndex(terms, dimension=EMBEDDING)
            index.add(entries)
            assert index.remove([3, 29, 77]) == 2
            assert index.remove([3, 29, 77]) == 0
            assert index.remove([]) == 0
            assert [match.number for match in index.search("note 3", 40)].count(3) == 0
            assert len(index) == 28


def test_the_latest_is_kept_until_it_would_be_made_of_something_else() -> None:
    latest: Latest[list[object]] = Latest()
    one, other = object(), object()
    made = latest.of((one, None), lambda: [one])
    assert latest.of((one, None), lambda: [other]) is made
    assert latest.of((other, None), lambda: [other]) == [other]
    assert latest.of((other, one), lambda: [one]) == [one]
