"""Documents: sizes and hashes are checked in order, and nothing unverified is decoded or shown."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from protocol import documents
from protocol.documents import (
    MAX_DOCUMENT,
    Document,
    blob_info,
    describe,
    encode_delta,
    encode_whole,
    max_blob,
    open_document,
)
from protocol.errors import DocumentRefused
from protocol.release import BlobInfo
from tests.protocol.deltas import delta, integer, window

BASE = b"The quick brown fox jumps over the lazy dog. " * 20
NEW = BASE[:300] + b"A line nobody has seen." + BASE[300:]
BASE_DOCUMENT = describe("knowledge", 1, BASE)
DOCUMENT = describe("knowledge", 2, NEW)
_COPIES = b"\x13" + integer(300) + b"\x01" + integer(23) + b"\x13" + integer(600)
DELTA = delta(
    window(*(len(NEW), _COPIES, NEW[300:323], integer(0) + integer(300)), segment=(len(BASE), 0))
)
BLOB = encode_delta(DELTA, BASE_DOCUMENT)


def _refusal(
    blob: bytes, base: bytes | None = BASE, info: BlobInfo | None = None, of: Document = DOCUMENT
) -> str:
    with pytest.raises(DocumentRefused) as refused:
        open_document(of, info or blob_info(blob), blob, base)
    return refused.value.reason


def test_whole_and_delta_open() -> None:
    whole = encode_whole(NEW)
    assert open_document(DOCUMENT, blob_info(whole), whole) == NEW
    assert open_document(DOCUMENT, blob_info(whole), whole, b"any base") == NEW
    assert open_document(DOCUMENT, blob_info(BLOB), BLOB, BASE) == NEW
    assert len(BLOB) < len(whole)


def test_a_delta_is_deflated_where_that_helps() -> None:
    assert BLOB[4] == 1, "too small to gain"
    added = b"words " * 60
    long = delta(window(len(added), b"\x01" + integer(len(added)), added))
    blob = encode_delta(long, BASE_DOCUMENT)
    assert blob[4] == 2
    assert len(blob) < len(long)
    assert open_document(describe("k", 2, added), blob_info(blob), blob, BASE) == added


@settings(max_examples=60)
@given(st.binary(min_size=1, max_size=2000))
def test_any_content_travels_whole_within_its_bound(content: bytes) -> None:
    document = describe("k", 1, content)
    blob = encode_whole(content)
    assert len(blob) <= max_blob(document)
    assert open_document(document, blob_info(blob), blob) == content


def test_sizes_have_a_bound() -> None:
    for content in (b"", bytes(MAX_DOCUMENT + 1)):
        with pytest.raises(DocumentRefused, match="size"):
            describe("k", 1, content)
    for size in (0, MAX_DOCUMENT + 1):
        with pytest.raises(ValidationError):
            Document(name="k", version=1, sha256=bytes(32), size=size)
    swollen = NEW[:1]
    of = describe("k", 1, swollen)
    assert _refusal(bytes(max_blob(of) + 1), of=of) == "size"


def test_the_order_of_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Size, then hash, before anything is decoded; the base's hash before the delta is read."""
    decoded: list[str] = []

    def watched(name: str, real: Callable[..., object]) -> Callable[..., object]:
        def watch(*arguments: object) -> object:
            decoded.append(name)
            return real(*arguments)

        return watch

    for name in ("inflate", "decode_delta"):
        monkeypatch.setattr(documents, name, watched(name, getattr(documents, name)))
    info = blob_info(BLOB)
    assert _refusal(BLOB + b"x", info=info) == "size"
    assert _refusal(BLOB[:-1] + b"x", info=info) == "hash"
    assert _refusal(BLOB, base=None) == "base"
    assert _refusal(BLOB, base=BASE[:-1]) == "base"
    assert decoded == []
    assert open_document(DOCUMENT, info, BLOB, BASE) == NEW
    assert decoded == ["decode_delta"]


def test_a_delta_that_decodes_to_something_else_is_not_shown() -> None:
    other = bytearray(DELTA)
    other[other.index(b"nobody")] ^= 1
    assert _refusal(encode_delta(bytes(other), BASE_DOCUMENT)) == "hash"
    assert _refusal(encode_whole(NEW[:-1] + b"!")) == "hash"


def test_a_base_with_the_same_mark_but_other_content() -> None:
    """Only eight bytes of the base's hash travel; the result's own hash is the proof."""
    other = BASE[:-1] + b"!"
    forged = BLOB[:5] + hashlib.sha256(other).digest()[:8] + BLOB[13:]
    assert _refusal(forged, base=other) == "hash"


def _deflated(data: bytes) -> bytes:
    coder = zlib.compressobj(9, zlib.DEFLATED, -15)
    return coder.compress(data) + coder.flush()


@pytest.mark.parametrize(
    ("blob", "reason"),
    [
        (b"R", "format"),
        (b"RVK1", "format"),
        (b"RVK2" + BLOB[4:], "format"),
        (b"RVK1\x03" + BLOB[5:], "format"),
        (b"RVK1\x01", "base"),
        (BLOB[:-1], "format"),
        (BLOB + b"\x00", "format"),
        (b"RVK1\x00" + NEW[:20], "format"),
        (b"RVK1\x00" + _deflated(NEW[:-1]), "format"),
        (b"RVK1\x00" + _deflated(NEW + b"x"), "format"),
        (b"RVK1\x00" + _deflated(NEW) + b"x", "format"),
        (b"RVK1\x00" + _deflated(bytes(200_000)), "format"),
        (b"RVK1\x02" + BLOB[5:13] + b"\xff\xff\xff\xff" + _deflated(bytes(90_000)), "size"),
        (b"RVK1\x02" + BLOB[5:13] + b"\x64\x00\x00\x00" + _deflated(bytes(90_000)), "format"),
        (b"RVK1\x02" + BLOB[5:13] + b"\x00", "format"),
        (BLOB[:13] + delta(window(64 << 20, b"\x00" + integer(64 << 20), b"x")), "format"),
    ],
)
def test_signed_nonsense_is_refused_all_the_same(blob: bytes, reason: str) -> None:
    assert _refusal(blob) == reason
