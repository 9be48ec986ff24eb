"""Who can open a ledger or a fleet: an exported file by itself, the rest by who made it.

A package that owns a ledger format registers ``open_ledger(path)``, which returns its log, under
the entry point group ``reverie.ledgers``; one that can show a fleet registers ``open_fleet(source)
-> FleetEvidence`` under ``reverie.fleets``. They raise a `PrivacyError` with one clear line for
what is not theirs or cannot be unlocked. So the auditor imports neither a phone nor a cloud.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Protocol

from privacy.audit.evidence import FleetEvidence
from privacy.chain import decode_entry
from privacy.errors import LedgerCorrupt, LedgerUnavailable, PrivacyError

__all__ = [
    "FLEET_GROUP",
    "LARGEST_EXPORT",
    "OPENER_GROUP",
    "ReadableLog",
    "export_ledger",
    "read_fleet",
    "read_ledger",
]

OPENER_GROUP = "reverie.ledgers"
FLEET_GROUP = "reverie.fleets"

LARGEST_EXPORT = 32 << 20
"""Bytes of an exported ledger we are willing to read: a lifetime of charges is half a megabyte."""

_LONGEST_LINE = 1 << 14
"""Bytes of an entry: a receipt, the longest, has under two thousand."""


class ReadableLog(Protocol):
    """What an opener of ledgers returns."""

    def read(self) -> Iterator[tuple[int, bytes]]:
        """Every (sequence number, entry), oldest first."""
        ...


def read_ledger(path: Path) -> list[bytes]:
    """Entry payloads of the ledger at ``path``, oldest first.

    A file is an export: one entry a line. A folder goes to the registered openers. Raises
    LedgerUnavailable with what to do, LedgerCorrupt when the seal itself is broken.
    """
    if path.is_file():
        return _read_export(path)
    if not path.exists():
        raise LedgerUnavailable(f"{path}: no such ledger")
    log: ReadableLog = _first_that_opens(OPENER_GROUP, path, "a sealed ledger")
    try:
        return [payload for _, payload in log.read()]
    except LedgerUnavailable:
        raise
    except Exception as error:  # the opener's own kinds, which we cannot name here
        kind = type(error).__name__
        raise LedgerCorrupt(f"{path}: the sealed ledger cannot be read whole ({kind})") from error


def read_fleet(source: str) -> FleetEvidence:
    """What the fleet at ``source`` (a database, or an address) shows of itself.

    LedgerUnavailable with one clear line when nobody can open it.
    """
    found = _first_that_opens(FLEET_GROUP, source, "a fleet")
    if not isinstance(found, FleetEvidence):
        raise LedgerUnavailable(f"{source}: what opened it shows no evidence of a fleet")
    return found


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
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise LedgerUnavailable(f"{path}: {error.strerror or 'cannot be read'}") from None
    if lines and not any(_is_entry(line) for line in lines):
        raise LedgerUnavailable(
            f"{path}: not a ledger; make one with: reverie-audit export FOLDER FILE"
        )
    return lines


def _is_entry(line: bytes) -> bool:
    if len(line) > _LONGEST_LINE:
        return False
    try:
        decode_entry(line)
    except LedgerCorrupt:
        return False
    return True


def _first_that_opens(group: str, what: Path | str, kind: str) -> Any:
    reasons = []
    for opener in _openers(group):
        try:
            return opener(what)
        except PrivacyError as error:
            reasons.append(str(error))
        except (OSError, ValueError) as error:
            reasons.append(f"{what}: cannot be read ({type(error).__name__})")
    if not reasons:
        raise LedgerUnavailable(f"no package here can open {kind}: install reverie whole")
    raise LedgerUnavailable("; ".join(reasons))


def _openers(group: str) -> Iterator[Callable[[Any], Any]]:
    for point in sorted(entry_points(group=group), key=lambda point: point.name):
        try:
            yield point.load()
        except ImportError:
            continue  # a half-installed opener must not hide a working one
