"""A state folder in one file, taken while the cloud runs, and back into a folder.

The databases come first, by SQLite's online backup, each one moment; then keys and blobs, which
are never rewritten: whatever a database names is in the file. The cloud's database comes before
the helper's, so that the helper remembers at least as much as the cloud and answers nothing twice.

A database in PostgreSQL is not in the file. Take both, in this order, and restore both:

    pg_dump --format=custom --file=cloud.dump "postgresql://…"
    reverie-cloud backup cloud.tar

    createdb reverie && pg_restore --dbname=reverie cloud.dump
    reverie-cloud restore cloud.tar --state …

What a phone reported after the backup is lost with the old folder, and it is told so by nobody: a
backup is for a lost disk. The file holds the signing keys: keep it as you keep them.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import tarfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from hashlib import file_digest
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Final, NamedTuple

__all__ = ["Backup", "BackupRefused", "backup", "restore"]

FORMAT: Final = "reverie/backup/1"
MANIFEST: Final = "manifest.json"
LARGEST_MANIFEST: Final = 64 << 20
_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*){0,3}")
_PASSING = ("-wal", "-shm", "-journal")
"""SQLite's own files beside a database: their content is in the online backup."""


class BackupRefused(Exception):
    """It cannot be taken or put back; the message is one line that says what to do."""


class Backup(NamedTuple):
    """What the file holds: names of databases, number of other files, bytes in all."""

    databases: tuple[str, ...]
    files: int
    size: int


def backup(state: Path, target: Path) -> Backup:
    """Write everything in `state` to the file `target`, readable by the owner only.

    Raises:
        BackupRefused: there is nothing to back up, or a database is damaged.
    """
    databases = sorted(state.rglob("*.db"), key=lambda file: (len(file.parts), file))
    if not databases and not (state / "signing.key").exists():
        raise BackupRefused(f"there is no cloud in {state}: give its folder with --state")
    fresh = target.with_name(f".{target.name}.new")
    names: dict[str, str] = {}
    try:
        with _private(fresh) as file, tarfile.open(fileobj=file, mode="w") as archive:
            for database in databases:
                with _snapshot(database, target.parent) as copy:
                    _add(archive, copy, database.relative_to(state), names)
            for found in sorted(state.rglob("*")):
                if _is_kept(found, state):
                    _add(archive, found, found.relative_to(state), names)
            said = json.dumps({"format": FORMAT, "sha256": names}).encode()
            entry = tarfile.TarInfo(MANIFEST)
            entry.size = len(said)
            archive.addfile(entry, BytesIO(said))
        fresh.replace(target)
    finally:
        fresh.unlink(missing_ok=True)
    kept = tuple(name for name in names if name.endswith(".db"))
    return Backup(kept, len(names) - len(kept), target.stat().st_size)


def restore(source: Path, state: Path) -> Backup:
    """Make the folder `state` from the file `source`: whole, or not at all.

    Raises:
        BackupRefused: the folder is in use, or the file is none of ours or damaged.
    """
    if state.exists() and any(state.iterdir()):
        raise BackupRefused(f"{state} is not empty: restore into a new folder with --state")
    state.parent.mkdir(parents=True, exist_ok=True)
    fresh = state.with_name(f".{state.name}.restoring")
    shutil.rmtree(fresh, ignore_errors=True)  # left by a restore that was cut off
    fresh.mkdir(mode=0o700)
    try:
        with tarfile.open(source, mode="r:") as archive:
            restored = _unpack(archive, fresh)
        if state.exists():
            state.rmdir()
        fresh.replace(state)
    except tarfile.TarError:
        raise BackupRefused(f"{source} is no backup of a cloud, or it is damaged") from None
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return restored


def _is_kept(file: Path, state: Path) -> bool:
    name = file.relative_to(state).as_posix()
    passing = file.name.endswith(_PASSING) or file.name.startswith(".")
    return file.is_file() and file.suffix != ".db" and not passing and bool(_NAME.fullmatch(name))


@contextmanager
def _snapshot(database: Path, beside: Path) -> Iterator[Path]:
    with TemporaryDirectory(dir=beside, prefix=".backup-") as folder:
        copy = Path(folder) / "copy.db"
        with (
            closing(sqlite3.connect(f"{database.absolute().as_uri()}?mode=ro", uri=True)) as live,
            closing(sqlite3.connect(copy)) as taken,
        ):
            live.backup(taken)
            taken.execute("PRAGMA journal_mode=DELETE")
            if taken.execute("PRAGMA quick_check").fetchone() != ("ok",):
                raise BackupRefused(f"{database} is damaged: keep the backups you have")
        yield copy


def _add(archive: tarfile.TarFile, file: Path, name: Path, names: dict[str, str]) -> None:
    with file.open("rb") as content:
        digest = file_digest(content, "sha256").hexdigest()
        entry = tarfile.TarInfo(name.as_posix())
        entry.size, entry.mode = content.tell(), 0o600
        content.seek(0)
        archive.addfile(entry, content)
    names[name.as_posix()] = digest


def _unpack(archive: tarfile.TarFile, folder: Path) -> Backup:
    found: dict[str, str] = {}
    size = 0
    said: object = None
    for entry in archive:
        content = archive.extractfile(entry) if entry.isfile() else None
        if content is None or not _NAME.fullmatch(entry.name) or entry.name in found:
            raise BackupRefused("the backup holds what no backup of ours does: it was changed")
        if entry.name == MANIFEST:
            said = _manifest(content.read(LARGEST_MANIFEST))
            continue
        path = folder / entry.name
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with _private(path) as file:
            shutil.copyfileobj(content, file)
        with path.open("rb") as written:
            found[entry.name] = file_digest(written, "sha256").hexdigest()
        size += entry.size
    if said != {"format": FORMAT, "sha256": found}:
        raise BackupRefused("the backup is not complete, or was changed: take another one")
    databases = tuple(name for name in found if name.endswith(".db"))
    return Backup(databases, len(found) - len(databases), size)


def _manifest(said: bytes) -> object:
    try:
        return json.loads(said)
    except (ValueError, RecursionError):
        return None


@contextmanager
def _private(path: Path) -> Iterator[IO[bytes]]:
    """A new file only its owner may read, on the disk when the block ends."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "wb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())
