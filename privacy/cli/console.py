"""What the commands share: exit codes, one-line errors, keys from the command line, files out."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import typer

from privacy.audit.books import LedgerAudit
from privacy.audit.openers import read_ledger
from privacy.audit.replay import audit_ledger
from privacy.errors import LedgerCorrupt, PrivacyError

__all__ = [
    "EXIT_UNREADABLE",
    "EXIT_VIOLATION",
    "INTERRUPTED",
    "audit_of",
    "epsilon_text",
    "fail",
    "parse_key",
    "plain_errors",
    "print_json",
    "write_page",
]

EXIT_VIOLATION = 1
EXIT_UNREADABLE = 2
INTERRUPTED = 130

_LARGE_EPSILON = 10.0
"""Above this, an epsilon is shown in red: the guarantee is close to none."""

_KEY_BYTES = 32
_DOCTYPE = b"<!doctype html>"


def fail(message: str, code: int = EXIT_UNREADABLE) -> typer.Exit:
    """Print one line on stderr; raise what is returned."""
    typer.echo(f"reverie-audit: {' '.join(message.split())}", err=True)
    return typer.Exit(code)


@contextmanager
def plain_errors() -> Iterator[None]:
    """Turn what a bad input raises into one line: 1 for a broken ledger, 2 for an unread one."""
    try:
        yield
    except LedgerCorrupt as error:
        raise fail(f"VIOLATION: {error}", EXIT_VIOLATION) from None
    except PrivacyError as error:
        raise fail(str(error)) from None
    except FileExistsError as error:
        raise fail(f"{error.filename}: exists already, choose a new file") from None
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        raise fail(f"{where}{error.strerror or type(error).__name__}") from None


def parse_key(text: str, option: str) -> bytes:
    """A 32-byte key given in hex; b"" for none. Ends the command when it is neither."""
    try:
        key = bytes.fromhex(text)
    except ValueError:
        key = b"?"
    if key and len(key) != _KEY_BYTES:
        raise fail(f"{option} wants {2 * _KEY_BYTES} hex digits, an Ed25519 public key")
    return key


def audit_of(path: Path, cloud_key: bytes = b"") -> LedgerAudit:
    """The audit of the ledger at ``path`` (see `plain_errors` for what it raises)."""
    return audit_ledger(read_ledger(path), cloud_key=cloud_key)


def write_page(page: str, target: Path) -> None:
    """Write an HTML page; an earlier page is replaced, any other file is kept."""
    if target.exists():
        with target.open("rb") as file:
            if file.read(len(_DOCTYPE)).lower() != _DOCTYPE:
                raise fail(f"{target}: exists and is no HTML page, choose another file")
    target.write_text(page, encoding="utf-8")


def print_json(fields: object) -> None:
    """One JSON object on stdout."""
    typer.echo(json.dumps(fields, sort_keys=True, ensure_ascii=False))


def epsilon_text(value: float) -> str:
    """An epsilon for a table, in red when it protects hardly anything."""
    text = f"{value:.3f}"
    return f"[red]{text}[/red]" if value > _LARGE_EPSILON else text
