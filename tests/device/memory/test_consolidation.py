from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta, timezone

from device.memory import Change
from device.memory.consolidation import Consolidator, consolidate
from device.memory.lifecycle import expire
from device.memory.records import EventState, Item, ItemKind, Turn

SHANGHAI = timezone(timedelta(hours=8))
MONDAY = datetime(2026, 3, 9, 9, 0, tzinfo=SHANGHAI)


def said(*texts: str, speaker: str = "user", hours: float = 24.0) -> list[Turn]:
    return [
        Turn(f"raw:{n}", (MONDAY + n * timedelta(hours=hours)).timestamp(), speaker, text)
        for n, text in enumerate(texts)
    ]


def items_of(changes: Sequence[Change], kind: ItemKind) -> list[Item]:
    return [c.item for c in changes if c.item.kind is kind]


def active(changes: Sequence[Change]) -> list[Item]:
    events = items_of(changes, ItemKind.EVENT)
    return [e for e in events if e.state is EventState.ACTIVE]


def day(item: Item) -> str:
    assert item.starts is not None
    return datetime.fromtimestamp(item.starts, SHANGHAI).strftime("%m-%d %H:%M")


def test_a_moved_trip_is_one_event_with_its_new_date() -> None:
    changes = consolidate(said("下周三去杭州出差", "帮我把那个出差改到下周四"), [], SHANGHAI)
    (trip,) = active(changes)
    assert day(trip) == "03-19 00:00"
    assert trip.turns == ("raw:0", "raw:1")
    (old,) = [e for e in items_of(changes, ItemKind.EVENT) if e.replaced_by]
    assert (old.state, old.replaced_by) == (EventState.CANCELLED, trip.id)
    (note,) = items_of(changes, ItemKind.CHANGE)
    assert (note.subject, note.action) == (old.id, "moved")


def test_the_same_in_english() -> None:
    changes = consolidate(
        said("I'm going to Boston next Wednesday", "Move that trip to next Thursday"), [], SHANGHAI
    )
    (trip,) = active(changes)
    assert day(trip) == "03-19 00:00"
    assert "Boston" in trip.text


def test_moving_the_day_keeps_the_hour() -> None:
    changes = consolidate(
        said("I've got the dentist next Wednesday at 9:30", "Push the dentist to the Friday"),
        [], SHANGHAI,
    )  # fmt: skip
    assert [day(e) for e in active(changes)] == ["03-20 09:30"]


def test_cancelling_keeps_the_event_as_history_and_writes_a_change() -> None:
    changes = consolidate(said("周五下午三点和客户开会", "取消周五和客户的会"), [], SHANGHAI)
    (event,) = items_of(changes, ItemKind.EVENT)
    assert event.state is EventState.CANCELLED
    assert [n.action for n in items_of(changes, ItemKind.CHANGE)] == ["cancelled"]


def test_cancelling_what_was_never_said_changes_nothing() -> None:
    assert consolidate(said("取消健身房的年卡"), [], SHANGHAI) == []
    changes = consolidate(said("周五下午三点打疫苗", "健身房的年卡取消吧"), [], SHANGHAI)
    assert len(active(changes)) == 1


def test_a_correction_moves_the_event_it_names() -> None:
    changes = consolidate(
        said("宽带约了3月20日上午十点上门装", "更正一下，宽带是3月21日上午来，不是20日"),
        [],
        SHANGHAI,
    )
    (event,) = active(changes)
    assert day(event).startswith("03-21")


def test_the_newer_preference_wins_and_the_older_stays() -> None:
    changes = consolidate(said("I prefer a window seat", "I prefer an aisle seat"), [], SHANGHAI)
    window, aisle = items_of(changes, ItemKind.PREFERENCE)
    assert (window.state, window.replaced_by) == (EventState.EXPIRED, aisle.id)
    assert aisle.state is EventState.ACTIVE
    assert [n.action for n in items_of(changes, ItemKind.CHANGE)] == ["replaced"]


def test_the_newer_preference_wins_whatever_order_they_arrive_in() -> None:
    first, second = said("I prefer a window seat", "I prefer an aisle seat")
    late = Turn("raw:7", first.at, first.speaker, first.text)
    changes = consolidate([second, late], [], SHANGHAI)
    current = [p for p in items_of(changes, ItemKind.PREFERENCE) if not p.replaced_by]
    assert [p.text for p in current] == [second.text]


def test_unrelated_preferences_stand_side_by_side() -> None:
    changes = consolidate(said("我喜欢吃辣", "我喜欢爬山", "我讨厌香菜"), [], SHANGHAI)
    assert len(items_of(changes, ItemKind.PREFERENCE)) == 3
    assert items_of(changes, ItemKind.CHANGE) == []


def test_a_preference_grows_surer_when_repeated() -> None:
    once = items_of(consolidate(said("我喜欢吃辣"), [], SHANGHAI), ItemKind.PREFERENCE)
    often = items_of(consolidate(said(*["我喜欢吃辣"] * 4), [], SHANGHAI), ItemKind.PREFERENCE)
    assert len(often) == 1
    assert once[0].confidence < 0.5 < often[0].confidence
    assert often[0].turns == ("raw:0", "raw:1", "raw:2", "raw:3")


def test_an_attribute_has_one_current_value() -> None:
    changes = consolidate(said("我住在江晖路1702", "我住在铂金时代905"), [], SHANGHAI)
    current = [e for e in items_of(changes, ItemKind.ENTITY) if not e.replaced_by]
    assert [(e.subject, e.action, e.object) for e in current] == [
        ("user", "address", "铂金时代905")
    ]


def test_a_restated_event_is_the_same_event() -> None:
    changes = consolidate(
        said("周五晚上七点和同学聚餐", "周五晚上七点和同学聚餐，别忘了", hours=1.0), [], SHANGHAI
    )
    (event,) = active(changes)
    assert event.turns == ("raw:0", "raw:1")


def test_a_plan_reported_done_is_completed() -> None:
    turns = said("周二要去浙二复查", "x", "浙二复查做完了")
    changes = consolidate(turns, [], SHANGHAI)
    states = [e.state for e in items_of(changes, ItemKind.EVENT)]
    assert EventState.COMPLETED in states


def test_a_plan_whose_time_passed_expires_once() -> None:
    changes = consolidate(said("周三要去浙二复查"), [], SHANGHAI)
    (plan,) = items_of(changes, ItemKind.EVENT)
    assert plan.ends is not None
    assert expire([plan], plan.ends + 3600.0) == []
    expired, note = expire([plan], plan.ends + 2 * 86400.0)
    assert expired.item.state is EventState.EXPIRED
    assert (note.item.kind, note.item.subject) == (ItemKind.CHANGE, plan.id)
    assert expire([expired.item], plan.ends + 9 * 86400.0) == []


def test_the_same_turns_give_the_same_changes_however_they_are_batched() -> None:
    turns = said(
        "我叫林晓", "下周三去杭州出差", "我喜欢吃辣", "把那个出差改到下周四", "取消杭州出差",
        "I prefer a window seat", "I prefer an aisle seat", "嗯嗯",
    )  # fmt: skip
    whole = {c.item.id: c.item for c in consolidate(turns, [], SHANGHAI)}
    step = Consolidator([])
    pieces = {c.item.id: c.item for turn in turns for c in step.consolidate([turn], SHANGHAI)}
    assert pieces == whole
    again = consolidate(turns, whole.values(), SHANGHAI)
    assert {c.item.id for c in again} <= set(whole)
