"""`reverie-fleet`: play a fleet of virtual phones and report what happened."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer
from rich.console import Console

from simulator import ask_commands, people_commands, replay_commands, report_commands
from simulator.quiet import quiet

if TYPE_CHECKING:
    from simulator.scenario import Scenario

__all__ = ["app", "main"]

_MAX_PHONES = 200_000
_MAX_DAYS = 366
_VIOLATED, _USAGE = 1, 2
_SPEED = 60.0
"""A virtual day in 24 minutes: a window, five minutes in the median, is then five seconds long."""
_AT_ONCE = 256
"""Sessions of a load test that are open together: within what a process may have open files."""

app = typer.Typer(
    help="A fleet of virtual phones: real device code, virtual time, real dialogues.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)
report_commands.register(app)
ask_commands.register(app)
people_commands.register(app)
replay_commands.register(app)


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


class FidelityName(StrEnum):
    """How much of a phone's work is done."""

    FULL = "full"
    LIGHT = "light"


@app.callback()
def fleet() -> None:
    """A fleet of virtual phones: real device code, virtual time, real dialogues."""


@app.command()
def run(
    scenario: Annotated[
        str, typer.Option(help="A ready world by its name, or a YAML file; flags hold over it.")
    ] = "demo",
    phones: Annotated[
        int | None, typer.Option(min=1, max=_MAX_PHONES, help="Virtual phones.")
    ] = None,
    days: Annotated[int | None, typer.Option(min=1, max=_MAX_DAYS, help="Virtual days.")] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="The same seed replays the same world.")
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            help="Dialogues: our JSONL, LoCoMo or MemoryBank JSON, or a folder of them. "
            "Default: the shipped bilingual sample."
        ),
    ] = None,
    availability: Annotated[
        Path | None,
        typer.Option(help="When real phones were there: CSV of intervals, or FedScale's as JSON."),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for report.json and report.html.")] = Path(
        "out/fleet"
    ),
    runtime: Annotated[
        RuntimeName | None,
        typer.Option(help="Run cloud and hosts in this process, or on Ray. Default: by --hosts."),
    ] = None,
    hosts: Annotated[
        str,
        typer.Option(
            metavar="NUMBER|auto",
            help="Shards of phones. auto: one on Ray for every core where the world is big.",
        ),
    ] = "auto",
    budget: Annotated[
        BudgetName | None,
        typer.Option(help="demo learns something visible; it protects nobody."),
    ] = None,
    aggregation: Annotated[
        AggregationName | None,
        typer.Option(help="local: no helper, each phone randomises alone."),
    ] = None,
    fidelity: Annotated[
        FidelityName | None,
        typer.Option(help="light: less language work, for very large fleets; the report says it."),
    ] = None,
    cloud: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Load a deployed cloud instead, over real sockets."),
    ] = None,
    token_file: Annotated[
        Path | None, typer.Option(help="With --cloud: an enrolment token a line.")
    ] = None,
    cloud_key: Annotated[
        str, typer.Option(help="With --cloud: its key in hex; none: the one it shows.")
    ] = "",
    helper_pin: Annotated[
        str, typer.Option(help="With --cloud: the helper's key in hex, to be the only one.")
    ] = "",
    trust_ca: Annotated[
        Path | None, typer.Option(help="With --cloud: PEM of the authority of its certificate.")
    ] = None,
    speed: Annotated[
        float,
        typer.Option(min=1.0, max=86_400.0, help="With --cloud: virtual seconds in a real one."),
    ] = _SPEED,
    at_once: Annotated[
        int, typer.Option(min=1, max=10_000, help="With --cloud: sessions open together, at most.")
    ] = _AT_ONCE,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Play a fleet and write its report.

    [bold]Examples[/]

      reverie-fleet run --phones 50 --days 3 --seed 7 --out out/demo

      reverie-fleet run --data ../shared/data/locomo --phones 24 --days 2

      reverie-fleet run --scenario commuters --phones 24

      reverie-fleet run --availability client_behave_trace.json --phones 100

      reverie-fleet run --runtime ray --hosts 2 --json

      reverie-fleet run --aggregation local --phones 100 --days 2

      reverie-fleet run --scenario city --hosts auto

      reverie-fleet run --scenario city --phones 10000 --fidelity light

      reverie-fleet run --cloud wss://cloud.example --token-file tokens.txt --phones 200 --days 1

    Exit codes: 0 all laws held, 1 a law was violated, 2 the arguments cannot be used.
    """
    quiet()
    console = Console(stderr=as_json)
    _writable(out, console)
    try:
        from cloud.actors.ray_runtime import RayUnavailable
        from simulator.lives import UNREADABLE
        from simulator.placing import PlacingRefused, place
        from simulator.progress import following
        from simulator.report import write
        from simulator.resident import resident
        from simulator.scenario import ScenarioUnreadable, load_scenario
        from simulator.summary import say
        from simulator.world import Options, run_world
    except ModuleNotFoundError as error:
        _fail(console, f"{error.name} is not installed; run: pip install 'reverie[simulator]'")
    try:
        world = load_scenario(scenario).changed(
            phones=phones,
            days=days,
            seed=seed,
            data=data,
            availability=availability,
            budget=budget and budget.value,
            aggregation=aggregation and aggregation.value,
            fidelity=fidelity and fidelity.value,
        )
    except ScenarioUnreadable as error:
        _fail(console, str(error))
    if cloud is not None:
        keys = (cloud_key.strip().lower(), helper_pin.strip().lower())
        target = (cloud, *keys, trust_ca, token_file)
        _load(target, world, speed, at_once, out, console, as_json=as_json)
        return
    phone_days = world.phones * world.days
    try:
        placed = place(hosts, runtime.value if runtime else None, phone_days=phone_days)
    except PlacingRefused as error:
        _fail(console, str(error))
    options = Options.of(world, placed.runtime, placed.hosts)
    try:
        with following(
            Console(stderr=True),
            options.phones,
            options.days,
            placed.said,
            memory=partial(resident, os.getpid()),
        ) as told:
            report = run_world(options, told)
    except (*UNREADABLE, RayUnavailable) as error:
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


def _load(
    target: tuple[str, str, str, Path | None, Path | None],
    world: Scenario,
    speed: float,
    at_once: int,
    out: Path,
    console: Console,
    *,
    as_json: bool,
) -> None:
    from simulator.deployed import CloudRefused, LoadOptions, Target
    from simulator.deployed.commands import load_and_say
    from simulator.lives import UNREADABLE

    options = LoadOptions(Target(*target), world, speed, at_once)
    try:
        violated = load_and_say(options, out, console, as_json=as_json)
    except (*UNREADABLE, CloudRefused) as error:
        _fail(console, str(error))
    except OSError as error:
        _fail(console, f"cannot write to {error.filename or out}: {error.strerror}")
    if violated:
        raise typer.Exit(_VIOLATED)


def main() -> None:
    """Entry point of `reverie-fleet`."""
    # A phone's matrices are small: a second thread for them would only spin, at a tenth of the run.
    for library in ("OPENBLAS", "OMP", "MKL"):
        os.environ.setdefault(f"{library}_NUM_THREADS", "1")
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
