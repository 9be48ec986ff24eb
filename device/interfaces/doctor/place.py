"""The phone's folder: whose it is, who else may read it, whether a write survives."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from device.conditions import Finding
from device.interfaces.doctor.patient import Patient
from device.interfaces.doctor.running import aside
from device.interfaces.service import SOCKET
from device.vault import store_folder

__all__ = ["permissions", "space", "writing"]

LEAST_FREE = 50 * 10**6
"""Bytes under which the phone does no work (AOSP FederatedCompute's floor)."""
LOW_FREE = 200 * 10**6
PROBE = ".doctor"
PROBE_BYTES = 4096
SHOWN_NAMES = 4
OTHERS = stat.S_IRWXG | stat.S_IRWXO
_WHY = {
    errno.ENOSPC: "no space",
    errno.EDQUOT: "over quota",
    errno.EROFS: "read-only",
    errno.EACCES: "not allowed",
    errno.EPERM: "not allowed",
}


async def permissions(patient: Patient) -> Sequence[Finding]:
    """The folder, and what lies in it."""
    return await aside(lambda: _permissions(patient))


def _permissions(patient: Patient) -> list[Finding]:
    found = [(path, path.lstat()) for path in _private(patient.home)]
    foreign = [path for path, seen in found if seen.st_uid != os.geteuid()]
    if foreign:
        names = _named(patient.home, foreign)
        return [patient.finding("permissions", "fault", "not ours", names=names)]
    # What lies in a folder nobody else can enter is safe whatever its own mode.
    if not found[0][1].st_mode & OTHERS:
        return [patient.finding("permissions", "ok", "permissions fine")]
    open_ = [path for path, seen in found if seen.st_mode & OTHERS]
    names = _named(patient.home, open_)
    return [patient.finding("permissions", "warning", "readable", names=names)]


def _private(home: Path) -> Iterator[Path]:
    yield home
    yield from (path for path in sorted(home.iterdir()) if path.name != SOCKET)
    store = store_folder(home)
    if store.is_dir():
        yield from sorted(store.iterdir())


def _named(home: Path, paths: Sequence[Path]) -> str:
    """Names relative to the folder; the folder's own place may hold the owner's name."""
    names = [str(path.relative_to(home)) for path in paths[:SHOWN_NAMES]]
    more = ["…"] if len(paths) > SHOWN_NAMES else []
    return ", ".join(names + more)


async def space(patient: Patient) -> Sequence[Finding]:
    """Bytes and files that may still be made."""
    seen = await aside(lambda: patient.statvfs(patient.home))
    free = seen.f_bavail * seen.f_frsize
    if seen.f_files and not seen.f_favail:  # some file systems count no files
        return [patient.finding("space", "fault", "inodes out")]
    code = "space out" if free < LEAST_FREE else "space low" if free < LOW_FREE else "space fine"
    state = {"space out": "fault", "space low": "warning"}.get(code, "ok")
    return [patient.finding("space", state, code, mb=free // 10**6)]  # type: ignore[arg-type]


async def writing(patient: Patient) -> Sequence[Finding]:
    """Writes a few bytes, makes them durable, reads them back and removes them."""
    try:
        await aside(lambda: _write_and_read(patient.home / f"{PROBE}.{os.getpid()}"))
    except OSError as error:
        why = _WHY.get(error.errno or 0, os.strerror(error.errno or errno.EIO))
        return [patient.finding("writing", "fault", "write failed", why=why)]
    return [patient.finding("writing", "ok", "write fine")]


def _write_and_read(path: Path) -> None:
    data = bytes(PROBE_BYTES)
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if path.read_bytes() != data:
            raise OSError(errno.EIO, "what was written is not what is there")
    finally:
        path.unlink(missing_ok=True)
