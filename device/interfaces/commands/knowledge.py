"""`knowledge list`, `drop`, `take`: the public documents that recall may answer from."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from device.interfaces.console import AsJson, Home, console, print_json, show, with_phone
from device.interfaces.knowledge_views import knowledge_table
from device.interfaces.service import PhoneCalls
from device.interfaces.words import say

__all__ = ["app"]

app = typer.Typer()
knowledge = typer.Typer(
    help="Public documents that recall may answer from, beside your own memory.",
    no_args_is_help=True,
)
app.add_typer(knowledge, name="knowledge")

Name = Annotated[str, typer.Argument(metavar="NAME", help="As `knowledge list` shows it.")]


@knowledge.command(
    name="list",
    epilog="Examples:  reverie-device knowledge list  ·  reverie-device knowledge list --json",
)
def list_(home: Home, as_json: AsJson = False) -> None:
    """Which documents are here, which version, how large, and which were dropped."""

    async def work(phone: PhoneCalls) -> None:
        known = await phone.knowledge()
        if as_json:
            print_json([asdict(each) for each in known])
        elif not known:
            console.print(say("no knowledge"))
        else:
            console.print(knowledge_table(known, phone.settings.zone))

    with_phone(home, work)


@knowledge.command(epilog="Example:  reverie-device knowledge drop metro")
def drop(home: Home, name: Name, as_json: AsJson = False) -> None:
    """Erase a document from this phone and take no newer version of it."""

    async def work(phone: PhoneCalls) -> None:
        await phone.drop_knowledge(name)
        show({"dropped": name}, say("knowledge dropped", name=name), as_json)

    with_phone(home, work)


@knowledge.command(epilog="Example:  reverie-device knowledge take metro")
def take(home: Home, name: Name, as_json: AsJson = False) -> None:
    """Take a dropped document again, with the next sync."""

    async def work(phone: PhoneCalls) -> None:
        await phone.want_knowledge(name)
        show({"wanted": name}, say("knowledge wanted", name=name), as_json)

    with_phone(home, work)
