"""`status`, `dream`, `sync`, `revert`, `run`: the phone's own life."""

from __future__ import annotations

import asyncio
import signal
from contextlib import suppress
from dataclasses import asdict
from typing import Annotated

import typer

from device.interfaces.console import (
    Adb,
    AsJson,
    Home,
    Script,
    at_once_or_in_window,
    console,
    print_json,
    show,
    with_phone,
)
from device.interfaces.home import open_phone
from device.interfaces.service import PhoneCalls, serving
from device.interfaces.views import Narrator, status_table, sync_lines

__all__ = ["app"]

app = typer.Typer()


@app.command(epilog="Example:  reverie-device status --json")
def status(home: Home, conditions: Script = None, adb: Adb = None, as_json: AsJson = False) -> None:
    """Conditions, window, memory sizes, versions, privacy budget."""

    async def work(phone: PhoneCalls) -> None:
        state = await phone.status()
        if as_json:
            print_json(state.model_dump(mode="json"))
        else:
            console.print(status_table(state))

    with_phone(home, work, conditions, adb)


@app.command(epilog="Example:  reverie-device dream --now")
def dream(
    home: Home,
    now: Annotated[bool, typer.Option("--now", help="Do not wait for the window.")] = False,
    conditions: Script = None,
) -> None:
    """Consolidate, learn and sync once, when the window opens or at once."""

    async def work(phone: PhoneCalls) -> None:
        report = await phone.dream()
        console.print(f"{report.consolidated} turns consolidated")
        for line in sync_lines(report.sync) if report.sync else []:
            console.print(line)
        if report.problem:
            console.print(report.problem, style="yellow")

    at_once_or_in_window(home, work, conditions, now=now)


@app.command(epilog="Example:  reverie-device sync --now")
def sync(
    home: Home,
    now: Annotated[bool, typer.Option("--now", help="Do not wait for the window.")] = False,
    conditions: Script = None,
    as_json: AsJson = False,
) -> None:
    """Sync once, always through the privacy gate."""

    async def work(phone: PhoneCalls) -> None:
        report = await phone.sync_now()
        if as_json:
            print_json(asdict(report))
            return
        for line in sync_lines(report):
            console.print(line)

    at_once_or_in_window(home, work, conditions, now=now)


@app.command(epilog="Example:  reverie-device revert router")
def revert(
    home: Home,
    model: Annotated[str, typer.Argument(metavar="MODEL", help="router or dedup.")],
    as_json: AsJson = False,
) -> None:
    """Put the parameters before the present ones back; the present version is not taken again."""

    async def work(phone: PhoneCalls) -> None:
        version = await phone.revert(model)
        show({"model": model, "version": version}, f"{model} version {version} is back", as_json)

    with_phone(home, work)


@app.command(
    epilog="Examples:  reverie-device run   (stop it with Ctrl-C)  ·  "
    "reverie-device run --adb emulator-5554   (this computer works when that emulator is idle)"
)
def run(home: Home, conditions: Script = None, adb: Adb = None) -> None:
    """The daemon: dreams whenever the phone is idle, charging and on unmetered Wi-Fi."""

    async def watch() -> None:
        async with (
            open_phone(home, conditions, Narrator(console), adb) as phone,
            serving(phone, home),
        ):
            console.print(f"Reverie watches over {home}; stop it with Ctrl-C.", soft_wrap=True)
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, _interrupt)
            await phone.run()

    with suppress(KeyboardInterrupt):
        asyncio.run(watch())
    console.print("stopped; nothing is lost")


def _interrupt() -> None:
    raise KeyboardInterrupt
