"""Immutable artefacts named by their own SHA-256: in a folder, or in a bucket (s3_blobs.py)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Final, Protocol

__all__ = [
    "LARGEST_BLOB",
    "BlobMissing",
    "Blobs",
    "BlobsUnavailable",
    "FolderBlobs",
    "check_key",
    "checked",
    "is_key",
    "key_of",
    "open_blobs",
]

LARGEST_BLOB: Final = 256 << 20
"""Bytes; nothing larger is written, or read into memory."""
KEY_LENGTH: Final = 64
_DIGITS = frozenset("0123456789abcdef")


class BlobMissing(Exception):
    """No intact blob under that key."""


class BlobsUnavailable(Exception):
    """The store cannot be used; the message is one line that says what to do."""


class Blobs(Protocol):
    """A content-addressed store: a key is the hex SHA-256 of the bytes, so nothing is rewritten."""

    def put(self, data: bytes) -> str:
        """Store `data` unless it is there; durable, and seen whole or not at all. Gives its key."""
        ...

    def get(self, key: str) -> bytes:
        """The bytes under `key`, checked against it; BlobMissing when absent or damaged."""
        ...

    def keys(self) -> Iterator[str]:
        """Every key, in no order."""
        ...


def open_blobs(where: str | Path) -> Blobs:
    """The store at a folder's path or at ``s3://bucket/prefix``.

    Raises:
        BlobsUnavailable: the URL is none, or its client is not installed.
    """
    named = str(where)
    if named.startswith("s3://"):
        from cloud.storage.s3_blobs import S3Blobs

        return S3Blobs(named)
    if "://" in named:
        raise BlobsUnavailable(f"{named}: blobs lie in a folder or at s3://bucket/prefix")
    return FolderBlobs(where)


class FolderBlobs:
    """Blobs as files of one folder, which is made if absent."""

    def __init__(self, folder: str | Path) -> None:
        self._folder = Path(folder)
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)

    def put(self, data: bytes) -> str:
        """Store `data` unless it is there intact; on the disk when this returns."""
        key = key_of(data)
        target = self._folder / key
        if self._intact(target, data):
            return key
        with NamedTemporaryFile(dir=self._folder, prefix=".new-", delete=False) as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(file.name).replace(target)
        _sync_folder(self._folder)
        return key

    def get(self, key: str) -> bytes:
        """The bytes under `key`, checked against it; BlobMissing when absent or damaged."""
        path = self._folder / check_key(key)
        try:
            size = path.stat().st_size
            data = path.read_bytes() if size <= LARGEST_BLOB else b""
        except FileNotFoundError:
            raise BlobMissing(f"no blob {key[:16]}…") from None
        return checked(key, data)

    def keys(self) -> Iterator[str]:
        """Every key, in no order."""
        for path in self._folder.iterdir():
            if is_key(path.name):
                yield path.name

    def _intact(self, path: Path, data: bytes) -> bool:
        try:
            return path.stat().st_size == len(data) and path.read_bytes() == data
        except FileNotFoundError:
            return False


def key_of(data: bytes) -> str:
    """The key of these bytes; ValueError when they are too many."""
    if len(data) > LARGEST_BLOB:
        raise ValueError(f"a blob has at most {LARGEST_BLOB} bytes")
    return sha256(data).hexdigest()


def is_key(name: str) -> bool:
    """Whether this can be a key."""
    return len(name) == KEY_LENGTH and set(name) <= _DIGITS


def check_key(key: str) -> str:
    """The key itself; BlobMissing for what cannot be one, such as a path."""
    if not is_key(key):
        raise BlobMissing("a blob key is 64 hexadecimal digits")
    return key


def checked(key: str, data: bytes) -> bytes:
    """The bytes themselves; BlobMissing when they are not the ones that were stored."""
    if sha256(data).hexdigest() != key:
        raise BlobMissing(f"blob {key[:16]}… is damaged; restore it from a backup")
    return data


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
