"""`reverie-fleet scenarios` and `reverie-fleet availability`: what a world can be made of."""

from __future__ import annotations

import json
import sys
from typing import Annotated, Any, Literal, TypeAlias

import typer
from rich.console import Console
from rich.table import Table

__all__ = ["register"]

_HOURS = 24
_BAR = 30
"""Characters of a full bar, a share of 100 %."""
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

Justify: TypeAlias = Literal["left", "right"]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def register(app: typer.Typer) -> None:
    """Put both commands into `app`."""
    app.command()(scenarios)
    app.command()(availability)


def scenarios(as_json: AsJson = False) -> None:
    """List the ready scenarios: play one with [bold]reverie-fleet run --scenario NAME[/]."""
    from simulator.scenario import ready_scenarios

    ready = ready_scenarios()
    if as_json:
        _print([scenario.model_dump(mode="json") for scenario in ready])
        return
    table = Table(box=None, pad_edge=False)
    for column in ("name", "phones", "days", "what it is"):
        justify: Justify = "right" if column in ("phones", "days") else "left"
        table.add_column(column, justify=justify, overflow="fold")
    for one in ready:
        about = f"{one.about.en}\n{one.about.zh}"
        table.add_row(one.name, str(one.phones), str(one.days), about)
    Console().print(table)


def availability(
    show: Annotated[
        bool, typer.Option("--show", help="Draw the fitted model beside the trace.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """How often phones see their window, by the fitted model, and how well it fits the trace.

    The phones drawn for the comparison are seen only in the minutes in which their real
    counterparts were, so that gaps in the trace cut the windows of both alike.
    """
    from simulator.availability import goodness_of_fit
    from simulator.habits import HABITS, rhythms_of, window_share_of

    goodness = goodness_of_fit()
    shares = {
        name.value: round(window_share_of(rhythms_of({name: 1.0}, "weekly")[name]), 4)
        for name in HABITS
    }
    if as_json:
        _print({"goodness": goodness, "habits": shares})
        return
    console = Console()
    _say(goodness, console)
    if show:
        _draw(goodness["by_hour"], [f"{hour:02d}:00" for hour in range(_HOURS)], console)
        _draw(goodness["by_weekday"], list(_DAYS), console)
    table = Table("habit", "window", "what it is", box=None, pad_edge=False)
    for name, habit in HABITS.items():
        table.add_row(name.value, f"{shares[name.value]:.1%}", habit.about)
    console.print(table)


def _say(goodness: dict[str, Any], console: Console) -> None:
    lengths, phones = goodness["window_minutes"], goodness["phone_share"]
    worst = {
        key: max(abs(a - b) for a, b in zip(each["trace"], each["drawn"], strict=True))
        for key, each in goodness.items()
        if key in ("by_hour", "by_weekday")
    }
    console.print(
        f"{goodness['phones']} phones, {goodness['minutes']:,} minutes; "
        f"{goodness['draws_a_phone']} drawn for each.\n"
        f"Largest gap in the share of window minutes: {worst['by_hour']:.1%} at an hour, "
        f"{worst['by_weekday']:.1%} on a weekday.\n"
        f"Kolmogorov-Smirnov distance of window lengths {lengths['ks']:.3f}, "
        f"of phones' shares {phones['ks']:.3f}.",
        highlight=False,
    )
    table = Table("", *(f"p{100 * q:g}" for q in lengths["quantiles"]), box=None, pad_edge=False)
    for key, said in (("trace", "window minutes, trace"), ("drawn", "window minutes, drawn")):
        table.add_row(said, *(f"{value:g}" for value in lengths[key]))
    console.print(table)


def _draw(shares: dict[str, list[float]], labels: list[str], console: Console) -> None:
    table = Table("", "trace", "", "drawn", "", box=None, pad_edge=False)
    for label, trace, drawn in zip(labels, shares["trace"], shares["drawn"], strict=True):
        bars = ("█" * round(share * _BAR) for share in (trace, drawn))
        first, second = bars
        table.add_row(label, f"{trace:.1%}", first, f"{drawn:.1%}", second)
    console.print(table)


def _print(value: Any) -> None:
    sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=2) + "\n")
