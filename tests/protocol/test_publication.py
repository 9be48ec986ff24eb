"""The signed description of a document: whose it is, whether it is newer and of today."""

from __future__ import annotations

from typing import Any

import pytest

from protocol.documents import blob_info, describe, encode_whole
from protocol.errors import DocumentRefused
from protocol.identity import SigningKey, signed_envelope
from protocol.messages import MAX_MANIFEST
from protocol.packing import pack
from protocol.publication import (
    DELTA_BASES,
    MAX_FETCHED,
    Delta,
    Publication,
    check_publication,
    open_publication,
    plan_document_fetch,
    seal_publication,
)
from protocol.release import BlobInfo

NOW = 1_800_000_000.0
DAY = 86_400.0
KEY = SigningKey(b"k" * 32)
CONTENT = b'{"id":"a","language":"en","text":"x"}\n' * 40


def published(version: int = 20, bases: int = DELTA_BASES, **changes: Any) -> Publication:
    blob = encode_whole(CONTENT)
    deltas = tuple(
        Delta(base=version - back, size=30, sha256=bytes(32)) for back in range(1, bases + 1)
    )
    made = Publication(
        document=describe("metro", version, CONTENT),
        records=40,
        whole=blob_info(blob),
        deltas=deltas,
        created=NOW,
        expires=NOW + 90 * DAY,
    )
    return made.model_copy(update=changes)


def refused(publication: Publication, *, floor: int = 0, now: float = NOW) -> str:
    with pytest.raises(DocumentRefused) as refusal:
        check_publication(publication, floor=floor, now=now)
    return refusal.value.reason


def test_sixteen_deltas_fit_a_plan() -> None:
    sealed = seal_publication(published(), KEY)
    assert len(sealed) < MAX_MANIFEST / 2
    assert open_publication(sealed, KEY.public) == published()
    check_publication(published(), floor=19, now=NOW)


def test_only_the_clouds_key_for_this_purpose_is_believed() -> None:
    stranger = seal_publication(published(), SigningKey(b"s" * 32))
    as_release = signed_envelope(pack(published().model_dump()), KEY, purpose="release")
    sealed = bytearray(seal_publication(published(), KEY))
    sealed[40] ^= 1
    for blob in (stranger, as_release, bytes(sealed), b"", b"\x80"):
        with pytest.raises(DocumentRefused) as refusal:
            open_publication(blob, KEY.public)
        assert refusal.value.reason == "signature"


@pytest.mark.parametrize(
    "change",
    [
        {"records": 0},
        {"created": "now"},
        {"extra": 1},
        {"deltas": 17 * [{"base": 1, "size": 60, "sha256": bytes(32)}]},
        {"deltas": 2 * [{"base": 1, "size": 60, "sha256": bytes(32)}]},
        {"deltas": [{"base": 1, "size": MAX_FETCHED + 1, "sha256": bytes(32)}]},
        {"document": describe("Metro", 1, CONTENT).model_dump()},
        {"document": describe("../metro", 1, CONTENT).model_dump()},
        {"document": {"name": "metro"}},
    ],
)
def test_a_malformed_description_is_refused_though_signed(change: dict[str, Any]) -> None:
    fields = published().model_dump() | change
    sealed = signed_envelope(pack(fields), KEY, purpose="document")
    with pytest.raises(DocumentRefused) as refusal:
        open_publication(sealed, KEY.public)
    assert refusal.value.reason == "format"


def test_versions_only_rise() -> None:
    assert refused(published(), floor=20) == "rollback"
    assert refused(published(), floor=21) == "rollback"


def test_neither_expired_nor_from_the_future() -> None:
    assert refused(published(), now=NOW + 90 * DAY) == "expired"
    assert refused(published(), now=NOW - 2 * DAY) == "future"
    check_publication(published(), floor=0, now=NOW - DAY / 2)


def test_no_blob_is_larger_than_an_honest_one() -> None:
    assert refused(published(whole=BlobInfo(size=MAX_FETCHED, sha256=bytes(32)))) == "size"
    large = Delta(base=19, size=100_000, sha256=bytes(32))
    assert refused(published(deltas=(large,))) == "size"


def test_the_smaller_way_is_planned() -> None:
    publication = published()
    assert plan_document_fetch(publication, 19) == 19
    assert plan_document_fetch(publication, 4) == 4
    assert plan_document_fetch(publication, 3) == 0
    assert plan_document_fetch(publication, 0) == 0
    whole = publication.whole.size
    useless = Delta(base=19, size=whole, sha256=bytes(32))
    assert plan_document_fetch(published(deltas=(useless,)), 19) == 0
