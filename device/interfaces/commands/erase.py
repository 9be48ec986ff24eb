"""`forget`: erase for good."""

from __future__ import annotations

import typer

from device.interfaces.console import Home, console, with_phone
from device.interfaces.service import PhoneCalls

__all__ = ["app"]

app = typer.Typer()


@app.command(epilog="Example:  reverie-device forget raw:12 raw:13")
def forget(home: Home, turns: list[str]) -> None:
    """Erase turns, and everything that was drawn from them, for good."""

    async def work(phone: PhoneCalls) -> None:
        gone = await phone.forget(turns)
        console.print(f"{gone} memories erased")

    with_phone(home, work)
