"""A file of facts from an operator: JSON lines in any order, made canonical and checked."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from protocol.documents import MAX_DOCUMENT
from protocol.errors import DocumentRefused
from protocol.facts import MAX_FACTS, fact_of
from protocol.records import canonical

__all__ = ["FileUnusable", "name_of", "read_facts"]

MAX_FILE = 4 * MAX_DOCUMENT
"""Bytes of a file: spaces and escapes may make it larger than the document."""


class FileUnusable(Exception):
    """The file cannot be published; the message says where and why in one line."""


def read_facts(path: Path) -> bytes:
    """The canonical document of a file of facts, one JSON object a line; empty lines are passed.

    Raises:
        FileUnusable: unreadable, too large, not facts, or the same id twice.
    """
    try:
        if path.stat().st_size > MAX_FILE:
            raise FileUnusable(f"{path} has over {MAX_FILE >> 20} MiB: publish it in several files")
        data = path.read_bytes()
    except OSError as error:
        raise FileUnusable(f"cannot read {path}: {error.strerror}") from None
    records = list(_records(path, data))
    if not records:
        raise FileUnusable(
            f"{path} holds no facts: one JSON object a line, with id, text, language"
        )
    if len(records) > MAX_FACTS:
        raise FileUnusable(f"{path} holds over {MAX_FACTS} facts: publish it in several files")
    try:
        content = canonical(records)
    except DocumentRefused as refusal:
        raise FileUnusable(f"{path}: {refusal.detail}") from None
    if len(content) > MAX_DOCUMENT:
        raise FileUnusable(f"{path} has over {MAX_DOCUMENT >> 20} MiB: publish it in several files")
    return content


def name_of(path: Path) -> str:
    """The document's name from its file's: letters, digits and dashes of the stem."""
    return re.sub(r"[^a-z0-9]+", "-", path.stem.lower()).strip("-")[:40].strip("-")


def _records(path: Path, data: bytes) -> Iterator[dict[str, Any]]:
    known: dict[str, int] = {}
    for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            raise FileUnusable(f"{path}, line {number}: not JSON") from None
        if not isinstance(record, dict):
            raise FileUnusable(f"{path}, line {number}: not a JSON object")
        try:
            name = fact_of(record).id
        except DocumentRefused as refusal:
            raise FileUnusable(f"{path}, line {number}: {refusal.detail}") from None
        if name in known:
            raise FileUnusable(f"{path}, line {number}: this id is on line {known[name]} already")
        known[name] = number
        yield record
