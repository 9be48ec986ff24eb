"""The time expressions of a text with Chinese in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

from device.language.chinese_times import (
    clock,
    counted,
    dates,
    halves,
    holidays,
    lunar_dates,
    relative,
)
from device.language.chinese_times.bounds import bound, opened
from device.language.chinese_times.compose import Composed, again, composed, joined
from device.language.chinese_times.numbers import compact, simplified
from device.language.chinese_times.rules import Build
from device.language.kept import kept
from device.language.spans import Kind, Piece, Prefer, Reference, Span, exactly

__all__ = ["Found", "find_chinese"]


@dataclass(frozen=True, slots=True)
class Found:
    """The characters [begin, stop) of a text and the local time they mean."""

    begin: int
    stop: int
    span: Span


_RULES = (
    *dates.RULES, *lunar_dates.RULES, *relative.RULES, *counted.RULES,
    *clock.RULES, *holidays.RULES, *halves.RULES,
)  # fmt: skip
_ASCII_LETTER = re.compile("[A-Za-z]")
_TITLE = re.compile("《[^》]*》")
_TRIGGERS = frozenset().union(*(one.triggers for one in _RULES))


def find_chinese(
    text: str, now: Reference, prefer: Prefer, foreign: Callable[[str], list[Piece]]
) -> list[Found]:
    """Every time expression of `text`, in reading order, none overlapping.

    `now` is when the words were said, in the speaker's zone; HourWanted where its day is not
    enough. `prefer` settles dates that may lie either side of it. `foreign` finds the pieces
    written in Latin script among the Chinese.
    """
    said = simplified(text)
    if _TRIGGERS.isdisjoint(said) and not _ASCII_LETTER.search(said):
        return []
    pieces = list(_pieces(said, now, prefer))
    if _ASCII_LETTER.search(said):
        pieces += foreign(said)
    if not pieces:
        return []
    items = joined(said, composed(said, _longest(pieces), now), now)
    found: list[Found] = []
    for item, right in zip(items, [*(each.begin for each in items[1:]), len(said)], strict=True):
        left = found[-1].stop if found else 0
        if item.begin >= left:  # else it is a part of what was joined before it
            found.append(_found(said, item, now, left, max(right, item.stop)))
    return found


def _found(said: str, item: Composed, now: Reference, left: int, right: int) -> Found:
    """`left` and `right`: where its neighbours end and begin; their characters are not its own."""
    span, moment = item.span, any(piece.kind is Kind.INSTANT for piece in item.pieces)
    # A moment counted from now takes no 之前 or 之后 of its own.
    free = not moment or span.grain == "range"
    to = bound(said, item.begin, item.stop, span) if free else None
    if to is None or (span.grain == "days" and to.side) or to.begin < left or to.stop > right:
        return Found(item.begin, item.stop, span)
    if to.until_now and item.floating and span.start > exactly(now):
        span = again(item, now, Prefer.PAST).span
    return Found(to.begin, to.stop, opened(span, to, now))


def _pieces(said: str, now: Reference, prefer: Prefer) -> Iterator[Piece]:
    for begin, stop, build, match in _matches(said):
        piece = _built(build, match, now, prefer)
        if piece is not None:
            again = partial(_built, build, match) if piece.floating else None
            yield replace(piece, begin=begin, stop=stop, again=again)


@kept
def _matches(said: str) -> tuple[tuple[int, int, Build, re.Match[str]], ...]:
    """Where the rules match, whenever it is said."""
    text, places = compact(said)
    characters = frozenset(text)
    titles = [match.span() for match in _TITLE.finditer(text)] if "《" in characters else []
    found = []
    for one in _RULES:
        if one.triggers.isdisjoint(characters) or (one.needs and not one.needs.search(text)):
            continue
        for match in one.pattern.finditer(text):
            begin, stop = match.span()
            if begin == stop or any(a <= begin and stop <= b for a, b in titles):
                continue
            if places is not None:
                begin, stop = places[begin], places[stop - 1] + 1
            found.append((begin, stop, one.build, match))
    return tuple(found)


def _built(build: Build, match: re.Match[str], now: Reference, prefer: Prefer) -> Piece | None:
    """A date beyond the calendar is not a date (year 0, 10,000 years ago)."""
    try:
        return build(match, now, prefer)
    except (OverflowError, ValueError):
        return None


def _longest(found: list[Piece]) -> list[Piece]:
    """The longest pieces first; whatever overlaps a chosen one goes."""
    chosen: list[Piece] = []
    for piece in sorted(found, key=lambda p: (p.begin - p.stop, p.begin)):
        if all(piece.stop <= other.begin or piece.begin >= other.stop for other in chosen):
            chosen.append(piece)
    return sorted(chosen, key=lambda p: p.begin)
