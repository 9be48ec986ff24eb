"""English dates: each rule turns one match into a piece of a time expression."""

# ruff: noqa: E501 - a rule reads best on one line

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date, datetime, timedelta

from device.language.english import AMBIGUOUS_MONTHS, MONTHS, WEEKDAYS, number, ordinal, unit
from device.language.spans import (
    Kind,
    Piece,
    Prefer,
    Span,
    add_months,
    day_span,
    days_span,
    from_now,
    month_day,
    month_span,
    nth_weekday,
    quarter_span,
    valid_date,
    week_span,
    weekday_near,
    year_span,
)

__all__ = [
    "ago_rule",
    "date_piece",
    "day_of_month_rule",
    "day_piece",
    "decade_rule",
    "in_amount_rule",
    "iso_rule",
    "month_and_day_rule",
    "month_rule",
    "nth_weekday_rule",
    "period_rule",
    "quarter_rule",
    "relative_day_rule",
    "season_rule",
    "slashed_rule",
    "weekday_and_number_rule",
    "weekday_rule",
    "window_rule",
    "year_first_rule",
    "year_rule",
]


def day_piece(span: Span | None) -> Piece | None:
    """A span as a date piece."""
    return None if span is None else Piece(0, 0, Kind.DAY, span)


def date_piece(found: date | None, now: datetime) -> Piece | None:
    """One date as a piece; None stays None."""
    return None if found is None else day_piece(day_span(found, now))


def month_and_day_rule(match: re.Match[str], now: datetime, prefer: Prefer) -> Piece | None:
    """March 5th, 5 March 2019."""
    month, number = MONTHS[match["month"].lower()], ordinal(match["day"])
    if match["year"]:
        return date_piece(valid_date(_full_year(match["year"]), month, number), now)
    return date_piece(month_day(month, number, now, prefer), now)


def year_first_rule(match: re.Match[str], now: datetime, _: Prefer) -> Piece | None:
    """2019-aug-1, 2020/23/Sep."""
    month = MONTHS[(match["month"] or match["month2"]).lower()]
    return date_piece(
        valid_date(int(match["year"]), month, ordinal(match["day"] or match["day2"])), now
    )


def weekday_and_number_rule(match: re.Match[str], now: datetime, prefer: Prefer) -> Piece | None:
    """Friday the 13th: the nearest month in which that day falls on that weekday."""
    weekday, day = WEEKDAYS[match["day"].lower()], ordinal(match["n"])
    step = -1 if prefer is Prefer.PAST else 1
    for offset in range(15):
        month = add_months(now.date().replace(day=1), step * offset)
        found = valid_date(month.year, month.month, day)
        if found and found.weekday() == weekday and (found - now.date()).days * step >= 0:
            return date_piece(found, now)
    return None


def _full_year(text: str) -> int:
    year = int(re.sub(r"\D", "", text))
    return year if year >= 100 else year + (2000 if year < 50 else 1900)


def month_rule(match: re.Match[str], now: datetime, prefer: Prefer) -> Piece | None:
    """March, early last May, June 2019."""
    month, shift = MONTHS[match["month"].lower()], match["shift"]
    if match["month"] in AMBIGUOUS_MONTHS and not (match["year"] or shift):
        return None
    if match["year"]:
        year = _full_year(match["year"])
    elif shift:
        year = now.year + {"last": -1, "next": 1}.get(shift.lower(), 0)
    else:
        year = now.year + (1 if prefer is Prefer.FUTURE and month < now.month else 0)
        year -= 1 if prefer is Prefer.PAST and month > now.month else 0
    return day_piece(_partial(month_span(year, month, now), match["part"]))


_EDGE = {"early": (0.0, 1 / 3), "mid": (1 / 3, 2 / 3), "late": (2 / 3, 1.0), "beginning": (0.0, 1 / 3),
         "start": (0.0, 1 / 3), "middle": (1 / 3, 2 / 3), "end": (2 / 3, 1.0)}  # fmt: skip


def _partial(span: Span, word: str | None) -> Span:
    if not word:
        return span
    key = next(k for k in _EDGE if k in word.lower())
    days = (span.end - span.start).days
    first, last = _EDGE[key]
    start = span.start + timedelta(days=round(days * first))
    end = span.start + timedelta(days=round(days * last))
    return Span(start, end, f"{span.grain} part")


def iso_rule(match: re.Match[str], now: datetime, _: Prefer) -> Piece | None:
    """2019-03-05."""
    return date_piece(valid_date(int(match[1]), int(match[2]), int(match[3])), now)


def slashed_rule(match: re.Match[str], now: datetime, prefer: Prefer) -> Piece | None:
    """Month first, as Americans write; day first when that is the only possible reading."""
    first, second, year = int(match[1]), int(match[2]), match[3]
    month, number = (second, first) if first > 12 else (first, second)
    if year:
        return date_piece(valid_date(_full_year(year), month, number), now)
    if not 1 <= month <= 12:
        return None
    return date_piece(month_day(month, number, now, prefer), now)


def day_of_month_rule(match: re.Match[str], now: datetime, prefer: Prefer) -> Piece | None:
    """The 5th, the 15th day of next month."""
    number = ordinal(match["day"])
    shift = (match["shift"] or "").lower()
    if shift:
        month = add_months(now.date().replace(day=1), {"last": -1, "next": 1}.get(shift, 0))
        return date_piece(valid_date(month.year, month.month, number), now)
    step = 1 if prefer is Prefer.FUTURE else -1
    for offset in range(4):
        month = add_months(now.date().replace(day=1), step * offset)
        found = valid_date(month.year, month.month, number)
        if found and (found >= now.date() if step > 0 else found <= now.date()):
            return date_piece(found, now)
    return None


_RELATIVE_DAYS = {
    "the day before yesterday": -2, "day before yesterday": -2, "yesterday": -1, "today": 0,
    "tomorrow": 1, "the day after tomorrow": 2, "day after tomorrow": 2, "tmr": 1, "tmrw": 1,
    "the day before": -1, "the previous day": -1, "the next day": 1, "the following day": 1,
    "next day": 1, "last day": -1,
}  # fmt: skip


def relative_day_rule(match: re.Match[str], now: datetime, _: Prefer) -> Piece | None:
    """Yesterday, the day after tomorrow."""
    name = re.sub(r"\s+", " ", match.group().lower())
    return date_piece(now.date() + timedelta(days=_RELATIVE_DAYS[name]), now)


def weekday_rule(match: re.Match[str], now: datetime, prefer: Prefer) -> Piece | None:
    """Next Friday, Monday last week."""
    piece = _plain_weekday(match, now, prefer)
    return None if piece is None else replace(piece, weekday=True)


def _plain_weekday(match: re.Match[str], now: datetime, prefer: Prefer) -> Piece | None:
    day, shift = WEEKDAYS[match["day"].lower()], (match["shift"] or "").lower()
    monday = week_span(now, 0).start.date()
    if shift in ("next", "following") or match["after"]:
        return date_piece(monday + timedelta(days=day + 7), now)
    if shift in ("this", "current"):
        return date_piece(monday + timedelta(days=day), now)
    if shift == "previous" or match["before"]:
        return date_piece(monday + timedelta(days=day - 7), now)
    if shift in ("last", "past"):
        back = (now.date().weekday() - day) % 7 or 7
        return date_piece(now.date() - timedelta(days=back), now)
    return date_piece(weekday_near(day, now, prefer), now)


def period_rule(match: re.Match[str], now: datetime, _: Prefer) -> Piece | None:
    """Next week, last month, this year, the weekend."""
    word = (match["shift"] or "this").lower()
    shift = {"last": -1, "past": -1, "previous": -1, "next": 1, "following": 1, "coming": 1}.get(
        word, 0
    )
    span = _unit_span(match["unit"].lower(), shift, now)
    piece = Piece(0, 0, Kind.DAY, _partial(span, match["part"]))
    return replace(piece, week=match["unit"].lower() == "week" and not match["part"])


def _unit_span(unit: str, shift: int, now: datetime) -> Span:
    first = now.date().replace(day=1)
    if unit == "week":
        return week_span(now, shift)
    if unit == "weekend":
        saturday = week_span(now, shift).start.date() + timedelta(days=5)
        return days_span(saturday, saturday + timedelta(days=1), now, "weekend")
    if unit == "month":
        moved = add_months(first, shift)
        return month_span(moved.year, moved.month, now)
    if unit == "quarter":
        moved = add_months(first, 3 * shift)
        return quarter_span(moved.year, (moved.month - 1) // 3 + 1, now)
    if unit == "decade":
        start = now.year // 10 * 10 + 10 * shift
        return days_span(date(start, 1, 1), date(start + 9, 12, 31), now, "decade")
    return year_span(now.year + shift, now)


def ago_rule(match: re.Match[str], now: datetime, _: Prefer) -> Piece | None:
    """3 days ago, two weeks from now."""
    side = match["side"].lower()
    sign = -1 if side in ("ago", "earlier", "before", "back") else 1
    return _moment(from_now(number(match["n"]), unit(match["unit"]), sign, now))


def in_amount_rule(match: re.Match[str], now: datetime, _: Prefer) -> Piece | None:
    """In two hours, within a week."""
    return _moment(from_now(number(match["n"]), unit(match["unit"]), 1, now))


def _moment(span: Span) -> Piece | None:
    if span.grain in ("second", "minute", "hour"):
        return Piece(0, 0, Kind.INSTANT, span)
    return day_piece(span)


def window_rule(match: re.Match[str], now: datetime, _: Prefer) -> Piece | None:
    """The last three days, the next two weeks."""
    back = match["side"].lower() in ("last", "past", "previous")
    amount = number(match["n"] or "3")
    other = from_now(amount, unit(match["unit"]), -1 if back else 1, now)
    if other.grain in ("second", "minute", "hour"):
        return _moment(Span(min(other.start, now), max(other.start, now), other.grain))
    today = day_span(now.date(), now)
    span = Span(other.start, today.end, "days") if back else Span(today.start, other.end, "days")
    return day_piece(span)


def year_rule(match: re.Match[str], now: datetime, _: Prefer) -> Piece | None:
    """2019, the end of 2020."""
    return day_piece(_partial(year_span(int(match["year"]), now), match["part"]))


def decade_rule(match: re.Match[str], now: datetime, _: Prefer) -> Piece | None:
    """The 1990s."""
    start = _full_year(match[1])
    start = start + 1900 if start < 100 else start
    return day_piece(days_span(date(start, 1, 1), date(start + 9, 12, 31), now, "decade"))


def quarter_rule(match: re.Match[str], now: datetime, _: Prefer) -> Piece | None:
    """Q3 2019, the first quarter."""
    names = {
        "first": 1,
        "second": 2,
        "third": 3,
        "fourth": 4,
        "1st": 1,
        "2nd": 2,
        "3rd": 3,
        "4th": 4,
    }
    number = int(match["q"]) if match["q"] else names[match["name"].lower()]
    return day_piece(quarter_span(int(match["year"] or now.year), number, now))


_SEASONS = {"spring": 3, "summer": 6, "fall": 9, "autumn": 9, "winter": 12}


def season_rule(match: re.Match[str], now: datetime, _: Prefer) -> Piece | None:
    """Last summer, winter 2020."""
    shift = {"last": -1, "next": 1}.get((match["shift"] or "").lower(), 0)
    year = int(match["year"]) if match["year"] else now.year + shift
    start = date(year, _SEASONS[match["season"].lower()], 1)
    return day_piece(days_span(start, add_months(start, 3) - timedelta(days=1), now, "season"))


def nth_weekday_rule(match: re.Match[str], now: datetime, prefer: Prefer) -> Piece | None:
    """The first Monday of May."""
    word = match["n"].lower()
    n = -1 if word == "last" else ordinal(word)
    weekday = WEEKDAYS[match["day"].lower()]
    if match["month"]:
        month = MONTHS[match["month"].lower()]
        year = int(match["year"]) if match["year"] else now.year
        if not match["year"] and prefer is Prefer.FUTURE and month < now.month:
            year += 1
        return date_piece(nth_weekday(year, month, weekday, n), now)
    shift = {"last": -1, "next": 1}.get((match["shift"] or "").lower(), 0)
    first = add_months(now.date().replace(day=1), shift)
    return date_piece(nth_weekday(first.year, first.month, weekday, n), now)
