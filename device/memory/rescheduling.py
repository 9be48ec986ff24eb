"""The new time of a moved event, read against the event itself.

"Move it to Thursday" means the Thursday of the event's week, "to the 3rd" the 3rd of its month, and
a day alone keeps the hour the event had.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta, tzinfo

from device.language import Draft, Prefer, find_times
from device.memory.records import Item

__all__ = ["new_time"]

DAY_SECONDS = 86_400.0
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
    anchor = _anchor(event.starts, words, at, tz)
    if anchor is not None:
        again = find_times(words, anchor, Prefer.FUTURE)
        if again and again[0].end > at:
            starts, ends = again[0].start, again[0].end
    length = event.ends - event.starts
    if ends - starts >= DAY_SECONDS > length:
        hour = datetime.fromtimestamp(event.starts, tz)
        day = datetime.fromtimestamp(starts, tz)
        kept = day.replace(hour=hour.hour, minute=hour.minute, second=hour.second)
        starts, ends = kept.timestamp(), kept.timestamp() + length
    return starts, ends, words


def _anchor(event_starts: float, words: str, at: float, tz: tzinfo) -> datetime | None:
    """The start of the event's week or month, for words that name a day within one."""
    day = datetime.fromtimestamp(event_starts, tz).replace(hour=0, minute=0, second=0)
    if event_starts < at:
        return None
    if _BARE_WEEKDAY.match(words):
        return day - timedelta(days=day.weekday())
    return day.replace(day=1) if _BARE_DAY.match(words) else None
