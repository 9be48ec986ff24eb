"""Ranking of one layer: context, time as a boost, vectors only where words fail, removal."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from device.recall import index as index_module
from device.recall.analysis import terms
from device.recall.index import Entry, LayerIndex, Ranking
from device.recall.vectors import VectorIndex
from protocol.models import EMBEDDING, embed

DAY = 86_400.0


def index_of(*entries: Entry, ranking: Ranking | None = None) -> LayerIndex:
    index = LayerIndex(terms, dimension=EMBEDDING, ranking=ranking)
    index.add(entries)
    return index


def test_irregular_forms_meet_their_stem() -> None:
    index = index_of(Entry(1, "She went home", 0.0, "a"), Entry(2, "she is home", 0.0, "b"))
    assert numbers(index, "who goes") == [1]
    assert terms("moved") == terms("move")
    assert terms("my kids") == terms("a child")


def numbers(index: LayerIndex, query: str, k: int = 10, **how: object) -> list[int]:
    return [match.number for match in index.search(query, k, **how)]  # type: ignore[arg-type]


def test_a_match_lifts_the_turns_around_it_in_its_session_only() -> None:
    index = index_of(
        Entry(10, "we tried the sushi place", 0.0, "a"),
        Entry(11, "it was called Wasabi", 30.0, "a"),
        Entry(12, "unrelated gardening talk", 60.0, "b"),
    )
    assert numbers(index, "sushi place") == [10, 11]


def test_without_session_names_a_long_silence_parts_conversations() -> None:
    index = index_of(
        Entry(1, "the sushi place", 0.0),
        Entry(2, "two of us", 60.0),
        Entry(3, "something else", 60.0 + 2 * 3600.0),
    )
    assert numbers(index, "sushi") == [1, 2]


def test_a_named_time_boosts_and_never_filters() -> None:
    index = index_of(
        Entry(1, "lunch with Ana", 0.0, "a"), Entry(2, "lunch with Ana", 30 * DAY, "b")
    )
    span = (30 * DAY - 3600.0, 30 * DAY + 3600.0)
    assert numbers(index, "lunch Ana", spans=[span]) == [2, 1]
    far = (900 * DAY, 901 * DAY)
    assert sorted(numbers(index, "lunch Ana", spans=[far])) == [1, 2]


def test_a_query_for_nothing_but_a_time_is_answered_by_what_lies_in_it() -> None:
    index = index_of(
        Entry(1, "swimming", 0.0, "a", starts=3 * DAY, ends=4 * DAY),
        Entry(2, "the tax form is due", 0.0, "b", starts=0.0, ends=30 * DAY),
        Entry(3, "a concert", 0.0, "c", starts=9 * DAY, ends=10 * DAY),
    )
    found = index.search("", 10, spans=[(3 * DAY, 4 * DAY)])
    assert [match.number for match in found] == [1, 2]
    assert found[0].coverage > 0.9 > found[1].coverage


def test_an_event_counts_by_its_own_time_not_when_it_was_said() -> None:
    index = index_of(
        Entry(1, "trip to Hangzhou", 0.0, "a", starts=10 * DAY, ends=11 * DAY),
        Entry(2, "trip to Hangzhou", 0.0, "b", starts=40 * DAY, ends=41 * DAY),
    )
    assert numbers(index, "trip", spans=[(40 * DAY, 41 * DAY)])[0] == 2


def test_vectors_speak_only_where_words_find_little() -> None:
    entries = (Entry(1, "I went swimming at noon", 0.0, "a"), Entry(2, "a new computer", 0.0, "b"))
    without = Ranking(vector_below=0.0)
    assert numbers(index_of(*entries), "swimmer")[0] == 1
    assert numbers(index_of(*entries, ranking=without), "swimmer") == []
    good = "swimming at noon"
    assert index_of(*entries).search(good, 5) == index_of(*entries, ranking=without).search(good, 5)


def test_removed_memories_are_gone_and_the_rest_keep_their_numbers() -> None:
    index = index_of(*(Entry(n, f"note {n} about boats", float(n), "s") for n in range(100, 140)))
    assert index.remove([105, 110, 999]) == 2
    assert len(index) == 38
    found = numbers(index, "boats", 100)
    assert sorted(found) == [n for n in range(100, 140) if n not in (105, 110)]
    assert numbers(index, "note 120")[0] == 120
    index.add([Entry(200, "note 200 about boats", 1.0, "s")])
    assert numbers(index, "note 200")[0] == 200


def test_what_stands_after_a_matching_question_is_lifted_more_than_what_stands_before() -> None:
    index = index_of(
        Entry(1, "nothing of it", 0.0, "a"),
        Entry(2, "which sushi place was it?", 30.0, "a", asks=True),
        Entry(3, "a small one by the river", 60.0, "a"),
    )
    found = {match.number: match.score for match in index.search("sushi place", 5)}
    assert found[3] > found[1] > 0
    assert numbers(index, "sushi place") == [2, 3, 1]


def test_context_is_lent_by_the_best_matches_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """A word that everybody says must not make a query walk the whole memory."""
    monkeypatch.setattr(index_module, "LENDERS", 3)
    entries = [Entry(n, "tea" if n % 10 else "green tea pot", float(n), "s") for n in range(100)]
    wide = index_of(*entries, ranking=Ranking(episode=0.0))
    best = numbers(wide, "green tea pot", 3)
    assert set(best) <= {n for n in range(100) if n % 10 == 0}
    assert len(numbers(wide, "green tea pot", 200)) == 100


def test_tombstones_are_cleared_at_twenty_percent_or_when_told() -> None:
    index = index_of(*(Entry(n, f"note {n} about boats", float(n), "s") for n in range(100)))
    index.remove(range(20))
    assert not index.tidy()
    index.remove([20])
    assert index.tidy()
    assert not index.tidy(every=True), "nothing is left to clear"
    assert len(index) == 79
    assert sorted(numbers(index, "boats", 200)) == list(range(21, 100))
    index.remove([50])
    assert index.tidy(every=True)
    index.add([Entry(200, "note 200 about boats", 1.0, "s")])
    assert numbers(index, "note 200")[0] == 200


def test_past_memories_answer_only_questions_about_the_past() -> None:
    index = index_of(Entry(1, "dentist visit", 0.0, past=True), Entry(2, "dentist visit", 0.0))
    assert numbers(index, "dentist") == [2]
    assert sorted(numbers(index, "dentist", ask_past=True)) == [1, 2]


def test_equal_scores_keep_the_older_first_and_k_is_kept() -> None:
    index = index_of(*(Entry(n, "same words", float(n), f"s{n}") for n in range(50)))
    assert numbers(index, "same words", 5) == [0, 1, 2, 3, 4]


def test_int8_vectors_rank_as_float_ones_do() -> None:
    rng = np.random.Generator(np.random.Philox(key=5))
    vectors = rng.normal(size=(500, EMBEDDING)).astype(np.float32)
    index = VectorIndex(EMBEDDING)
    index.add(vectors)
    query = vectors[37] + rng.normal(size=EMBEDDING).astype(np.float32) * 0.3
    exact = vectors @ query / np.linalg.norm(vectors, axis=1) / np.linalg.norm(query)
    np.testing.assert_allclose(index.similarities(query), exact, atol=0.02)
    assert int(index.similarities(query).argmax()) == 37


def test_text_without_words_is_similar_to_nothing() -> None:
    index = VectorIndex(EMBEDDING)
    index.add(np.stack([embed("!!!"), embed("hello there")]))
    assert index.similarities(embed("hello there"))[0] == 0.0
    assert not index.similarities(embed("???")).any()


@settings(max_examples=100, deadline=None)
@given(
    said=st.lists(
        st.tuples(st.sampled_from(["kite", "sea", "kite sea", "oak?"]), st.sampled_from("ab")),
        min_size=1,
        max_size=25,
    ),
    scored=st.data(),
)
def test_lending_at_once_gives_the_bits_of_one_distance_after_the_other(
    said: list[tuple[str, str]], scored: st.DataObject
) -> None:
    index = index_of(
        *(Entry(n, text, float(n), name, asks="?" in text) for n, (text, name) in enumerate(said))
    )
    values = st.floats(0.0, 1.0, width=32)
    scores = np.array([scored.draw(values) for _ in said], np.float32)
    wanted, ranking = scores.copy(), Ranking()
    lenders = np.flatnonzero(scores)
    own, episodes = scores[lenders], index._episodes.view
    for distance, share in enumerate(ranking.neighbours, start=1):
        reply = ranking.reply if distance == 1 else 0.0
        after = own * (share + reply * index._asks.view[lenders])
        for step, gift in ((distance, after), (-distance, own * share)):
            places = lenders + step
            there = (places >= 0) & (places < len(episodes))
            there[there] = episodes[places[there]] == episodes[lenders[there]]
            wanted[places[there]] += gift[there].astype(np.float32)
    if len(lenders):
        index._lend(scores, lenders, own)
    assert scores.tobytes() == wanted.tobytes()
