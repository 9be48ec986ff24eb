"""`reverie-audit mechanism`: the shipped mechanisms put to the test."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from privacy.cli.console import EXIT_VIOLATION, fail, plain_errors, print_json

if TYPE_CHECKING:
    from privacy.audit.mechanisms import MechanismVerdict

__all__ = ["app"]

app = typer.Typer()

_ALL = "all"
_SEED = 20_260_301
"""The default: an audit is repeatable, and another seed is another sample."""


@app.command(
    epilog="Examples:  reverie-audit mechanism all  ·  reverie-audit mechanism k-rr  ·  "
    "reverie-audit mechanism all --json --seed 7"
)
def mechanism(
    name: Annotated[str, typer.Argument(help="A mechanism, or: all.")],
    seed: Annotated[int, typer.Option(help="Seed of the audit's own draws.")] = _SEED,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Test the code that randomises reports: exactly where it can be, else by hypothesis tests.

    Exit 0: every mechanism holds its claim. 1: one does not. 2: no such mechanism.
    """
    # Only this command needs them, and they load the whole product.
    from privacy.audit.mechanisms import NAMES, audit

    names = list(NAMES) if name == _ALL else [name]
    if not set(names) <= set(NAMES):
        raise fail(f"no such mechanism; known: {', '.join(NAMES)}, {_ALL}")
    with plain_errors(), _progress(names, shown=not as_json) as tell:
        verdicts = audit(names, seed=seed, progress=tell)
    if as_json:
        print_json({"mechanisms": [asdict(verdict) for verdict in verdicts]})
    else:
        _show(verdicts)
    if not all(verdict.ok for verdict in verdicts):
        raise typer.Exit(EXIT_VIOLATION)


@contextmanager
def _progress(names: Sequence[str], *, shown: bool) -> Iterator[Callable[[str], None] | None]:
    """A bar on stderr that names the mechanism under test."""
    if not shown:
        yield None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(
        *columns, TimeElapsedColumn(), console=Console(stderr=True), transient=True
    ) as bar:
        task = bar.add_task("", total=len(names))

        def tell(name: str) -> None:
            bar.update(task, completed=names.index(name), description=name)

        yield tell


def _show(verdicts: Sequence[MechanismVerdict]) -> None:
    console = Console()
    table = Table(title="Mechanisms")
    table.add_column("mechanism", no_wrap=True)
    table.add_column("verdict")
    for column in ("claimed", "at least"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("how, and what was found")
    for verdict in verdicts:
        said = f"{verdict.method}: {verdict.detail}" if verdict.detail else verdict.method
        table.add_row(
            escape(verdict.name),
            "[green]holds[/green]" if verdict.ok else "[red]BROKEN[/red]",
            _number(verdict.epsilon_claimed),
            _number(verdict.epsilon_lower_bound),
            escape(said),
        )
    console.print(table)
    broken = [verdict.name for verdict in verdicts if not verdict.ok]
    if broken:
        console.print(f"VIOLATION: {', '.join(broken)}", style="bold red")
    else:
        console.print("OK: every mechanism holds its claim.", style="bold green")


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
