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
_LEADING: tuple[tuple[tuple[str, ...], str], ...] = (
    (("no", "later", "than"), "by"), (("not", "later", "than"), "by"), (("on", "or", "before"), "by"),
    (("as", "late", "as"), "by"), (("no", "earlier", "than"), "from"),
    (("not", "earlier", "than"), "from"), (("on", "or", "after"), "from"),
    (("any", "time", "after"), "after"), (("as", "early", "as"), "from"),
    (("earlier", "than"), "before"), (("sooner", "than"), "before"), (("prior", "to"), "before"),
    (("up", "until"), "until"), (("up", "till"), "until"), (("up", "to"), "until"),
    (("later", "than"), "after"), (("starting", "from"), "from"), (("starting", "on"), "from"),
    (("beginning", "on"), "from"), (("beginning", "from"), "from"), (("as", "of"), "since"),
    ((">", "="), "from"), (("<", "="), "by"), ((">",), "after"), (("<",), "before"),
    (("before",), "before"), (("until",), "until"), (("till",), "until"), (("by",), "by"),
    (("after",), "after"), (("since",), "since"), (("starting",), "from"),
    (("beginning",), "from"), (("commencing",), "from"), (("following",), "after"), (("ending", "on"), "by"),
    (("ending",), "by"),
)  # fmt: skip
_BY_LAST: dict[str, list[tuple[tuple[str, ...], str]]] = {}
for _words, _name in _LEADING:
    _BY_LAST.setdefault(_words[-1], []).append((_words, _name))
_TRAILING: tuple[tuple[tuple[str, ...], str], ...] = (
    (("or", "later"), "from"), (("and", "later"), "from"), (("or", "after"), "from"),
    (("and", "after"), "from"), (("and", "beyond"), "from"), (("and", "onwards"), "from"),
    (("and", "onward"), "from"), (("onwards",), "from"), (("onward",), "from"),
    (("or", "earlier"), "by"), (("and", "earlier"), "by"), (("or", "before"), "by"),
    (("and", "before"), "by"), (("at", "the", "latest"), "by"), (("at", "the", "earliest"), "from"),
)  # fmt: skip
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
    for words, name in _TRAILING:
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
    if name == "from" or start > now.now:
        return Span(start, start + OPEN_END, FROM)
    return Span(start, max(now.now, span.end), AFTER)


def _before(end: datetime, now: Context) -> Span:
    return Span(now.now if now.now < end else end - OPEN_END, end, BEFORE)
