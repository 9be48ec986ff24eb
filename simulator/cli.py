"""`reverie-fleet`: play a fleet of virtual phones and report what happened."""

from __future__ import annotations

import json
import sys
import tempfile
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from simulator.quiet import quiet

__all__ = ["app", "main"]

_HOUR = 3600.0
_DAY = 86_400.0
_MAX_PHONES = 200_000
_MAX_DAYS = 366
_VIOLATED, _USAGE = 1, 2

app = typer.Typer(
    help="A fleet of virtual phones: real device code, virtual time, real dialogues.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)


class RuntimeName(StrEnum):
    """Where cloud actors and phone hosts run."""

    INPROC = "inproc"
    RAY = "ray"


class BudgetName(StrEnum):
    """Whose floors and caps apply."""

    DEMO = "demo"
    PRODUCTION = "production"


class AggregationName(StrEnum):
    """How reports become sums."""

    TWO_SERVER = "two-server"
    LOCAL = "local"


@app.callback()
def fleet() -> None:
    """A fleet of virtual phones: real device code, virtual time, real dialogues."""


@app.command()
def run(
    phones: Annotated[int, typer.Option(min=1, max=_MAX_PHONES, help="Virtual phones.")] = 50,
    days: Annotated[int, typer.Option(min=1, max=_MAX_DAYS, help="Virtual days.")] = 3,
    seed: Annotated[int, typer.Option(min=0, help="The same seed replays the same world.")] = 0,
    data: Annotated[
        Path | None,
        typer.Option(
            help="Dialogues: our JSONL, LoCoMo or MemoryBank JSON, or a folder of them. "
            "Default: the shipped bilingual sample."
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for report.json and report.html.")] = Path(
        "out/fleet"
    ),
    runtime: Annotated[
        RuntimeName, typer.Option(help="Run actors and hosts in this process, or on Ray.")
    ] = RuntimeName.INPROC,
    hosts: Annotated[int, typer.Option(min=1, max=256, help="Shards of phones.")] = 1,
    budget: Annotated[
        BudgetName, typer.Option(help="demo learns something visible; it protects nobody.")
    ] = BudgetName.DEMO,
    aggregation: Annotated[
        AggregationName, typer.Option(help="local: no helper, each phone randomises alone.")
    ] = AggregationName.TWO_SERVER,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Play a fleet and write its report.

    [bold]Examples[/]

      reverie-fleet run --phones 50 --days 3 --seed 7 --out out/demo

      reverie-fleet run --data ../shared/data/locomo --phones 24 --days 2

      reverie-fleet run --runtime ray --hosts 2 --json

      reverie-fleet run --aggregation local --phones 100 --days 2

    Exit codes: 0 all laws held, 1 a law was violated, 2 the arguments cannot be used.
    """
    quiet()
    console = Console(stderr=as_json)
    _writable(out, console)
    try:
        from cloud.actors.ray_runtime import RayUnavailable
        from simulator.corpus import CorpusUnreadable
        from simulator.report import write
        from simulator.summary import say
        from simulator.world import Options, run_world
    except ModuleNotFoundError as error:
        _fail(console, f"{error.name} is not installed; run: pip install 'reverie[simulator]'")
    options = Options(
        phones, days, seed, data, runtime.value, hosts, budget.value, aggregation.value
    )
    try:
        with _bar(Console(stderr=True)) as bar:
            report = run_world(options, _follow(bar, days))
    except (CorpusUnreadable, RayUnavailable) as error:
        _fail(console, str(error))
    try:
        write(report, out)
    except OSError as error:
        _fail(console, f"cannot write to {error.filename or out}: {error.strerror}")
    if as_json:
        sys.stdout.write(json.dumps(report, ensure_ascii=False, indent=2) + "\n")
    else:
        say(report, console)
        console.print(f"\nReport: {out / 'report.html'} and {out / 'report.json'}", style="dim")
    if report["invariants"]["violated"]:
        raise typer.Exit(_VIOLATED)


def main() -> None:
    """Entry point of `reverie-fleet`."""
    app()


def _writable(out: Path, console: Console) -> None:
    """A place that cannot hold the report is known before the fleet plays."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=out):
            pass
    except OSError as error:
        _fail(console, f"cannot write to {out}: {error.strerror}")


def _fail(console: Console, reason: str) -> NoReturn:
    console.print(f"reverie-fleet: {reason}", markup=False, highlight=False, soft_wrap=True)
    raise typer.Exit(_USAGE)


def _bar(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.fields[when]}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
    )


def _follow(bar: Progress, days: int) -> Any:
    task = bar.add_task("", total=days * _DAY, when="starting the cloud")

    def passed(seconds: float) -> None:
        day, hour = divmod(seconds, _DAY)
        when = f"virtual day {int(day) + 1}, {int(hour // _HOUR):02d}:00"
        bar.update(task, completed=seconds, when=when)

    return passed
