"""`init`, `prefer`: a phone in a new folder, and what its owner tells it outright."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from device.actors import SystemClock
from device.interfaces.console import AsJson, Home, console, show, with_phone
from device.interfaces.home import ask_passphrase
from device.interfaces.service import PhoneCalls
from device.interfaces.words import language, say
from device.memory.confidence import OWNER_SOURCE
from device.memory.records import TurnDraft
from device.owner import UNKNOWN, question_for, sentence_for
from device.settings import FILE, Settings, SettingsInvalid, save_settings, settings_from
from device.sync.root import fetch_root
from device.vault import ProtectorKind, create_protector

__all__ = ["app"]

app = typer.Typer()


@app.command(
    epilog="Examples:  reverie-device init --cloud http://127.0.0.1:8770  ·  "
    "reverie-device init --passphrase  (reads REVERIE_PASSPHRASE or asks)  ·  "
    'reverie-device init --name Ann --likes "window seats" --dislikes coriander  ·  '
    "reverie-device init --cloud https://reverie.example --helper-key 5c3f…  (64 hex digits)"
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
    os_keyring: Annotated[
        bool, typer.Option("--os-keyring", help="Keep its key in this computer's keyring.")
    ] = False,
    budget: Annotated[str, typer.Option(help="production, or demo (protects nobody).")] = "",
    helper_key: Annotated[
        str, typer.Option(help="The helper's public key (hex), from whoever runs the helper.")
    ] = "",
    timezone: Annotated[str, typer.Option(help="IANA zone, such as Asia/Shanghai.")] = "",
    name: Annotated[str, typer.Option(help="What you are called.")] = "",
    likes: Annotated[list[str] | None, typer.Option(help="Something you like; repeatable.")] = None,
    dislikes: Annotated[
        list[str] | None, typer.Option(help="Something you dislike; repeatable.")
    ] = None,
    ask: Annotated[bool, typer.Option("--ask", help="Ask a few questions to begin with.")] = False,
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
        chosen |= {"root_sha256": root.root_sha256}
        budget = budget or root.budget
    chosen |= {"budget": budget, "helper_key": helper_key.strip().lower()}
    settings = settings_from({name: value for name, value in chosen.items() if value})
    kind = _kind({"passphrase": passphrase, "termux": termux, "os-keyring": os_keyring})
    secret = ask_passphrase(confirm=True) if passphrase else ""
    create_protector(kind, home, bits=os.urandom, passphrase=secret)
    save_settings(home, settings)
    console.print(f"A phone lives in {home} now.", soft_wrap=True)
    if cloud:
        console.print(f"It trusts the cloud key {settings.cloud_key[:16]}… of {cloud}.")
    if settings.helper_key:
        console.print(f"It reports with the helper {settings.helper_key[:16]}… only.")
    if kind == "keyfile":
        console.print(
            "Its key lies in a file beside it: whoever copies the folder can read it. "
            "`reverie-device rotate-keys --to passphrase` changes that (or os-keyring, termux).",
            style="yellow",
        )
    told = [sentence_for("name", name)] if name else []
    told += [sentence_for("likes", thing) for thing in likes or []]
    told += [sentence_for("dislikes", thing) for thing in dislikes or []]
    told += _asked() if ask else []
    if told:
        _tell(home, told, as_json=False)


@app.command(epilog='Examples:  reverie-device prefer "I prefer window seats"  ·  '
             'reverie-device prefer 我不吃香菜')  # fmt: skip
def prefer(
    home: Home,
    texts: Annotated[list[str], typer.Argument(metavar="TEXT...", help="As you would say it.")],
    as_json: AsJson = False,
) -> None:
    """Tell a preference, or a fact about yourself, outright: it counts as certain at once."""
    _tell(home, texts, as_json=as_json)


def _asked() -> list[str]:
    """What the owner answers to the questions of a new phone; an empty answer skips one."""
    told = []
    for topic in UNKNOWN:
        answer = typer.prompt(
            question_for(topic, language()), default="", show_default=False, err=True
        )
        if answer.strip():
            told.append(sentence_for(topic, answer.strip()))
    return told


def _tell(home: Path, texts: Sequence[str], *, as_json: bool) -> None:
    async def work(phone: PhoneCalls) -> None:
        now = SystemClock().now()
        drafts = [TurnDraft(now, "user", text, source=OWNER_SOURCE) for text in texts]
        turns = await phone.record_many(drafts)
        await phone.consolidate()
        ids = [turn.id for turn in turns]
        show({"ids": ids}, say("preferred", text="; ".join(texts)), as_json)

    with_phone(home, work)


def _kind(asked: dict[ProtectorKind, bool]) -> ProtectorKind:
    chosen = [kind for kind, wanted in asked.items() if wanted]
    if len(chosen) > 1:
        raise SettingsInvalid(f"one protector only, not {' and '.join(chosen)}")
    return chosen[0] if chosen else "keyfile"


def _local_zone() -> str:
    name = os.environ.get("TZ", "")
    if not name:
        with suppress(OSError):
            name = str(Path("/etc/localtime").resolve()).partition("zoneinfo/")[2]
    with suppress(ValueError):
        return Settings(timezone=name).timezone if name else "UTC"
    return "UTC"
