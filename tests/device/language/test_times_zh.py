"""Chinese time expressions by kind, said on Wednesday 13 May 2026 at noon."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, timedelta, timezone
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from device.language import Prefer, TimeExpression, find_times

SHANGHAI = timezone(timedelta(hours=8))
NOON = datetime(2026, 5, 13, 12, 0, tzinfo=SHANGHAI)


def written(bound: float) -> str:
    """A bound as the tables write it: the hour only where there is one."""
    return datetime.fromtimestamp(bound, SHANGHAI).strftime("%Y-%m-%d %H:%M").removesuffix(" 00:00")


def only(text: str, reference: datetime = NOON, prefer: Prefer | None = None) -> TimeExpression:
    found = find_times(text, reference, prefer)
    assert len(found) == 1, (text, found)
    return found[0]


def bounds(text: str, reference: datetime = NOON) -> tuple[str, str]:
    expression = only(text, reference)
    return written(expression.start), written(expression.end)


YEARS = [
    ("二零一六年", "2016-01-01", "2017-01-01"),
    ("一九九八年", "1998-01-01", "1999-01-01"),
    ("二〇一八年", "2018-01-01", "2019-01-01"),
    ("两千零八年", "2008-01-01", "2009-01-01"),
    ("九五年", "1995-01-01", "1996-01-01"),
    ("零八年", "2008-01-01", "2009-01-01"),
    ("98年", "1998-01-01", "1999-01-01"),
    ("08年", "2008-01-01", "2009-01-01"),
    ("今年", "2026-01-01", "2027-01-01"),
    ("去年", "2025-01-01", "2026-01-01"),
    ("大前年", "2023-01-01", "2024-01-01"),
    ("后年", "2028-01-01", "2029-01-01"),
    ("民国三十八年", "1949-01-01", "1950-01-01"),
    ("光绪二十年", "1894-01-01", "1895-01-01"),
    ("康熙三年五月", "1664-05-01", "1664-06-01"),
    ("公元2018年", "2018-01-01", "2019-01-01"),
]


@pytest.mark.parametrize(("text", "start", "end"), YEARS)
def test_years(text: str, start: str, end: str) -> None:
    assert bounds(text) == (start, end)


DATES = [
    ("2018年10月1日", "2018-10-01", "2018-10-02"),
    ("2018年10月", "2018-10-01", "2018-11-01"),
    ("２０１８年１０月１日", "2018-10-01", "2018-10-02"),
    ("2018年 10 月 1 日", "2018-10-01", "2018-10-02"),
    ("2018-10-01的", "2018-10-01", "2018-10-02"),
    ("2018/10/1的", "2018-10-01", "2018-10-02"),
    ("2018.10.1号", "2018-10-01", "2018-10-02"),
    ("20181001号", "2018-10-01", "2018-10-02"),
    ("你12-11-10有空吗", "2012-11-10", "2012-11-11"),
    ("在3/3/15那天", "2015-03-03", "2015-03-04"),
    ("元月五号", "2027-01-05", "2027-01-06"),
    ("四月十二号", "2027-04-12", "2027-04-13"),
    ("下个月12号", "2026-06-12", "2026-06-13"),
    ("本月十日", "2026-05-10", "2026-05-11"),
    ("12月25日星期五", "2026-12-25", "2026-12-26"),
    ("下周的周三", "2026-05-20", "2026-05-21"),
]


@pytest.mark.parametrize(("text", "start", "end"), DATES)
def test_calendar_dates(text: str, start: str, end: str) -> None:
    assert bounds(text) == (start, end)


PARTS = [
    ("上半年", "2026-01-01", "2026-07-01"),
    ("今年上半年", "2026-01-01", "2026-07-01"),
    ("去年下半年", "2025-07-01", "2026-01-01"),
    ("前半年", "2026-01-01", "2026-07-01"),
    ("上个半年", "2025-07-01", "2026-01-01"),
    ("下个半年", "2026-07-01", "2027-01-01"),
    ("上半月", "2026-05-01", "2026-05-16"),
    ("本月下旬", "2026-05-21", "2026-06-01"),
    ("三月中旬", "2027-03-11", "2027-03-21"),
    ("月初", "2026-05-01", "2026-05-06"),
    ("月底", "2026-05-29", "2026-06-01"),
    ("年底", "2026-12-01", "2027-01-01"),
    ("上个月底", "2026-04-28", "2026-05-01"),
    ("明年初", "2027-01-01", "2027-03-01"),
    ("2016年第一季度", "2016-01-01", "2016-04-01"),
    ("三季度", "2026-07-01", "2026-10-01"),
    ("上个季度", "2026-01-01", "2026-04-01"),
    ("前三季度", "2026-01-01", "2026-10-01"),
    ("2018年Q1", "2018-01-01", "2018-04-01"),
    ("今年夏天", "2026-06-01", "2026-09-01"),
    ("去年暑假", "2025-07-01", "2025-09-01"),
    ("十二月月底", "2026-12-29", "2027-01-01"),
    ("二十世纪九十年代", "1990-01-01", "2000-01-01"),
    ("上世纪70年代", "1970-01-01", "1980-01-01"),
    ("1990年代", "1990-01-01", "2000-01-01"),
    ("80年代", "1980-01-01", "1990-01-01"),
    ("21世纪", "2000-01-01", "2100-01-01"),
    ("上个世纪", "1900-01-01", "2000-01-01"),
]


@pytest.mark.parametrize(("text", "start", "end"), PARTS)
def test_parts_of_years_and_months(text: str, start: str, end: str) -> None:
    assert bounds(text) == (start, end)


DAYS = [
    ("今天", "2026-05-13", "2026-05-14"),
    ("大后天", "2026-05-16", "2026-05-17"),
    ("大前天", "2026-05-10", "2026-05-11"),
    ("下下周三", "2026-05-27", "2026-05-28"),
    ("上上周五", "2026-05-01", "2026-05-02"),
    ("这周六", "2026-05-16", "2026-05-17"),
    ("下下个月", "2026-07-01", "2026-08-01"),
    ("上上个月", "2026-03-01", "2026-04-01"),
    ("上一周", "2026-05-04", "2026-05-11"),
    ("下一年", "2027-01-01", "2028-01-01"),
    ("周末", "2026-05-16", "2026-05-18"),
    ("下周末", "2026-05-23", "2026-05-25"),
    ("琴日", "2026-05-12", "2026-05-13"),
    ("聽日", "2026-05-14", "2026-05-15"),
]


@pytest.mark.parametrize(("text", "start", "end"), DAYS)
def test_days_and_weeks_from_now(text: str, start: str, end: str) -> None:
    assert bounds(text) == (start, end)


COUNTED = [
    ("三天前", "2026-05-10", "2026-05-11"),
    ("两周后", "2026-05-27", "2026-05-28"),
    ("半年前", "2025-11-13", "2025-11-14"),
    ("三年半前", "2022-11-13", "2022-11-14"),
    ("两年零三个月前", "2024-02-13", "2024-02-14"),
    ("半小时后", "2026-05-13 12:30", "2026-05-13 13:30"),
    ("一个半小时后", "2026-05-13 13:30", "2026-05-13 14:30"),
    ("再过5分钟", "2026-05-13 12:05", "2026-05-13 12:06"),
    ("两天前的晚上", "2026-05-11 18:00", "2026-05-12"),
    ("三天后的下午三点", "2026-05-16 15:00", "2026-05-16 16:00"),
    ("过去两个月", "2026-03-13", "2026-05-13"),
    ("前1周", "2026-05-06", "2026-05-13"),
    ("后1年", "2026-05-14", "2027-05-14"),
    ("未来三天", "2026-05-14", "2026-05-17"),
    ("最近三天", "2026-05-10", "2026-05-14"),
    ("前三个小时", "2026-05-13 09:00", "2026-05-13 12:00"),
    ("之后5分钟", "2026-05-13 12:00", "2026-05-13 12:05"),
    ("还剩5分钟", "2026-05-13 12:00", "2026-05-13 12:05"),
    ("三天之内", "2026-05-13", "2026-05-17"),
    ("24小时内", "2026-05-13 12:00", "2026-05-14 12:00"),
    ("去年的今天", "2025-05-13", "2025-05-14"),
    ("上个月的今天", "2026-04-13", "2026-04-14"),
    ("三个多月以来", "2026-02-13", "2026-05-13 12:00"),
    ("三年多前", "2023-05-13", "2023-05-14"),
    ("一分半钟前", "2026-05-13 11:58", "2026-05-13 11:59"),
    ("大大后天", "2026-05-17", "2026-05-18"),
    ("今明两天", "2026-05-13", "2026-05-15"),
]


@pytest.mark.parametrize(("text", "start", "end"), COUNTED)
def test_amounts_counted_from_now(text: str, start: str, end: str) -> None:
    assert bounds(text) == (start, end)


NTH = [
    ("2021年的第二周", "2021-01-11", "2021-01-18"),
    ("明年第九个月", "2027-09-01", "2027-10-01"),
    ("今年最后一天", "2026-12-31", "2027-01-01"),
    ("去年的前10天", "2025-01-01", "2025-01-11"),
    ("今年的最后3周", "2026-12-07", "2026-12-28"),
    ("本周前三天", "2026-05-11", "2026-05-14"),
    ("十月第一个星期一", "2026-10-05", "2026-10-06"),
    ("下个月最后一个周五", "2026-06-26", "2026-06-27"),
    ("2018年的第一个星期一", "2018-01-01", "2018-01-02"),
    ("21年第一个礼拜", "2021-01-04", "2021-01-11"),
    ("2005年首月", "2005-01-01", "2005-02-01"),
]


@pytest.mark.parametrize(("text", "start", "end"), NTH)
def test_the_nth_of_a_period(text: str, start: str, end: str) -> None:
    assert bounds(text) == (start, end)


CLOCK = [
    ("下午三点半", "2026-05-13 15:30", "2026-05-13 15:31"),
    ("三点一刻", "2026-05-13 15:15", "2026-05-13 15:16"),
    ("晚上九点三刻", "2026-05-13 21:45", "2026-05-13 21:46"),
    ("差五分八点", "2026-05-13 07:55", "2026-05-13 07:56"),
    ("八点差五分", "2026-05-13 07:55", "2026-05-13 07:56"),
    ("八点过五分", "2026-05-13 08:05", "2026-05-13 08:06"),
    ("二十点三十分", "2026-05-13 20:30", "2026-05-13 20:31"),
    ("15时20分", "2026-05-13 15:20", "2026-05-13 15:21"),
    ("17点55分23秒", "2026-05-13 17:55", "2026-05-13 17:55"),
    ("零点五十分", "2026-05-13 00:50", "2026-05-13 00:51"),
    ("晚上十二点", "2026-05-14", "2026-05-14 01:00"),
    ("凌晨十二点半", "2026-05-13 00:30", "2026-05-13 00:31"),
    ("中午十二点", "2026-05-13 12:00", "2026-05-13 13:00"),
    ("半夜两点", "2026-05-14 02:00", "2026-05-14 03:00"),
    ("早上8:30", "2026-05-13 08:30", "2026-05-13 08:31"),
    ("2:00pm的时候", "2026-05-13 14:00", "2026-05-13 15:00"),
    ("两三点钟", "2026-05-13 15:00", "2026-05-13 16:00"),
    ("晏晝三點踏三", "2026-05-13 15:15", "2026-05-13 15:16"),
    ("三點三個字", "2026-05-13 15:15", "2026-05-13 15:16"),
    ("明天这个时候", "2026-05-14 12:00", "2026-05-14 13:00"),
]


@pytest.mark.parametrize(("text", "start", "end"), CLOCK)
def test_clock_times(text: str, start: str, end: str) -> None:
    assert bounds(text) == (start, end)


COMBINED = [
    ("下下周三下午", "2026-05-27 12:00", "2026-05-27 18:00"),
    ("今晚八点", "2026-05-13 20:00", "2026-05-13 21:00"),
    ("明早七点半", "2026-05-14 07:30", "2026-05-14 07:31"),
    ("昨夜", "2026-05-12 20:00", "2026-05-13 02:00"),
    ("5日晚8点", "2026-06-05 20:00", "2026-06-05 21:00"),
    ("2016年12月15日晚上7点", "2016-12-15 19:00", "2016-12-15 20:00"),
    ("2018-07-16 15:30的", "2018-07-16 15:30", "2018-07-16 15:31"),
    ("周五晚上8点钟", "2026-05-15 20:00", "2026-05-15 21:00"),
    ("今天凌晨", "2026-05-13", "2026-05-13 06:00"),
    ("中秋节晚上", "2026-09-25 18:00", "2026-09-26"),
    ("正月初一早上九点二十", "2027-02-06 09:20", "2027-02-06 09:21"),
    ("周一晚上", "2026-05-18 18:00", "2026-05-19"),
]


@pytest.mark.parametrize(("text", "start", "end"), COMBINED)
def test_dates_with_hours(text: str, start: str, end: str) -> None:
    assert bounds(text) == (start, end)


RANGES = [
    ("从2016年一月十日到十二日", "2016-01-10", "2016-01-13"),
    ("2019年6月1日-6月30日", "2019-06-01", "2019-07-01"),
    ("1995 - 1997年", "1995-01-01", "1998-01-01"),
    ("从2005到2008", "2005-01-01", "2009-01-01"),
    ("从二零一六年至二零一八年", "2016-01-01", "2019-01-01"),
    ("从去年十月到今年三月", "2025-10-01", "2026-04-01"),
    ("2018年3-5月", "2018-03-01", "2018-06-01"),
    ("2018年3——5月", "2018-03-01", "2018-06-01"),
    ("09-01 20:01 至 12-01 18:07", "2026-09-01 20:01", "2026-12-01 18:07"),
    ("10月1-7日", "2026-10-01", "2026-10-08"),
    ("上周一到周三", "2026-05-04", "2026-05-07"),
    ("周一至五", "2026-05-11", "2026-05-16"),
    ("上周五到周日", "2026-05-08", "2026-05-11"),
    ("国庆节到元旦", "2026-10-01", "2027-01-02"),
    ("从上个月到现在", "2026-04-01", "2026-05-13 12:00"),
    ("八点到九点", "2026-05-13 08:00", "2026-05-13 09:00"),
    ("下午五点至六点", "2026-05-13 17:00", "2026-05-13 18:00"),
    ("晚上11点到1点", "2026-05-13 23:00", "2026-05-14 01:00"),
    ("9点到5点", "2026-05-13 09:00", "2026-05-13 17:00"),
    ("3点到下午5点", "2026-05-13 15:00", "2026-05-13 17:00"),
    ("今天上午到下午", "2026-05-13 08:00", "2026-05-13 18:00"),
    ("2016年12月15日晚上7:00到8:00", "2016-12-15 19:00", "2016-12-15 20:00"),
    ("周五下午5点到周六上午10点", "2026-05-15 17:00", "2026-05-16 10:00"),
    ("今天8点和10点之间", "2026-05-13 08:00", "2026-05-13 10:00"),
]


@pytest.mark.parametrize(("text", "start", "end"), RANGES)
def test_ranges(text: str, start: str, end: str) -> None:
    assert bounds(text) == (start, end)


HOLIDAYS = [
    ("国庆节", "2026-10-01", "2026-10-02"),
    ("今年五一", "2026-05-01", "2026-05-02"),
    ("去年国庆", "2025-10-01", "2025-10-02"),
    ("感恩节", "2026-11-26", "2026-11-27"),
    ("母亲节", "2027-05-09", "2027-05-10"),
    ("复活节", "2027-03-28", "2027-03-29"),
    ("春节", "2027-02-06", "2027-02-07"),
    ("除夕", "2027-02-05", "2027-02-06"),
    ("大年初五", "2027-02-10", "2027-02-11"),
    ("年三十", "2027-02-05", "2027-02-06"),
    ("2016年春节", "2016-02-08", "2016-02-09"),
    ("2017年除夕", "2017-01-27", "2017-01-28"),
    ("去年中秋节", "2025-10-06", "2025-10-07"),
    ("端午节", "2026-06-19", "2026-06-20"),
    ("清明", "2027-04-05", "2027-04-06"),
    ("冬至", "2026-12-22", "2026-12-23"),
    ("国庆节前一天", "2026-09-30", "2026-10-01"),
    ("国庆节前夕", "2026-09-30", "2026-10-01"),
    ("春节后第三天", "2027-02-09", "2027-02-10"),
    ("国庆假期", "2026-10-01", "2026-10-08"),
    ("双十一", "2026-11-11", "2026-11-12"),
]


@pytest.mark.parametrize(("text", "start", "end"), HOLIDAYS)
def test_holidays_and_solar_terms(text: str, start: str, end: str) -> None:
    assert bounds(text) == (start, end)


LUNAR = [
    ("农历2015年十月初一", "2015-11-12", "2015-11-13"),
    ("农历八月十五", "2026-09-25", "2026-09-26"),
    ("正月十五", "2027-02-20", "2027-02-21"),
    ("腊月廿三", "2027-01-30", "2027-01-31"),
    ("十月初一", "2026-11-09", "2026-11-10"),
    ("闰六月初三", "2036-07-25", "2036-07-26"),
    ("农历2020年闰四月初八", "2020-05-30", "2020-05-31"),
    ("阴历八月", "2026-09-11", "2026-10-10"),
    ("1991年农历8月23号", "1991-09-30", "1991-10-01"),
    ("五月廿二", "2026-07-06", "2026-07-07"),
]


@pytest.mark.parametrize(("text", "start", "end"), LUNAR)
def test_lunar_dates(text: str, start: str, end: str) -> None:
    assert bounds(text) == (start, end)


OPEN = [
    ("2018年以前", "2017-01-01", "2018-01-01", "before"),
    ("周五之前", "2026-05-13 12:00", "2026-05-15", "before"),
    ("周五为止", "2026-05-13 12:00", "2026-05-16", "before"),
    ("截止到周五", "2026-05-13 12:00", "2026-05-16", "before"),
    ("不晚于五月二十日", "2026-05-13 12:00", "2026-05-21", "before"),
    ("2010年1月10日或之前", "2009-01-11", "2010-01-11", "before"),
    ("早于2018年", "2017-01-01", "2018-01-01", "before"),
    ("下午三点之前", "2026-05-13 12:00", "2026-05-13 15:00", "before"),
    ("年底之前", "2026-05-13 12:00", "2027-01-01", "before"),
    ("2018年以后", "2019-01-01", "2020-01-01", "after"),
    ("2010-01-01之后的", "2010-01-02", "2011-01-02", "after"),
    ("晚于2010年", "2011-01-01", "2012-01-01", "after"),
    ("明天下午三点之后", "2026-05-14 15:00", "2027-05-14 15:00", "after"),
    ("自2018年以来", "2018-01-01", "2026-05-13 12:00", "after"),
    ("9月以来", "2025-09-01", "2026-05-13 12:00", "after"),
    ("2015年2月1日及之后", "2015-02-01", "2016-02-01", "from"),
    ("下周一起", "2026-05-18", "2027-05-18", "from"),
    ("从下周一开始", "2026-05-18", "2027-05-18", "from"),
    ("不早于2012年3月", "2012-03-01", "2013-03-01", "from"),
]


@pytest.mark.parametrize(("text", "start", "end", "grain"), OPEN)
def test_open_ranges_keep_their_bound_exact(text: str, start: str, end: str, grain: str) -> None:
    expression = only(text)
    assert (written(expression.start), written(expression.end)) == (start, end)
    assert expression.grain == grain
    assert expression.open_start == (grain == "before")
    assert expression.open_end == (grain in ("after", "from"))


def test_compound_forms_become_absolute_and_keep_their_words() -> None:
    week_after_next, deadline = only("下下周三下午去看牙"), only("这个月底之前")
    assert (week_after_next.text, deadline.text) == ("下下周三下午", "这个月底之前")
    assert written(week_after_next.start) == "2026-05-27 12:00"
    assert written(deadline.end) == "2026-06-01"


def test_a_deadline_at_the_end_of_a_month_holds_the_whole_month() -> None:
    assert bounds("这个月底之前交报告") == ("2026-05-13 12:00", "2026-06-01")


def test_a_range_left_open_by_both_ends_is_the_one_that_holds_the_present() -> None:
    september = datetime(2018, 9, 18, tzinfo=SHANGHAI)
    assert bounds("8月至2月的数据", september) == ("2018-08-01", "2019-03-01")
    assert bounds("三月和九月之间", september) == ("2018-03-01", "2018-10-01")
    assert bounds("10月到12月", september) == ("2018-10-01", "2019-01-01")


def test_coming_is_not_since() -> None:
    assert bounds("宽带是3月21日上午来，别忘了")[0] == "2027-03-21 08:00"


def test_two_open_ranges_in_a_row_stay_two() -> None:
    found = find_times("自2014年6月14日起到2014年9月14日之前", NOON)
    assert [(e.grain, written(e.start if e.open_end else e.end)) for e in found] == [
        ("from", "2014-06-14"), ("before", "2014-09-14"),
    ]  # fmt: skip


def test_a_weekday_beside_a_date_settles_its_year() -> None:
    assert bounds("五月十号，周日")[0] == "2026-05-10"
    assert bounds("五月十号")[0] == "2027-05-10"


def test_a_list_keeps_the_month_or_week_said_with_its_first() -> None:
    days = [written(e.start) for e in find_times("9月10号，11号和12号", NOON)]
    assert days == ["2026-09-10", "2026-09-11", "2026-09-12"]
    week = [written(e.start) for e in find_times("下周一和周三", NOON)]
    assert week == ["2026-05-18", "2026-05-20"]


def test_tense_settles_within() -> None:
    assert bounds("三天内发生了很多事") == ("2026-05-10", "2026-05-14")
    assert bounds("三天内要交") == ("2026-05-13", "2026-05-17")


NO_TIMES = """
有一点累|早一点睡|快一点|一点没闹|一点一点来|这一点很重要|第一点是成本|两点意见|我有三点建议|三分之一|百分之五|一下|等一下|半天没找到
七十一了|第三章|他有点累|十月怀胎|每周2天|三天打鱼两天晒网|周杰伦的歌|周围的人|星期几|小雪是我同学|下了一场小雪|五一路怎么走|十一个人
三十而立|他二十年来一直这样|住了18年|工作了15年|120元|13800138000是我电话|3.5分|看了《明日之后》|一周年|两周大的宝宝|九点水|一时糊涂
同时|当时|小时候|2018级学生|买了3号电池|7号楼|12号线|3号选手|第5年|一年级|三年级二班|得了95分|一秒都等不了|三天两头|一日三餐|春节联欢晚会
有时候|前面|以前我不知道|前三名|后三排|半个月亮|十分钟|过了三天|花了两个小时|三个月大|上半场|上周刊|早上好|晚安|早饭|下午茶|夜班|一晚上没睡
清明上河图|圣诞树|比分3:2|比例1:10|宽3/4|百年孤独|一千零一夜|下一站|上一次|初一学生|高三|零点四小时|三点一四|收跌3点|提前7天|公元前284年
会议前一天|还剩8天20时|两年|每个月|我的电话号码是888-000-9999|这是我的队伍
"""


@pytest.mark.parametrize("text", NO_TIMES.replace("\n", "|").strip("|").split("|"))
def test_ordinary_chinese_is_no_time(text: str) -> None:
    assert find_times(text, NOON) == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("我下周三要去杭州", "下周三"),
        ("会议在2018 年 10 月 1 日开", "2018 年 10 月 1 日"),
        ("从下午五點到六點都行", "从下午五點到六點"),
        ("这个月底之前交", "这个月底之前"),
        ("（2018年10月1日）", "2018年10月1日"),
    ],
)
def test_the_original_words_and_their_place_are_kept(text: str, words: str) -> None:
    expression = only(text)
    assert expression.text == words
    assert text[expression.position :].startswith(words)


DIGITS = "〇一二三四五六七八九"


def spoken(number: int) -> str:
    """A number from 0 to 99 as it is said."""
    tens, ones = divmod(number, 10)
    if tens == 0:
        return "零一二三四五六七八九"[ones]
    return ("" if tens == 1 else DIGITS[tens]) + "十" + (DIGITS[ones] if ones else "")


def year_words(day: date) -> str:
    return "".join(DIGITS[int(digit)] for digit in str(day.year))


FORMS: dict[str, Callable[[date], str]] = {
    "numbers": lambda d: f"{d.year}年{d.month}月{d.day}日",
    "words": lambda d: f"{year_words(d)}年{spoken(d.month)}月{spoken(d.day)}号",
    "traditional": lambda d: f"{d.year}年{d.month}月{spoken(d.day)}號",
    "spaced": lambda d: f"{d.year} 年 {d.month} 月 {d.day} 日",
    "full width": lambda d: f"{d.year}年{d.month}月{d.day}日".translate(
        str.maketrans("0123456789", "０１２３４５６７８９")
    ),
    "figures": lambda d: f"在{d.year}-{d.month:02}-{d.day:02}那天",
    "slashes": lambda d: f"在{d.year}/{d.month}/{d.day}那天",
}
DATES_BETWEEN = st.dates(date(1950, 1, 1), date(2099, 12, 31))


@given(day=DATES_BETWEEN, form=st.sampled_from(sorted(FORMS)))
def test_a_date_comes_back_from_every_form(day: date, form: str) -> None:
    expected = (f"{day}", f"{day + timedelta(days=1)}")
    assert bounds(FORMS[form](day)) == expected


@given(day=DATES_BETWEEN, hour=st.integers(0, 23), minute=st.integers(1, 59))
def test_a_moment_comes_back_from_words_and_figures(day: date, hour: int, minute: int) -> None:
    moment = f"{day} {hour:02}:{minute:02}"
    said = f"{spoken(hour)}点{spoken(minute)}分"
    part = "凌晨" if hour < 6 else "上午" if hour < 12 else "" if hour > 12 else "中午"
    assert bounds(f"{FORMS['words'](day)}{part}{said}")[0] == moment
    assert bounds(f"{FORMS['numbers'](day)}{part}{hour:02}:{minute:02}")[0] == moment


@given(first=DATES_BETWEEN, days=st.integers(1, 400))
def test_a_range_of_dates_holds_both(first: date, days: int) -> None:
    last = first + timedelta(days=days)
    text = f"从{FORMS['numbers'](first)}到{FORMS['words'](last)}"
    assert bounds(text) == (f"{first}", f"{last + timedelta(days=1)}")


@given(days=st.integers(1, 99))
def test_days_are_counted_from_now(days: int) -> None:
    for text, sign in ((f"{spoken(days)}天前", -1), (f"{days}天后", 1), (f"{days}天之后", 1)):
        assert bounds(text)[0] == f"{NOON.date() + timedelta(days=sign * days)}"


WORDS = (
    "今明昨天下上周月年日号点半一二三十廿两百之前后到至从去早晚初底旬季春节个差分刻秒末起开始以来和间内"
    "星期礼拜国庆农历正腊闰世纪代第最近过未来：123/-~: .《》"
)


@given(st.text(alphabet=WORDS, max_size=24), st.sampled_from([None, *Prefer]))
def test_any_text_gives_ordered_disjoint_expressions(text: str, prefer: Prefer | None) -> None:
    found = find_times(text, NOON, prefer)
    for expression in found:
        assert expression.start <= expression.end
        assert text[expression.position :].startswith(expression.text)
    places = [(e.position, e.position + len(e.text)) for e in found]
    assert all(a[1] <= b[0] for a, b in pairwise(places))
