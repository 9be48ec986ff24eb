"""One contract of both stores of blobs."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from hashlib import sha256
from pathlib import Path

import pytest

from cloud.storage import BlobMissing, BlobsUnavailable, FolderBlobs, blobs, open_blobs
from cloud.storage.s3_blobs import S3Blobs
from protocol.documents import MAX_DOCUMENT
from tests.cloud.s3 import CREDENTIALS
from tests.cloud.storage.conftest import Store


def test_a_blob_is_named_by_its_content(store: Store) -> None:
    key = store.blobs.put(b"content")
    assert key == sha256(b"content").hexdigest()
    assert store.blobs.put(b"content") == key
    assert store.blobs.get(key) == b"content"
    assert list(store.blobs.keys()) == [key]


@pytest.mark.parametrize("size", [0, 1, 200_000, 6 << 20])
def test_any_size_comes_back(store: Store, size: int) -> None:
    data = bytes(size)
    assert store.blobs.get(store.blobs.put(data)) == data


def test_what_is_absent_or_no_key_is_missing(store: Store) -> None:
    for wrong in ("0" * 64, "../../etc/passwd", "", "A" * 64):
        with pytest.raises(BlobMissing):
            store.blobs.get(wrong)


def test_damage_is_told(store: Store) -> None:
    key = store.blobs.put(b"content")
    store.overwrite(key, b"c0ntent")
    with pytest.raises(BlobMissing, match="restore it"):
        store.blobs.get(key)


def test_a_torn_blob_is_put_again(store: Store) -> None:
    key = store.blobs.put(b"content")
    store.overwrite(key, b"con")
    assert store.blobs.put(b"content") == key
    assert store.blobs.get(key) == b"content"


def test_too_much_is_neither_written_nor_read(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = store.blobs.put(b"too long")
    for module in ("cloud.storage.blobs", "cloud.storage.s3_blobs"):
        monkeypatch.setattr(f"{module}.LARGEST_BLOB", 4)
    with pytest.raises(ValueError, match="at most 4 bytes"):
        store.blobs.put(b"other")
    with pytest.raises(BlobMissing):
        store.blobs.get(key)


def test_a_folder_holds_nothing_else(tmp_path: Path) -> None:
    folder = FolderBlobs(tmp_path)
    (tmp_path / ".new-left-by-a-crash").write_bytes(b"half")
    key = folder.put(b"content")
    assert list(folder.keys()) == [key]


def test_a_strange_place_is_one_clear_line() -> None:
    strange = ("ftp://host/x", "s3://", "s3://key:secret@bucket/x", "s3://bucket/x?verify=no")
    for url in strange:
        with pytest.raises(BlobsUnavailable) as shown:
            open_blobs(url)
        assert "secret" not in str(shown.value) or url.startswith("ftp")


def test_a_bucket_that_is_none_is_told(s3: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    absent = S3Blobs("s3://absent/x", {"AWS_ENDPOINT_URL": s3})
    with pytest.raises(BlobsUnavailable, match="check the endpoint"):
        absent.put(b"content")


@contextmanager
def _moody(answers: list[bytes]) -> Iterator[tuple[str, list[bytes]]]:
    """A server that gives these answers, one a connection; and the requests it got."""
    seen: list[bytes] = []
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:

        def serve() -> None:
            for answer in answers:
                connection, _ = listener.accept()
                with connection:
                    seen.append(connection.recv(1 << 16))
                    connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", seen
        thread.join(30)


BUSY = b"HTTP/1.1 503 Slow Down\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
DENIED = b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


def _found(data: bytes) -> bytes:
    head = (
        f"HTTP/1.1 200 OK\r\nContent-Length: {len(data)}\r\nETag: x\r\nConnection: close\r\n"
        "Last-Modified: Mon, 30 Nov 2026 00:00:00 GMT\r\n\r\n"
    )
    return head.encode() + data


@pytest.fixture
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("obstore", reason="pip install 'reverie[s3]'")
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)


@pytest.mark.usefixtures("credentials")
def test_a_busy_server_is_asked_again() -> None:
    with _moody([BUSY, BUSY, _found(b"content")]) as (endpoint, seen):
        store = open_blobs(f"s3://bucket/p?endpoint={endpoint}&region=us-east-1")
        assert store.get(sha256(b"content").hexdigest()) == b"content"
    assert len(seen) == 3


@pytest.mark.usefixtures("credentials")
def test_there_is_an_end_to_asking(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cloud.storage.s3_blobs.RETRIES", 2)
    with _moody([BUSY] * 3) as (endpoint, seen):
        store = open_blobs(f"s3://bucket/p?endpoint={endpoint}&region=us-east-1")
        with pytest.raises(BlobsUnavailable) as shown:
            store.get("0" * 64)
    assert len(seen) == 3
    assert "127.0.0.1" not in str(shown.value)


@pytest.mark.usefixtures("credentials")
def test_wrong_credentials_are_not_tried_again() -> None:
    with _moody([DENIED]) as (endpoint, seen):
        store = open_blobs(f"s3://bucket/p?endpoint={endpoint}&region=us-east-1")
        with pytest.raises(BlobsUnavailable, match="PermissionDenied"):
            store.get("0" * 64)
    assert len(seen) == 1


def test_the_largest_blob_is_larger_than_any_document() -> None:
    assert blobs.LARGEST_BLOB > MAX_DOCUMENT
