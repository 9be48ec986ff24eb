"""What the commands of this distribution take, for what deploy/ gives them."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Sequence
from typing import Any

import typer

from cloud.cli import app as cloud
from device.interfaces.cli import app as device
from privacy.cli import app as audit

__all__ = ["PROGRAMS", "refusal"]

PROGRAMS: dict[str, typer.Typer] = {
    "reverie-cloud": cloud,
    "reverie-device": device,
    "reverie-audit": audit,
}


def refusal(program: str, arguments: Sequence[str]) -> str:
    """Why the program's own parser would not take this command line; "" when it would.

    Nothing runs; values are checked as far as their types and choices say.
    """
    command: Any = typer.main.get_command(PROGRAMS[program])
    name, left = program, list(arguments)
    while hasattr(command, "commands"):
        if not left or left[0] not in command.commands:
            return f"{name} has no command {left[:1]}"
        name = left.pop(0)
        command = command.commands[name]
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            command.make_context(name, left)
    except Exception as error:  # the parser's own errors are not public names
        if hasattr(error, "format_message"):
            return f"{name}: {error.format_message()}"
        if type(error).__name__ != "Exit":  # of --help
            raise
    return ""
