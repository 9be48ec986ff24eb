"""`probe`: standard questions asked of this phone's memory code, with the parameters it has."""

from __future__ import annotations

import asyncio
from base64 import b64decode
from collections import Counter
from contextlib import aclosing
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table
from rich.text import Text

from device.actors import DomainError
from device.interfaces.console import AsJson, Home, console, errors, print_json
from device.interfaces.home import reach_phone
from device.probing import Language, Models, Report, Suite, load_suite, play
from device.settings import FILE
from protocol.models import SPECS
from protocol.params import decode_full
from protocol.policy import FLOOR_NAMES

__all__ = ["app"]

app = typer.Typer()


class NoSuchProbes(DomainError):
    """A filter that leaves nothing to ask."""


@app.command(
    epilog="Examples:  reverie-device probe  ·  reverie-device probe --language zh --path times"
    "  ·  reverie-device probe --json  ·  reverie-device probe && echo all passed",
)
def probe(
    home: Home,
    language: Annotated[Language | None, typer.Option(help="Only probes in this language.")] = None,
    path: Annotated[
        str, typer.Option(help="Only probes along this path, such as times or changes.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Ask the standard questions of a scratch memory in RAM; the phone's own is not touched.

    Uses the releases this phone has adopted, or none where no phone lives. Exits 0 when all pass,
    1 otherwise.
    """
    suite = _chosen(language, path)
    report = asyncio.run(_ask(home, suite))
    if as_json:
        print_json(report.as_json())
    else:
        _print(report)
    if report.failed:
        raise typer.Exit(1)


def _chosen(language: Language | None, path: str) -> Suite:
    whole = load_suite()
    suite = whole.only(language=language, path=path)
    if not len(suite):
        known = ", ".join(whole.paths)
        raise NoSuchProbes(f"no probe walks the path {path!r}; the paths are {known}")
    return suite


async def _ask(home: Path, suite: Suite) -> Report:
    models = await _models(home)
    results = []
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=errors, transient=True) as bar:
        task = bar.add_task("asking", total=len(suite))
        async with aclosing(play(suite, models)) as played:
            async for result in played:
                results.append(result)
                bar.advance(task)
    return Report(tuple(results))


async def _models(home: Path) -> Models:
    """The parameters the phone in `home` has adopted; none where no phone lives."""
    if not (home / FILE).exists():
        return Models()
    async with reach_phone(home) as phone:
        adopted = await phone.adopted()
        floors = (await phone.status()).floors
    decoded = {
        model: decode_full(b64decode(blob), SPECS[model], version)
        for model, (version, blob) in adopted.items()
    }
    # What the owner chose is no part of a release.
    policy = {FLOOR_NAMES[layer]: floor for layer, floor in floors.named.items()}
    return Models(**decoded, policy=policy if floors.source == "release" else {})


def _print(report: Report) -> None:
    console.print(_table(report))
    for result in report.failed:
        line = Text.assemble((f"{result.id}  ", "red"), result.reason)
        if result.known:
            line.append(f"  (known: {result.known})", "dim")
        console.print(line, soft_wrap=True)
    style = "red" if report.failed else "green"
    console.print(f"{report.passed} of {report.total} probes passed", style=style, highlight=False)


def _table(report: Report) -> Table:
    """Passed of asked, by path and language."""
    asked = Counter((result.path, result.language) for result in report.results)
    passed = Counter((r.path, r.language) for r in report.results if r.passed)
    languages = [name.value for name in Language if any(key[1] == name for key in asked)]
    table = Table("path", *languages)
    for path in sorted({path for path, _ in asked}):
        cells = []
        for name in languages:
            whole, good = asked[path, name], passed[path, name]
            cells.append(Text(f"{good}/{whole}", "green" if good == whole else "red"))
        table.add_row(path, *cells)
    return table
