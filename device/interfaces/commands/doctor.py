"""`doctor`: looks at everything a support person would ask about, and says what to do."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import typer
from rich.text import Text

from device.actors import SystemClock
from device.conditions import Finding
from device.interfaces.console import Adb, AsJson, Home, Script, console, errors, print_json
from device.interfaces.doctor import Patient, Report, examine
from device.interfaces.doctor.checks import CHECKS
from device.interfaces.doctor.keys import Remembering
from device.interfaces.home import conditions_of, present_protector
from device.settings import SettingsInvalid, load_settings
from device.vault import KeyProtector, VaultError

__all__ = ["app"]

CANNOT_RUN = 2
_MARKS = {
    "ok": ("✓", "green"),
    "warning": ("!", "yellow"),
    "fault": ("✗", "red"),
    "unknown": ("?", "yellow"),
}

app = typer.Typer()


@app.command(
    epilog="Examples:  reverie-device doctor  ·  reverie-device doctor --json  ·  "
    "reverie-device doctor --adb emulator-5554  ·  reverie-device doctor && echo all is well"
)
def doctor(home: Home, conditions: Script = None, adb: Adb = None, as_json: AsJson = False) -> None:
    """Check clock, storage, key, conditions, cloud, TLS, versions, budget; say what to do.

    Exits 0 when all is well, 1 when there is something to do, 2 when no phone lives here. Prints
    no secret, no memory and no identifier: its output may be sent to whoever helps.
    """
    try:
        settings = load_settings(home)
    except SettingsInvalid as error:
        errors.print(Text.assemble(("error: ", "red"), str(error)), soft_wrap=True)
        raise typer.Exit(CANNOT_RUN) from None
    protector, no_key = _protector(home)
    patient = Patient(
        home=home,
        settings=settings,
        now=SystemClock().now(),
        environ=os.environ,
        conditions=conditions_of(conditions, adb),
        protector=protector,
        no_key=no_key,
    )
    report = asyncio.run(examine(patient, CHECKS))
    if as_json:
        print_json(report.as_json())
    else:
        _print(report)
    raise typer.Exit(report.exit_code)


def _protector(home: Path) -> tuple[KeyProtector | None, str]:
    """What opens the store, or why it is not at hand. Asks for a passphrase on a terminal."""
    try:
        protector = Remembering(present_protector(home)[1])
        protector.kek(bytes(16))
    except VaultError as error:
        return None, str(error)
    return protector, ""


def _print(report: Report) -> None:
    width = max(len(each.name) for each in report.findings)
    for each in report.findings:
        console.print(_line(each, width), soft_wrap=True)


def _line(each: Finding, width: int) -> Text:
    mark, style = _MARKS[each.state]
    text = Text.assemble((mark, style), " ", (each.name.ljust(width), "bold"), "  ", each.said)
    if each.do:
        text.append(f"\n{'':{width + 4}}→ {each.do}", style=style)
    return text
