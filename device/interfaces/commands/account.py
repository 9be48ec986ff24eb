"""`account`: one owner's devices share what they remember, sealed from the cloud between them."""

from __future__ import annotations

import platform
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Annotated

import typer

from device.account.calls import AccountView, Joined
from device.actors import SystemClock
from device.interfaces.console import AsJson, Home, console, errors, print_json, show, with_phone
from device.interfaces.service import PhoneCalls
from device.interfaces.words import say

__all__ = ["app"]

POLL_SECONDS = 3.0
"""Between two looks for the other device."""
ID_SHOWN = 8
"""Digits of a device's id that are shown; any beginning names it."""
Name = Annotated[str, typer.Option(help="What this device is called on the others.")]

app = typer.Typer()
account = typer.Typer(help="Share one memory between your own devices.", no_args_is_help=True)
app.add_typer(account, name="account")


@account.command(name="show", epilog="Example:  reverie-device account show")
def show_account(home: Home, as_json: AsJson = False) -> None:
    """Show the devices of the account and what waits to be sent."""

    async def work(phone: PhoneCalls) -> None:
        view = await phone.account.show()
        if as_json:
            print_json(asdict(view))
        else:
            _print_view(view)

    with_phone(home, work)


@account.command(epilog="Example:  reverie-device account create --name phone")
def create(home: Home, name: Name = "", as_json: AsJson = False) -> None:
    """Make an account with this device alone in it; add others with `account code`."""

    async def work(phone: PhoneCalls) -> None:
        view = await phone.account.create(name or platform.node())
        show(asdict(view), say("account made", account=view.account[:ID_SHOWN]), as_json)

    with_phone(home, work)


@account.command(
    epilog="Example:  reverie-device account code   (then on the new device: account join CODE)"
)
def code(home: Home, as_json: AsJson = False) -> None:
    """Show a code that lets one new device in, and wait for it; the code lasts ten minutes."""

    async def work(phone: PhoneCalls) -> None:
        shown = await phone.account.show_code()
        if as_json:
            # Whoever drives this needs the code before anything else happens.
            print_json(asdict(shown))
        else:
            console.print(say("type this code", code=shown.code), highlight=False)
        met = await _until(phone.account.device_came)
        _tell_met(met, "device came", as_json)

    with_phone(home, work)


@account.command(epilog="Example:  reverie-device account join 7ZK4M-0QWER-TY28 --name tablet")
def join(
    home: Home,
    shown: Annotated[str, typer.Argument(metavar="CODE", help="The code on the other device.")],
    name: Name = "",
    as_json: AsJson = False,
) -> None:
    """Enter the account of the device that shows this code."""

    async def work(phone: PhoneCalls) -> None:
        await phone.account.join(shown, name or platform.node())
        errors.print(say("waiting for the other device"))
        met = await _until(phone.account.joined)
        _tell_met(met, "account joined", as_json)

    with_phone(home, work)


@account.command(
    epilog="Examples:  reverie-device account remove tablet  ·  "
    "reverie-device account remove 3f9c   (the beginning of its id, see `account show`)"
)
def remove(
    home: Home,
    device: Annotated[str, typer.Argument(metavar="DEVICE", help="Its name or id.")],
    as_json: AsJson = False,
) -> None:
    """Take a device out: it gets nothing more. What it holds already it keeps."""

    async def work(phone: PhoneCalls) -> None:
        await phone.account.remove(device)
        show({"removed": device}, say("device removed", device=device), as_json)

    with_phone(home, work)


@account.command(epilog="Example:  reverie-device account leave")
def leave(home: Home, as_json: AsJson = False) -> None:
    """Forget the account on this device; what is remembered here stays."""

    async def work(phone: PhoneCalls) -> None:
        await phone.account.leave()
        show({"left": True}, say("account left"), as_json)

    with_phone(home, work)


async def _until(look: Callable[[], Awaitable[Joined | None]]) -> Joined:
    """Look until the other device is there; `look` raises once the code has expired."""
    while (met := await look()) is None:
        await SystemClock().sleep(POLL_SECONDS)
    return met


def _tell_met(met: Joined, message: str, as_json: bool) -> None:
    line = say(message, name=met.name, fingerprint=met.fingerprint)
    show(asdict(met), line, as_json)


def _print_view(view: AccountView) -> None:
    console.print(say("account", account=view.account[:ID_SHOWN], epoch=view.epoch))
    for device in view.devices:
        this = say("this device") if device.this else ""
        console.print(f"  {device.device[:ID_SHOWN]}  {device.name}  {this}".rstrip())
    console.print(say("account items", items=view.items, unsent=view.unsent))
