"""`rotate-keys`: new keys for everything, and another secret to open it with."""

from __future__ import annotations

import os
from typing import Annotated

import typer
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from device.actors import SystemClock
from device.interfaces.console import AsJson, Home, errors, show
from device.interfaces.home import ask_new_passphrase, present_protector
from device.settings import load_settings
from device.vault import ProtectorKind, rotate_keys

__all__ = ["app"]

app = typer.Typer()


@app.command(
    name="rotate-keys",
    epilog="Examples:  reverie-device rotate-keys  ·  reverie-device rotate-keys --to passphrase  "
    "(reads REVERIE_NEW_PASSPHRASE or asks). Killed in between, nothing is lost: run it again.",
)
def rotate(
    home: Home,
    to: Annotated[
        ProtectorKind | None,
        typer.Option(help="Who keeps the new secret; as now when not given."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Put everything under new keys; old copies of the secret open nothing more."""
    load_settings(home)
    kind, protector = present_protector(home)
    chosen = to or kind
    passphrase = ask_new_passphrase() if chosen == "passphrase" else ""
    rewritten: dict[str, int] = {}
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=errors, transient=True) as bar:
        task = bar.add_task("rotating keys", total=None)
        made = rotate_keys(
            home,
            protector,
            chosen,
            bits=os.urandom,
            clock_now=SystemClock().now,
            passphrase=passphrase,
        )
        for name, segments in made:
            rewritten[name] = segments
            bar.update(task, description=f"rotating keys: {name}")
    total = sum(rewritten.values())
    show(
        {"protector": chosen, "segments": total},
        f"{total} segments are under new keys; the secret is kept by: {chosen}",
        as_json,
    )
