"""WhatsApp's text export, as Android and iOS write it.

    26/03/2026, 21:05 - Ana: hello              Android, 24 h
    3/26/26, 9:05 PM - Ana: hello               Android, 12 h
    [26.03.26, 21:05:11] Ana: hello             iOS
    [2026/3/26 下午9:05:11] 小林: 你好            iOS, Chinese

A line without a stamp continues the message above it. Stamped lines without a sender are WhatsApp's
own notices and are skipped, and so are placeholders of media that was left out.
"""

# ruff: noqa: E501 - a rule reads best on one line

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo

from device.memory.records import TurnDraft

__all__ = ["MAX_TIME", "MIN_TIME", "is_whatsapp", "read_whatsapp"]

MIN_TIME, MAX_TIME = 0.0, 4_102_444_800.0
"""1970 … 2100, unix seconds: what a chat's date can be."""

_MARKS = re.compile("[\u200e\u200f\u202a-\u202e]")
"""Invisible direction marks WhatsApp puts around stamps and notices."""
_SPACES = re.compile("[\u00a0\u202f]")
_STAMP = re.compile(
    r"""^\[?(?P<a>\d{1,4})(?P<mark>[./-])(?P<b>\d{1,2})(?P=mark)(?P<c>\d{2,4})\.?,?\s+
    (?P<before>[^\d\s\]]{1,9}\s?)?
    (?P<hour>\d{1,2})[:.](?P<minute>\d{2})(?:[:.](?P<second>\d{2}))?
    (?:\s?(?P<after>[^\d\s\]:-]{1,9}(?:\s?m\.)?))?
    (?:\]\s|\s+[-–]\s)(?P<rest>.*)$""",
    re.VERBOSE,
)
_SENDER = re.compile(r"^(?P<sender>[^:：]{1,80})[:：](?:\s(?P<text>.*))?$")
_AFTER_NOON = re.compile(r"^(?:p|下午|晚上|中午|傍晚|午後|오후)", re.IGNORECASE)
_BEFORE_NOON = re.compile(r"^(?:a|上午|凌晨|早上|清晨|午前|오전)", re.IGNORECASE)
_LEFT_OUT = re.compile(
    r"^<[^<>]{3,40}>$|^(?:image|video|audio|sticker|GIF|document|Contact card) omitted$"
    r"|^(?:图像|视频|音频|贴图|文件)(?:已)?(?:忽略|省略)$|^(?:This message was deleted|You deleted this message)\.?$"
    r"|^(?:此消息已删除|您已删除此消息)。?$",
    re.IGNORECASE,
)
_EDITED = re.compile(r"\s*<This message was edited>$")
MAX_TEXT_CHARACTERS = 64 << 10


@dataclass(slots=True)
class _Stamped:
    line: int
    numbers: tuple[str, str, str]
    clock: tuple[int, int, int]
    rest: str


def is_whatsapp(head: Sequence[str]) -> bool:
    """Whether these first lines of a file hold a WhatsApp stamp in the first of them."""
    first = next((line for line in head if line.strip()), "")
    return _stamped(first, 1) is not None


def read_whatsapp(lines: Iterable[tuple[int, str]], name: str, tz: tzinfo) -> Iterator[TurnDraft]:
    """Turns of the numbered lines.

    Day-first or month-first is settled by the first day above 12 met in the file; until then
    messages wait, and with none at all the order of the dates, else day-first, decides.
    """
    waiting: list[tuple[_Stamped, list[str]]] = []
    order = ""
    for stamped, text in _messages(lines):
        waiting.append((stamped, text))
        order = order or _order_of(stamped.numbers)
        if order:
            yield from _flush(waiting, order, name, tz)
            waiting.clear()
    yield from _flush(waiting, order or _guessed(waiting), name, tz)


def _messages(lines: Iterable[tuple[int, str]]) -> Iterator[tuple[_Stamped, list[str]]]:
    current: tuple[_Stamped, list[str]] | None = None
    for number, line in lines:
        stamped = _stamped(line, number)
        if stamped is None:
            if current is not None:
                current[1].append(_MARKS.sub("", line))
            continue
        if current is not None:
            yield current
        current = (stamped, [stamped.rest])
    if current is not None:
        yield current


def _stamped(line: str, number: int) -> _Stamped | None:
    match = _STAMP.match(_SPACES.sub(" ", _MARKS.sub("", line)))
    if match is None:
        return None
    hour = int(match["hour"])
    half = (match["before"] or match["after"] or "").strip()
    if _AFTER_NOON.match(half) and hour < 12:
        hour += 12
    elif _BEFORE_NOON.match(half) and hour == 12:
        hour = 0
    clock = (hour, int(match["minute"]), int(match["second"] or 0))
    if hour > 23 or clock[1] > 59 or clock[2] > 59:
        return None
    return _Stamped(number, (match["a"], match["b"], match["c"]), clock, match["rest"])


def _order_of(numbers: tuple[str, str, str]) -> str:
    first, second, _ = numbers
    if len(first) == 4:
        return "ymd"
    if int(first) > 12:
        return "dmy"
    return "mdy" if int(second) > 12 else ""


def _guessed(waiting: Sequence[tuple[_Stamped, list[str]]]) -> str:
    """Messages stand in order of time: the reading that keeps them so is the right one."""
    for order in ("dmy", "mdy"):
        dates = [_date(stamped.numbers, order) for stamped, _ in waiting]
        if dates == sorted(dates):
            return order
    return "dmy"


def _date(numbers: tuple[str, str, str], order: str) -> tuple[int, int, int]:
    a, b, c = (int(number) for number in numbers)
    year, month, day = {"ymd": (a, b, c), "dmy": (c, b, a), "mdy": (c, a, b)}[order]
    return (year if year >= 100 else year + 2000, month, day)


def _flush(
    waiting: Sequence[tuple[_Stamped, list[str]]], order: str, name: str, tz: tzinfo
) -> Iterator[TurnDraft]:
    for stamped, lines in waiting:
        turn = _turn(stamped, lines, order, name, tz)
        if turn is not None:
            yield turn


def _turn(
    stamped: _Stamped, lines: list[str], order: str, name: str, tz: tzinfo
) -> TurnDraft | None:
    sender = _SENDER.match(lines[0])
    if sender is None:
        return None
    text = "\n".join([sender["text"] or "", *lines[1:]]).strip()
    text = _EDITED.sub("", text)
    if not text or _LEFT_OUT.match(text):
        return None
    try:
        at = datetime(*_date(stamped.numbers, order), *stamped.clock, tzinfo=tz).timestamp()
    except ValueError:
        return None
    if not MIN_TIME <= at <= MAX_TIME:
        return None
    return TurnDraft(
        at=at,
        speaker=sender["sender"].strip().lstrip("~").strip(),
        text=text[:MAX_TEXT_CHARACTERS],
        source=f"{name}#{stamped.line}",
    )
