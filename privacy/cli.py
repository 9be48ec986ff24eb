"""`reverie-audit`: what a phone's privacy ledger says, and whether to believe it.

Exit codes: 0 no violation, 1 violation found, 2 the ledger could not be read.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from privacy.audit.crosscheck import AGREEMENT, second_opinion
from privacy.audit.openers import export_ledger, read_ledger
from privacy.audit.replay import LedgerAudit, Problem, audit_ledger
from privacy.errors import LedgerCorrupt, LedgerUnavailable

__all__ = ["app", "main"]

EXIT_VIOLATION = 1
EXIT_UNREADABLE = 2

_LARGE_EPSILON = 10.0
"""Above this, an epsilon is shown in red: the guarantee is close to none."""

app = typer.Typer(
    help="Audit what left a phone, and what it cost.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


@app.callback()
def _root() -> None:
    """Audit what left a phone, and what it cost."""


@app.command(
    epilog="Examples:  reverie-audit ledger ~/.local/share/reverie  ·  "
    "reverie-audit ledger phone.jsonl --json  ·  reverie-audit ledger phone.jsonl --cross-check"
)
def ledger(
    path: Annotated[Path, typer.Argument(help="A phone's data folder, or an exported ledger.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    cross_check: Annotated[
        bool, typer.Option("--cross-check", help="Compare epsilon with google/dp-accounting.")
    ] = False,
) -> None:
    """Replay a ledger: chain, charges, caps, and the epsilon spent.

    Exit 0: no violation. 1: violation. 2: the ledger could not be read.
    """
    try:
        audit = audit_ledger(read_ledger(path))
        other = second_opinion(audit.charges, audit.delta) if cross_check else None
    except LedgerUnavailable as error:
        raise _fail(str(error), EXIT_UNREADABLE) from None
    except LedgerCorrupt as error:
        raise _fail(f"VIOLATION: {error}", EXIT_VIOLATION) from None
    disagree = other is not None and abs(other - audit.lifetime) > AGREEMENT * audit.lifetime
    if as_json:
        typer.echo(json.dumps(_as_json(audit, other), sort_keys=True))
    else:
        _show(audit, other)
    if disagree or not audit.sound:
        raise typer.Exit(EXIT_VIOLATION)


@app.command(epilog="Example:  reverie-audit export ~/.local/share/reverie phone.jsonl")
def export(
    path: Annotated[Path, typer.Argument(help="A phone's data folder.")],
    target: Annotated[Path, typer.Argument(help="New file, one entry a line, in clear.")],
) -> None:
    """Copy a sealed ledger into a plain file that somebody else can audit.

    It holds rounds, times and costs; nothing that was recorded or said.
    """
    try:
        count = export_ledger(read_ledger(path), target)
    except (LedgerUnavailable, LedgerCorrupt) as error:
        raise _fail(str(error), EXIT_UNREADABLE) from None
    except FileExistsError:
        raise _fail(f"{target}: exists already, choose a new file", EXIT_UNREADABLE) from None
    except OSError as error:
        raise _fail(f"{target}: {error.strerror}", EXIT_UNREADABLE) from None
    typer.echo(f"{count} entries written to {target}")


def main() -> None:
    """Entry point of ``reverie-audit``."""
    app()


def _fail(message: str, code: int) -> typer.Exit:
    typer.echo(f"reverie-audit: {message}", err=True)
    return typer.Exit(code)


def _as_json(audit: LedgerAudit, other: float | None) -> dict[str, object]:
    fields: dict[str, object] = asdict(audit)
    fields |= {"sound": audit.sound, "forfeited": audit.forfeited, "verdict": audit.verdict}
    return fields if other is None else fields | {"cross_check": other}


def _show(audit: LedgerAudit, other: float | None) -> None:
    console = Console()
    console.print(_charges_table(audit))
    console.print(_totals_table(audit, other))
    for problem in audit.problems:
        console.print(_problem_line(problem))
    console.print(
        "Unit: one device; neighbours: its report replaced by zeros. Trust: leader and helper do "
        "not collude, else see the last column. A cut-off tail cannot be seen in a ledger alone.",
        style="dim",
    )
    colour = "green" if audit.sound and audit.private else "yellow" if audit.sound else "red"
    console.print(audit.verdict, style=f"bold {colour}")


def _charges_table(audit: LedgerAudit) -> Table:
    table = Table(title=f"Releases of device {escape(audit.device) or '(not enrolled)'}")
    for column in ("entry", "when (UTC)", "task", "round", "report", "epsilon", "if colluding"):
        table.add_column(column, justify="left" if column == "task" else "right", no_wrap=True)
    for charge in audit.charges:
        table.add_row(
            str(charge.entry),
            datetime.fromtimestamp(charge.at, UTC).strftime("%Y-%m-%d %H:%M"),
            escape(charge.task),
            str(charge.round),
            "released" if charge.committed else "forfeited",
            _epsilon(charge.epsilon),
            _epsilon(charge.collusion_epsilon),
        )
    return table


def _totals_table(audit: LedgerAudit, other: float | None) -> Table:
    table = Table(title=f"Epsilon at delta {audit.delta:g}, {escape(audit.budget) or 'no'} budget")
    table.add_column("over")
    table.add_column("epsilon", justify="right")
    worst = max((charge.epsilon for charge in audit.charges), default=0.0)
    table.add_row("the worst report", _epsilon(worst))
    table.add_row("the worst 30 days", _epsilon(audit.worst_month))
    table.add_row("the worst 365 days", _epsilon(audit.worst_year))
    table.add_row("everything", _epsilon(audit.lifetime))
    table.add_row("everything (zCDP upper bound)", _epsilon(audit.lifetime_bound))
    if other is not None:
        table.add_row("everything (dp-accounting)", _epsilon(other))
    table.add_row("charges forfeited by crashes", str(audit.forfeited))
    return table


def _problem_line(problem: Problem) -> str:
    return f"[red]entry {problem.entry}:[/red] {escape(problem.what)}"


def _epsilon(value: float) -> str:
    text = f"{value:.3f}"
    return f"[red]{text}[/red]" if value > _LARGE_EPSILON else text
