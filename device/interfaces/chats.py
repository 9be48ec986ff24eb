"""Chat exports become turns: our JSONL, WhatsApp's text export, Telegram's JSON export.

The format is detected from the content. Text formats are read line by line; Telegram's file is one
JSON document and is bounded by size instead. Every turn carries a stable source, ``file#line``
(``file#message id`` for Telegram). Files are read, never changed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import Any

from device.interfaces.whatsapp import MAX_TIME, MIN_TIME, is_whatsapp, read_whatsapp
from device.memory.records import TurnDraft

__all__ = ["ChatUnreadable", "read_chat"]

MAX_JSON_BYTES = 256 << 20
"""A Telegram export larger than this is refused: it would not fit a phone's RAM."""
MAX_LINE_CHARACTERS = 1 << 20
MAX_TEXT_CHARACTERS = 64 << 10
"""A longer message is cut here: nobody typed it."""
SNIFFED_LINES = 20
KINDS = frozenset({"dialogue", "operation", "system"})


class ChatUnreadable(Exception):
    """The export cannot be read; `line` is the 1-based line (or message) where, 0 for the file."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(f"line {line}: {reason}" if line else reason)
        self.line = line
        self.reason = reason


def read_chat(path: Path, *, tz: tzinfo = UTC) -> Iterator[TurnDraft]:
    """Turns of an export, in file order.

    `tz` is the zone of times written without one (WhatsApp, local ISO times).

    Raises:
        ChatUnreadable: no known format, a damaged line, a file too large or not text.
    """
    head = _head(path)
    first = next((line for line in head if line.strip()), "")
    if not first:
        raise ChatUnreadable(0, "the file is empty")
    if is_whatsapp(head):
        yield from read_whatsapp(_lines(path), path.name, tz)
    elif first.lstrip().startswith("{") and _is_json_line(first):
        yield from _read_jsonl(path, tz)
    elif first.lstrip().startswith("{"):
        yield from _read_telegram(path, tz)
    else:
        raise ChatUnreadable(
            0,
            "not a chat export we know: give our JSONL, a WhatsApp .txt or a Telegram result.json",
        )


def _head(path: Path) -> list[str]:
    lines: list[str] = []
    for _, line in _lines(path):
        lines.append(line)
        if len(lines) >= SNIFFED_LINES:
            break
    return lines


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """(line number, line without its end) of a UTF-8 text file, a byte order mark dropped."""
    try:
        with path.open(encoding="utf-8-sig", newline=None) as file:
            number = 0
            while line := file.readline(MAX_LINE_CHARACTERS + 1):
                number += 1
                if len(line) > MAX_LINE_CHARACTERS:
                    raise ChatUnreadable(number, "line too long for a chat export")
                yield number, line.rstrip("\n")
    except UnicodeDecodeError:
        raise ChatUnreadable(0, "not UTF-8 text; export the chat again as text") from None
    except OSError as error:
        raise ChatUnreadable(0, f"cannot open it: {error.strerror or 'unknown error'}") from None


def _is_json_line(line: str) -> bool:
    try:
        return isinstance(json.loads(line), dict) and '"messages"' not in line
    except (ValueError, RecursionError):
        return line.rstrip().endswith("}")


def _read_jsonl(path: Path, tz: tzinfo) -> Iterator[TurnDraft]:
    for number, line in _lines(path):
        if line.strip():
            yield _jsonl_turn(line, number, path.name, tz)


def _jsonl_turn(line: str, number: int, name: str, tz: tzinfo) -> TurnDraft:
    try:
        record = json.loads(line)
    # ValueError: also an integer of thousands of digits.
    except (ValueError, RecursionError):
        raise ChatUnreadable(number, "not one JSON object") from None
    if not isinstance(record, dict):
        raise ChatUnreadable(number, "not one JSON object")
    at, speaker, text = (_text(record, key, number) for key in ("at", "speaker", "text"))
    kind = record.get("kind", "dialogue")
    if not isinstance(kind, str) or kind not in KINDS:
        raise ChatUnreadable(number, "kind must be dialogue, operation or system")
    return TurnDraft(
        at=_moment(at, tz, number),
        speaker=_whole(speaker),
        text=_whole(text[:MAX_TEXT_CHARACTERS]),
        session=_label(record.get("session")),
        source=f"{name}#{number}",
        kind=kind,
    )


def _text(record: dict[str, Any], key: str, number: int) -> str:
    value = record.get(key)
    if not isinstance(value, str) or (key != "text" and not value.strip()):
        raise ChatUnreadable(number, f'"{key}" is missing or not text')
    return value


def _moment(text: str, tz: tzinfo, number: int) -> float:
    try:
        moment = datetime.fromisoformat(text)
        moment = moment if moment.tzinfo else moment.replace(tzinfo=tz)
        seconds = moment.timestamp()
    except (ValueError, OverflowError):
        raise ChatUnreadable(number, '"at" is not an ISO-8601 time') from None
    return _dated(seconds, number)


def _dated(seconds: float, number: int) -> float:
    if not MIN_TIME <= seconds <= MAX_TIME:
        raise ChatUnreadable(number, '"at" is not between 1970 and 2100')
    return seconds


def _read_telegram(path: Path, tz: tzinfo) -> Iterator[TurnDraft]:
    """One chat (result.json) or a whole account (chats.list)."""
    if path.stat().st_size > MAX_JSON_BYTES:
        raise ChatUnreadable(
            0, f"larger than {MAX_JSON_BYTES >> 20} MiB; export one chat at a time"
        )
    try:
        with path.open(encoding="utf-8-sig") as file:
            document = json.load(file)
    # ValueError: not JSON, not UTF-8 after all, an integer of thousands of digits.
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", 0)
        raise ChatUnreadable(line, "the JSON is damaged; export the chat again") from None
    for chat in _telegram_chats(document):
        for position, message in enumerate(chat["messages"], start=1):
            if not isinstance(message, dict):
                raise ChatUnreadable(position, "a message is not an object")
            if message.get("type") == "message":
                turn = _telegram_turn(message, chat, position, path.name, tz)
                if turn.text.strip():
                    yield turn


def _telegram_chats(document: Any) -> list[dict[str, Any]]:
    chats = document.get("chats", {}) if isinstance(document, dict) else {}
    listed = chats.get("list") if isinstance(chats, dict) else None
    found = listed if isinstance(listed, list) else [document]
    kept = [c for c in found if isinstance(c, dict) and isinstance(c.get("messages"), list)]
    if not kept:
        raise ChatUnreadable(0, "JSON, but with no Telegram messages in it")
    return kept


def _telegram_turn(
    message: dict[str, Any], chat: dict[str, Any], position: int, name: str, tz: tzinfo
) -> TurnDraft:
    unixtime, date = message.get("date_unixtime"), message.get("date")
    if isinstance(unixtime, str) and unixtime.isascii() and unixtime.isdigit():
        at = _dated(float(unixtime), position)
    elif isinstance(date, str):
        at = _moment(date, tz, position)
    else:
        raise ChatUnreadable(position, "a message has no date")
    chat_id = _label(chat.get("id"))
    place = f"{chat_id}/" if chat_id else ""
    return TurnDraft(
        at=at,
        speaker=_label(message.get("from")) or _label(message.get("from_id")) or "unknown",
        text=_whole(_joined(message.get("text"))[:MAX_TEXT_CHARACTERS]),
        session=_label(chat.get("name")),
        source=f"{name}#{place}{_label(message.get('id')) or position}",
    )


def _joined(text: Any) -> str:
    """Telegram writes plain text as a string and formatted text as a list of parts."""
    if isinstance(text, str):
        return text
    if isinstance(text, list):
        return "".join(
            part if isinstance(part, str) else _label(part.get("text"))
            for part in text
            if isinstance(part, str | dict)
        )
    return ""


def _label(value: object) -> str:
    """A name or number as text; "" for anything else."""
    if isinstance(value, str):
        return _whole(value)
    return str(value) if type(value) is int else ""


def _whole(text: str) -> str:
    """JSON may escape half of a character pair, which no UTF-8 can keep: a "?" stands for it."""
    return text.encode("utf-8", "replace").decode()
