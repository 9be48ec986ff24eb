"""Before, by, until, after, since: a time opened to the past or the future."""

from __future__ import annotations

from datetime import datetime, timedelta

from device.language.english_times.compose import When, days_meant, midnight
from device.language.english_times.lexer import Tokens
from device.language.english_times.values import Context
from device.language.spans import AFTER, BEFORE, FROM, Span

__all__ = ["Bounding", "bounded", "leading", "trailing"]

OPEN_END = timedelta(days=365)
"""How far an expression open to one side reaches."""
_LEADING = {
    "by": "no later than;not later than;on or before;as late as;< =;by;ending on;ending",
    "from": "no earlier than;not earlier than;on or after;as early as;starting from;starting on;"
    "starting;beginning on;beginning from;beginning;commencing;> =",
    "before": "earlier than;sooner than;prior to;before;<",
    "until": "up until;up till;up to;until;till",
    "since": "as of;since",
    "after": "any time after;later than;after;following;>",
}
"""Words before a time that open it, by what they mean."""
_TRAILING = {
    "from": "or later;and later;or after;and after;and beyond;and onwards;and onward;onwards;"
    "onward;at the earliest",
    "by": "or earlier;and earlier;or before;and before;at the latest",
}
"""Words after a time that do."""


Phrases = dict[str, list[tuple[tuple[str, ...], str]]]


def _phrases(table: dict[str, str], key: int) -> Phrases:
    """The phrases by their first (0) or last (-1) word, the longest first."""
    found: Phrases = {}
    for name, line in table.items():
        for phrase in line.split(";"):
            words = tuple(phrase.split())
            found.setdefault(words[key], []).append((words, name))
    for phrases in found.values():
        phrases.sort(key=lambda phrase: -len(phrase[0]))
    return found


_BY_LAST, _BY_FIRST = _phrases(_LEADING, -1), _phrases(_TRAILING, 0)
_SKIPPED = frozenset({"the", "on", "in", "at", "around", "about", "approximately", "year", "of"})
Bounding = tuple[str, int]
"""Which bound, and the token it reaches to."""


def leading(s: Tokens, i: int) -> Bounding | None:
    """The bound said before token `i`, with the token it begins at."""
    j = i
    for _ in range(3):
        for words, name in _BY_LAST.get(s.words[j - 1], ()):
            size = len(words)
            if j >= size and tuple(s.words[j - size : j]) == words:
                return name, j - size
        if j < 1 or s.words[j - 1] not in _SKIPPED:
            return None
        j -= 1
    return None


def trailing(s: Tokens, begin: int, stop: int) -> Bounding | None:
    """The bound said after token `stop`, with the token it ends at."""
    for words, name in _BY_FIRST.get(s.words[stop], ()):
        after = stop + len(words)
        if tuple(s.words[stop:after]) == words and not s.words[after][:1].isalnum():
            return name, after
    if (
        s.words[stop] == "on"
        and s.words[begin - 1] == "from"
        and not s.words[stop + 1][:1].isalnum()
    ):
        return "from", stop + 1
    return None


def bounded(name: str, found: When, span: Span, now: Context) -> Span:
    """The span opened to one side. A half-open end: "by Friday" ends where Friday ends."""
    start, end = span.start, span.end
    days = days_meant(found, now) if not found.timed and found.moment is None else None
    if days is not None and days.at in (days.first, days.stop) and days.at is not None:
        start = end = midnight(days.at, now)
    elif found.clock is not None or found.moment is not None:
        end = start
    if name in ("before", "until", "by"):
        return _before(end if name == "by" else start, now)
    if name == "after":
        return Span(end, end + OPEN_END, AFTER)
    if name == "from" or start > now.moment:
        return Span(start, start + OPEN_END, FROM)
    return Span(start, max(now.moment, span.end), AFTER)


def _before(end: datetime, now: Context) -> Span:
    return Span(now.moment if now.moment < end else end - OPEN_END, end, BEFORE)
