"""The canonical form of a structured document: one content, one sequence of bytes.

A document is JSON lines in UTF-8, one record a line, sorted by id. Within a record the id comes
first and the other keys follow in order of their code points; no space is written that is not in a
text. Versions of a document then differ only where their content does: over the same content in
shuffled order a delta is 12 times larger.

Numbers are integers: two programs write one fraction in two ways. Write a fraction as text, or
scaled.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NoReturn

from protocol.errors import DocumentRefused

__all__ = ["ID", "MAX_ID", "MAX_RECORDS", "Record", "canonical", "each_record", "read_records"]

ID: Final = "id"
"""The key every record has: text, unique in its document."""
MAX_RECORDS: Final = 200_000
MAX_LINE: Final = 16_384
"""Bytes of one record."""
MAX_ID: Final = 256
"""Characters of an id."""
MAX_DEPTH: Final = 4
"""Containers inside containers, the record included."""
MAX_WHOLE: Final = 2**53
"""Integers stay exact for readers whose numbers are float64."""

Record = dict[str, Any]


def canonical(records: Iterable[Mapping[str, Any]]) -> bytes:
    """The records as a document; DocumentRefused("records") for what has no canonical form."""
    lines: dict[str, bytes] = {}
    for record in records:
        line = _line(record)
        name = record[ID]
        if name in lines:
            raise _refused("an id appears twice")
        lines[name] = line
        if len(lines) > MAX_RECORDS:
            raise _refused(f"more than {MAX_RECORDS} records")
    return b"".join(lines[name] for name in sorted(lines))


def read_records(content: bytes) -> list[Record]:
    """The records of a document that ``canonical`` wrote, in order of id.

    DocumentRefused("records") for any other bytes, also for other bytes of the same content. The
    size of ``content`` is the caller's to bound.
    """
    return list(each_record(content))


def each_record(content: bytes) -> Iterator[Record]:
    """The same one by one, so that a caller may do other things in between."""
    if content.count(b"\n") > MAX_RECORDS:
        raise _refused(f"more than {MAX_RECORDS} records")
    previous: str | None = None
    # Line by line: a list of them all can be many times the size of a hostile document.
    for line in io.BytesIO(content):
        record = _parsed(line)
        if _line(record) != line:
            raise _refused("a record is not in canonical form")
        if previous is not None and record[ID] <= previous:
            raise _refused("records are not sorted by id")
        previous = record[ID]
        yield record


def _line(record: Mapping[str, Any]) -> bytes:
    name = record.get(ID)
    if not isinstance(name, str) or not 0 < len(name) <= MAX_ID:
        raise _refused(f"every record needs a text {ID} of at most {MAX_ID} characters")
    _check(record, MAX_DEPTH)
    ordered = {ID: name, **{key: _sorted(record[key]) for key in sorted(record) if key != ID}}
    text = json.dumps(ordered, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    try:
        line = text.encode() + b"\n"
    except UnicodeEncodeError:
        raise _refused("a text is not valid Unicode") from None
    if len(line) > MAX_LINE:
        raise _refused(f"a record has more than {MAX_LINE} bytes")
    return line


def _sorted(value: object) -> object:
    if isinstance(value, Mapping):
        return {key: _sorted(value[key]) for key in sorted(value)}
    if isinstance(value, list | tuple):
        return [_sorted(inner) for inner in value]
    return value


def _check(value: object, depth: int) -> None:
    if value is None or isinstance(value, bool | str):
        return
    if isinstance(value, int):
        if abs(value) > MAX_WHOLE:
            raise _refused("an integer is beyond 2**53: write it as text")
    elif not isinstance(value, Mapping | list | tuple):
        raise _refused("a value is neither text, integer, boolean, null, list nor map")
    elif depth == 0:
        raise _refused(f"nested deeper than {MAX_DEPTH} containers")
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            if not isinstance(key, str):
                raise _refused("a key is not text")
            _check(inner, depth - 1)
    else:
        for inner in value:
            _check(inner, depth - 1)


def _parsed(line: bytes) -> Record:
    if len(line) > MAX_LINE:
        raise _refused(f"a record has more than {MAX_LINE} bytes")
    try:
        record = json.loads(line.decode(), parse_float=_fraction, parse_constant=_fraction)
    except (ValueError, RecursionError):
        raise _refused("a line is not JSON") from None
    if not isinstance(record, dict):
        raise _refused("a line is not a record")
    return record


def _fraction(_text: str) -> NoReturn:
    raise _refused("a number is not an integer: write it as text, or scaled")


def _refused(detail: str) -> DocumentRefused:
    return DocumentRefused("records", detail)
