"""English times: what is no time, round trips through many ways of writing, the public cases."""

# ruff: noqa: E501 - a row of cases reads best on one line

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from device.language import find_times
from tests.benchmarks.datetime_cases import load_cases, score, texts

NOW = datetime(2018, 5, 31, 13, 20, tzinfo=UTC)  # a Thursday
FLOOR, LITERAL_FLOOR = 0.94, 0.79
"""Shares of the public single-value cases, and of the same as the corpus writes them."""


@pytest.mark.parametrize(
    "text",
    [
        "", "may I come in", "You may march on", "second try", "I have 2 cats", "10 people came",
        "Python 3.11 is out", "version 3.11.4", "it costs $20", "call 555-1234", "+1 206 555 1212",
        "The ssn is 123-12-1234", "sun is shining", "he sat down", "Sat down to eat", "1/2 cup of sugar",
        "2/3 of them", "the last time", "spring a leak", "fall over", "fall in love", "April said hello",
        "I met June and May", "open 24/7", "a 4:3 aspect ratio", "we won 3-1", "I am 30 years old",
        "room 1204", "deliver 2000 pieces of toys", "page 12 of 30", "the second one", "first things first",
        "at 5 Main Street", "at first", "at last", "at least 3", "so far so good", "the day we met",
        "day by day", "the middle of the road", "the end of the line", "early bird", "next please",
        "on the first floor", "the 3rd time", "2 to 3 teaspoons", "there are two to four people",
        "from 1 to 10", "iPhone 12", "GPT-4", "B2B", "50% off", "good morning!", "Good evening everyone",
        "she is twenty five", "the current plan", "See you later", "size 10-12", "ages 5-7", "10.0.0.1",
        "the opening night", "be at one with nature", "ABC-12345-A1B2C3", "order X3may7Q", "feb 30", "2018-02-30",
        "the most up to date equipment", "now that you are here",
    ],
)  # fmt: skip
def test_ordinary_english_is_no_time(text: str) -> None:
    assert find_times(text, NOW) == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("I bought it for $12 December 27", "December 27"),
        ("6,107.31 August 2019", "August 2019"),
        ("sales_report-2002-10-09.xlsx", "2002-10-09"),
        ("We meet on Friday.", "Friday"),
        ("(tomorrow)", "tomorrow"),
        ("tomorrow's plan", "tomorrow"),
        ("See you Sat!", "Sat"),
    ],
)
def test_only_the_words_of_the_time_are_taken(text: str, words: str) -> None:
    assert [e.text for e in find_times(text, NOW)] == [words]


DATES = st.dates(date(1950, 1, 1), date(2099, 12, 31))
TIMES = st.times().map(lambda t: t.replace(second=0, microsecond=0))
DATE_FORMS = (
    "%Y-%m-%d", "%Y/%m/%d", "%m/%d/%Y", "%d %B %Y", "%B %d, %Y", "%b %d %Y", "%d-%b-%Y", "%d/%b/%Y",
    "%A, %B %d, %Y", "%a %d %b %Y", "%b-%d-%Y", "the %dth of %B %Y", "%B %d of %Y", "%Y-%b-%d",
)  # fmt: skip
TIME_FORMS = ("%H:%M", "%I:%M %p", "%I:%M%p", "%I.%M %p", "%I:%M p.m.", "at %H:%M")


@given(
    DATES, st.sampled_from(DATE_FORMS), st.sampled_from(["%s", "We met on %s.", "(%s)", "from %s"])
)
def test_a_date_comes_back_from_every_form(day: date, form: str, sentence: str) -> None:
    found = find_times(sentence % day.strftime(form), NOW)
    assert [(e.start, e.end) for e in found] == [_day(day)]


@given(DATES, TIMES, st.sampled_from(DATE_FORMS), st.sampled_from(TIME_FORMS), st.booleans())
def test_a_date_and_hour_come_back_in_either_order(
    day: date, at: time, form: str, hours: str, first: bool
) -> None:
    if "p.m." in hours:
        at = at.replace(hour=at.hour % 12 + 12)
    said = at.strftime(hours)
    text = f"{said} on {day.strftime(form)}" if first else f"{day.strftime(form)} {said}"
    starts = [e.start for e in find_times(text, NOW)]
    when = datetime.combine(day, at, UTC)
    if at.strftime("%H")[0] == "1" and at.hour <= 12 and hours in ("%H:%M", "at %H:%M"):
        assert starts in ([when.timestamp()], [(when + timedelta(hours=12)).timestamp()])
    else:
        assert starts == [when.timestamp()]


@given(DATES, st.integers(1, 4000), st.sampled_from(DATE_FORMS), st.sampled_from(["from %s to %s", "%s - %s",
       "between %s and %s", "%s until %s"]))  # fmt: skip
def test_a_range_of_dates_holds_both(day: date, days: int, form: str, joined: str) -> None:
    last = day + timedelta(days=days)
    found = find_times(joined % (day.strftime(form), last.strftime(form)), NOW)
    assert [(e.start, e.end) for e in found] == [(_day(day)[0], _day(last)[1])]


@given(st.integers(1, 60), st.sampled_from(["day", "week", "hour", "minute"]), st.booleans())
def test_amounts_are_counted_from_now(amount: int, unit: str, ahead: bool) -> None:
    words = f"{amount} {unit}" + "s" * (amount > 1)
    sign = 1 if ahead else -1
    start = find_times(f"in {words}" if ahead else f"{words} ago", NOW)[0].start
    moved = NOW + timedelta(**{f"{unit}s": sign * amount})
    whole = moved.replace(hour=0, minute=0) if unit in ("day", "week") else moved
    assert start == whole.timestamp()


WORDS = (
    "next", "last", "the", "of", "may", "5th", "at", "half", "past", "ten", "pm", "to", "until", "in",
    "two", "weeks", "ago", "day", "friday", "31", "q3", "easter", "2019", "twenty", "from", "between",
    "and", "-", "/", ":", ".", "30", "night", "early", "end", "before", "since", "or", "later", "week",
    "first", "monday", "9999", "0", "century", "hours", "for", "1/1", "now", "noon", "a", "'",
)  # fmt: skip


@given(
    st.one_of(
        st.lists(st.sampled_from(WORDS), max_size=10).map(" ".join),
        st.lists(st.sampled_from(WORDS), max_size=8).map("".join),
        st.text(max_size=30),
    )
)
def test_any_text_gives_ordered_disjoint_expressions(text: str) -> None:
    found = find_times(text, NOW)
    for expression in found:
        assert expression.start <= expression.end
        assert text[expression.position :].startswith(expression.text)
    places = [(e.position, e.position + len(e.text)) for e in found]
    assert all(a[1] <= b[0] for a, b in pairwise(places))


@pytest.mark.parametrize(("literal", "floor"), [(False, FLOOR), (True, LITERAL_FLOOR)])
def test_single_value_cases_of_the_public_recogniser(
    shared_data: Path, literal: bool, floor: float
) -> None:
    corpus = shared_data / "datetime" / "en.json"
    result = score(find_times, load_cases(corpus, literal=literal), texts(corpus))
    assert result.share() >= floor
    assert len(result.false) <= 5


def _day(day: date) -> tuple[float, float]:
    start = datetime.combine(day, time.min, UTC)
    return start.timestamp(), (start + timedelta(days=1)).timestamp()
