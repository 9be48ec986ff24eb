"""`list`: what the memory holds."""

from __future__ import annotations

from dataclasses import asdict

import typer

from device.interfaces.console import AsJson, Home, console, print_json, with_phone
from device.interfaces.service import PhoneCalls
from device.interfaces.views import item_table
from device.memory.records import ItemKind

__all__ = ["app"]

app = typer.Typer()


@app.command(name="list", epilog="Example:  reverie-device list --kind preference")
def list_(home: Home, kind: ItemKind | None = None, as_json: AsJson = False) -> None:
    """Everything the structured memory holds."""

    async def work(phone: PhoneCalls) -> None:
        items = await phone.items(kind)
        if as_json:
            print_json([asdict(item) for item in items])
        elif items:
            console.print(item_table(items, phone.settings.zone))
        else:
            console.print("Nothing yet: the structured memory fills while the phone dreams.")

    with_phone(home, work)
