"""Where artefacts lie, and how much room is left."""

from __future__ import annotations

import os
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from sqlalchemy import select

from cloud.doctor.findings import Finding, Scene
from cloud.doctor.running import aside
from cloud.storage.blobs import BlobMissing, BlobsUnavailable, open_blobs
from cloud.storage.tables import releases

__all__ = ["blobs", "disk"]

LEAST_FREE, LOW_FREE = 200 * 10**6, 2 * 10**9
"""Bytes."""
PROBE = b"reverie-cloud doctor: this store takes blobs\n"
"""Written to a bucket, and left there: content-addressed, it is one object for ever."""
PROBED_RELEASES = 20
SHOWN_DIGITS = 12


async def blobs(scene: Scene) -> Sequence[Finding]:
    """Writable, and whole for the newest releases."""
    return await aside(lambda: _blobs(scene))


def _blobs(scene: Scene) -> list[Finding]:
    where = scene.config.blobs_url
    if not where.startswith("s3://") and not Path(where).is_dir():
        do = "start `serve` once, or restore it from a backup"
        return [Finding("blobs", "fault", "the folder of artefacts is not there", do)]
    try:
        if where.startswith("s3://"):
            open_blobs(where).get(open_blobs(where).put(PROBE))
        else:
            _try_folder(Path(where))
    except (BlobsUnavailable, BlobMissing, OSError) as error:
        why = error.strerror if isinstance(error, OSError) else "the bucket refuses, or is away"
        do = "check space, owner and mode; for a bucket, its credentials and endpoint"
        return [Finding("blobs", "fault", f"nothing can be stored: {why}", do)]
    missing = _missing(scene)
    if missing:
        named = ", ".join(key[:SHOWN_DIGITS] for key in missing)
        do = "restore them from a backup; phones cannot fetch these releases"
        return [Finding("blobs", "fault", f"missing or damaged: {named}", do)]
    return [Finding("blobs", "ok", "writable; the newest releases are whole")]


def _try_folder(folder: Path) -> None:
    probe = folder / f".doctor.{os.getpid()}"
    try:
        handle = os.open(probe, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(PROBE)
            file.flush()
            os.fsync(file.fileno())
        if sha256(probe.read_bytes()).digest() != sha256(PROBE).digest():
            raise OSError(5, "what was written is not what is there")
    finally:
        probe.unlink(missing_ok=True)


def _missing(scene: Scene) -> list[str]:
    published = releases.c.status == "published"
    newest = select(releases.c.parameters).where(published).order_by(releases.c.id.desc())
    with scene.record() as connection:
        keys = connection.scalars(newest.limit(PROBED_RELEASES)).all()
    store, missing = open_blobs(scene.config.blobs_url), []
    for key in keys:
        try:
            store.get(key)
        except BlobMissing:
            missing.append(key)
    return missing


async def disk(scene: Scene) -> Sequence[Finding]:
    """Room below the state folder."""
    seen = await aside(lambda: scene.statvfs(scene.config.state))
    free = seen.f_bavail * seen.f_frsize
    said = f"{free // 10**6} MB free below the state folder"
    if seen.f_files and not seen.f_favail:  # some file systems count no files
        return [Finding("disk", "fault", "the file system takes no more files", "delete some")]
    if free < LEAST_FREE:
        do = "free some space now: reports are refused when none is left"
        return [Finding("disk", "fault", said, do)]
    if free < LOW_FREE:
        return [Finding("disk", "warning", said, "free some space, or grow the disk")]
    return [Finding("disk", "ok", said)]
