"""`reverie-audit ledger` and `export`: one phone's ledger, replayed."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from privacy.audit.books import LedgerAudit, StreamSpending
from privacy.audit.crosscheck import CrossCheck, cross_check
from privacy.audit.openers import export_ledger, read_ledger
from privacy.audit.page import render
from privacy.cli.console import (
    EXIT_VIOLATION,
    audit_of,
    epsilon_text,
    parse_key,
    plain_errors,
    print_json,
    write_page,
)

__all__ = ["app"]

app = typer.Typer()

_MOST_LINES = 50
"""Problems and releases printed; --json and --html hold more."""

_WINDOWS = (
    ("report", "one report"),
    ("month", "30 days"),
    ("year", "365 days"),
    ("lifetime", "everything"),
)


@app.command(
    epilog="Examples:  reverie-audit ledger ~/.local/share/reverie  ·  "
    "reverie-audit ledger phone.jsonl --cloud-key 3f…9a --html report.html  ·  "
    "reverie-audit ledger phone.jsonl --json --cross-check"
)
def ledger(
    path: Annotated[Path, typer.Argument(help="A phone's data folder, or an exported ledger.")],
    cloud_key: Annotated[
        str, typer.Option(help="The cloud's Ed25519 key (64 hex digits), to check receipts under.")
    ] = "",
    html: Annotated[
        Path | None, typer.Option(help="Write a report with charts: one file, nothing fetched.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    check: Annotated[
        bool,
        typer.Option("--cross-check", help="Compare epsilon with google/dp-accounting and opacus."),
    ] = False,
) -> None:
    """Replay a ledger: chain, signatures, receipts, charges, caps, and the epsilon spent.

    Exit 0: no violation. 1: violation. 2: the ledger could not be read.
    """
    key = parse_key(cloud_key, "--cloud-key")
    with plain_errors():
        audit = audit_of(path, key)
        # What a tampered ledger adds up to is no subject for accountants.
        accountants = cross_check(audit) if check and audit.sound else None
        if html is not None:
            write_page(render(audit, accountants), html)
    if as_json:
        print_json(_as_json(audit, accountants))
    else:
        _show(audit, accountants)
    if not audit.sound or (accountants and not accountants.agree):
        raise typer.Exit(EXIT_VIOLATION)


@app.command(epilog="Example:  reverie-audit export ~/.local/share/reverie phone.jsonl")
def export(
    path: Annotated[Path, typer.Argument(help="A phone's data folder.")],
    target: Annotated[Path, typer.Argument(help="New file, one entry a line, in clear.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Copy a sealed ledger into a plain file that somebody else can audit.

    It holds rounds, times and costs; nothing that was recorded or said. Exit 2: not possible.
    """
    with plain_errors():
        count = export_ledger(read_ledger(path), target)
    if as_json:
        print_json({"entries": count, "file": str(target)})
    else:
        typer.echo(f"{count} entries written to {target}")


def _as_json(audit: LedgerAudit, accountants: CrossCheck | None) -> dict[str, object]:
    fields: dict[str, object] = asdict(audit)
    fields |= {"sound": audit.sound, "forfeited": audit.forfeited, "verdict": audit.verdict}
    if accountants is not None:
        fields["cross_check"] = asdict(accountants) | {"agree": accountants.agree}
    return fields


def _show(audit: LedgerAudit, accountants: CrossCheck | None) -> None:
    console = Console()
    console.print(_charges_table(audit))
    console.print(_odometer_table(audit))
    if accountants is not None:
        console.print(_accountants_table(accountants))
    for each in audit.quarantines:
        date = f"{datetime.fromtimestamp(each.at, UTC):%Y-%m-%d}"
        console.print(f"[yellow]entry {each.entry}:[/yellow] quarantined on {date}, {each.reason}")
    for problem in audit.problems[:_MOST_LINES]:
        console.print(f"[red]entry {problem.entry}:[/red] {escape(problem.what)}")
    if len(audit.problems) > _MOST_LINES:
        console.print(f"[red]and {len(audit.problems) - _MOST_LINES} more problems[/red]")
    for line in accountants.disagreements if accountants else ():
        console.print(f"[red]{escape(line)}[/red]")
    for note in audit.notes:
        console.print(f"note: {escape(note)}", style="dim")
    console.print(
        "Unit: one device; neighbours: its reports replaced by zeros. Trust: leader and helper do "
        "not collude, else see the last column.",
        style="dim",
    )
    red = not audit.sound or (accountants is not None and not accountants.agree)
    colour = "red" if red else "green" if audit.private or not audit.charges else "yellow"
    console.print(audit.verdict, style=f"bold {colour}")


def _charges_table(audit: LedgerAudit) -> Table:
    shown = audit.charges[-_MOST_LINES:]
    title = f"Releases of device {escape(audit.device) or '(not enrolled)'}"
    if len(shown) < len(audit.charges):
        title += f", the newest {len(shown)} of {len(audit.charges)}"
    table = Table(title=title)
    for column in ("entry", "date", "task", "round", "report", "epsilon", "colluding"):
        table.add_column(column, justify="left" if column == "task" else "right", no_wrap=True)
    for charge in shown:
        state = "receipted" if charge.acknowledged else "released"
        table.add_row(
            str(charge.entry),
            datetime.fromtimestamp(charge.at, UTC).strftime("%Y-%m-%d"),
            escape(charge.task),
            str(charge.round),
            state if charge.committed else "forfeited",
            epsilon_text(charge.epsilon),
            epsilon_text(charge.collusion_epsilon),
        )
    return table


def _odometer_table(audit: LedgerAudit) -> Table:
    table = Table(title=f"Epsilon at delta {audit.delta:g}, {escape(audit.budget) or 'no'} budget")
    for column in ("stream", "worst"):
        table.add_column(column)
    for column in ("rho units", "epsilon", "colluding", "local sum"):
        table.add_column(column, justify="right", no_wrap=True)
    for spending in (*audit.streams, audit.total):
        for window, words in _WINDOWS:
            table.add_row(*_odometer_row(spending, window, words))
        table.add_section()
    table.add_row("all", "zCDP bound", "", epsilon_text(audit.lifetime_bound), "", "")
    table.add_row("all", "forfeited", str(audit.forfeited), "", "", "")
    return table


def _odometer_row(spending: StreamSpending, window: str, words: str) -> list[str]:
    pure: float = getattr(spending.pure, window)
    return [
        escape(spending.stream),
        words,
        f"{getattr(spending.units, window):,}",
        epsilon_text(getattr(spending.epsilon, window)),
        epsilon_text(getattr(spending.collusion, window)),
        f"{pure:.3f}" if pure else "",
    ]


def _accountants_table(found: CrossCheck) -> Table:
    table = Table(title="Everything, by five accountants")
    table.add_column("accountant")
    table.add_column("epsilon", justify="right")
    for name, value in (
        ("own closed form (GDP)", found.gdp),
        ("own integer bound (zCDP)", found.zcdp),
        ("google/dp-accounting (PLD)", found.pld),
        ("meta-pytorch/opacus (RDP)", found.rdp),
        ("the mechanisms themselves (PLD)", found.exact),
    ):
        table.add_row(name, f"{value:.4f}")
    return table
