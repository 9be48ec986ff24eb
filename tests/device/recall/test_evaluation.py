"""What the evaluation step sees: relevance, what is missing, and contradiction."""

from __future__ import annotations

import pytest

from device.memory.records import EventState, Hit, Item, ItemKind, Layer, Turn
from device.recall.candidates import Candidate, from_hit, from_item, from_turn, merge
from device.recall.evaluation import LEANED_ON, aspects_asked, assess, conflicting

DAY = 86_400.0


def event(number: int, text: str, starts: float | None, **more: object) -> Item:
    return Item(
        f"mem:{number}", ItemKind.EVENT, text, 0.0, float(number), ("raw:1",), starts=starts, **more  # type: ignore[arg-type]
    )  # fmt: skip


def turn(number: int, text: str, relevance: float, score: float = 1.0) -> Candidate:
    return from_turn(Turn(f"raw:{number}", float(number), "user", text), score, relevance)


@pytest.mark.parametrize(
    ("query", "asked"),
    [
        ("When did we meet?", ("time",)),
        ("我们什么时候去的", ("time",)),
        ("去哪里吃的饭，和谁一起", ("place", "person")),
        ("Who came along and where was it?", ("place", "person")),
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
    legs = [turn(number, f"my cat sleeps {number}", 0.9) for number in range(LEANED_ON)]
    assert not assess("tell me about the cat", legs[:-1]).enough
    assert assess("tell me about the cat", legs).enough
    known = from_hit(Hit("value:cat", Layer.WORKING, "cat: Momo", 0.0, 1.0))
    assert assess("tell me about the cat", [known]).enough


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


def test_merge_keeps_a_memory_once_with_its_best_score() -> None:
    merged = merge([turn(1, "a", 0.5, 0.2), turn(2, "b", 0.5, 0.4), turn(1, "a", 0.5, 0.9)])
    assert [(c.hit.id, c.hit.score) for c in merged] == [("raw:1", 0.9), ("raw:2", 0.4)]
