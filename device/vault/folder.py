"""A store in a folder of files, owned by one process at a time."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from device.vault.errors import StorageFull, StorageReadOnly, StoreBusy, VaultError
from device.vault.storage import check_name

__all__ = ["FolderStorage", "make_folder", "replace_durably", "translated"]

LOCK_FILE = "lock"
TEMPORARY = ".new"
"""Suffix of a file being written by `replace`; left-overs are removed at open."""
PRIVATE_FOLDER = 0o700
PRIVATE_FILE = 0o600
OPEN_FILES = 16
"""Descriptors kept open for appending; the phone has about six logs."""

FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
READ_ONLY = {errno.EROFS, errno.EACCES, errno.EPERM}


class FolderStorage:
    """Files in `path` (mode 0700). Uses no hard links and no /tmp: Termux has neither."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        """Open the folder, making it if need be, and take its lock.

        With `read_only` nothing is made or locked and every write raises `StorageReadOnly`; the
        owner may go on writing meanwhile. Raises `StoreBusy` when another process has the lock.
        """
        self._path = path
        self._read_only = read_only
        self._open: dict[str, int] = {}
        self._named: set[str] = set()  # names whose directory entry is known to be durable
        self._lock = -1
        with translated(path):
            if not read_only:
                path.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
                path.chmod(PRIVATE_FOLDER)
                self._lock = _take_lock(path)
                for left_over in path.glob(f"*{TEMPORARY}"):
                    left_over.unlink()

    def names(self, prefix: str = "") -> list[str]:
        """Sorted names that start with `prefix`."""
        with translated(self._path):
            found = [entry.name for entry in self._path.iterdir() if entry.is_file()]
        return sorted(
            name
            for name in found
            if name.startswith(prefix) and name != LOCK_FILE and not name.endswith(TEMPORARY)
        )

    def read(self, name: str) -> bytes:
        """The whole content."""
        with translated(self._path):
            return self._file(name).read_bytes()

    def append(self, name: str, data: bytes) -> None:
        """Add to the end; in the page cache until `sync`."""
        with self._writing():
            descriptor = self._descriptor(name)
            left = memoryview(data)
            while left:
                left = left[os.write(descriptor, left) :]

    def sync(self, name: str) -> None:
        """fdatasync the file, and its directory entry the first time."""
        with self._writing():
            self._file(name).stat()
            os.fdatasync(self._descriptor(name))
            if name not in self._named:
                _sync_folder(self._path)
                self._named.add(name)

    def replace(self, name: str, data: bytes) -> None:
        """Write beside it, fsync, rename over it, fsync the folder."""
        with self._writing():
            self._forget(name)
            replace_durably(self._file(name), data)

    def delete(self, name: str) -> None:
        """Unlink and fsync the folder."""
        with self._writing():
            self._forget(name)
            self._file(name).unlink(missing_ok=True)
            _sync_folder(self._path)

    def size(self, name: str) -> int:
        """Bytes under the name."""
        with translated(self._path):
            return self._file(name).stat().st_size

    def close(self) -> None:
        """Close all files and give up the lock; safe to call twice."""
        for name in list(self._open):
            self._forget(name)
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    @contextmanager
    def _writing(self) -> Iterator[None]:
        if self._read_only:
            raise StorageReadOnly(f"{self._path} was opened for reading only")
        if self._lock < 0:
            raise VaultError(f"{self._path} is closed; open the store again")
        with translated(self._path):
            yield

    def _file(self, name: str) -> Path:
        return self._path / check_name(name)

    def _descriptor(self, name: str) -> int:
        descriptor = self._open.get(name)
        if descriptor is None:
            if len(self._open) >= OPEN_FILES:
                self._close_descriptor(next(iter(self._open)))
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
            descriptor = os.open(self._file(name), flags, PRIVATE_FILE)
            self._open[name] = descriptor
        return descriptor

    def _close_descriptor(self, name: str) -> None:
        descriptor = self._open.pop(name, None)
        if descriptor is not None:
            os.close(descriptor)

    def _forget(self, name: str) -> None:
        self._close_descriptor(name)
        self._named.discard(name)


def _take_lock(path: Path) -> int:
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
    descriptor = os.open(path / LOCK_FILE, flags, PRIVATE_FILE)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(descriptor)
        raise StoreBusy(
            f"another process is using {path}; stop it (`reverie-device run`?) or wait"
        ) from error
    return descriptor


def replace_durably(path: Path, data: bytes) -> None:
    """Set the content of `path` (mode 0600) so that after a power loss it is whole, old or new.

    Raises OSError; `path` is then as it was.
    """
    beside = path.with_name(path.name + TEMPORARY)
    try:
        _write_durably(beside, data)
        beside.replace(path)
    except OSError:
        beside.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def make_folder(path: Path) -> None:
    """Make the folder (mode 0700) and what is missing above it, durably. Raises OSError."""
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    path.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
    for made in missing:
        _sync_folder(made.parent)


def _sync_folder(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write_durably(path: Path, data: bytes) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
    descriptor = os.open(path, flags, PRIVATE_FILE)
    try:
        left = memoryview(data)
        while left:
            left = left[os.write(descriptor, left) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Operating-system errors as the vault's own; a missing name stays FileNotFoundError."""
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as error:
        if error.errno in FULL:
            raise StorageFull(f"no space left in {path}; free some and try again") from error
        if error.errno in READ_ONLY:
            raise StorageReadOnly(f"{path} may not be written; check its owner and mode") from error
        raise VaultError(f"storage in {path} failed: {os.strerror(error.errno or 0)}") from error
