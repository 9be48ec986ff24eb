"""`export`, `restore`: the memory as a plain file, and back."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from device.actors import SystemClock
from device.interfaces.console import AsJson, Home, errors, show, with_phone
from device.interfaces.copies import bring_back, read_copy, write_copy
from device.interfaces.service import PhoneCalls
from device.interfaces.words import say

__all__ = ["app"]

app = typer.Typer()


@app.command(epilog="Example:  reverie-device export ~/memory.json")
def export(
    home: Home,
    file: Annotated[Path, typer.Argument(help="Where the plain JSON goes.")],
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write everything remembered to one file, in clear on purpose: it is yours."""

    async def work(phone: PhoneCalls) -> None:
        counts = await write_copy(phone, file, now=SystemClock().now(), overwrite=force)
        errors.print(say("plain warning", path=file), style="yellow", soft_wrap=True)
        show({"file": str(file), **counts}, say("exported", path=file, **counts), as_json)

    with_phone(home, work)


@app.command(
    epilog="Example:  reverie-device restore ~/memory.json   (twice adds nothing; ids may change; "
    "what was forgotten since the export comes back)"
)
def restore(
    home: Home,
    file: Annotated[Path, typer.Argument(help="A file written by `export`.")],
    as_json: AsJson = False,
) -> None:
    """Bring back what an export holds; what is known already stays as it is."""
    copy = read_copy(file)

    async def work(phone: PhoneCalls) -> None:
        done = await bring_back(phone, copy)
        show(asdict(done), say("restored", **asdict(done)), as_json)

    with_phone(home, work)
