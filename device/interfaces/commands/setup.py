"""`reverie-device init`: a phone in a new folder."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from device.interfaces.console import Home, console
from device.interfaces.home import ask_passphrase
from device.settings import FILE, Settings, SettingsInvalid, save_settings, settings_from
from device.sync.root import fetch_root
from device.vault import ProtectorKind, create_protector

__all__ = ["app"]

app = typer.Typer()


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
    os_keyring: Annotated[
        bool, typer.Option("--os-keyring", help="Keep its key in this computer's keyring.")
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
    kind = _kind({"passphrase": passphrase, "termux": termux, "os-keyring": os_keyring})
    secret = ask_passphrase(confirm=True) if passphrase else ""
    create_protector(kind, home, bits=os.urandom, passphrase=secret)
    save_settings(home, settings)
    console.print(f"A phone lives in {home} now.", soft_wrap=True)
    if cloud:
        console.print(f"It trusts the cloud key {settings.cloud_key[:16]}… of {cloud}.")
    if kind == "keyfile":
        console.print(
            "Its key lies in a file beside it: whoever copies the folder can read it. "
            "`reverie-device rotate-keys --to passphrase` changes that (or os-keyring, termux).",
            style="yellow",
        )


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
