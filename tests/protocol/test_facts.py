"""Facts: what a knowledge document may hold, and what no phone would show."""

from __future__ import annotations

from typing import Any

import pytest

from protocol.errors import DocumentRefused
from protocol.facts import MAX_FACTS, each_fact, fact_of
from protocol.records import canonical

PLAIN: dict[str, Any] = {"id": "m1", "text": "Line 1 runs until 23:00", "language": "en"}
WHOLE = PLAIN | {
    "tags": ["metro", "地铁"],
    "time": "2026-05-01",
    "source": "City transport, 2026",
}


def test_a_fact_keeps_what_was_said() -> None:
    (fact,) = each_fact(canonical([WHOLE]))
    assert (fact.id, fact.text, fact.language) == ("m1", "Line 1 runs until 23:00", "en")
    assert fact.tags == ("metro", "地铁")
    assert fact.source == "City transport, 2026"
    assert fact.at == 1_777_593_600.0


@pytest.mark.parametrize(
    ("time", "at"),
    [
        ("1970-01-02", 86_400.0),
        ("1970-01-01T08:00:00+08:00", 0.0),
        ("1970-01-01T00:00:30Z", 30.0),
        (None, None),
    ],
)
def test_a_time_is_a_date_or_a_moment_with_its_offset(time: str | None, at: float | None) -> None:
    assert fact_of(PLAIN | ({"time": time} if time else {})).at == at


@pytest.mark.parametrize(
    "change",
    [
        {"text": ""},
        {"text": "   "},
        {"text": "x" * 2_001},
        {"text": "one\ntwo"},
        {"text": "\x1b[2Jgone"},
        {"text": "abc\u202egnp.exe"},
        {"text": 7},
        {"language": "English!"},
        {"language": None},
        {"tags": "metro"},
        {"tags": ["x"] * 17},
        {"tags": [""]},
        {"tags": ["a\nb"]},
        {"time": "yesterday"},
        {"time": "2026-05-01T10:00"},
        {"time": "0001-01-01T00:00+14:00"},
        {"time": 1_777_593_600},
        {"source": "x" * 201},
        {"source": "two\nlines"},
        {"owner": "somebody"},
    ],
)
def test_what_is_no_fact_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(DocumentRefused) as refusal:
        fact_of(PLAIN | change)
    assert refusal.value.reason == "records"


def test_a_refusal_does_not_repeat_an_unknown_key() -> None:
    with pytest.raises(DocumentRefused) as refusal:
        fact_of(PLAIN | {"secretkey": 1})
    assert "secretkey" not in str(refusal.value)


@pytest.mark.parametrize("key", ["id", "text", "language"])
def test_the_three_keys_are_needed(key: str) -> None:
    with pytest.raises(DocumentRefused):
        fact_of({name: value for name, value in PLAIN.items() if name != key})


def test_a_document_has_a_bounded_number_of_facts() -> None:
    line = '{"id":"%06d","language":"en","text":"a"}\n'
    content = "".join(line % number for number in range(MAX_FACTS + 1)).encode()
    with pytest.raises(DocumentRefused, match=str(MAX_FACTS)):
        list(each_fact(content))


def test_facts_are_read_one_by_one() -> None:
    """So that a phone may do other things in between: the fault of a later line comes later."""
    facts = each_fact(canonical([PLAIN]) + b"not json\n")
    assert next(facts).id == "m1"
    with pytest.raises(DocumentRefused):
        next(facts)
