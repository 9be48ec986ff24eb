"""`reverie-device`: a phone's memory on the command line."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Annotated, Any
from zoneinfo import ZoneInfo

import structlog
import typer
from platformdirs import user_data_path
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from device.actors import DomainError, SystemClock
from device.conditions import ScriptUnreadable
from device.interfaces.chats import ChatUnreadable, read_chat
from device.interfaces.home import ask_passphrase, open_phone, reach_phone
from device.interfaces.service import EXPECTED, PhoneCalls, serving
from device.interfaces.views import Narrator, answer_table, item_table, status_table, sync_lines
from device.memory.records import ItemKind, TurnDraft
from device.settings import FILE, Settings, SettingsInvalid, save_settings, settings_from
from device.sync.root import fetch_root
from device.vault import ProtectorKind, create_protector

__all__ = ["app", "main"]


class ExportRefused(DomainError):
    """A chat export that cannot be read, and where."""


IMPORT_BATCH = 256
"""Turns that share one sync to disk while importing."""

app = typer.Typer(
    help="A phone's own encrypted memory: it records, recalls, dreams and syncs.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)
console = Console(markup=False)
"""Paths, exports and memories hold brackets: nothing printed is ever read as markup."""

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


def main() -> None:
    """Entry point: turns expected failures into one line and an exit code."""
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    try:
        app()
    except (*EXPECTED, ScriptUnreadable) as error:
        line = Text.assemble(("error: ", "red"), str(error))
        Console(stderr=True).print(line, soft_wrap=True)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)


@app.command(
    epilog="Examples:  reverie-device init --cloud http://127.0.0.1:8770  ·  "
    "reverie-device init --passphrase  (reads REVERIE_PASSPHRASE or asks)"
)
def init(
    home: Home,
    cloud: Annotated[str, typer.Option(help="The cloud's address; none: work alone.")] = "",
    token: Annotated[str, typer.Option(help="Single-use enrolment token.")] = "",
    passphrase: Annotated[
        bool, typer.Option("--passphrase", help="Protect the memory with a passphrase.")
    ] = False,
    termux: Annotated[
        bool, typer.Option("--termux", help="Protect it with the phone's hardware keystore.")
    ] = False,
    budget: Annotated[str, typer.Option(help="production, or demo (protects nobody).")] = "",
    timezone: Annotated[str, typer.Option(help="IANA zone, such as Asia/Shanghai.")] = "",
) -> None:
    """Set up a phone in a new folder."""
    if (home / FILE).exists():
        raise SettingsInvalid(f"{home} already holds a phone; nothing was changed")
    chosen: dict[str, Any] = {"timezone": timezone or _local_zone(), "token": token}
    if cloud:
        root = fetch_root(cloud)
        if not token and not root.open_enrolment:
            raise SettingsInvalid(
                f"{cloud} takes phones with a token only: pass --token "
                "(its operator makes one with `reverie-cloud token`)"
            )
        chosen |= {"cloud_url": cloud, "cloud_key": root.public_key}
        budget = budget or root.budget
    if budget:
        chosen["budget"] = budget
    settings = settings_from({name: value for name, value in chosen.items() if value})
    kind: ProtectorKind = "passphrase" if passphrase else "termux" if termux else "keyfile"
    secret = ask_passphrase(confirm=True) if passphrase else ""
    create_protector(kind, home, bits=os.urandom, passphrase=secret)
    save_settings(home, settings)
    console.print(f"A phone lives in {home} now.", soft_wrap=True)
    if cloud:
        console.print(f"It trusts the cloud key {settings.cloud_key[:16]}… of {cloud}.")
    if kind == "keyfile":
        console.print(
            "Its key lies in a file beside it: whoever copies the folder can read it. "
            "Use --passphrase or --termux to change that.",
            style="yellow",
        )


@app.command(epilog='Example:  reverie-device record "I moved to 12 Elm Road"')
def record(
    home: Home,
    text: str,
    speaker: Annotated[str, typer.Option(help="Who said it.")] = "user",
    as_json: AsJson = False,
) -> None:
    """Remember one thing that was said."""

    async def work(phone: PhoneCalls) -> None:
        draft = TurnDraft(SystemClock().now(), speaker, text, source="cli")
        turn = (await phone.record_many([draft]))[0]
        _show({"id": turn.id}, f"remembered as {turn.id}", as_json)

    _with_phone(home, work)


@app.command(
    name="import",
    epilog="Formats:  our JSONL (at, speaker, text)  ·  WhatsApp text export  ·  "
    "Telegram result.json. Importing a file twice adds nothing.",
)
def import_(home: Home, file: Path, as_json: AsJson = False) -> None:
    """Take in a chat export."""

    async def work(phone: PhoneCalls) -> None:
        known = await _known_turns(phone)
        drafts = _read_export(file, phone.settings.zone)
        fresh = [draft for draft in drafts if _fingerprint(draft) not in known]
        with _progress() as bar:
            task = bar.add_task("importing", total=len(fresh))
            for batch in _batches(fresh, IMPORT_BATCH):
                await phone.record_many(batch)
                bar.advance(task, len(batch))
        skipped = len(drafts) - len(fresh)
        said = f"{len(fresh)} turns imported from {file.name}"
        said += f", {skipped} were known already" if skipped else ""
        said += "; they become structured memories while the phone dreams"
        _show({"imported": len(fresh), "known": skipped}, said, as_json)

    _with_phone(home, work)


@app.command(epilog='Example:  reverie-device recall "when do I fly to Hangzhou?"')
def recall(
    home: Home,
    query: str,
    k: Annotated[int, typer.Option("-k", min=1, max=100, help="How many memories.")] = 5,
    as_json: AsJson = False,
) -> None:
    """Ask the memory; every answer says where it comes from."""

    async def work(phone: PhoneCalls) -> None:
        answer = await phone.recall(query, k)
        if as_json:
            _print_json(asdict(answer))
            return
        if not answer.hits:
            console.print("Nothing I remember answers that.")
            return
        console.print(answer_table(answer, phone.settings.zone))
        weights = ", ".join(f"{name} {weight:.2f}" for name, weight in answer.weights.items())
        console.print(f"routed by {answer.decided_by}: {weights}", style="dim")

    _with_phone(home, work)


@app.command(epilog='Example:  reverie-device feedback "when do I fly?" raw:12 mem:3')
def feedback(
    home: Home,
    query: str,
    used: Annotated[list[str], typer.Argument(help="Ids of the memories that helped.")],
) -> None:
    """Say which memories answered a question; the router learns from it."""

    async def work(phone: PhoneCalls) -> None:
        answer = await phone.recall(query)
        await phone.feedback(answer, used)
        found = {hit.id for hit in answer.hits}
        missed = [name for name in used if name not in found]
        console.print(f"noted: {len(used) - len(missed)} memories helped")
        if missed:
            console.print(f"not among the answers: {', '.join(missed)}", style="yellow")

    _with_phone(home, work)


@app.command(name="list", epilog="Example:  reverie-device list --kind preference")
def list_(home: Home, kind: ItemKind | None = None, as_json: AsJson = False) -> None:
    """Everything the structured memory holds."""

    async def work(phone: PhoneCalls) -> None:
        items = await phone.items(kind)
        if as_json:
            _print_json([asdict(item) for item in items])
        elif items:
            console.print(item_table(items, phone.settings.zone))
        else:
            console.print("Nothing yet: the structured memory fills while the phone dreams.")

    _with_phone(home, work)


@app.command(epilog="Example:  reverie-device forget raw:12 raw:13")
def forget(home: Home, turns: list[str]) -> None:
    """Erase turns, and everything that was drawn from them, for good."""

    async def work(phone: PhoneCalls) -> None:
        gone = await phone.forget(turns)
        console.print(f"{gone} memories erased")

    _with_phone(home, work)


@app.command(epilog="Example:  reverie-device status --json")
def status(home: Home, conditions: Script = None, as_json: AsJson = False) -> None:
    """Conditions, window, memory sizes, versions, privacy budget."""

    async def work(phone: PhoneCalls) -> None:
        state = await phone.status()
        if as_json:
            _print_json(state.model_dump(mode="json"))
        else:
            console.print(status_table(state))

    _with_phone(home, work, conditions)


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

    _at_once_or_in_window(home, work, conditions, now=now)


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
            _print_json(asdict(report))
            return
        for line in sync_lines(report):
            console.print(line)

    _at_once_or_in_window(home, work, conditions, now=now)


@app.command(epilog="Example:  reverie-device run   (stop it with Ctrl-C)")
def run(home: Home, conditions: Script = None) -> None:
    """The daemon: dreams whenever the phone is idle, charging and on unmetered Wi-Fi."""

    async def watch() -> None:
        async with open_phone(home, conditions, Narrator(console)) as phone, serving(phone, home):
            console.print(f"Reverie watches over {home}; stop it with Ctrl-C.", soft_wrap=True)
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, _interrupt)
            await phone.run()

    with suppress(KeyboardInterrupt):
        asyncio.run(watch())
    console.print("stopped; nothing is lost")


Work = Callable[[PhoneCalls], Coroutine[Any, Any, None]]


def _with_phone(home: Path, work: Work, conditions: Path | None = None) -> None:
    async def whole() -> None:
        async with reach_phone(home, conditions) as phone:
            await work(phone)

    asyncio.run(whole())


def _at_once_or_in_window(home: Path, work: Work, conditions: Path | None, *, now: bool) -> None:
    async def wait() -> None:
        async with open_phone(home, conditions) as phone:
            console.print("waiting until idle, charging and on unmetered Wi-Fi…")
            await phone.window.opened()
            if await phone.window.run_while_open(lambda: work(phone)) == "interrupted":
                console.print("the window closed; what is left is done in the next", style="yellow")

    if now:
        _with_phone(home, work, conditions)
    else:
        asyncio.run(wait())


def _interrupt() -> None:
    raise KeyboardInterrupt


def _local_zone() -> str:
    name = os.environ.get("TZ", "")
    if not name:
        with suppress(OSError):
            name = str(Path("/etc/localtime").resolve()).partition("zoneinfo/")[2]
    with suppress(ValueError):
        return Settings(timezone=name).timezone if name else "UTC"
    return "UTC"


async def _known_turns(phone: PhoneCalls) -> set[tuple[float, str, str]]:
    known: set[tuple[float, str, str]] = set()
    after = -1
    while turns := await phone.turns(after):
        known.update((turn.at, turn.speaker, turn.text) for turn in turns)
        after = turns[-1].sequence
    return known


def _read_export(file: Path, zone: ZoneInfo) -> list[TurnDraft]:
    try:
        return list(read_chat(file, tz=zone))
    except ChatUnreadable as error:
        raise ExportRefused(f"{file}: {error}; nothing was imported") from None


def _fingerprint(draft: TurnDraft) -> tuple[float, str, str]:
    return draft.at, draft.speaker, draft.text


def _batches(drafts: Iterable[TurnDraft], size: int) -> Iterator[list[TurnDraft]]:
    rest = iter(drafts)
    while batch := list(islice(rest, size)):
        yield batch


def _progress() -> Progress:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    return Progress(*columns, console=Console(stderr=True), transient=True)


def _show(data: dict[str, Any], line: str, as_json: bool) -> None:
    if as_json:
        _print_json(data)
    else:
        console.print(line, highlight=False)


def _print_json(data: Any) -> None:
    typer.echo(json.dumps(data, ensure_ascii=False, indent=2, default=_plain))


def _plain(value: Any) -> Any:
    return value.hex() if isinstance(value, bytes) else str(value)
