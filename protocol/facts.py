"""Public facts: the records of a knowledge document, checked alike by who publishes and who reads.

A fact is a record (protocol/records.py) with these keys and no others:

| key | value |
|---|---|
| id | text, unique in its document |
| text | one line, what a person is shown |
| language | a language tag such as ``zh``, ``en`` or ``zh-Hant`` |
| tags | list of words, optional: found by them as by the words of the text |
| time | ISO 8601 date, or date and time with its offset, optional: when it holds or happened |
| source | one line, optional: where it was published |

Nothing in a fact is a person's: documents are made by an operator, the same for every phone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Annotated, Final

from pydantic import Field, ValidationError

from protocol.errors import DocumentRefused
from protocol.messages import ProtocolModel
from protocol.records import ID, MAX_ID, Record, each_record

__all__ = ["MAX_FACTS", "Fact", "each_fact", "fact_of"]

MAX_FACTS: Final = 20_000
"""Facts of a document: its index then takes under 2 MB on a phone."""
MAX_TEXT: Final = 2_000
"""Characters of a text."""
MAX_TAGS: Final = 16
YEARS: Final = range(1000, 9000)
"""In any time zone a calendar can show them."""
_LANGUAGE = r"^[a-z]{2,3}(-[A-Za-z0-9]{2,8}){0,3}$"
_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]")
"""Line breaks, terminal controls, and marks that reorder what a person sees."""

Line = Annotated[str, Field(min_length=1, max_length=200)]


class Fact(ProtocolModel):
    """One public fact."""

    id: Annotated[str, Field(min_length=1, max_length=MAX_ID)]
    text: Annotated[str, Field(min_length=1, max_length=MAX_TEXT)]
    language: Annotated[str, Field(pattern=_LANGUAGE)]
    tags: Annotated[tuple[Line, ...], Field(max_length=MAX_TAGS)] = ()
    time: Line | None = None
    source: Line | None = None

    @property
    def at(self) -> float | None:
        """Its time in unix seconds; a date is its midnight UTC."""
        return None if self.time is None else _moment(self.time)


def fact_of(record: Record) -> Fact:
    """The fact that a record is; DocumentRefused("records") names the key that is wrong."""
    fields = dict(record)
    if isinstance(fields.get("tags"), list):
        fields["tags"] = tuple(fields["tags"])
    try:
        fact = Fact.model_validate(fields)
    except ValidationError as error:
        raise _refused(_first_fault(error)) from None
    lines = (fact.id, fact.text, fact.source or "", *fact.tags)
    if not fact.text.strip() or any(map(_UNSEEN.search, lines)):
        raise _refused("text, tags and source are single lines without control characters")
    if fact.time is not None:
        _moment(fact.time)
    return fact


def each_fact(content: bytes) -> Iterator[Fact]:
    """The facts of a document in order of id, one at a time.

    Raises:
        DocumentRefused: "records", on reaching what is not canonical or no fact.
    """
    for number, record in enumerate(each_record(content)):
        if number == MAX_FACTS:
            raise _refused(f"more than {MAX_FACTS} facts")
        yield fact_of(record)


def _moment(time: str) -> float:
    try:
        moment = datetime.fromisoformat(time)
    except ValueError:
        raise _refused("a time is an ISO 8601 date, or date and time with its offset") from None
    if moment.tzinfo is None:
        if "T" in time or " " in time:
            raise _refused("a time of day needs its offset, such as +08:00 or Z")
        moment = moment.replace(tzinfo=UTC)
    if moment.year not in YEARS:
        raise _refused(f"a time is within the years {YEARS.start} to {YEARS.stop - 1}")
    return moment.timestamp()


def _first_fault(error: ValidationError) -> str:
    """The first bad key, if it is one of ours: an unknown key is not repeated."""
    first = error.errors(include_input=False, include_url=False, include_context=False)[0]
    name = first["loc"][0] if first["loc"] else ""
    where = name if name in Fact.model_fields else f"a key other than {ID}, text, language …"
    return f"{where} is wrong ({first['type']})"


def _refused(detail: str) -> DocumentRefused:
    return DocumentRefused("records", detail)
