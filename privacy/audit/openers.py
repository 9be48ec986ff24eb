"""Who can open a ledger: an exported file by itself, a sealed one by the room that sealed it.

A package that owns a ledger format registers ``open_ledger(path) -> AppendLog`` under the entry
point group ``reverie.ledgers``; it raises `LedgerUnavailable` with one clear line for a path that
is not its own or that it cannot unlock. So the auditor never imports a phone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import entry_points
from pathlib import Path

from privacy.errors import LedgerCorrupt, LedgerUnavailable
from privacy.ledger import AppendLog

__all__ = ["LARGEST_EXPORT", "OPENER_GROUP", "export_ledger", "read_ledger"]

OPENER_GROUP = "reverie.ledgers"

LARGEST_EXPORT = 256 << 20
"""Bytes of an exported ledger we are willing to read."""

Opener = Callable[[Path], AppendLog]


def read_ledger(path: Path) -> list[bytes]:
    """Entry payloads of the ledger at ``path``, oldest first.

    A file is an export: one entry a line. A folder goes to the registered openers. Raises
    LedgerUnavailable with what to do, LedgerCorrupt when the seal itself is broken.
    """
    if path.is_file():
        return _read_export(path)
    if not path.exists():
        raise LedgerUnavailable(f"{path}: no such ledger")
    log = _open_sealed(path)
    try:
        return [payload for _, payload in log.read()]
    except LedgerUnavailable:
        raise
    except Exception as error:  # the opener's own kinds, which we cannot name here
        kind = type(error).__name__
        raise LedgerCorrupt(f"{path}: the sealed ledger cannot be read whole ({kind})") from error


def export_ledger(payloads: Iterable[bytes], target: Path) -> int:
    """Write entries to a new file, one a line, for somebody else to audit; returns how many."""
    lines = list(payloads)
    with target.open("xb") as file:
        file.writelines(line + b"\n" for line in lines)
    return len(lines)


def _read_export(path: Path) -> list[bytes]:
    try:
        if path.stat().st_size > LARGEST_EXPORT:
            raise LedgerUnavailable(f"{path}: too large to be an exported ledger")
        return path.read_bytes().splitlines()
    except OSError as error:
        raise LedgerUnavailable(f"{path}: {error.strerror or 'cannot be read'}") from None


def _open_sealed(path: Path) -> AppendLog:
    reasons = []
    for opener in _openers():
        try:
            return opener(path)
        except LedgerUnavailable as error:
            reasons.append(str(error))
    if not reasons:
        raise LedgerUnavailable("no package here can open a sealed ledger: install reverie whole")
    raise LedgerUnavailable("; ".join(reasons))


def _openers() -> Iterator[Opener]:
    for point in sorted(entry_points(group=OPENER_GROUP), key=lambda point: point.name):
        try:
            yield point.load()
        except ImportError:
            continue  # a half-installed opener must not hide a working one
