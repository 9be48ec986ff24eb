"""B, C: "move it", "cancel it", "no, it was…" change the right event among several open ones."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from device.memory.consolidation import consolidate
from device.memory.records import EventState, Item, ItemKind, Turn

SHANGHAI = timezone(timedelta(hours=8))
MONDAY = datetime(2026, 3, 9, 9, 0, tzinfo=SHANGHAI)
TEN_MINUTES, SIX_DAYS = 600.0, 6 * 86_400.0
TRIP, MEETING, DENTIST, DINNER = "trip", "meeting", "dentist", "dinner"
ENGLISH = {
    TRIP: "I'm flying to Boston next Wednesday",
    MEETING: "I have a meeting with the client on Friday at 3pm",
    DENTIST: "I have the dentist on Thursday at 9:30",
    DINNER: "Dinner with Mara on Saturday at 7pm, I'll book a table",
}
CHINESE = {
    TRIP: "下周三要去杭州出差",
    MEETING: "周五下午三点和客户开会",
    DENTIST: "周四上午九点去看牙医",
    DINNER: "周六晚上七点和小雨吃火锅",
}
NOTHING = ("", "", "")


def after(known: dict[str, str], said: str, wait: float) -> dict[str, Item]:
    """The items once `said` follows the four plans, `wait` seconds after the last of them."""
    moment = MONDAY.timestamp()
    turns = []
    for number, text in enumerate([*known.values(), said]):
        moment += wait if text == said else TEN_MINUTES
        turns.append(Turn(f"raw:{number}", moment, "user", text))
    return {change.item.id: change.item for change in consolidate(turns, [], SHANGHAI)}


def what_changed(known: dict[str, str], items: dict[str, Item]) -> tuple[str, str, str]:
    """(which plan, what became of it, its new time or place)."""
    notes = [item for item in items.values() if item.kind is ItemKind.CHANGE]
    if not notes:
        return NOTHING
    (note,) = notes
    old = items[note.subject]
    plan = next(name for name, text in known.items() if old.text == text)
    if not old.replaced_by:
        return plan, note.action, ""
    new = items[old.replaced_by]
    assert new.starts is not None
    if new.place != old.place:
        return plan, note.action, new.place
    return plan, note.action, datetime.fromtimestamp(new.starts, SHANGHAI).strftime("%m-%d %H:%M")


@pytest.mark.parametrize(
    ("said", "changed"),
    [
        ("move it to Friday", (DINNER, "moved", "03-13 19:00")),
        ("Can you push it back to Sunday?", (DINNER, "moved", "03-15 19:00")),
        ("let's do Sunday instead", (DINNER, "moved", "03-15 19:00")),
        ("make it Sunday", (DINNER, "moved", "03-15 19:00")),
        ("reschedule the dentist for Friday at 3pm", (DENTIST, "moved", "03-13 15:00")),
        ("postpone the dentist by a week", (DENTIST, "moved", "03-19 09:30")),
        ("push the dentist back an hour", (DENTIST, "moved", "03-12 10:30")),
        ("the dentist is now on Friday", (DENTIST, "moved", "03-13 09:30")),
        ("bring the meeting forward to Wednesday", (MEETING, "moved", "03-11 15:00")),
        ("move Friday's meeting to Monday", (MEETING, "moved", "03-16 15:00")),
        ("could you move the Boston trip to next Thursday?", (TRIP, "moved", "03-19 00:00")),
        ("cancel it", (DINNER, "cancelled", "")),
        ("please cancel that", (DINNER, "cancelled", "")),
        ("cancel the dentist", (DENTIST, "cancelled", "")),
        ("cancel Friday's meeting", (MEETING, "cancelled", "")),
        ("I won't be going to the dentist after all", (DENTIST, "cancelled", "")),
        ("the trip is off", (TRIP, "cancelled", "")),
        ("never mind the dentist", (DENTIST, "cancelled", "")),
        ("I had to cancel dinner with Mara", (DINNER, "cancelled", "")),
        ("cancel the second one", (MEETING, "cancelled", "")),
        ("move the first one to Friday", (TRIP, "moved", "03-20 00:00")),
        ("no, it's on Sunday", (DINNER, "corrected", "03-15 19:00")),
        ("Sorry, I meant Sunday", (DINNER, "corrected", "03-15 19:00")),
        ("actually it's at 8pm", (DINNER, "corrected", "03-14 20:00")),
        ("Wait, not Saturday, Sunday", (DINNER, "corrected", "03-15 19:00")),
        ("No, it was in Denver", (DINNER, "corrected", "Denver")),
    ],
)
def test_an_english_change_finds_its_event(said: str, changed: tuple[str, str, str]) -> None:
    assert what_changed(ENGLISH, after(ENGLISH, said, TEN_MINUTES)) == changed


@pytest.mark.parametrize(
    ("said", "changed"),
    [
        ("改到周日", (DINNER, "moved", "03-15 19:00")),
        ("改成周日吧", (DINNER, "moved", "03-15 19:00")),
        ("换到周日", (DINNER, "moved", "03-15 19:00")),
        ("那就周日吧", (DINNER, "moved", "03-15 19:00")),
        ("把牙医推迟到周五", (DENTIST, "moved", "03-13 09:00")),
        ("会议推迟一天", (MEETING, "moved", "03-14 15:00")),
        ("牙医往后推一周", (DENTIST, "moved", "03-19 09:00")),
        ("提前一个小时", (DINNER, "moved", "03-14 18:00")),
        ("那个出差改到下周四", (TRIP, "moved", "03-19 00:00")),
        ("能不能把会议改到周一？", (MEETING, "moved", "03-16 15:00")),
        ("会议提前到周三", (MEETING, "moved", "03-11 15:00")),
        ("取消", (DINNER, "cancelled", "")),
        ("取消它", (DINNER, "cancelled", "")),
        ("取消第二个", (MEETING, "cancelled", "")),
        ("最后一个改到周日", (DINNER, "moved", "03-15 19:00")),
        ("那个会取消了", (MEETING, "cancelled", "")),
        ("杭州不去了", (TRIP, "cancelled", "")),
        ("周五的会不开了", (MEETING, "cancelled", "")),
        ("算了，牙医不看了", (DENTIST, "cancelled", "")),
        ("火锅取消吧", (DINNER, "cancelled", "")),
        ("不对，应该是周日", (DINNER, "corrected", "03-15 19:00")),
        ("不是周六，是周日", (DINNER, "corrected", "03-15 19:00")),
        ("搞错了，是晚上八点", (DINNER, "corrected", "03-14 20:00")),
        ("不是杭州，是上海", (TRIP, "corrected", "上海")),
    ],
)
def test_a_chinese_change_finds_its_event(said: str, changed: tuple[str, str, str]) -> None:
    assert what_changed(CHINESE, after(CHINESE, said, TEN_MINUTES)) == changed


@pytest.mark.parametrize(
    ("known", "said", "plan"),
    [
        (ENGLISH, "the dentist is done", DENTIST),
        (ENGLISH, "I've been to the dentist", DENTIST),
        (ENGLISH, "finished the meeting with the client", MEETING),
        (CHINESE, "看完牙医了", DENTIST),
        (CHINESE, "牙医看完了", DENTIST),
        (CHINESE, "和客户的会开完了", MEETING),
        (CHINESE, "办完了", DINNER),
    ],
)
def test_a_report_completes_the_plan_it_names(known: dict[str, str], said: str, plan: str) -> None:
    assert what_changed(known, after(known, said, SIX_DAYS)) == (plan, "completed", "")


@pytest.mark.parametrize(
    ("known", "said"),
    [
        (ENGLISH, "cancel the gym membership"),
        (ENGLISH, "remind me two hours earlier"),
        (ENGLISH, "Not a problem, I'm glad to help! Good luck with your search"),
        (ENGLISH, "Priya might have to drop out of the trip"),
        (CHINESE, "取消健身房的年卡"),
        (CHINESE, "到时候提醒我提前一天去买花"),
        (CHINESE, "我可能不去杭州了"),
    ],
)
def test_a_change_to_something_else_changes_nothing(known: dict[str, str], said: str) -> None:
    assert what_changed(known, after(known, said, TEN_MINUTES)) == NOTHING


def test_after_a_day_it_means_the_only_plan_there_is_or_nothing() -> None:
    day = 86_400.0
    one = {TRIP: ENGLISH[TRIP]}
    assert what_changed(one, after(one, "cancel it", day)) == (TRIP, "cancelled", "")
    assert what_changed(ENGLISH, after(ENGLISH, "cancel it", day)) == NOTHING


def test_ambiguous_the_newest_that_fits_is_meant() -> None:
    two = {
        "first": "I have a meeting with the client on Friday at 3pm",
        "second": "I have a meeting with the bank on Thursday at 10am",
    }
    assert what_changed(two, after(two, "cancel the meeting", TEN_MINUTES))[0] == "second"
    assert what_changed(two, after(two, "cancel the client meeting", TEN_MINUTES))[0] == "first"


def test_a_plan_with_no_time_of_its_own_is_completed_when_reported() -> None:
    known = {"report": "I need to finish the report"}
    changed = what_changed(known, after(known, "finished the report", SIX_DAYS))
    assert changed == ("report", "completed", "")


def test_history_is_kept_whatever_is_changed_how_often() -> None:
    said = ["下周三要去杭州出差", "那个出差改到下周四", "改到下周五", "杭州不去了"]
    turns = [
        Turn(f"raw:{n}", (MONDAY + n * timedelta(minutes=10)).timestamp(), "user", text)
        for n, text in enumerate(said)
    ]
    items = {change.item.id: change.item for change in consolidate(turns, [], SHANGHAI)}
    events = [item for item in items.values() if item.kind is ItemKind.EVENT]
    assert {event.state for event in events} == {EventState.CANCELLED}
    first, second, last = sorted(events, key=lambda event: event.turns)
    assert (first.replaced_by, second.replaced_by, last.replaced_by) == (second.id, last.id, "")
    notes = sorted(
        (i for i in items.values() if i.kind is ItemKind.CHANGE), key=lambda i: i.created
    )
    assert [note.action for note in notes] == ["moved", "moved", "cancelled"]
    assert [note.subject for note in notes] == [first.id, second.id, last.id]
