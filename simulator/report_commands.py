"""`reverie-fleet schema` and `reverie-fleet compare`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich.console import Console

__all__ = ["register"]

_DIFFERENT, _USAGE = 1, 2


def register(app: typer.Typer) -> None:
    """Add the commands to `reverie-fleet`."""
    app.command()(schema)
    app.command()(compare)


def schema() -> None:
    """Print the JSON schema of report.json.

    [bold]Example[/]

      reverie-fleet schema > report.schema.json
    """
    from simulator.report_schema import json_schema

    sys.stdout.write(json.dumps(json_schema(), ensure_ascii=False, indent=2) + "\n")


def compare(
    a: Annotated[Path, typer.Argument(help="report.json, or the folder it lies in.")],
    b: Annotated[Path, typer.Argument(help="The other one.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the comparison as JSON.")] = False,
    html: Annotated[
        Path | None, typer.Option(help="Also write a page with their charts overlaid.")
    ] = None,
) -> None:
    """Say whether two reports are one world, and which of their numbers differ.

    [bold]Examples[/]

      reverie-fleet compare out/before out/after

      reverie-fleet compare out/a out/b --html out/a-b.html --json

    Exit codes: 0 equal but for the wall clock, 1 they differ, 2 one cannot be read or written.
    """
    from simulator import compare as comparing
    from simulator.compare_page import render_comparison
    from simulator.report_files import ReportUnreadable, read_report

    console = Console(stderr=as_json)
    names = _names(a, b)
    try:
        reports = read_report(a), read_report(b)
        found = comparing.compare(*reports)
        if html is not None:
            html.write_text(render_comparison(found, reports, names), encoding="utf-8")
    except ReportUnreadable as error:
        _refuse(console, str(error))
    except OSError as error:
        _refuse(console, f"cannot write to {error.filename or html}: {error.strerror}")
    if as_json:
        said = comparing.as_json(found)
        sys.stdout.write(json.dumps(said, ensure_ascii=False, indent=2) + "\n")
    else:
        comparing.say(found, names, console)
    if not found.equal:
        raise typer.Exit(_DIFFERENT)


def _names(a: Path, b: Path) -> tuple[str, str]:
    """What to call them: the parts of their paths that tell them apart."""
    left, right = (path.parent if path.name == "report.json" else path for path in (a, b))
    if left.name and right.name and left.name != right.name:
        return left.name, right.name
    return str(a), str(b)


def _refuse(console: Console, reason: str) -> NoReturn:
    console.print(f"reverie-fleet: {reason}", markup=False, highlight=False, soft_wrap=True)
    raise typer.Exit(_USAGE)
