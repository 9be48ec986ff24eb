"""`reverie-cloud alarms`: what the watch found, for people and for programs."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Annotated

import typer

from cloud.actors.watch import Alarm, standing
from cloud.command_line import STATE, Json, State, database_in
from cloud.console import out, print_json

__all__ = ["app"]

app = typer.Typer()


@app.command()
def alarms(
    state: State = STATE,
    past: Annotated[bool, typer.Option("--past", help="Also those that have cleared.")] = False,
    as_json: Json = False,
) -> None:
    """List what asks for a look: drifting use, refused releases, rounds and candidates that fail.

    Examples:

      reverie-cloud alarms

      reverie-cloud alarms --past --json
    """
    with database_in(state) as database, database.read() as connection:
        found = standing(connection, past=past)
    if as_json:
        print_json([alarm._asdict() for alarm in found])
        return
    for line in _lines(found):
        out.print(line, highlight=False, markup=False, soft_wrap=True)


def _lines(found: Sequence[Alarm]) -> Iterator[str]:
    if not found:
        yield "nothing asks for a look"
    for alarm in found:
        until = f"cleared {_moment(alarm.cleared)}" if alarm.cleared else "stands"
        yield f"{alarm.key}  raised {_moment(alarm.raised)}, {until}"
        for name, value in sorted(alarm.detail.items()):
            yield f"    {name}  {_short(value)}"


def _moment(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(at))


def _short(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
