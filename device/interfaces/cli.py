"""`reverie-device`: a phone's memory on the command line. The commands live in commands/."""

from __future__ import annotations

import sys

import structlog
import typer
from rich.text import Text

from device.conditions import ScriptUnreadable, SerialInvalid
from device.interfaces.commands import (
    account,
    agent,
    backup,
    daemon,
    doctor,
    erase,
    keys,
    knowledge,
    probe,
    see,
    setup,
    talk,
)
from device.interfaces.console import errors
from device.interfaces.service import EXPECTED

__all__ = ["app", "main"]

app = typer.Typer(
    help="A phone's own encrypted memory: it records, recalls, dreams and syncs.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)
for group in (
    setup, talk, see, erase, account, agent, backup, keys, knowledge, probe, daemon, doctor,
):  # fmt: skip
    app.add_typer(group.app)


def main() -> None:
    """Entry point: turns expected failures into one line and an exit code."""
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    try:
        app()
    except (*EXPECTED, ScriptUnreadable, SerialInvalid) as error:
        errors.print(Text.assemble(("error: ", "red"), str(error)), soft_wrap=True)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
