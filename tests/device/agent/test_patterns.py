"""Section J: session patterns, with the faults of article 003 mended."""

from __future__ import annotations

import pytest

from device.agent.intents import intents_of
from device.agent.patterns import corrected, habit, is_expired, observed, usual_confirmation
from device.agent.policy import AgentPolicy
from device.agent.records import Confirmation, Pattern
from tests.device.agent.parts import DAY, NOW

POLICY = AgentPolicy()


def seen(
    app: str, *states: Confirmation, hour: int = 9, steps: int = 6, intent: str = "order_food"
) -> Pattern:
    pattern = Pattern(intent, app)
    for state in states:
        pattern = observed(pattern, steps=steps, confirmation=state, hour=hour, at=NOW)
    return pattern


@pytest.mark.parametrize(
    ("goal", "intents"),
    [
        ("Send a message to Ann", ("send_message",)),
        ("给妈妈发消息", ("send_message",)),
        ("Pay the bill and send the receipt to Bob", ("payment", "send_message")),
        ("send the receipt to Bob and pay the bill", ("payment", "send_message")),
        ("订外卖然后提醒我", ("set_reminder", "order_food")),
        ("Open the map and find the nearest cafe", ("navigate",)),
        ("Open the file", ("open_file",)),
        ("hm", ("general",)),
    ],
)
def test_chinese_and_compound_intents_in_one_order(goal: str, intents: tuple[str, ...]) -> None:
    assert intents_of(goal) == intents


def test_four_confirmation_states_are_counted_apart() -> None:
    pattern = seen("a", *Confirmation)
    assert dict(pattern.confirmations) == dict.fromkeys(Confirmation, 1)


def test_never_both_always_and_never() -> None:
    mixed = seen("a", *[Confirmation.CONFIRMED] * 6, *[Confirmation.NOT_NEEDED] * 6)
    assert usual_confirmation([mixed], POLICY) is Confirmation.NO_RECORD


def test_a_missing_confirmation_is_no_preference() -> None:
    silent = seen("a", *[Confirmation.NO_RECORD] * 50)
    assert usual_confirmation([silent], POLICY) is Confirmation.NO_RECORD
    few = seen("a", *[Confirmation.NOT_NEEDED] * 4)
    assert usual_confirmation([few], POLICY) is Confirmation.NO_RECORD


def test_a_clear_share_of_enough_is_told() -> None:
    clear = seen("a", *[Confirmation.NOT_NEEDED] * 9, Confirmation.REFUSED)
    assert usual_confirmation([clear], POLICY) is Confirmation.NOT_NEEDED


def test_several_apps_for_one_intent_by_frequency() -> None:
    often = seen("a", *[Confirmation.NO_RECORD] * 6)
    rarely = seen("b", *[Confirmation.NO_RECORD] * 2)
    known = habit("order_food", [rarely, often], now=NOW, hour=20, policy=POLICY)
    assert known is not None
    assert [app for app, _ in known.apps] == ["a", "b"]
    assert known.apps[0][1] == pytest.approx(0.75)
    assert known.runs == 8


def test_time_of_day_counts() -> None:
    morning = seen("coffee", *[Confirmation.NO_RECORD] * 4, hour=8)
    evening = seen("noodles", *[Confirmation.NO_RECORD] * 5, hour=19)
    at_8 = habit("order_food", [morning, evening], now=NOW, hour=8, policy=POLICY)
    at_19 = habit("order_food", [morning, evening], now=NOW, hour=19, policy=POLICY)
    assert at_8 is not None
    assert at_19 is not None
    assert at_8.apps[0][0] == "coffee"
    assert at_19.apps[0][0] == "noodles"


def test_steps_come_from_a_distribution_not_from_the_last_run() -> None:
    pattern = Pattern("search", "a")
    for steps in (5, 6, 5, 40):
        pattern = observed(
            pattern, steps=steps, confirmation=Confirmation.NO_RECORD, hour=1, at=NOW
        )
    known = habit("search", [pattern], now=NOW, hour=1, policy=POLICY)
    assert known is not None
    assert known.steps == 5.5
    assert known.steps_spread > 0


def test_a_correction_by_the_user_takes_weight_away() -> None:
    a = seen("a", *[Confirmation.NO_RECORD] * 3)
    b = seen("b", *[Confirmation.NO_RECORD] * 2)
    for _ in range(2):
        a = corrected(a, NOW)
    known = habit("order_food", [a, b], now=NOW, hour=9, policy=POLICY)
    assert known is not None
    assert known.apps[0][0] == "b"


def test_expires_after_30_days() -> None:
    pattern = seen("a", Confirmation.CONFIRMED)
    assert not is_expired(pattern, NOW + 30 * DAY, POLICY)
    assert is_expired(pattern, NOW + 30 * DAY + 1, POLICY)
    assert habit("order_food", [pattern], now=NOW + 31 * DAY, hour=9, policy=POLICY) is None
