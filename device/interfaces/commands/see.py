"""`list`, `show`, `why`: what the memory holds and where it comes from."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from device.interfaces.console import AsJson, Home, console, print_json, with_phone
from device.interfaces.memory_views import shown_table, why_lines
from device.interfaces.service import PhoneCalls
from device.interfaces.views import item_table
from device.interfaces.words import say
from device.memory.records import ItemKind

__all__ = ["app"]

app = typer.Typer()


@app.command(
    name="list",
    epilog="Examples:  reverie-device list --kind preference  ·  reverie-device list --page 2  ·  "
    "reverie-device list --archived --json",
)
def list_(
    home: Home,
    kind: Annotated[ItemKind | None, typer.Option(help="Only memories of this kind.")] = None,
    archived: Annotated[
        bool, typer.Option("--archived", help="The cold archive, not the working set.")
    ] = False,
    page: Annotated[int, typer.Option(min=1, help="Which page, the newest first.")] = 1,
    per_page: Annotated[int, typer.Option(min=1, max=1000, help="Memories a page.")] = 50,
    as_json: AsJson = False,
) -> None:
    """Everything the structured memory holds, page by page; `recall` finds what was only said."""

    async def work(phone: PhoneCalls) -> None:
        first = (page - 1) * per_page
        found = await phone.browse(kind, archived, first, per_page)
        if as_json:
            print_json([asdict(item) for item in found.items])
            return
        if not found.total:
            console.print(say("nothing archived" if archived else "nothing yet"))
            return
        console.print(item_table(list(found.items), phone.settings.zone))
        last = first + len(found.items)
        more = "page" if last < found.total else "page end"
        where = say(more, first=first + 1, last=last, total=found.total, next=page + 1)
        console.print(where, style="dim")

    with_phone(home, work)


@app.command(epilog="Examples:  reverie-device show mem:768  ·  reverie-device show raw:12 --json")
def show(
    home: Home,
    identifier: Annotated[str, typer.Argument(metavar="ID", help="raw:…, mem:… or value:…")],
    as_json: AsJson = False,
) -> None:
    """One memory whole: its history, its changes, the turns it was drawn from."""

    async def work(phone: PhoneCalls) -> None:
        shown = await phone.show(identifier)
        if as_json:
            print_json(asdict(shown))
        else:
            console.print(shown_table(shown, phone.settings.zone))

    with_phone(home, work)


@app.command(
    epilog="Examples:  reverie-device why mem:768  ·  "
    'reverie-device why "when do I fly to Hangzhou?"'
)
def why(
    home: Home,
    about: Annotated[str, typer.Argument(metavar="ID|QUERY")],
    as_json: AsJson = False,
) -> None:
    """Where a memory, or an answer, comes from: who said it, when, and how it was found."""

    async def work(phone: PhoneCalls) -> None:
        reasons = await phone.why(about)
        if as_json:
            print_json(asdict(reasons))
        elif not reasons.reasons:
            console.print(say("no answer"))
        else:
            for line in why_lines(reasons, phone.settings.zone):
                console.print(line, soft_wrap=True)

    with_phone(home, work)
