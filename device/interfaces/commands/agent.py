"""What agents use (`mcp`, `context`, skills, episodes) and the owner's own page (`web`)."""

from __future__ import annotations

import asyncio
import tomllib
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from rich.table import Table

from device.actors import DomainError, SystemClock
from device.agent import Skill, Trigger
from device.faults import first_fault
from device.interfaces.console import (
    AsJson,
    Home,
    console,
    counting_bar,
    errors,
    print_json,
    show,
    with_phone,
)
from device.interfaces.episodes import read_episodes
from device.interfaces.home import reach_phone
from device.interfaces.loopback import bound, serve, token_from
from device.interfaces.mcp_server import TokenGuard, memory_server
from device.interfaces.page import page
from device.interfaces.service import PhoneCalls

__all__ = ["app"]

MCP_TOKEN_VARIABLE = "REVERIE_MCP_TOKEN"  # noqa: S105 - a variable's name
WEB_TOKEN_VARIABLE = "REVERIE_WEB_TOKEN"  # noqa: S105 - a variable's name
MAX_SKILL_BYTES = 64 << 10

app = typer.Typer()


class SkillFileInvalid(DomainError):
    """A skill file that cannot be read, and why."""


class _SkillFile(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    steps: list[str] = Field(max_length=50)
    apps: list[str] = Field(default=[], max_length=50)
    pages: list[str] = Field(default=[], max_length=50)
    tasks: list[str] = Field(default=[], max_length=50)


@app.command(
    epilog="Examples:  reverie-device mcp  (an agent starts it and talks over stdio)  ·  "
    "reverie-device mcp --http --port 8765  (prints the address and the token)"
)
def mcp(
    home: Home,
    http: Annotated[
        bool, typer.Option("--http", help="Serve HTTP on loopback, not stdio.")
    ] = False,
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one.")] = 0,
) -> None:
    """Serve the memory to agents over the Model Context Protocol."""

    async def run() -> None:
        async with reach_phone(home) as phone:
            server = memory_server(phone, SystemClock().now)
            if not http:
                await server.run_stdio_async()
                return
            token, listener = token_from(MCP_TOKEN_VARIABLE), bound(port)
            address = f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
            errors.print(f"MCP at {address}", soft_wrap=True)
            errors.print(f"Authorization: Bearer {token}", soft_wrap=True)
            await serve(TokenGuard(server.streamable_http_app(), token), listener)

    asyncio.run(run())


@app.command(epilog="Example:  reverie-device web --port 8080   (stop it with Ctrl-C)")
def web(
    home: Home,
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one.")] = 0,
) -> None:
    """A page on this machine alone: see, search and delete what is remembered."""

    async def run() -> None:
        async with reach_phone(home) as phone:
            token, listener = token_from(WEB_TOKEN_VARIABLE), bound(port)
            app = page(phone, token, SystemClock().now)
            address = f"http://127.0.0.1:{listener.getsockname()[1]}/#token={token}"
            console.print(f"open {address}", soft_wrap=True, highlight=False)
            await serve(app, listener)

    with suppress(KeyboardInterrupt):
        asyncio.run(run())


@app.command(epilog='Example:  reverie-device context com.shop --goal "find a lamp"')
def context(
    home: Home,
    apps: Annotated[list[str], typer.Argument(help="Package names of the task's apps.")],
    goal: Annotated[str, typer.Option(help="What the task is.")] = "",
    as_json: AsJson = False,
) -> None:
    """The very block an agent would be given for a task, and the ids of what is in it."""

    async def work(phone: PhoneCalls) -> None:
        block = await phone.agent.inject(apps, goal)
        if as_json:
            print_json(asdict(block) | {"characters": block.characters})
            return
        console.print(block.text or "nothing is known of these apps yet", highlight=False)
        ids = ", ".join((*block.facts, *block.skills)) or "none"
        errors.print(f"{block.tokens} tokens; ids: {ids}; left out: {block.left_out}")

    with_phone(home, work)


@app.command(epilog="Example:  reverie-device skills --json")
def skills(home: Home, as_json: AsJson = False) -> None:
    """Every skill with its trigger and how it went."""

    async def work(phone: PhoneCalls) -> None:
        known = await phone.agent.skills()
        if as_json:
            print_json([asdict(one) for one in known])
            return
        table = Table("id", "skill", "apps", "steps", "worked", "failed", "on")
        for one in known:
            skill = one.skill
            table.add_row(
                one.id,
                skill.name,
                " ".join(skill.trigger.apps),
                str(len(skill.steps)),
                str(skill.successes),
                str(skill.failures),
                "yes" if skill.enabled else "no",
            )
        console.print(table if known else "no skills yet: reverie-device add-skill FILE")

    with_phone(home, work)


@app.command(
    name="add-skill",
    epilog='Example file (TOML):  name = "search"  ·  apps = ["com.shop"]  ·  '
    'steps = ["tap the search icon", "type the words"]  ·  pages and tasks are optional',
)
def add_skill(home: Home, file: Path, as_json: AsJson = False) -> None:
    """Keep a skill that a person has written."""
    wanted = _read_skill(file)

    async def work(phone: PhoneCalls) -> None:
        known = await phone.agent.add_skill(wanted)
        show({"id": known.id}, f"{known.skill.name} is kept as {known.id}", as_json)

    with_phone(home, work)


@app.command(epilog="Example:  reverie-device skill search --off")
def skill(
    home: Home,
    name: Annotated[str, typer.Argument(help="Name or id.")],
    on: Annotated[bool | None, typer.Option("--on/--off", help="Switch it.")] = None,
    as_json: AsJson = False,
) -> None:
    """One skill whole; or switch it on or off."""

    async def work(phone: PhoneCalls) -> None:
        known = await phone.agent.skill(name)
        if on is not None:
            known = await phone.agent.set_skill(known.id, on)
        if as_json:
            print_json(asdict(known))
            return
        console.print(f"{known.skill.name} ({known.id}), {'on' if known.skill.enabled else 'off'}")
        for number, step in enumerate(known.skill.steps, start=1):
            console.print(f"{number}. {step}", highlight=False)

    with_phone(home, work)


@app.command(
    name="import-episodes",
    epilog="Formats:  our JSONL (goal, app, outcome, steps)  ·  AndroidControl's JSONL  ·  "
    "AutoDroid's task memory. What was typed is dropped before anything is kept.",
)
def import_episodes(home: Home, file: Path, as_json: AsJson = False) -> None:
    """Take in recorded GUI episodes: facts and habits are learnt from them."""
    runs = list(read_episodes(file, until=SystemClock().now()))

    async def work(phone: PhoneCalls) -> None:
        written = 0
        with counting_bar() as bar:
            task = bar.add_task("learning", total=len(runs))
            for run in runs:
                written += (await phone.agent.record_run(run)).written
                bar.advance(task)
        await phone.agent.maintain()
        said = f"{len(runs)} episodes read from {file.name}, {written} facts written"
        show({"episodes": len(runs), "facts": written}, said, as_json)

    with_phone(home, work)


def _read_skill(file: Path) -> Skill:
    try:
        if file.stat().st_size > MAX_SKILL_BYTES:
            raise SkillFileInvalid(f"{file} is too large for a skill")
        fields = tomllib.loads(file.read_text(encoding="utf-8"))
        given = _SkillFile.model_validate(fields)
    except OSError as error:
        raise SkillFileInvalid(f"cannot read {file}: {error.strerror}") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SkillFileInvalid(f"{file} is no TOML: {error}") from None
    except ValidationError as error:
        field, said = first_fault(error)
        raise SkillFileInvalid(f"{file}: {field}: {said}") from None
    trigger = Trigger(tuple(given.apps), tuple(given.pages), tuple(given.tasks))
    return Skill(given.name, trigger, tuple(given.steps))
