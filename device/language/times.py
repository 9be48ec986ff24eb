"""Time expressions in Chinese and English, made absolute (002: normalised when written).

Each language has rules of its own for what its words say (`chinese_times`, `english_times`); a text
with a Chinese character in it is read by the Chinese ones, which ask the English ones about what is
written in Latin letters. The original words are always kept.

Why rules of our own: of the public recogniser cases (`tests/benchmarks/bench_times.py`) the best
library resolves about half exactly, at ninety times the cost of a turn, and none of them reads both
languages in one sentence; these rules resolve over nine in ten and need no data file.
"""

# ruff: noqa: E501 - a pattern reads best on one line

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, tzinfo

from device.language.chinese_times import find_chinese
from device.language.english_times import find_english, pieces
from device.language.kept import kept
from device.language.spans import (
    AFTER,
    BEFORE,
    FROM,
    HourWanted,
    Piece,
    Prefer,
    Reference,
    Span,
    Today,
)
from device.language.words import HAN

__all__ = ["TimeExpression", "find_times", "prefer_of", "times_on"]


@dataclass(frozen=True, slots=True)
class TimeExpression:
    """One expression of `text[position : position + len(text)]` as absolute time.

    ``start`` and ``end`` are unix seconds UTC, always finite and half-open: "from 10 to 12 January"
    ends where the 12th ends, "by Friday" where Friday ends, "before Friday" where it begins,
    "after Friday" starts where it ends. ``grain`` is how finely it was said (second, minute, hour,
    part, day, weekend, week, month, …, range, before, after, from).

    An open range keeps a finite stand-in for its unknown end, so that every expression can be
    compared and stored as two numbers: "before X" starts now, or a year before X when X is past;
    "after X" and "from X on" end a year after their start, "since X" now. `open_start` and
    `open_end` tell the stand-in apart.
    """

    text: str
    start: float
    end: float
    grain: str
    position: int

    @property
    def open_start(self) -> bool:
        """Nothing was said about when it begins: "before X", "by X"."""
        return self.grain == BEFORE

    @property
    def open_end(self) -> bool:
        """Nothing was said about when it ends: "after X", "since X", "from X on"."""
        return self.grain in (AFTER, FROM)


_CHINESE = re.compile(f"[{HAN}]")
_LATIN = re.compile("[A-Za-z]")
_PAST_WORDS = re.compile(
    r"(?<![约订报要改好忘])了|过(?!两|几|\d|敏|期)|曾|刚才|刚刚|以前|那时|\b(?:was|were|did|had|went|saw|met|ate|got|came|took|made|bought|said|told|felt|"
    r"have been|has been|spent|visited|ago|[a-z]{3,}ed)\b",
    re.IGNORECASE,
)  # fmt: skip
_FUTURE_WORDS = re.compile(
    r"要|会(?!议)|将|打算|计划|准备|想|安排|提醒|预[定订约]|约了|订了|报了|[改推延挪]到|\b(?:will|going to|plan|shall|gonna|"
    r"remind|schedule|book|want to|need to|let's|would like|[a-z]+'ll)\b",
    re.IGNORECASE,
)  # fmt: skip


@kept
def prefer_of(text: str) -> Prefer:
    """Which side of today an open date lies on, by the tense of the words around it."""
    past = len(_PAST_WORDS.findall(text))
    future = len(_FUTURE_WORDS.findall(text))
    return Prefer.PAST if past > future else Prefer.FUTURE


def find_times(
    text: str, reference: datetime, prefer: Prefer | None = None
) -> list[TimeExpression]:
    """Every time expression in `text`, in reading order, none overlapping.

    `reference` (aware) is when the words were said; its time zone is the speaker's. `prefer`
    settles dates that may lie either side of it; None reads the tense of the text.
    """
    zone = reference.tzinfo
    if zone is None:
        raise ValueError("reference must carry a time zone")
    side = prefer if prefer is not None else prefer_of(text)
    found = _on_day(text, reference.date(), zone, side)
    if found is None:
        # Aware times are equal across zones: the zone must be told apart by itself.
        found = _at_moment(text, reference.replace(tzinfo=None), reference.fold, zone, side)
    return list(found)


def times_on(text: str, day: date, zone: tzinfo) -> tuple[TimeExpression, ...] | None:
    """`find_times` of words said on `day` in `zone`; None when it takes the hour they are said."""
    return _on_day(text, day, zone, prefer_of(text))


@kept
def _on_day(text: str, day: date, zone: tzinfo, side: Prefer) -> tuple[TimeExpression, ...] | None:
    """What `text` names whenever it is said that day; None when the hour counts, as it seldom does:
    one reading serves all who say, ask and are told the same that day."""
    found = _read_on(text, day, side)
    return None if found is None else tuple([_placed(text, each, zone) for each in found])


@kept
def _read_on(text: str, day: date, side: Prefer) -> tuple[_Found, ...] | None:
    """The same in local time, which is what the words say wherever they are said."""
    try:
        return _read(text, Today(day), side)
    except HourWanted:
        return None


@kept
def _at_moment(
    text: str, moment: datetime, fold: int, zone: tzinfo, side: Prefer
) -> tuple[TimeExpression, ...]:
    found = _read(text, moment.replace(tzinfo=zone, fold=fold), side)
    return tuple([_placed(text, each, zone) for each in found])


_Found = tuple[int, int, Span]
"""The characters [begin, stop) of a text and the local time they mean."""


def _read(text: str, reference: Reference, side: Prefer) -> tuple[_Found, ...]:
    if not _CHINESE.search(text):
        return tuple([(f.begin, f.stop, f.span) for f in find_english(text, reference, side)])

    def latin(said: str) -> list[Piece]:
        mixed = pieces(said, reference, side)
        return [piece for piece in mixed if _LATIN.search(said[piece.begin : piece.stop])]

    return tuple([(f.begin, f.stop, f.span) for f in find_chinese(text, reference, side, latin)])


def _placed(text: str, found: _Found, zone: tzinfo) -> TimeExpression:
    begin, stop, span = found
    start, end = (
        local.replace(tzinfo=zone).astimezone(UTC).timestamp() for local in (span.start, span.end)
    )
    return TimeExpression(text[begin:stop], start, end, span.grain, begin)
