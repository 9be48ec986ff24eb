# ruff: noqa: E501 - a case reads best on one line

from __future__ import annotations

import pytest

from device.language import Intent, is_question
from device.language.changes import ChangeKind, change_of, shift_of
from device.language.intents import is_request, statements
from tests.device.language.scoring import accuracy, cases, intends

DAY = 86_400.0


@pytest.mark.parametrize(("half", "floor"), [("open", 0.96), ("blind", 0.94)])
def test_intents_of_turns(half: str, floor: float) -> None:
    rows = cases(f"intents_{half}")
    assert len(rows) >= 100
    assert {row[0] for row in rows} >= set(Intent) - {Intent.SYSTEM}
    assert accuracy(rows, intends) >= floor


@pytest.mark.parametrize(
    ("text", "change"),
    [
        ("改到周五", ChangeKind.MOVE), ("推迟两天", ChangeKind.MOVE), ("move it to Friday", ChangeKind.MOVE),
        ("取消吧", ChangeKind.CANCEL), ("算了不去了", ChangeKind.CANCEL), ("it's called off", ChangeKind.CANCEL),
        ("不对，是周四", ChangeKind.CORRECT), ("no, it was Thursday", ChangeKind.CORRECT),
        ("搞定了", ChangeKind.DONE), ("已经去过了", ChangeKind.DONE), ("that's sorted now", ChangeKind.DONE),
        ("不要取消", None), ("don't cancel it", None), ("还没办完", None), ("not done yet", None),
        ("noise-cancelling headset", None), ("我们去北京", None), ("I work in Leeds", None),
    ],
)  # fmt: skip
def test_what_a_sentence_changes(text: str, change: ChangeKind | None) -> None:
    assert change_of(text) is change


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("推迟一周", 7 * DAY), ("提前两小时", -7200.0), ("往后推半小时", 1800.0), ("延后三天吧", 3 * DAY),
        ("postponed by a week", 7 * DAY), ("pushed back two days", 2 * DAY),
        ("brought forward by half an hour", -1800.0), ("我们去三天", 0.0), ("moved to Friday", 0.0),
    ],
)  # fmt: skip
def test_by_how_much_a_move_shifts(text: str, seconds: float) -> None:
    assert shift_of(text) == seconds


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("明天去吗", True),
        ("where is it?", True),
        ("我不知道他是谁", True),
        ("我明天去", False),
        ("好的吗啡", False),
    ],
)
def test_questions(text: str, asks: bool) -> None:
    assert is_question(text) is asks


@pytest.mark.parametrize(
    ("text", "orders"),
    [("帮我订个闹钟", True), ("Play some jazz", True), ("提醒我九点吃药", False), ("remind me to call mum", False),
     ("今晚请张老师吃饭", False)],
)  # fmt: skip
def test_requests_and_reminders(text: str, orders: bool) -> None:
    assert is_request(text) is orders


def test_what_a_turn_states_is_what_is_left_of_it() -> None:
    assert statements("我周五飞上海，帮我查一下天气，你喜欢上海吗？") == ["我周五飞上海"]
    assert statements("I fly on Friday, can you book a taxi?") == ["I fly on Friday"]
    assert statements("I saw Dr. Patel on Monday. Nice!") == ["I saw Dr. Patel on Monday."]
