"""What the evaluation step sees: relevance, what is missing, and contradiction."""

from __future__ import annotations

import pytest

from device.memory.records import EventState, Hit, Item, ItemKind, Layer, Turn
from device.recall.candidates import Candidate, from_hit, from_item, from_turn, merge
from device.recall.evaluation import LEANED_ON, Assessment, conflicting, judged, tells
from device.recall.evaluation import assess as assess_question
from device.recall.relevance import Question, aspects_asked

DAY = 86_400.0


def event(number: int, text: str, starts: float | None, **more: object) -> Item:
    return Item(
        f"mem:{number}", ItemKind.EVENT, text, 0.0, float(number), ("raw:1",), starts=starts, **more  # type: ignore[arg-type]
    )  # fmt: skip


def turn(number: int, text: str, relevance: float, score: float = 1.0) -> Candidate:
    return from_turn(Turn(f"raw:{number}", float(number), "user", text), score, relevance)


def assess(query: str, candidates: list[Candidate]) -> Assessment:
    return assess_question(Question.of(query), candidates)


@pytest.mark.parametrize(
    ("query", "asked"),
    [
        ("When did we meet?", ("time",)),
        ("我们什么时候去的", ("time",)),
        ("去哪里吃的饭，和谁一起", ("place", "person")),
        ("Who came along and where was it?", ("place", "person")),
        ("我们有几个人，为什么", ("number", "reason")),
        ("how many of us and why", ("number", "reason")),
        ("tell me about the cat", ()),
    ],
)
def test_what_a_query_asks_for(query: str, asked: tuple[str, ...]) -> None:
    assert aspects_asked(query) == asked


def test_nothing_relevant_is_not_useful() -> None:
    assert not assess("tell me about the cat", [turn(1, "boats", 0.0)]).useful
    assert not assess("tell me about the cat", []).useful
    assert assess("tell me about the cat", [turn(1, "my cat sleeps", 0.9)]).useful


def test_one_leg_is_thin_but_a_known_value_is_not() -> None:
    legs = [turn(number, f"my cat sleeps {number}", 0.8) for number in range(LEANED_ON)]
    assert not assess("tell me about the cat", legs[:-1]).enough
    assert assess("tell me about the cat", legs).enough
    known = from_hit(Hit("value:cat", Layer.WORKING, "cat: Momo", 0.0, 1.0))
    assert assess("tell me about the cat", [known]).enough
    assert assess("tell me about the cat", [turn(1, "my cat sleeps", 0.95)]).enough


def test_missing_is_what_no_relevant_memory_tells() -> None:
    query = "when did we eat at the sushi place"
    assert assess(query, [turn(1, "the sushi place was great", 0.8)]).missing == ("time",)
    told = turn(2, "we ate at the sushi place on Friday evening", 0.8)
    assert assess(query, [told]).missing == ()
    dated = from_item(event(3, "ate at the sushi place", 5 * DAY), 1.0, 0.8)
    assert assess(query, [dated]).missing == ()


def test_one_event_on_two_days_is_a_conflict_and_the_newer_comes_first() -> None:
    old = event(1, "下周三去杭州出差", 3 * DAY, time_text="下周三")
    new = event(2, "下周四去杭州出差", 4 * DAY, time_text="下周四")
    assert conflicting([old, new]) == (("mem:2", "mem:1"),)
    cancelled = event(
        1, "下周三去杭州出差", 3 * DAY, time_text="下周三", state=EventState.CANCELLED
    )
    assert conflicting([cancelled, new]) == ()
    other = event(3, "周四和小李打球", 4 * DAY, time_text="周四")
    assert conflicting([new, other]) == ()


def test_opposite_feelings_about_one_thing_are_a_conflict() -> None:
    def taste(number: int, sentiment: float, what: str = "coriander") -> Item:
        return Item(
            f"mem:{number}", ItemKind.PREFERENCE, "taste", 0.0, float(number), (),
            object=what, sentiment=sentiment,
        )  # fmt: skip

    assert conflicting([taste(1, 0.8), taste(2, -0.7)]) == (("mem:2", "mem:1"),)
    assert conflicting([taste(1, 0.8), taste(2, 0.5)]) == ()
    assert conflicting([taste(1, 0.8), taste(2, -0.7, "tea")]) == ()


def test_two_values_of_one_attribute_are_a_conflict() -> None:
    def lives(number: int, where: str, subject: str = "user") -> Item:
        return Item(
            f"mem:{number}", ItemKind.ENTITY, f"lives in {where}", 0.0, float(number), (),
            subject=subject, action="city", object=where,
        )  # fmt: skip

    assert conflicting([lives(1, "Lisbon"), lives(2, "Porto")]) == (("mem:2", "mem:1"),)
    assert conflicting([lives(1, "Lisbon"), lives(2, "Lisbon")]) == ()
    assert conflicting([lives(1, "Lisbon"), lives(2, "Porto", "Ana")]) == ()


def test_sufficiency_names_what_a_booking_still_needs() -> None:
    query = "上次说的那个餐厅，帮我订个位"
    place = turn(1, "同事推荐了一个日料餐厅", 0.9)
    assert assess(query, [place]).missing == ("name", "time", "number")
    rest = [turn(2, "名字叫山葵", 0.9), turn(3, "周五晚上和朋友去，两个人", 0.9)]
    assert assess(query, [place, *rest]).missing == ()
    assert [tells(Question.of(query), c) for c in rest] == [("name",), ("time", "number")]


def test_sufficiency_an_attribute_is_missing_until_its_value_is_found() -> None:
    query = "what is my address"
    assert assess(query, [turn(1, "nice weather", 0.9)]).missing == ("attribute",)
    known = from_hit(Hit("value:address", Layer.WORKING, "address: Main St 1", 0.0, 1.0))
    assert assess(query, [known]).missing == ()
    other = from_item(Item("mem:1", ItemKind.ENTITY, "I am 40", 0.0, 0.0, (), action="age"), 1, 1)
    assert assess(query, [other]).missing == ("attribute",)
    right = Item("mem:2", ItemKind.ENTITY, "Main St 1", 0.0, 0.0, (), action="address")
    assert assess(query, [from_item(right, 1, 1)]).missing == ()


def test_relevance_reads_each_hit_beside_the_query() -> None:
    question = Question.of("when did Melanie go camping?")
    asks = from_turn(Turn("raw:1", 1.0, "Ann", "Did you go camping?"), 1.0, 0.8)
    other = from_turn(Turn("raw:2", 2.0, "Ann", "I went camping last week"), 0.9, 0.8)
    right = from_turn(Turn("raw:3", 3.0, "Melanie", "I went camping last week"), 0.9, 0.8)
    assert [c.hit.id for c in judged(question, [asks, other, right])] == ["raw:3", "raw:2", "raw:1"]


def test_a_known_value_stands_above_whatever_words_score() -> None:
    known = from_hit(Hit("value:name", Layer.WORKING, "name: Lin?", 0.0, 1.0))
    words = from_turn(Turn("raw:1", 1.0, "user", "I told you that my name is Petra"), 2.0, 1.0)
    question = Question.of("what is my name")
    assert [c.hit.id for c in judged(question, [words, known])] == ["value:name", "raw:1"]


def test_used_feedback_raises_an_item_a_little_and_never_much() -> None:
    def score(accesses: int) -> float:
        item = Item("mem:1", ItemKind.EVENT, "trip", 0.0, 0.0, (), accesses=accesses)
        return judged(Question.of("trip"), [from_item(item, 1.0, 1.0)])[0].score

    assert score(0) < score(1) < score(10)
    assert score(10**9) == pytest.approx(1.2 * score(0))


def test_merge_keeps_a_memory_once_with_its_best_score() -> None:
    merged = merge([turn(1, "a", 0.5, 0.2), turn(2, "b", 0.5, 0.4), turn(1, "a", 0.5, 0.9)])
    assert [(c.hit.id, c.score) for c in merged] == [("raw:1", 0.9), ("raw:2", 0.4)]
