"""Immutable artefacts on a folder, named by their own SHA-256."""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path
from tempfile import NamedTemporaryFile

__all__ = ["BlobMissing", "Blobs"]


class BlobMissing(Exception):
    """No intact blob under that key."""


class Blobs:
    """A content-addressed store: a key is the hex SHA-256 of the bytes, so nothing is rewritten."""

    def __init__(self, folder: str | Path) -> None:
        self._folder = Path(folder)
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)

    def put(self, data: bytes) -> str:
        """Store `data` unless it is there; durable on return. Gives its key."""
        key = sha256(data).hexdigest()
        target = self._path(key)
        if target.exists():
            return key
        with NamedTemporaryFile(dir=self._folder, prefix=".new-", delete=False) as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(file.name).replace(target)
        _sync_folder(self._folder)
        return key

    def get(self, key: str) -> bytes:
        """The bytes under `key`, checked against it.

        Raises:
            BlobMissing: absent, or damaged on disk.
        """
        try:
            data = self._path(key).read_bytes()
        except FileNotFoundError:
            raise BlobMissing(f"no blob {key[:16]}…") from None
        if sha256(data).hexdigest() != key:
            raise BlobMissing(f"blob {key[:16]}… is damaged; restore it from a backup")
        return data

    def _path(self, key: str) -> Path:
        if len(key) != 64 or not set(key) <= set("0123456789abcdef"):
            raise BlobMissing("a blob key is 64 hexadecimal digits")
        return self._folder / key


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
