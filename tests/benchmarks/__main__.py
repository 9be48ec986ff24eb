"""`make bench`: runs every bench module, writes `out/bench.json`, prints a table."""

from __future__ import annotations

import importlib
import json
import pkgutil
import sys
from pathlib import Path

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

import tests.benchmarks as package
from tests.benchmarks.row import Row

OUT = Path("out/bench.json")


def modules(wanted: list[str]) -> list[str]:
    """Names of the bench modules, all of them or those whose name holds one of `wanted`."""
    names = sorted(m.name for m in pkgutil.iter_modules(package.__path__))
    names = [name for name in names if name.startswith("bench_")]
    return [name for name in names if not wanted or any(part in name for part in wanted)]


def table(rows: list[Row]) -> Table:
    """The rows as people read them."""
    view = Table(title="Reverie benchmarks")
    for heading in ("what", "value", "unit", "peer or bound", "theirs", "ratio", "target"):
        view.add_column(
            heading, justify="left" if heading in ("what", "peer or bound") else "right"
        )
    for row in rows:
        other = row.peer_value if row.peer_value is not None else row.bound
        verdict = {None: "", True: "[green]met[/]", False: "[red]missed[/]"}[row.met]
        view.add_row(
            row.name,
            f"{row.value:,.4g}",
            row.unit,
            row.peer or ("bound" if row.bound is not None else ""),
            "" if other is None else f"{other:,.4g}",
            "" if row.ratio is None else f"{row.ratio:,.3g}",
            "" if row.target is None else f"{row.target:,.4g} {verdict}",
        )
    return view


def main() -> None:
    """Run the modules named on the command line, or all."""
    console = Console()
    rows: list[Row] = []
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        for name in modules(sys.argv[1:]):
            task = progress.add_task(name, total=None)
            rows.extend(importlib.import_module(f"{package.__name__}.{name}").rows())
            progress.remove_task(task)
    OUT.parent.mkdir(parents=True, exist_ok=True)
    OUT.write_text(json.dumps({"rows": [row.as_json() for row in rows]}, indent=2) + "\n")
    console.print(table(rows))
    console.print(f"written to {OUT}")


if __name__ == "__main__":
    main()
