"""The new time of a moved event, read against the event itself.

"Move it to Thursday" means the Thursday of the event's week, or the next one when that is over or
today; "to the 3rd" the 3rd of its month. A day alone, or the part of a day that the
event was in, keeps its hour; an hour alone keeps its day.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta, tzinfo

from device.language import Draft, Prefer, find_times
from device.memory.records import Item

__all__ = ["new_time", "shifted"]

DAY_SECONDS = 86_400.0
WEEK_SECONDS = 7 * DAY_SECONDS
HALF_A_YEAR_DAYS = 182
_MONTH_DAY = re.compile(
    r"^\d{1,2}月\d{1,2}[日号]|^(?:the )?\d{1,2}(?:st|nd|rd|th)? (?:of )?[A-Z][a-z]{2,8}$"
    r"|^[A-Z][a-z]{2,8} \d{1,2}(?:st|nd|rd|th)?$"
)
"""A day of a month with no year: the one nearest the event is meant."""
CLOCK_GRAINS = frozenset({"hour", "minute", "part"})
_NAMES_A_DAY = re.compile(
    r"[今明后昨前]|[周日号月年]|星期|礼拜|天|\b(?:to(?:day|night|morrow)|yesterday|day|week|month|year"
    r"|(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?|jan|feb|mar|apr|may|june?|july?"
    r"|aug|sep|oct|nov|dec)|\d(?:st|nd|rd|th)\b|[/-]",
    re.IGNORECASE,
)
_BARE_WEEKDAY = re.compile(
    r"^(?:on\s|the\s)*(?:(?:周|星期|礼拜)[一二三四五六日天]|(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?\b)",
    re.IGNORECASE,
)
_BARE_DAY = re.compile(r"^(?:the\s)?\d{1,2}(?:[日号]|st\b|nd\b|rd\b|th\b)", re.IGNORECASE)


def new_time(
    event: Item, draft: Draft, at: float, tz: tzinfo
) -> tuple[float | None, float | None, str]:
    """(starts, ends, words) of `event` once changed by `draft`, said at unix time `at`."""
    starts, ends, words = draft.starts, draft.ends, draft.time_text
    if starts is None or ends is None or event.starts is None or event.ends is None:
        return starts, ends, words
    if (clock := _same_day(event.starts, words, tz)) is not None:
        return *clock, words
    anchor = _anchor(event.starts, words, at, tz)
    if anchor is not None:
        again = find_times(words, anchor, Prefer.FUTURE)
        if again and again[0].end > at:
            starts, ends = again[0].start, again[0].end
    if _BARE_WEEKDAY.match(words) and event.starts > at and _day(starts, tz) == _day(at, tz):
        starts, ends = starts + WEEK_SECONDS, ends + WEEK_SECONDS
    length = event.ends - event.starts
    if ends - starts > length and length < DAY_SECONDS:
        hour = datetime.fromtimestamp(event.starts, tz)
        day = datetime.fromtimestamp(starts, tz)
        kept = day.replace(hour=hour.hour, minute=hour.minute, second=hour.second).timestamp()
        if starts <= kept < ends:
            starts, ends = kept, kept + length
    return starts, ends, words


def shifted(event: Item, seconds: float, tz: tzinfo) -> tuple[float | None, float | None, str]:
    """(starts, ends, words) of `event` put off by `seconds`; whole days keep the hour of the day,
    whatever the clocks do in between."""
    if event.starts is None or not seconds:
        return event.starts, event.ends, event.time_text
    length = (event.ends if event.ends is not None else event.starts) - event.starts
    start = datetime.fromtimestamp(event.starts, tz)
    days, rest = divmod(seconds, DAY_SECONDS)
    # Datetimes of one zone are added by the wall clock; parts of a day by true seconds.
    moved = (start + timedelta(days=days)).timestamp() + rest
    return moved, moved + length, event.time_text


def _same_day(event_starts: float, words: str, tz: tzinfo) -> tuple[float, float] | None:
    """The time on the event's own day, when `words` name nothing but a time of day."""
    if _NAMES_A_DAY.search(words):
        return None
    day = datetime.fromtimestamp(event_starts, tz).replace(hour=0, minute=0, second=0)
    found = find_times(words, day, Prefer.FUTURE)
    return (found[0].start, found[0].end) if found and found[0].grain in CLOCK_GRAINS else None


def _day(at: float, tz: tzinfo) -> str:
    return datetime.fromtimestamp(at, tz).date().isoformat()


def _anchor(event_starts: float, words: str, at: float, tz: tzinfo) -> datetime | None:
    """Where to read words from that name a day within the event's week, month or year."""
    day = datetime.fromtimestamp(event_starts, tz).replace(hour=0, minute=0, second=0)
    if event_starts < at:
        return None
    if _MONTH_DAY.search(words):
        return day - timedelta(days=HALF_A_YEAR_DAYS)
    if _BARE_WEEKDAY.match(words):
        return day - timedelta(days=day.weekday())
    return day.replace(day=1) if _BARE_DAY.match(words) else None
