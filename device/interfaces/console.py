"""What every command of `reverie-device` shares: its options, its console, its phone."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Annotated, Any

import typer
from platformdirs import user_data_path
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from device.interfaces.home import open_phone, reach_phone
from device.interfaces.service import PhoneCalls

__all__ = [
    "Adb",
    "AsJson",
    "Home",
    "Script",
    "Work",
    "at_once_or_in_window",
    "console",
    "counting_bar",
    "errors",
    "print_json",
    "show",
    "with_phone",
]

console = Console(markup=False)
"""Paths, exports and memories hold brackets: nothing printed is ever read as markup."""
errors = Console(stderr=True, markup=False)
"""Warnings, questions and progress: what a pipe must not receive."""

Home = Annotated[
    Path,
    typer.Option(
        envvar="REVERIE_HOME",
        help="The phone's folder.",
        default_factory=lambda: user_data_path("reverie"),
        show_default="the user's data folder",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
Script = Annotated[
    Path | None,
    typer.Option(
        envvar="REVERIE_CONDITIONS",
        help="Read idle, charging and unmetered from this JSON script, not from the machine.",
    ),
]
Adb = Annotated[
    str | None,
    typer.Option(
        "--adb",
        envvar="REVERIE_ADB",
        metavar="SERIAL",
        help="Read them from the emulator or phone that `adb devices` lists under this serial.",
    ),
]

Work = Callable[[PhoneCalls], Coroutine[Any, Any, None]]


def with_phone(
    home: Path, work: Work, conditions: Path | None = None, adb: str | None = None
) -> None:
    """Run `work` on the phone in `home`: through its daemon, or opened here."""

    async def whole() -> None:
        async with reach_phone(home, conditions, adb) as phone:
            await work(phone)

    asyncio.run(whole())


def at_once_or_in_window(home: Path, work: Work, conditions: Path | None, *, now: bool) -> None:
    """Run `work` now, or as soon as the window opens and no longer than it lasts."""

    async def wait() -> None:
        async with open_phone(home, conditions) as phone:
            console.print("waiting until idle, charging and on unmetered Wi-Fi…")
            await phone.window.opened()
            if await phone.window.run_while_open(lambda: work(phone)) == "interrupted":
                console.print("the window closed; what is left is done in the next", style="yellow")

    if now:
        with_phone(home, work, conditions)
    else:
        asyncio.run(wait())


def counting_bar() -> Progress:
    """A progress bar over a known number of things, on stderr, gone when it ends."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    return Progress(*columns, console=errors, transient=True)


def show(data: dict[str, Any], line: str, as_json: bool) -> None:
    """Print `data` for machines or `line` for people."""
    if as_json:
        print_json(data)
    else:
        console.print(line, highlight=False)


def print_json(data: Any) -> None:
    """Print JSON to stdout; bytes as hex, whatever else is unknown as text."""
    typer.echo(json.dumps(data, ensure_ascii=False, indent=2, default=_plain))


def _plain(value: Any) -> Any:
    return value.hex() if isinstance(value, bytes) else str(value)
