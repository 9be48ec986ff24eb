"""`reverie-fleet replay` and `reverie-fleet shrink`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from simulator.faults.plan import FaultPlan
from simulator.quiet import quiet

if TYPE_CHECKING:
    from simulator.scenario import Scenario

__all__ = ["register", "replay_command", "shrink_command"]

_FAILED, _USAGE = 1, 2
Seed = Annotated[int, typer.Argument(min=0, help="The world's seed.")]
Phones = Annotated[int, typer.Option(min=1, help="Virtual phones.")]
Days = Annotated[int, typer.Option(min=1, help="Virtual days.")]
Storm = Annotated[
    float, typer.Option(min=0.0, help="Strength of the storm; 0: an ordinary network.")
]


def register(app: typer.Typer) -> None:
    """Add both commands."""
    app.command("replay")(replay_command)
    app.command("shrink")(shrink_command)


def replay_command(
    seed: Seed,
    until: Annotated[
        str, typer.Option(help="Words of an event, or a time DAY:HOUR:MINUTE; none: to the end.")
    ] = "",
    phones: Phones = 5,
    days: Days = 2,
    storm: Storm = 1.0,
) -> None:
    """Play a world again and tell its events, up to one of them.

    [bold]Examples[/]

      reverie-fleet replay 7 --until "fault kill"

      reverie-fleet replay 7 --until 2:03:30 --phones 4

    Exit codes: 0 the event was reached, 1 it never came, 2 the arguments cannot be used.
    """
    quiet()
    from simulator.replay import TraceEvent
    from simulator.replay import until as reading
    from simulator.world import Options, run_world

    console = Console(soft_wrap=True, highlight=False, markup=False)
    try:
        stops = reading(until) if until else None
    except ValueError as error:
        console.print(f"reverie-fleet: {error}")
        raise typer.Exit(_USAGE) from error

    reached = False

    def listen(event: TraceEvent) -> bool:
        nonlocal reached
        console.print(event.line())
        reached = stops is not None and stops(event)
        return reached

    run_world(Options.of(_scenario(seed, phones, days, storm), "inproc", 1), listener=listen)
    if stops is not None and not reached:
        console.print(f"reverie-fleet: nothing like {until!r} happened")
        raise typer.Exit(_FAILED)


def shrink_command(
    seed: Seed,
    phones: Phones = 5,
    days: Days = 2,
    storm: Storm = 1.0,
    tries: Annotated[int, typer.Option(min=1, help="Worlds to try at most.")] = 200,
) -> None:
    """Find a shorter world of this seed that breaks the same law.

    [bold]Example[/]

      reverie-fleet shrink 7 --phones 20 --days 3

    Exit codes: 0 this world breaks no law, 1 it does and the shortest is told.
    """
    quiet()
    from simulator.shrink import shrink
    from simulator.world import Options, run_world

    console = Console(soft_wrap=True, highlight=False, markup=False)

    def broken(scenario: Scenario) -> set[str]:
        laws = run_world(Options.of(scenario, "inproc", 1))["invariants"]["by_law"]
        return {name for name, told in laws.items() if told["violated"]}

    scenario = _scenario(seed, phones, days, storm)
    laws = broken(scenario)
    if not laws:
        console.print(f"seed {seed} breaks no law: there is nothing to shrink")
        return
    found, used = shrink(scenario, lambda smaller: bool(laws & broken(smaller)), tries)
    faults = ", ".join(name for name, fault in found.faults.items() if fault.rate) or "none"
    console.print(f"breaks law {'; '.join(sorted(laws))}")
    console.print(
        f"still does with {found.phones} phones, {found.days} days, faults: {faults} "
        f"({used} worlds tried)"
    )
    raise typer.Exit(_FAILED)


def _scenario(seed: int, phones: int, days: int, storm: float) -> Scenario:
    from simulator.scenario import Scenario

    faults = FaultPlan.storm(storm) if storm else FaultPlan()
    return Scenario(phones=phones, days=days, seed=seed, faults=faults)
