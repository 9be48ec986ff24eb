"""`reverie-cloud`: run and look after one fleet's learning service."""

from __future__ import annotations

import asyncio
import os
import time
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from platformdirs import user_data_path

from cloud.actors.registry import Registry
from cloud.config import DAY, DEFAULT_HELPER_PORT, DEFAULT_PORT, CloudConfig
from cloud.console import check_bind, fail, out, plain_errors, print_json, show
from cloud.logs import configure_logs
from cloud.serve import Listening, ServeOptions, serve_cloud, serve_helper
from cloud.service import TOKEN_BYTES
from cloud.storage import Database
from cloud.storage.work import report

__all__ = ["app", "main"]

TICK_SECONDS = 60.0

ROUND_COLUMNS = ("task", "round", "status", "reports", "n_min", "opens", "closes")
RELEASE_COLUMNS = ("model", "version", "status", "accuracy", "epsilon", "created", "reason")

app = typer.Typer(
    help="Run and look after one fleet's learning service.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)

State = Annotated[
    Path,
    typer.Option(help="Folder of keys, database and blobs.", envvar="REVERIE_CLOUD_STATE"),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
Insecure = Annotated[bool, typer.Option(help="Allow an address beyond this machine, without TLS.")]
_STATE = user_data_path("reverie") / "cloud"
_HELPER_STATE = user_data_path("reverie") / "helper"


@app.command()
def serve(
    state: State = _STATE,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0 takes a free one.")] = (
        DEFAULT_PORT
    ),
    runtime: Annotated[
        Literal["inproc", "ray"], typer.Option(help="Where the actors live.")
    ] = "inproc",
    ray_address: Annotated[
        str | None, typer.Option(help="A running Ray cluster; else a local one is started.")
    ] = None,
    budget: Annotated[
        Literal["production", "demo"],
        typer.Option(help="Privacy budget of the rounds; demo is NOT private."),
    ] = "production",
    helper: Annotated[
        str | None, typer.Option(help="URL of a helper run by a second operator.")
    ] = None,
    open_enrolment: Annotated[
        bool, typer.Option(help="Admit phones without a token (this machine only).")
    ] = False,
    tick_seconds: Annotated[
        float, typer.Option(min=0.1, help="Seconds between two steps of the service.")
    ] = TICK_SECONDS,
    insecure: Insecure = False,
    as_json: Json = False,
) -> None:
    """Run the cloud until Ctrl-C.

    Examples:

      reverie-cloud serve --open-enrolment --budget demo

      reverie-cloud serve --helper http://127.0.0.1:8771 --state ./cloud
    """
    loopback = check_bind(host, insecure)
    if open_enrolment and not loopback:
        fail("--open-enrolment works on a loopback address only: hand out tokens instead")
    config = CloudConfig(
        state=state, budget=budget, helper_url=helper, open_enrolment=open_enrolment
    )
    options = ServeOptions(host, port, tick_seconds, runtime, ray_address)

    def announce(listening: Listening) -> None:
        if as_json:
            print_json(vars(listening) | {"budget": budget, "embedded_helper": helper is None})
            return
        out.print(f"cloud       {listening.url}", highlight=False)
        out.print(f"public key  {listening.public_key}", highlight=False)
        out.print(f"token       {listening.token}  (enrols one phone, once)", highlight=False)
        if budget == "demo":
            out.print("[bold red]The demo budget is not private.[/]")
        if helper is None:
            out.print(
                "[yellow]The helper runs in this process: one operator holding both halves of the "
                "aggregation gives no gain in trust. Use --helper URL for a second operator's.[/]"
            )
        out.print("Ctrl-C stops it.")

    configure_logs()
    with plain_errors(state):
        asyncio.run(serve_cloud(config, options, announce))


@app.command()
def helper(
    state: Annotated[
        Path, typer.Option(help="The helper's own folder.", envvar="REVERIE_HELPER_STATE")
    ] = _HELPER_STATE,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0 takes a free one.")] = (
        DEFAULT_HELPER_PORT
    ),
    insecure: Insecure = False,
    as_json: Json = False,
) -> None:
    """Run the helper of the two-server aggregation; meant for a second operator.

    Example:

      reverie-cloud helper --state ./helper --port 8771
    """
    check_bind(host, insecure)

    def announce(url: str, public_key: str) -> None:
        if as_json:
            print_json({"url": url, "public_key": public_key})
            return
        out.print(f"helper      {url}", highlight=False)
        out.print(f"public key  {public_key}", highlight=False)
        out.print("Ctrl-C stops it.")

    configure_logs()
    with plain_errors(state):
        asyncio.run(serve_helper(state, host, port, announce))


@app.command()
def token(
    state: State = _STATE,
    days: Annotated[float, typer.Option(min=0.01, help="Days it is good for.")] = 7.0,
    as_json: Json = False,
) -> None:
    """Make an enrolment token for one phone; the running cloud takes it at once.

    Example:

      reverie-cloud token --days 1
    """
    value = os.urandom(TOKEN_BYTES).hex()
    digest = sha256(value.encode()).hexdigest()
    with plain_errors(state):
        _registry(state).add_token(digest, time.time(), days * DAY)
    print_json({"token": value}) if as_json else out.print(value, highlight=False)


@app.command()
def status(state: State = _STATE, as_json: Json = False) -> None:
    """Show devices, reports, open rounds and newest releases.

    Example:

      reverie-cloud status --json
    """
    found = _report(state)
    if as_json:
        print_json(found)
        return
    devices = found["devices"]
    out.print(f"devices   {devices['active']} active of {devices['enrolled']} enrolled")
    out.print(f"reports   {found['reports']}")
    show("open rounds", [row for row in found["rounds"] if row["status"] == "open"], ROUND_COLUMNS)
    newest = {row["model"]: row for row in found["releases"] if row["status"] == "published"}
    show("releases", list(newest.values()), RELEASE_COLUMNS)


@app.command()
def rounds(state: State = _STATE, as_json: Json = False) -> None:
    """List every round and what came of it.

    Example:

      reverie-cloud rounds
    """
    found = _report(state)["rounds"]
    print_json(found) if as_json else show("rounds", found, ROUND_COLUMNS)


@app.command()
def releases(state: State = _STATE, as_json: Json = False) -> None:
    """List every candidate and release with its scores.

    Example:

      reverie-cloud releases --json
    """
    found = _report(state)["releases"]
    print_json(found) if as_json else show("releases", found, RELEASE_COLUMNS)


@app.command()
def devices(state: State = _STATE, as_json: Json = False) -> None:
    """List enrolled phones.

    Example:

      reverie-cloud devices
    """
    with plain_errors(state):
        found = [
            {"device_id": one.device_id, "enrolled": one.enrolled, "revoked": one.revoked}
            for one in _registry(state).devices()
        ]
    columns = ("device_id", "enrolled", "revoked")
    print_json(found) if as_json else show("devices", found, columns)


@app.command()
def revoke(
    device_id: Annotated[str, typer.Argument(help="The id `devices` shows.")],
    state: State = _STATE,
    as_json: Json = False,
) -> None:
    """Shut a phone out from its next session on.

    Example:

      reverie-cloud revoke 0f3a…
    """
    with plain_errors(state):
        known = _registry(state).revoke(device_id, time.time())
    if not known:
        fail(f"no device has the id {device_id}: see `reverie-cloud devices`")
    print_json({"revoked": device_id}) if as_json else out.print(f"revoked {device_id}")


def _config(state: Path) -> CloudConfig:
    if not (state / "cloud.db").exists():
        fail(f"there is no cloud in {state}: start one with `reverie-cloud serve --state {state}`")
    return CloudConfig(state=state)


def _registry(state: Path) -> Registry:
    return Registry(_config(state).database_url)


def _report(state: Path) -> dict[str, Any]:
    with plain_errors(state):
        found = report(Database(_config(state).database_url))
    for row in found["releases"]:
        row["accuracy"] = row["metrics"].get("accuracy")
    return found


def main() -> None:
    """Entry point of `reverie-cloud`."""
    app()
