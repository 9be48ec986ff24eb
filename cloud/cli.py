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
from cloud.announcements import tell_cloud, tell_helper
from cloud.config import DAY, DEFAULT_HELPER_PORT, DEFAULT_PORT, CloudConfig
from cloud.console import check_bind, fail, out, plain_errors, print_json, show
from cloud.documents import commands as document_commands
from cloud.helper_token import FILE_NAME
from cloud.logs import configure_logs
from cloud.releases.commands import app as release_commands
from cloud.serve import (
    HelperListening,
    HelperOptions,
    Listening,
    ServeOptions,
    serve_cloud,
    serve_helper,
)
from cloud.service import TOKEN_BYTES
from cloud.storage import Database
from cloud.storage.commands import app as storage_commands
from cloud.storage.places import has_cloud, name_places
from cloud.storage.work import report
from cloud.tls import load_tls

__all__ = ["app", "main"]

TICK_SECONDS = 60.0

ROUND_COLUMNS = ("task", "round", "status", "reports", "n_min", "opens", "closes")
RELEASE_COLUMNS = ("model", "version", "status", "accuracy", "epsilon", "created", "reason")

app = typer.Typer(
    help="Run and look after one fleet's learning service.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)
app.add_typer(release_commands)
app.add_typer(document_commands.app)
app.add_typer(storage_commands)

State = Annotated[
    Path,
    typer.Option(help="Folder of keys, database and blobs.", envvar="REVERIE_CLOUD_STATE"),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
BudgetName = Annotated[
    Literal["production", "demo"],
    typer.Option(help="Privacy budget of the rounds; demo is NOT private."),
]
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
    budget: BudgetName = "production",
    aggregation: Annotated[
        Literal["two-server", "local"],
        typer.Option(
            help="local asks no helper: phones randomise single answers, models learn nothing."
        ),
    ] = "two-server",
    helper: Annotated[
        str | None, typer.Option(help="URL of a helper run by a second operator.")
    ] = None,
    helper_token_file: Annotated[
        Path | None, typer.Option(help="The token file the helper's operator handed over.")
    ] = None,
    new_helper: Annotated[
        bool, typer.Option(help="Trust another helper from now on; phones will refuse it.")
    ] = False,
    open_enrolment: Annotated[
        bool, typer.Option(help="Admit phones without a token (this machine only).")
    ] = False,
    tick_seconds: Annotated[
        float, typer.Option(min=0.1, help="Seconds between two steps of the service.")
    ] = TICK_SECONDS,
    tls_cert: Annotated[
        Path | None,
        typer.Option(help="Certificate phones see (PEM); without --tls-key, a proxy's in front."),
    ] = None,
    tls_key: Annotated[Path | None, typer.Option(help="Its private key (PEM).")] = None,
    database_url: Annotated[
        str | None,
        typer.Option(
            help="postgresql://user@host/name; remembered. Else SQLite in the state folder.",
            envvar="REVERIE_CLOUD_DATABASE_URL",
        ),
    ] = None,
    blobs_url: Annotated[
        str | None,
        typer.Option(
            help="s3://bucket/prefix or a folder; remembered. Else in the state folder.",
            envvar="REVERIE_CLOUD_BLOBS_URL",
        ),
    ] = None,
    insecure: Insecure = False,
    as_json: Json = False,
) -> None:
    """Run the cloud until Ctrl-C.

    Examples:

      reverie-cloud serve --open-enrolment --budget demo

      reverie-cloud serve --helper http://127.0.0.1:8771 --helper-token-file ./helper.token

      reverie-cloud serve --aggregation local

      reverie-cloud serve --database-url postgresql://reverie@db/reverie --blobs-url s3://models/fleet

      reverie-cloud serve --host 0.0.0.0 --tls-cert chain.pem --tls-key key.pem
    """
    if tls_key is not None and tls_cert is None:
        fail("--tls-key needs --tls-cert: the certificate it belongs to")
    loopback = check_bind(host, insecure or tls_key is not None)
    if open_enrolment and not loopback:
        fail("--open-enrolment works on a loopback address only: hand out tokens instead")
    if helper is not None and aggregation == "local":
        fail("--aggregation local asks no helper: leave out --helper")
    if helper is not None and helper_token_file is None:
        fail("--helper needs --helper-token-file: ask the helper's operator for the file")
    with plain_errors(state):
        name_places(state, database_url, blobs_url)
    config = CloudConfig(
        state=state,
        budget=budget,
        aggregation=aggregation,
        helper_url=helper,
        helper_token_file=helper_token_file,
        new_helper=new_helper,
        open_enrolment=open_enrolment,
    )
    with plain_errors(state):
        tls = None if tls_cert is None else load_tls(tls_cert, tls_key)
    options = ServeOptions(host, port, tick_seconds, runtime, ray_address, tls)

    def announce(listening: Listening) -> None:
        if as_json:
            how = {"budget": budget, "aggregation": aggregation}
            embedded = helper is None and aggregation == "two-server"
            print_json(vars(listening) | how | {"embedded_helper": embedded})
        else:
            tell_cloud(listening, budget, aggregation, helper)

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
    budget: BudgetName = "production",
    token_file: Annotated[
        Path | None,
        typer.Option(help="Where the leader's token is kept; made at the first start."),
    ] = None,
    insecure: Insecure = False,
    as_json: Json = False,
) -> None:
    """Run the helper of the two-server aggregation; meant for a second operator.

    It holds every batch against the floors of its own --budget, whatever the leader asks.

    Examples:

      reverie-cloud helper --state ./helper --port 8771

      reverie-cloud helper --budget demo --token-file ./helper.token
    """
    check_bind(host, insecure)
    options = HelperOptions(state, host, port, budget, token_file or state / FILE_NAME)

    def announce(listening: HelperListening) -> None:
        print_json(vars(listening)) if as_json else tell_helper(listening)

    configure_logs()
    with plain_errors(state):
        asyncio.run(serve_helper(options, announce))


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
    if not has_cloud(state):
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
