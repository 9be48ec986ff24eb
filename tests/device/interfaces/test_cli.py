"""The command line puts its groups together, and each command explains itself."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import typer.core
import typer.main
from typer.testing import CliRunner

from device.interfaces.cli import app
from device.interfaces.commands.erase import ForgetUnclear
from device.interfaces.service import serving
from device.memory import Apply, Change, ChangeKind
from device.settings import save_settings
from tests.device.conftest import OpenPhone
from tests.device.memory.test_merging import item

COMMANDS = typer.main.get_command(app)
OWNERS = (
    "list", "show", "why", "forget", "unarchive", "export", "restore", "prefer", "init", "record",
    "import", "recall", "feedback", "status", "dream", "sync", "run", "undo-merge", "rotate-keys",
    "probe", "mcp", "web", "context", "skills", "skill", "add-skill", "import-episodes",
    "knowledge list", "knowledge drop", "knowledge take", "doctor",
)  # fmt: skip


@pytest.mark.parametrize("name", OWNERS)
def test_every_command_says_what_it_does_with_an_example(name: str) -> None:
    assert isinstance(COMMANDS, typer.core.TyperGroup)
    command: Any = COMMANDS
    for part in name.split():
        assert isinstance(command, typer.core.TyperGroup)
        command = command.commands[part]
    assert command.help
    assert "xample" in (command.epilog or "") or "Formats" in (command.epilog or "")


@pytest.mark.parametrize(
    "name",
    [
        "list",
        "show",
        "why",
        "forget",
        "unarchive",
        "export",
        "restore",
        "prefer",
        "status",
        "doctor",
    ],
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


async def test_a_merge_is_undone_on_the_command_line(open_phone: OpenPhone, tmp_path: Path) -> None:
    phone = await open_phone(archive_below=0.0, delete_below=0.0)
    tellings = [item(1), replace(item(2), text=item(1).text)]
    await phone._structured.ask(Apply([Change(ChangeKind.CREATE, one) for one in tellings]))
    assert (await phone.dream()).merged == 1
    save_settings(tmp_path, phone.settings)
    async with serving(phone, tmp_path):
        arguments = ["undo-merge", tellings[0].id, "--json", "--home", str(tmp_path)]
        done = await asyncio.to_thread(CliRunner().invoke, app, arguments)
    assert json.loads(done.stdout) == {"kept": tellings[1].id, "parted": tellings[0].id}
    assert {one.id: one for one in await phone.items()}[tellings[0].id] == tellings[0]


def test_init_asks_a_few_questions_and_an_empty_answer_skips_one(tmp_path: Path) -> None:
    answers = ["Lin", "Hangzhou", "", "hiking", "", "", ""]
    typed = "".join(f"{answer}\n" for answer in answers)
    home = ["--home", str(tmp_path / "phone")]
    asked = CliRunner().invoke(app, ["init", "--ask", *home], input=typed)
    assert asked.exit_code == 0, asked.exception
    told = json.loads(CliRunner().invoke(app, ["list", "--json", *home]).stdout)
    assert {item["text"] for item in told} == {
        "My name is Lin",
        "I live in Hangzhou",
        "I like hiking",
    }
