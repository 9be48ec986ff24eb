"""English parts of the day and clock times."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from device.language.english import NUMBERS, number
from device.language.spans import Kind, Piece, Prefer, Span, day_span

__all__ = [
    "clock_rule",
    "half_rule",
    "named_clock_rule",
    "now_rule",
    "part_rule",
    "spoken_clock_rule",
]

_PARTS = {
    "morning": (6, 12), "afternoon": (12, 18), "evening": (18, 24), "night": (18, 24),
    "midday": (11, 14), "lunchtime": (11, 14), "tonight": (18, 24), "dawn": (4, 7),
}  # fmt: skip


def part_rule(match: re.Match[str], now: datetime, _: Prefer) -> Piece | None:
    """This morning, tonight, in the evening."""
    word = match["part"].lower()
    hours = _PARTS[word]
    if word == "tonight" or match["this"]:
        today = day_span(now.date(), now)
        day = (
            today.start - timedelta(days=1)
            if (match["this"] or "").lower() == "last"
            else today.start
        )
        span = Span(day + timedelta(hours=hours[0]), day + timedelta(hours=hours[1]), "part")
        return Piece(0, 0, Kind.DAY, span, hours=hours)
    return Piece(0, 0, Kind.PART, hours=hours)


def clock_rule(match: re.Match[str], _now: datetime, _: Prefer) -> Piece | None:
    """9:30, 3 pm."""
    hour, minute, second = int(match["h"]), int(match["m"] or 0), int(match["s"] or 0)
    meridiem = (match["ap"] or "").lower().replace(".", "").replace(" ", "")
    if hour > 24 or minute > 59 or second > 59 or (meridiem and not 1 <= hour <= 12):
        return None
    if meridiem:
        hour = hour % 12 + (12 if meridiem.startswith("p") else 0)
    unsure = not meridiem and 1 <= hour <= 12 and not match["h"].startswith("0")
    return Piece(0, 0, Kind.CLOCK, clock=(hour, minute, second), open_meridiem=unsure)


def spoken_clock_rule(match: re.Match[str], _now: datetime, _: Prefer) -> Piece | None:
    """Half past nine, ten o'clock, at six."""
    text = match["h"].lower()
    hour = int(text) if text.isdigit() else int(NUMBERS[text])
    minute = 0
    if match["past"]:
        before = match["past"].lower().split()
        amount = {"half": 30, "quarter": 15}.get(
            before[-2] if before[-2] != "minutes" else before[-3]
        )
        amount = amount if amount is not None else int(number(before[0]))
        hour, minute = divmod(hour * 60 + (-amount if before[-1] == "to" else amount), 60)
    return Piece(0, 0, Kind.CLOCK, clock=(hour, minute, 0), open_meridiem=1 <= hour <= 12)


def half_rule(match: re.Match[str], _now: datetime, _: Prefer) -> Piece | None:
    """British "half nine": half past nine."""
    hour = int(NUMBERS[match["h"].lower()])
    return Piece(0, 0, Kind.CLOCK, clock=(hour, 30, 0), open_meridiem=True)


def named_clock_rule(match: re.Match[str], _now: datetime, _: Prefer) -> Piece | None:
    """Noon and midnight."""
    hour = 12 if match.group().lower() == "noon" else 24
    return Piece(0, 0, Kind.CLOCK, clock=(hour % 24, 0, 0))


def now_rule(_match: re.Match[str], now: datetime, _: Prefer) -> Piece | None:
    """Now, at the moment."""
    return Piece(0, 0, Kind.INSTANT, Span(now, now + timedelta(seconds=1), "second"))
