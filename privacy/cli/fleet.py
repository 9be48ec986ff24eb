"""`reverie-audit fleet`: what a cloud shows of itself, recomputed."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from privacy.audit.fleet import FleetAudit, audit_fleet
from privacy.audit.openers import read_fleet
from privacy.cli.console import EXIT_VIOLATION, audit_of, parse_key, plain_errors, print_json

__all__ = ["app"]

app = typer.Typer()

_MOST_LINES = 50
_PUBLIC = ("http://", "https://")


@app.command(
    epilog="Examples:  reverie-audit fleet --cloud https://cloud.example --helper-key 5c…01  ·  "
    "reverie-audit fleet --cloud cloud.db --ledger phone.jsonl --ledger other.jsonl --json"
)
def fleet(
    cloud: Annotated[str, typer.Option(help="The cloud's address (public page), or its database.")],
    ledger: Annotated[
        list[Path] | None,
        typer.Option(help="A phone's folder or exported ledger to compare; may be repeated."),
    ] = None,
    helper_key: Annotated[
        str, typer.Option(help="The helper's Ed25519 signing key (64 hex digits), known elsewhere.")
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Check batches, noise, guarantees and receipts of a fleet, and hold ledgers against them.

    Exit 0: nothing found. 1: findings. 2: the cloud or a ledger could not be read.
    """
    key = parse_key(helper_key, "--helper-key")
    with plain_errors():
        evidence = read_fleet(cloud)
        cloud_key = _pinned(evidence.cloud_key)
        ledgers = [audit_of(path, cloud_key) for path in ledger or []]
        audit = audit_fleet(
            evidence,
            ledgers,
            helper_key=key,
            receipts_shown=not cloud.lower().startswith(_PUBLIC),
        )
    if as_json:
        print_json(asdict(audit) | {"sound": audit.sound, "verdict": audit.verdict})
    else:
        _show(audit)
    if not audit.sound:
        raise typer.Exit(EXIT_VIOLATION)


def _pinned(shown: str) -> bytes:
    """The cloud's own key, to check the ledgers' receipts under; b"" when it shows none."""
    try:
        key = bytes.fromhex(shown)
    except ValueError:
        return b""
    return key if len(key) == 32 else b""


def _show(audit: FleetAudit) -> None:
    console = Console()
    if audit.rounds:
        console.print(_rounds_table(audit))
    if audit.releases:
        console.print(_releases_table(audit))
    for finding in audit.findings[:_MOST_LINES]:
        where = escape(f"{finding.where} ({finding.kind})")
        console.print(f"[red]{where}:[/red] {escape(finding.what)}")
    if len(audit.findings) > _MOST_LINES:
        console.print(f"[red]and {len(audit.findings) - _MOST_LINES} more findings[/red]")
    for note in audit.notes:
        console.print(f"note: {escape(note)}", style="dim")
    if audit.ledgers:
        console.print(f"ledgers compared: {escape(', '.join(audit.ledgers))}", style="dim")
    colour = "red" if not audit.sound else "green" if audit.private else "yellow"
    console.print(audit.verdict, style=f"bold {colour}")


def _rounds_table(audit: FleetAudit) -> Table:
    shown = audit.rounds[-_MOST_LINES:]
    more = f", the last {len(shown)} of {len(audit.rounds)}" if shown != audit.rounds else ""
    table = Table(title=f"Rounds under the {escape(audit.budget) or 'unnamed'} budget{more}")
    for column in ("task", "round", "status", "reports", "n_min", "noise", "certificate", "sound"):
        table.add_column(column, justify="left" if column in ("task", "status") else "right")
    for row in shown:
        table.add_row(
            escape(row.task),
            str(row.round),
            escape(row.status),
            str(row.reports),
            str(row.n_min),
            f"{row.noise:.3g}",
            row.certificate,
            "yes" if row.sound else "[red]NO[/red]",
        )
    return table


def _releases_table(audit: FleetAudit) -> Table:
    table = Table(title="Releases: epsilon of the central training")
    for column in ("model", "version", "claimed", "recomputed", "delta", "sound"):
        table.add_column(column, justify="left" if column == "model" else "right")
    for row in audit.releases[-_MOST_LINES:]:
        table.add_row(
            escape(row.model),
            str(row.version),
            f"{row.claimed:.4g}",
            f"{row.recomputed:.4g}",
            f"{row.delta:g}",
            "yes" if row.sound else "[red]NO[/red]",
        )
    return table
