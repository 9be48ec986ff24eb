"""Bytes that once broke a parser, each with what it now says. Found by the fuzzers of this room."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path

import msgpack
import pytest

from cloud.helper_client import decode_identity
from device.interfaces.chats import ChatUnreadable, read_chat
from privacy.errors import BatchRefused
from privacy.secagg import Batch, MaskSum
from protocol import wire
from protocol.errors import DocumentRefused, MalformedFrame
from protocol.metadata import MetadataRefused, open_role
from protocol.records import read_records
from protocol.session import SessionFailed
from tests.fuzz.device_parsers import PARSERS as DEVICE_PARSERS
from tests.fuzz.session_parsers import CLIENT_STATES, spoilt

NEST = b"\xdc\x4e\x20" * 1000
"""A thousand arrays in each other that promise 20,000 places each: 160 MB if they are believed."""
DEEP = b'{"a":' * 100_000


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("code", [{}, [], 1, None])
def test_a_refusal_whose_code_has_no_hash(version: int, code: object) -> None:
    frame = msgpack.packb({"type": "refusal", "code": code, "detail": "", "retry_after": 0.0})
    with pytest.raises(MalformedFrame):
        wire.decode(frame, version)
    for state in CLIENT_STATES:
        session = state()
        assert isinstance(spoilt(session, frame)[0], SessionFailed)


@pytest.mark.parametrize("role", [{}, [], None, 1])
def test_a_role_file_whose_type_has_no_hash(role: object) -> None:
    with pytest.raises(MetadataRefused):
        open_role(json.dumps({"signatures": [], "signed": {"_type": role}}).encode())


@pytest.mark.parametrize("kind", [Batch, MaskSum])
@pytest.mark.parametrize("head", [b"", b"\x9a\xa5batch", b"\x97\xa8mask-sum"])
def test_nested_promises_are_not_allocated(kind: type[Batch] | type[MaskSum], head: bytes) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(BatchRefused):
            kind.decode(head + NEST)
        assert tracemalloc.get_traced_memory()[1] < 2 << 20
    finally:
        tracemalloc.stop()


def test_a_document_of_line_breaks_is_not_listed() -> None:
    content = b"a\r" * (1 << 20)
    tracemalloc.start()
    try:
        with pytest.raises(DocumentRefused):
            read_records(content)
        assert tracemalloc.get_traced_memory()[1] < 2 * len(content)
    finally:
        tracemalloc.stop()


def test_nesting_beyond_the_parser_is_no_identity() -> None:
    with pytest.raises(ValueError, match="nested"):
        decode_identity(DEEP)


def test_nesting_beyond_the_parser_is_no_request() -> None:
    (service,) = (parser for parser in DEVICE_PARSERS if parser.name == "service.answer")
    assert b"does not understand" in bytes(service.parse(DEEP))  # type: ignore[call-overload]


TELEGRAM = '{"name":"A","id":1,"messages":[\n{"id":1,"type":"message",%s,"from":"A","text":"x"}]}'
LINE = '{"at": "2026-03-26T21:05:00", "speaker": "A", "text": "x"%s}\n'


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (TELEGRAM % '"date_unixtime":"²"', "no date"),
        (TELEGRAM % '"date_unixtime":"99999999999"', "1970"),
        (TELEGRAM % f'"date_unixtime":{"9" * 5000}', "damaged"),
        (LINE % f', "n": {"9" * 5000}', "not one JSON object"),
        (LINE % ', "kind": []', "kind must be"),
        (LINE % ', "kind": {}', "kind must be"),
    ],
)
def test_a_chat_with_a_strange_value_is_refused(tmp_path: Path, content: str, reason: str) -> None:
    path = tmp_path / "chat"
    path.write_text(LINE % "" + content if content.startswith('{"at"') else content)
    with pytest.raises(ChatUnreadable, match=reason):
        list(read_chat(path))


def test_a_chat_that_stops_being_text_late_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    path.write_bytes(b'{"name":"A","messages":[' + b"\n" * 100_000 + b"\xff]}")
    with pytest.raises(ChatUnreadable, match="damaged"):
        list(read_chat(path))


def test_half_a_character_becomes_a_question_mark(tmp_path: Path) -> None:
    path = tmp_path / "chat.jsonl"
    path.write_text(r'{"at": "2026-03-26", "speaker": "A\ud83d", "text": "hi \ude00"}')
    (turn,) = read_chat(path)
    assert (turn.speaker, turn.text) == ("A?", "hi ?")


def test_a_whatsapp_date_that_no_chat_has_is_no_message(tmp_path: Path) -> None:
    path = tmp_path / "chat.txt"
    path.write_text("[26.03.226, 21:05:11] A: x\n[27.03.26, 21:05:11] A: y\n")
    assert [turn.text for turn in read_chat(path)] == ["y"]
