"""English times by kinds of expression: what each says, to the start and the end of its span."""

# ruff: noqa: E501 - a row of cases reads best on one line

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from device.language import Prefer, find_times

NOW = datetime(2018, 5, 31, 13, 20, tzinfo=timezone(timedelta(hours=2)))  # a Thursday


def spans(text: str, reference: datetime = NOW, prefer: Prefer | None = None) -> list[str]:
    """Each expression as "start..end", without times at midnight."""

    def local(at: float) -> str:
        when = datetime.fromtimestamp(at, reference.tzinfo)
        return when.strftime("%Y-%m-%d %H:%M:%S").removesuffix(":00").removesuffix(" 00:00")

    return [f"{local(e.start)}..{local(e.end)}" for e in find_times(text, reference, prefer)]


def day(text: str) -> str:
    """The single whole day a text names."""
    found = find_times(text, NOW)
    assert len(found) == 1, (text, found)
    assert found[0].end - found[0].start == 86_400, (text, found)
    return datetime.fromtimestamp(found[0].start, NOW.tzinfo).date().isoformat()


@pytest.mark.parametrize(
    "text",
    [
        "I left on January 4th, 2019", "04-Jan-2019", "the 4th of Jan 2019", "Jan 4 2019", "1/4/2019",
        "2019-01-04", "2019/1/4", "01.04.2019", "4 January, 2019", "04Jan2019",
        "Jan/4/2019", "2019-jan-4", "4th of January of 2019", "Friday, January 4th, 2019",
        "january fourth two thousand and nineteen", "the fourth of january twenty nineteen",
        "Jan. 4, '19",
    ],
)  # fmt: skip
def test_one_date_in_every_way_of_writing(text: str) -> None:
    assert day(text) == "2019-01-04"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("on 12 January", "2019-01-12"), ("the 22nd of may", "2019-05-22"), ("on 22/07", "2018-07-22"),
        ("on the 12th", "2018-06-12"), ("on the 15", "2018-06-15"), ("tomorrow", "2018-06-01"),
        ("the day before yesterday", "2018-05-29"), ("the day after tomorrow", "2018-06-02"),
        ("this Friday", "2018-06-01"), ("next Friday", "2018-06-08"), ("last Friday", "2018-05-25"),
        ("coming Monday", "2018-06-04"), ("Tuesday of last week", "2018-05-22"),
        ("next week on Wednesday", "2018-06-06"), ("the Friday after next", "2018-06-15"),
        ("the Friday before last", "2018-05-18"),
        ("Friday the 13th", "2018-07-13"), ("three days ago", "2018-05-28"),
        ("in two weeks", "2018-06-14"), ("a fortnight later", "2018-06-14"),
        ("2 years, 1 month and 3 days ago", "2016-04-27"), ("3 days from Monday", "2018-06-07"),
        ("two weeks before Christmas", "2018-12-11"), ("the day after Christmas", "2018-12-26"),
        ("in 3 days on Friday", "2018-06-01"), ("tomorrow, June 1", "2018-06-01"),
        ("the first Monday of August", "2018-08-06"), ("the last Friday of next month", "2018-06-29"),
        ("the last day of June", "2018-06-30"), ("the 15th day of next month", "2018-06-15"),
        ("the 31st of the month", "2018-05-31"), ("two Sundays ago", "2018-05-20"),
        ("20th of next month", "2018-06-20"), ("after 3 days", "2018-06-03"),
    ],
)  # fmt: skip
def test_days_said_without_a_full_date(text: str, expected: str) -> None:
    assert day(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("christmas 2019", "2019-12-25"), ("Thanksgiving 2017", "2017-11-23"),
        ("black friday 2010", "2010-11-26"), ("easter 2018", "2018-04-01"),
        ("Good Friday 2019", "2019-04-19"), ("last easter", "2018-04-01"),
        ("Memorial Day 2017", "2017-05-29"), ("MLK day 2019", "2019-01-21"),
        ("new year's eve", "2018-12-31"), ("next Halloween", "2018-10-31"),
        ("Mother's Day of last year", "2017-05-14"),
    ],
)  # fmt: skip
def test_holidays(text: str, expected: str) -> None:
    assert day(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("in the 1990s", "1990-01-01..2000-01-01"), ("the nineties", "1990-01-01..2000-01-01"),
        ("in the 15th century", "1400-01-01..1500-01-01"), ("in 2012", "2012-01-01..2013-01-01"),
        ("in nineteen eighty six", "1986-01-01..1987-01-01"), ("Q3 2017", "2017-07-01..2017-10-01"),
        ("2019-H2", "2019-07-01..2020-01-01"), ("last quarter", "2018-01-01..2018-04-01"),
        ("the first quarter of next year", "2019-01-01..2019-04-01"),
        ("last summer", "2017-06-01..2017-09-01"), ("winter 2017", "2017-12-01..2018-03-01"),
        ("next month", "2018-06-01..2018-07-01"), ("June 2019", "2019-06-01..2019-07-01"),
        ("May of '98", "1998-05-01..1998-06-01"), ("this week", "2018-05-28..2018-06-04"),
        ("the week after next", "2018-06-11..2018-06-18"), ("this weekend", "2018-06-02..2018-06-04"),
        ("the first week of January 2019", "2018-12-31..2019-01-07"),
        ("the last week of July", "2018-07-23..2018-07-30"), ("week 23", "2018-06-04..2018-06-11"),
        ("the first week of January 2021", "2021-01-04..2021-01-11"),
        ("the week of September 16th", "2018-09-10..2018-09-17"),
        ("the last 3 weeks of this year", "2018-12-10..2018-12-31"),
        ("labor day weekend 2021", "2021-09-04..2021-09-07"),
        ("early March", "2019-03-01..2019-03-16"), ("mid-November", "2018-11-10..2018-11-21"),
        ("the end of 2000", "2000-09-01..2001-01-01"), ("later this month", "2018-05-31..2018-06-01"),
        ("the last three months", "2018-02-28..2018-05-31"),
        ("the next two days", "2018-06-01..2018-06-03"),
        ("the next 4 business days", "2018-06-01..2018-06-07"),
        ("the rest of the year", "2018-05-31..2019-01-01"),
        ("so far this month", "2018-05-01..2018-05-31 13:20"),
        ("3 days starting next Monday", "2018-06-04..2018-06-07"), ("within 3 days", "2018-05-31..2018-06-04"),
    ],
)  # fmt: skip
def test_runs_of_days(text: str, expected: str) -> None:
    assert spans(text) == [expected]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("from 2012 until 2016", "2012-01-01..2017-01-01"), ("2012-2016", "2012-01-01..2017-01-01"),
        ("between 1999 and 2001", "1999-01-01..2002-01-01"), ("Jan-Feb 2017", "2017-01-01..2017-03-01"),
        ("from Nov to March 2019", "2018-11-01..2019-04-01"), ("9 to 12 of June", "2018-06-09..2018-06-13"),
        ("November 19-20", "2018-11-19..2018-11-21"), ("Jan 18-20, 2019", "2019-01-18..2019-01-21"),
        ("june ninth through seventeenth", "2018-06-09..2018-06-18"),
        ("from 10/1/2018-10/7/2018", "2018-10-01..2018-10-08"), ("from 5/1-5/7, 2020", "2020-05-01..2020-05-08"),
        ("from Friday to next Tuesday", "2018-06-01..2018-06-06"),
        ("between now and November 15th", "2018-05-31..2018-11-16"),
        ("from the end of 2007 to the end of 2008", "2008-01-01..2009-01-01"),
        ("from q1 2017 to q2 2018", "2017-01-01..2018-07-01"),
        ("26 june 2019 to 28 june 2020", "2019-06-26..2020-06-29"),
        ("from 4-23 in next month", "2018-06-04..2018-06-24"), ("Mon-Fri", "2018-06-04..2018-06-09"),
        ("Saturday, June 2, 2018 - Sunday, June 3, 2018", "2018-06-02..2018-06-04"),
    ],
)  # fmt: skip
def test_ranges_of_dates_are_one_expression_and_hold_both_ends(text: str, expected: str) -> None:
    assert spans(text) == [expected]


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("half past seven", "07:30"), ("a quarter to 5", "16:45"), ("20 min past eight in the evening", "20:20"),
        ("7:56:30 pm", "19:56:30"), ("noon", "12:00"), ("at midnight", "00:00"), ("7 o'clock", "07:00"),
        ("noonish", "12:00"), ("around sevenish", "07:00"), ("1140 a.m.", "11:40"), ("at 0800", "08:00"),
        ("at 6.45", "06:45"), ("8.10 pm", "20:10"), ("in the morning at 7", "07:00"), ("at 4", "16:00"),
        ("five-thirty pm", "17:30"), ("11 at night", "23:00"), ("half nine", "09:30"), ("mid-afternoon", "14:00"),
        ("seven oh five am", "07:05"), ("17:30", "17:30"), ("12am", "00:00"), ("12pm", "12:00"),
    ],
)  # fmt: skip
def test_times_on_the_clock(text: str, start: str) -> None:
    found = find_times(text, NOW)
    assert len(found) == 1, (text, found)
    when = datetime.fromtimestamp(found[0].start, NOW.tzinfo)
    assert when.strftime("%H:%M:%S").removesuffix(":00") in (start, start.removesuffix(":00"))
    assert when.date() == NOW.date()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("5 to 6 pm", "17:00..18:00"), ("5pm-6pm", "17:00..18:00"), ("from 8am-3", "08:00..15:00"),
        ("between 9:30 and 17:00", "09:30..17:00"), ("11-1pm", "11:00..13:00"),
        ("from 10 am for 3 hours 30 minutes", "10:00..13:30"), ("for 2.5 hours from 9", "09:00..11:30"),
        ("from 3 in the morning until 5pm", "03:00..17:00"), ("between 5 and 6 in the afternoon", "17:00..18:00"),
        ("in the morning", "06:00..12:00"), ("in the daytime", "08:00..18:00"),
        ("late morning", "10:00..12:00"), ("from 9am until noon", "09:00..12:00"),
    ],
)  # fmt: skip
def test_ranges_of_hours(text: str, expected: str) -> None:
    assert [s.replace("2018-05-31 ", "") for s in spans(text)] == [expected]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("tomorrow at 8am", "2018-06-01 08:00..2018-06-01 09:00"),
        ("8pm on Jan 5", "2019-01-05 20:00..2019-01-05 21:00"),
        ("Monday morning", "2018-06-04 06:00..2018-06-04 12:00"),
        ("2016-12-16T12:23:59", "2016-12-16 12:23:59..2016-12-16 12:24"),
        ("May/22(Tue)-11:30 AM", "2018-05-22 11:30..2018-05-22 11:31"),
        ("in 5 minutes", "2018-05-31 13:25..2018-05-31 13:26"),
        ("half an hour ago", "2018-05-31 12:50..2018-05-31 13:50"),
        ("the end of the day", "2018-05-31 23:59:59..2018-06-01"),
        ("tonight at 2am", "2018-06-01 02:00..2018-06-01 03:00"),
        ("today from 4 to 6 pm", "2018-05-31 16:00..2018-05-31 18:00"),
        ("tuesday in the morning between 6 and 8", "2018-06-05 06:00..2018-06-05 08:00"),
        ("five to seven today", "2018-05-31 17:00..2018-05-31 19:00"),
        ("the first Monday 1pm to 3pm of next month", "2018-06-04 13:00..2018-06-04 15:00"),
        ("last night between 7 and 9:30", "2018-05-30 19:00..2018-05-30 21:30"),
        ("the next 2 hours", "2018-05-31 13:20..2018-05-31 15:20"),
        ("from 4pm today to 5pm tomorrow", "2018-05-31 16:00..2018-06-01 17:00"),
        ("from 2pm till tomorrow 4:30pm", "2018-05-31 14:00..2018-06-01 16:30"),
        ("from now until 3 min later", "2018-05-31 13:20..2018-05-31 13:23"),
        ("between now and eight o'clock", "2018-05-31 13:20..2018-05-31 20:00"),
        ("December 12th at 4 - 6:30 pm", "2018-12-12 16:00..2018-12-12 18:30"),
        ("early on Monday", "2018-06-04..2018-06-04 12:00"),
        ("two hours after 3pm tomorrow", "2018-06-01 17:00..2018-06-01 18:00"),
        ("five thirty in the night", "2018-06-01 05:30..2018-06-01 05:31"),
        ("Wed, Oct 26 @ 3:30pm", "2018-10-26 15:30..2018-10-26 15:31"),
    ],
)  # fmt: skip
def test_days_and_hours_together(text: str, expected: str) -> None:
    assert spans(text) == [expected]


@pytest.mark.parametrize(
    ("text", "grain", "bound"),
    [
        ("before Friday", "before", "2018-06-01"), ("by Friday", "before", "2018-06-02"),
        ("no later than Friday", "before", "2018-06-02"), ("until Friday", "before", "2018-06-01"),
        ("prior to 2012", "before", "2012-01-01"), ("2012 or earlier", "before", "2013-01-01"),
        ("before the end of this year", "before", "2019-01-01"), ("before 4pm", "before", "2018-05-31 16:00"),
        ("tomorrow before 5pm", "before", "2018-06-01 17:00"), ("<= 2012", "before", "2013-01-01"),
        ("after Friday", "after", "2018-06-02"), ("since March", "after", "2018-03-01"),
        ("after 2020", "after", "2021-01-01"), ("later than 2020", "after", "2021-01-01"),
        ("starting on Monday", "from", "2018-06-04"), ("from Monday onwards", "from", "2018-06-04"),
        ("2020 or later", "from", "2020-01-01"), ("tomorrow after 5", "after", "2018-06-01 17:00"),
        ("3 pm or later on Monday", "after", "2018-06-04 15:00"),
    ],
)  # fmt: skip
def test_bounds_open_a_time_to_one_side(text: str, grain: str, bound: str) -> None:
    found = find_times(text, NOW, Prefer.FUTURE)
    assert [e.grain for e in found] == [grain]
    assert (found[0].open_start, found[0].open_end) == (grain == "before", grain != "before")
    start, end = spans(text, NOW, Prefer.FUTURE)[0].split("..")
    assert (end if grain == "before" else start) == bound
    assert found[0].start < found[0].end


def test_since_looks_back_whatever_the_tense() -> None:
    assert spans("I will have lived here since August") == ["2017-08-01..2018-05-31 13:20"]


def test_prefer_settles_a_date_without_its_year() -> None:
    assert spans("on 12 January", prefer=Prefer.PAST) == ["2018-01-12..2018-01-13"]
    assert spans("on 12 January", prefer=Prefer.FUTURE) == ["2019-01-12..2019-01-13"]
    assert spans("Monday", prefer=Prefer.PAST) == ["2018-05-28..2018-05-29"]


def test_a_time_is_of_the_speakers_day() -> None:
    late = datetime(2018, 5, 31, 23, 0, tzinfo=UTC)
    assert spans("today", late) == ["2018-05-31..2018-06-01"]
    ahead = late.astimezone(timezone(timedelta(hours=8)))
    assert spans("today", ahead) == ["2018-06-01..2018-06-02"]


def test_tonight_in_the_small_hours_is_this_night() -> None:
    small = NOW.replace(hour=1)
    assert spans("tonight at 2am", small) == ["2018-05-31 02:00..2018-05-31 03:00"]


def test_enumerated_times_stay_apart() -> None:
    assert len(spans("Wednesday, Thursday or Friday")) == 3
    assert len(spans("next month at 6pm")) == 2
    assert len(spans("Race - 3pm - this week")) == 2
