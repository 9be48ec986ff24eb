"""The lunar calendar and the solar terms against known days and another implementation."""

# ruff: noqa: E501 - a table reads best in rows

from __future__ import annotations

from datetime import date, timedelta
from itertools import pairwise

import pytest

from device.language.chinese_times.lunar import (
    FIRST_YEAR,
    LAST_YEAR,
    TERMS,
    last_day,
    term_day,
    to_solar,
)

NEW_YEARS = {
    1900: "1900-01-31", 1949: "1949-01-29", 1976: "1976-01-31", 2000: "2000-02-05", 2008: "2008-02-07",
    2016: "2016-02-08", 2020: "2020-01-25", 2023: "2023-01-22", 2026: "2026-02-17", 2033: "2033-01-31",
}  # fmt: skip


@pytest.mark.parametrize(("year", "day"), NEW_YEARS.items())
def test_new_years_days(year: int, day: str) -> None:
    assert str(to_solar(year, 1, 1)) == day


def test_doubled_months() -> None:
    assert to_solar(2020, 4, 1, leap=True) == date(2020, 5, 23)
    assert to_solar(2023, 2, 1, leap=True) == date(2023, 3, 22)
    assert to_solar(2033, 11, 1, leap=True) == date(2033, 12, 22)
    assert to_solar(2024, 2, 1, leap=True) is None


def test_the_mid_autumn_festival_of_1978_is_the_one_people_kept() -> None:
    assert to_solar(1978, 8, 15) == date(1978, 9, 17)


def test_days_that_the_calendar_does_not_have() -> None:
    assert to_solar(2015, 1, 30) is None
    assert to_solar(2015, 13, 1) is None
    assert to_solar(FIRST_YEAR - 1, 1, 1) is None
    assert to_solar(LAST_YEAR + 1, 1, 1) is None


def test_every_year_runs_on_into_the_next() -> None:
    for year in range(FIRST_YEAR, LAST_YEAR):
        eve, following = last_day(year), to_solar(year + 1, 1, 1)
        assert eve is not None
        assert following == eve + timedelta(days=1)


def test_the_table_agrees_with_another_implementation() -> None:
    jionlp = pytest.importorskip("jionlp")
    for year in range(1901, LAST_YEAR + 1):
        for month in range(1, 13):
            other = jionlp.lunar2solar(year, month, 1, False)
            assert to_solar(year, month, 1) == date(other.year, other.month, other.day)


TERM_DAYS = {
    "立春": "2024-02-04", "惊蛰": "2024-03-05", "春分": "2024-03-20", "清明": "2024-04-04", "立夏": "2024-05-05",
    "芒种": "2024-06-05", "夏至": "2024-06-21", "大暑": "2024-07-22", "立秋": "2024-08-07", "秋分": "2024-09-22",
    "霜降": "2024-10-23", "立冬": "2024-11-07", "大雪": "2024-12-06", "冬至": "2024-12-21", "小寒": "2024-01-06",
}  # fmt: skip


@pytest.mark.parametrize(("term", "day"), TERM_DAYS.items())
def test_solar_terms_of_2024(term: str, day: str) -> None:
    assert str(term_day(2024, term)) == day


def test_the_terms_of_every_year_are_half_a_month_apart() -> None:
    order = [*TERMS[TERMS.index("小寒") :], *TERMS[: TERMS.index("小寒")]]
    for year in range(1900, 2101):
        days = [term_day(year, term) for term in order]
        gaps = [(b - a).days for a, b in pairwise(days)]
        assert set(gaps) <= {14, 15, 16}
        assert all(day.year == year for day in days)
