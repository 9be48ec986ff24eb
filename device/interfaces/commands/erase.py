"""`forget`, `unarchive`: erase for good; bring back what had only faded."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import Annotated

import typer

from device.actors import DomainError
from device.interfaces.console import (
    AsJson,
    Home,
    console,
    errors,
    print_json,
    show,
    with_phone,
)
from device.interfaces.memory_views import forgotten_line, plan_table
from device.interfaces.service import PhoneCalls
from device.interfaces.words import say
from device.owner import ForgetPlan, Forgotten

__all__ = ["app"]

app = typer.Typer()


class ForgetUnclear(DomainError):
    """The command does not say what to forget, or cannot ask whether it is meant."""


@app.command(
    epilog="Examples:  reverie-device forget raw:12 mem:768  ·  "
    'reverie-device forget --query "Elm Road"  ·  reverie-device forget --all --yes'
)
def forget(
    home: Home,
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="[ID]...", help="raw:…, mem:… or value:…")
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Everything this phone was ever told.")
    ] = False,
    query: Annotated[
        str,
        typer.Option(
            "--query", help="All that holds these words, or was said at the time they name."
        ),
    ] = "",
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: AsJson = False,
) -> None:
    """Erase memories for good, in every layer, with the turns behind them and what else was drawn
    from those. Shows what would go and asks first."""
    named = list(ids or [])
    if (bool(named), everything, bool(query.strip())).count(True) != 1:
        raise ForgetUnclear("say what to forget: ids, or --query TEXT, or --all; one of them")

    async def work(phone: PhoneCalls) -> None:
        if everything:
            errors.print(say("all of it"), style="yellow")
            agreed = _agreed(yes)
            gone = await phone.forget_everything() if agreed else None
        else:
            asked = phone.plan_forget_query(query) if query else phone.plan_forget(named)
            plan = await asked
            if not plan.ids:
                _tell(Forgotten(0, 0, 0, 0), say("nothing matches"), as_json)
                return
            _show_plan(plan, phone, quiet=as_json and yes)
            gone = await phone.forget_planned(plan.ids, query) if _agreed(yes) else None
        if gone is None:
            _tell(Forgotten(0, 0, 0, 0), say("kept"), as_json)
            raise typer.Exit(1)
        _tell(gone, forgotten_line(gone), as_json)

    with_phone(home, work)


@app.command(epilog="Example:  reverie-device unarchive mem:768   (see `list --archived`)")
def unarchive(
    home: Home,
    ids: Annotated[list[str], typer.Argument(metavar="ID...", help="mem:… of the archive.")],
    as_json: AsJson = False,
) -> None:
    """Bring faded memories back from the archive; using them in an answer does so too."""

    async def work(phone: PhoneCalls) -> None:
        back = await phone.unarchive(ids)
        show({"unarchived": back}, say("brought back", count=len(back)), as_json)

    with_phone(home, work)


@app.command(
    name="undo-merge",
    epilog="Example:  reverie-device undo-merge mem:768   (see `list --kind change`)",
)
def undo_merge(
    home: Home,
    named: Annotated[
        str, typer.Argument(metavar="ID", help="The merge's change record, or either memory.")
    ],
    as_json: AsJson = False,
) -> None:
    """Part two memories that a dream made one; they stay apart."""

    async def work(phone: PhoneCalls) -> None:
        kept, parted = await phone.undo_merge(named)
        show({"kept": kept, "parted": parted}, say("parted", kept=kept, parted=parted), as_json)

    with_phone(home, work)


def _show_plan(plan: ForgetPlan, phone: PhoneCalls, *, quiet: bool) -> None:
    if quiet:
        return
    errors.print(plan_table(plan, phone.settings.zone))
    hidden = len(plan.ids) - len(plan.shown)
    if hidden > 0:
        errors.print(say("and more", count=hidden))
    counts = say("would forget", turns=plan.turns, items=plan.items, values=plan.values)
    errors.print(counts, style="yellow")


def _agreed(yes: bool) -> bool:
    if yes:
        return True
    if not sys.stdin.isatty():
        raise ForgetUnclear("nothing was erased: nobody is here to ask; pass --yes if it is meant")
    return typer.confirm(say("sure"), err=True)


def _tell(gone: Forgotten, line: str, as_json: bool) -> None:
    if as_json:
        print_json(asdict(gone))
    else:
        console.print(line)
