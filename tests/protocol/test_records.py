"""The canonical form: one content, one sequence of bytes."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol import records
from protocol.errors import DocumentRefused
from protocol.records import canonical, read_records

_texts = st.text(st.characters(codec="utf-8"), max_size=12)
_plain = st.one_of(st.none(), st.booleans(), st.integers(-(2**53), 2**53), _texts)
_values = st.one_of(
    _plain,
    st.lists(_plain, max_size=3),
    st.dictionaries(_texts, st.one_of(_plain, st.lists(_plain, max_size=2)), max_size=3),
)
_records = st.builds(
    lambda name, fields: fields | {"id": name},
    st.text(st.characters(codec="utf-8"), min_size=1, max_size=8),
    st.dictionaries(_texts, _values, max_size=4),
)
_documents = st.lists(_records, max_size=8, unique_by=lambda record: record["id"])


def _shuffled(value: Any, rng: random.Random) -> Any:
    """The same content, its keys in another order."""
    if isinstance(value, dict):
        keys = list(value)
        rng.shuffle(keys)
        return {key: _shuffled(value[key], rng) for key in keys}
    return [_shuffled(inner, rng) for inner in value] if isinstance(value, list) else value


@given(_documents, st.randoms())
def test_order_of_records_and_keys_leaves_no_trace(
    document: list[dict[str, Any]], rng: random.Random
) -> None:
    content = canonical(document)
    again = [_shuffled(record, rng) for record in document]
    rng.shuffle(again)
    assert canonical(again) == content


@given(_documents)
def test_records_come_back_sorted(document: list[dict[str, Any]]) -> None:
    content = canonical(document)
    assert read_records(content) == sorted(document, key=lambda record: record["id"])
    assert canonical(read_records(content)) == content


def test_the_form_itself() -> None:
    content = canonical([{"z": 1, "id": "b", "a": "é\n"}, {"id": "a", "x": [True, None]}])
    assert content == '{"id":"a","x":[true,null]}\n{"id":"b","a":"é\\n","z":1}\n'.encode()


@pytest.mark.parametrize(
    ("record", "why"),
    [
        ({}, "needs a text id"),
        ({"id": 1}, "needs a text id"),
        ({"id": ""}, "needs a text id"),
        ({"id": "x" * 257}, "needs a text id"),
        ({"id": "a", "x": 0.5}, "neither"),
        ({"id": "a", "x": b"y"}, "neither"),
        ({"id": "a", "x": 2**53 + 1}, "2\\*\\*53"),
        ({"id": "a", "x": {1: 2}}, "key is not text"),
        ({"id": "a", "x": [[[[1]]]]}, "nested"),
        ({"id": "a", "x": "\ud800"}, "Unicode"),
        ({"id": "a", "x": "y" * 16_384}, "16384 bytes"),
    ],
)
def test_what_has_no_canonical_form(record: dict[str, Any], why: str) -> None:
    with pytest.raises(DocumentRefused, match=why) as refused:
        canonical([record])
    assert refused.value.reason == "records"


def test_ids_are_unique_and_records_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DocumentRefused, match="twice"):
        canonical([{"id": "a"}, {"id": "a"}])
    monkeypatch.setattr(records, "MAX_RECORDS", 2)
    three = [{"id": name} for name in "abc"]
    with pytest.raises(DocumentRefused, match="more than 2"):
        canonical(three)
    with pytest.raises(DocumentRefused, match="more than 2"):
        read_records(b'{"id":"a"}\n{"id":"b"}\n{"id":"c"}\n')
    assert read_records(canonical(three[:2])) == three[:2]


@pytest.mark.parametrize(
    "content",
    [
        b'{"id":"a"}',
        b'{"id": "a"}\n',
        b'{"a":1,"id":"a"}\n',
        b'{"id":"a","id":"a"}\n',
        b'{"id":"b"}\n{"id":"a"}\n',
        b'{"id":"a"}\n{"id":"a"}\n',
        b'{"id":"a"}\r\n',
        b'{"id":"\\u0061"}\n',
        b'{"id":"a","x":1.0}\n',
        b'{"id":"a","x":1e3}\n',
        b'{"id":"a","x":NaN}\n',
        b'{"id":"a","x":-0}\n',
        b'{"id":"a","x":' + b"9" * 5000 + b"}\n",
        b'{"id":"a","x":' + b"[" * 5000 + b"]" * 5000 + b"}\n",
        b'["a"]\n',
        b'{"id":"\xff"}\n',
        b"\n",
        b'{"id":"a","x":"' + b"y" * 20_000 + b'"}\n',
    ],
)
def test_any_other_bytes_are_refused(content: bytes) -> None:
    with pytest.raises(DocumentRefused) as refused:
        read_records(content)
    assert refused.value.reason == "records"


@settings(max_examples=300)
@given(_documents.filter(bool), st.integers(0, 10**6), st.integers(0, 255))
def test_a_changed_byte_is_other_content_or_refused(
    document: list[dict[str, Any]], place: int, value: int
) -> None:
    content = bytearray(canonical(document))
    content[place % len(content)] = value
    try:
        read = read_records(bytes(content))
    except DocumentRefused:
        return
    assert canonical(read) == bytes(content)
    assert json.loads(b"[" + b",".join(bytes(content).split(b"\n")[:-1]) + b"]") == read
