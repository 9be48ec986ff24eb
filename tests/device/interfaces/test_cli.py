"""The command line puts its groups together, and each command explains itself."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer.core
import typer.main
from typer.testing import CliRunner

from device.interfaces.cli import app
from device.interfaces.commands.erase import ForgetUnclear

COMMANDS = typer.main.get_command(app)
OWNERS = (
    "list", "show", "why", "forget", "unarchive", "export", "restore", "prefer", "init", "record",
    "import", "recall", "feedback", "status", "dream", "sync", "run",
)  # fmt: skip


@pytest.mark.parametrize("name", OWNERS)
def test_every_command_says_what_it_does_with_an_example(name: str) -> None:
    assert isinstance(COMMANDS, typer.core.TyperGroup)
    command = COMMANDS.commands[name]
    assert command.help
    assert "xample" in (command.epilog or "") or "Formats" in (command.epilog or "")


@pytest.mark.parametrize(
    "name", ["list", "show", "why", "forget", "unarchive", "export", "restore", "prefer", "status"]
)
def test_seeing_and_erasing_speak_json_too(name: str) -> None:
    assert isinstance(COMMANDS, typer.core.TyperGroup)
    options = {option for param in COMMANDS.commands[name].params for option in param.opts}
    assert "--json" in options


@pytest.mark.parametrize(
    "arguments", [["forget"], ["forget", "raw:0", "--all"], ["forget", "--query", " "]]
)
def test_forget_wants_to_know_what(arguments: list[str], tmp_path: Path) -> None:
    done = CliRunner().invoke(app, [*arguments, "--home", str(tmp_path)])
    assert isinstance(done.exception, ForgetUnclear)
    assert "one of them" in str(done.exception)
