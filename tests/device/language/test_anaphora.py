# ruff: noqa: E501 - a case reads best on one line

from __future__ import annotations

import pytest

from device.language import resolve
from device.language.anaphora import kinds_of, pointer_of
from tests.device.language.scoring import accuracy, cases, refers


@pytest.mark.parametrize(("half", "floor"), [("open", 0.95), ("blind", 0.95)])
def test_what_a_change_points_back_to(half: str, floor: float) -> None:
    rows = cases(f"anaphora_{half}")
    assert len(rows) >= 40
    assert accuracy(rows, refers) >= floor


def test_it_is_what_was_said_last() -> None:
    assert resolve("cancel it", ["Gym on Monday", "Call with Ben on Tuesday"]) == 1
    assert resolve("它取消了", ["周一健身", "周二开会"]) == 1


def test_what_nobody_spoke_of_is_nothing() -> None:
    assert resolve("the wedding is off", ["Gym on Monday"]) is None
    assert resolve("cancel it", []) is None


def test_order_counts_from_the_first_or_the_last_and_not_beyond() -> None:
    said = ["Gym on Monday", "Call on Tuesday", "Lunch on Friday"]
    assert [resolve(f"cancel the {w} one", said) for w in ("first", "second", "last")] == [0, 1, 2]
    assert resolve("取消第三个", said[:2]) is None


@pytest.mark.parametrize(
    ("text", "pointer"),
    [("取消第二个", "order"), ("她的改了", "she"), ("his is late", "he"), ("那个不去了", "it"), ("move it", "it"),
     ("我明天去北京", "")],
)  # fmt: skip
def test_how_a_sentence_points(text: str, pointer: str) -> None:
    assert pointer_of(text) == pointer


def test_kinds_of_things() -> None:
    assert "meal" in kinds_of("那顿饭")
    assert "trip" in kinds_of("that trip")
    assert kinds_of("苹果") == frozenset()
