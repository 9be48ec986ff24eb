from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from device.language import Prefer, find_times

SHANGHAI = timezone(timedelta(hours=8))
NOON = datetime(2026, 5, 13, 12, 0, tzinfo=SHANGHAI)  # a Wednesday


def start_of(text: str, reference: datetime = NOON) -> str:
    found = find_times(text, reference)
    assert found, text
    return datetime.fromtimestamp(found[0].start, reference.tzinfo).strftime("%Y-%m-%d %H:%M")


def end_of(text: str, reference: datetime = NOON) -> str:
    found = find_times(text, reference)
    assert found, text
    return datetime.fromtimestamp(found[0].end, reference.tzinfo).strftime("%Y-%m-%d %H:%M")


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("今天", "2026-05-13 00:00"),
        ("明天下午三点开会", "2026-05-14 15:00"),
        ("后天早上七点半", "2026-05-15 07:30"),
        ("下周三去杭州出差", "2026-05-20 00:00"),
        ("下下周三下午", "2026-05-27 12:00"),
        ("上周五见了客户", "2026-05-08 00:00"),
        ("这周六", "2026-05-16 00:00"),
        ("周末去爬山", "2026-05-16 00:00"),
        ("下个月12号", "2026-06-12 00:00"),
        ("四月十二号", "2027-04-12 00:00"),
        ("2025年3月8日", "2025-03-08 00:00"),
        ("三天前", "2026-05-10 00:00"),
        ("两个星期后", "2026-05-27 00:00"),
        ("半小时后", "2026-05-13 12:30"),
        ("去年十月", "2025-10-01 00:00"),
        ("今晚八点", "2026-05-13 20:00"),
        ("国庆节前一天", "2026-09-30 00:00"),
        ("2026-06-01", "2026-06-01 00:00"),
    ],
)
def test_chinese_starts(text: str, start: str) -> None:
    assert start_of(text) == start


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("today", "2026-05-13 00:00"),
        ("tomorrow at 3pm", "2026-05-14 15:00"),
        ("next Wednesday", "2026-05-20 00:00"),
        ("next week on Tuesday", "2026-05-19 00:00"),
        ("3 days ago", "2026-05-10 00:00"),
        ("in two weeks", "2026-05-27 00:00"),
        ("I flew on June 5th, 2025", "2025-06-05 00:00"),
        ("we will meet on 5 June", "2026-06-05 00:00"),
        ("last month", "2026-04-01 00:00"),
        ("next Friday at half past nine in the evening", "2026-05-22 21:30"),
        ("the gig is on Saturday the 16th", "2026-05-16 00:00"),
        ("2 weeks before Christmas", "2026-12-11 00:00"),
        ("in 2019", "2019-01-01 00:00"),
        ("this weekend", "2026-05-16 00:00"),
        ("half an hour ago", "2026-05-13 11:30"),
    ],
)
def test_english_starts(text: str, start: str) -> None:
    assert start_of(text) == start


@pytest.mark.parametrize("text", ["这个月底之前交报告", "这个月底之前"])
def test_a_deadline_runs_from_now_to_the_end_it_names(text: str) -> None:
    assert (start_of(text), end_of(text)) == ("2026-05-13 12:00", "2026-06-01 00:00")


def test_an_english_deadline_ends_where_it_says() -> None:
    assert end_of("before Friday") == "2026-05-15 00:00"
    assert end_of("by Friday") == "2026-05-16 00:00"


def test_ranges_are_one_expression() -> None:
    found = find_times("下午3点到5点在会议室", NOON)
    assert [(e.text, e.grain) for e in found] == [("下午3点到5点", "range")]
    assert (found[0].end - found[0].start) == 2 * 3600
    assert end_of("from May 4 to May 9, 2026") == "2026-05-10 00:00"


def test_the_original_words_and_their_place_are_kept() -> None:
    text = "我下周三要去杭州"
    found = find_times(text, NOON)[0]
    assert text[found.position :].startswith(found.text)
    assert found.text == "下周三"


def test_times_are_absolute_in_the_speakers_zone() -> None:
    here = find_times("tomorrow", NOON)[0].start
    there = find_times("tomorrow", NOON.astimezone(UTC))[0].start
    assert there - here == 8 * 3600


def test_tense_settles_a_bare_weekday() -> None:
    past, future = find_times("我周一去了医院", NOON)[0], find_times("我周一要去医院", NOON)[0]
    assert (future.start - past.start) == 7 * 86400
    assert find_times("周一", NOON, Prefer.PAST)[0].start == past.start


@pytest.mark.parametrize(
    "text", ["", "一点没闹", "七十一了", "you may march on", "第三章", "他有点累"]
)
def test_words_that_are_no_times(text: str) -> None:
    assert find_times(text, NOON) == []


@pytest.mark.parametrize(
    "text", ["dinner on Friday at 7", "周五晚上七点吃饭", "from 10 to 12 June"]
)
def test_a_day_reads_the_same_at_every_hour(text: str) -> None:
    hours = [NOON.replace(hour=hour, minute=59, microsecond=7) for hour in (0, 7, 23)]
    readings = [find_times(text, at) for at in hours]
    assert readings[0] == readings[1] == readings[2] != []


@pytest.mark.parametrize(
    "text",
    [
        "call back in 2 hours",
        "where are you now",
        "before Friday",
        "since Monday",
        "later today",
        "两个小时后打电话",
        "现在在哪",
        "周五之前",
        "周一以来",
        "还剩5分钟",
    ],
)
def test_what_counts_from_the_moment_moves_with_it(text: str) -> None:
    later = NOON + timedelta(hours=3)
    (first,), (second,) = find_times(text, NOON), find_times(text, later)
    assert (first.start, first.end) != (second.start, second.end)
    assert find_times(text, NOON) == [first]


def test_a_day_is_read_once_for_every_zone() -> None:
    zones = [timezone(timedelta(hours=hours)) for hours in (-8, 0, 8)]
    starts = [find_times("tomorrow", NOON.replace(tzinfo=zone))[0].start for zone in zones]
    assert [a - b for a, b in pairwise(starts)] == [8 * 3600.0, 8 * 3600.0]


def test_a_reference_without_a_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="time zone"):
        find_times("today", datetime(2026, 5, 13))  # noqa: DTZ001


WORDS = (
    "今明昨天下上周月年日号点半一二三十廿两百之前后到去早晚初底旬季春节个差分刻秒末"
    "星期礼拜国庆：123/-: ."
)
ENGLISH = (
    "next", "last", "the", "of", "may", "5th", "at", "half", "past", "ten", "pm", "to", "until",
    "in", "two", "weeks", "ago", "day", "friday", "31", "q3", "easter", "2019", "twenty",
)  # fmt: skip


def test_an_after_does_not_take_the_next_expressions_first_character() -> None:
    """后晚后晚: the second 后 belongs to its own 后晚."""
    found = find_times("后晚后晚", NOON)
    assert [(one.position, one.text) for one in found] == [(0, "后晚"), (2, "后晚")]


@given(
    st.one_of(
        st.text(alphabet=WORDS, max_size=20),
        st.lists(st.sampled_from(ENGLISH), max_size=8).map(" ".join),
        st.text(max_size=20),
    )
)
def test_any_text_gives_ordered_disjoint_expressions(text: str) -> None:
    found = find_times(text, NOON)
    for expression in found:
        assert expression.start <= expression.end
        assert expression.text in text
    places = [(e.position, e.position + len(e.text)) for e in found]
    assert all(a[1] <= b[0] for a, b in pairwise(places))
