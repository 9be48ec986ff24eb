"""`reverie-cloud`: run and look after one fleet's learning service."""

from __future__ import annotations

from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Literal

import typer

from cloud.admin.commands import app as operator_commands
from cloud.admin.looking import app as looking_commands
from cloud.announcements import tell_cloud, tell_helper
from cloud.command_line import STATE, Json, State
from cloud.config import DEFAULT_HELPER_PORT, DEFAULT_PORT, CloudConfig
from cloud.console import check_bind, fail, plain_errors, print_json
from cloud.doctor.commands import app as doctor_commands
from cloud.documents import commands as document_commands
from cloud.helper_token import FILE_NAME
from cloud.logs import configure_logs
from cloud.loops import run
from cloud.releases.commands import app as release_commands
from cloud.serve import (
    DRAIN_SECONDS,
    LEASE_SECONDS,
    REFRESH_SECONDS,
    HelperListening,
    HelperOptions,
    Listening,
    ServeOptions,
    serve_cloud,
    serve_helper,
)
from cloud.storage.commands import app as storage_commands
from cloud.storage.places import name_places
from cloud.telemetry import exported
from cloud.tls import load_tls
from cloud.training.corpora.contributed import read_contributed
from cloud.watching import app as watching_commands

__all__ = ["app", "main"]

TICK_SECONDS = 60.0

app = typer.Typer(
    help="Run and look after one fleet's learning service.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)
app.add_typer(release_commands)
app.add_typer(document_commands.app)
app.add_typer(storage_commands)
app.add_typer(watching_commands)
app.add_typer(looking_commands)
app.add_typer(doctor_commands)
app.add_typer(operator_commands, name="operator")

BudgetName = Annotated[
    Literal["production", "demo"],
    typer.Option(help="Privacy budget of the rounds; demo is NOT private."),
]
Insecure = Annotated[bool, typer.Option(help="Allow an address beyond this machine, without TLS.")]
LogLevel = Annotated[
    Literal["debug", "info", "warning", "error"],
    typer.Option(help="debug: a line for every request and session."),
]
_HELPER_STATE = STATE.with_name("helper")


@app.command()
def serve(
    state: State = STATE,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0 takes a free one.")] = (
        DEFAULT_PORT
    ),
    role: Annotated[
        Literal["all", "gateway"],
        typer.Option(help="gateway: only serves phones, beside an `all` over the same database."),
    ] = "all",
    runtime: Annotated[
        Literal["inproc", "ray"], typer.Option(help="Where the actors live.")
    ] = "inproc",
    ray_address: Annotated[
        str | None, typer.Option(help="A running Ray cluster; else a local one is started.")
    ] = None,
    trainer_cpus: Annotated[
        float, typer.Option(min=0.0, help="CPUs each trainer asks of the Ray cluster.")
    ] = 0.0,
    budget: BudgetName = "production",
    publish: Annotated[
        Literal["auto", "by-hand"],
        typer.Option(help="by-hand: what passed the gate waits for `publish release`."),
    ] = "auto",
    corpus: Annotated[
        Path | None,
        typer.Option(help="JSONL of your own labelled lines, each with its contributor."),
    ] = None,
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
    refresh_seconds: Annotated[
        float, typer.Option(min=0.05, help="Seconds between two looks for others' changes.")
    ] = REFRESH_SECONDS,
    lease_seconds: Annotated[
        float, typer.Option(min=0.5, help="Seconds until a silent `all` is followed by another.")
    ] = LEASE_SECONDS,
    drain_seconds: Annotated[
        float, typer.Option(min=0.0, help="Seconds uploads may still take after SIGTERM.")
    ] = DRAIN_SECONDS,
    intake_shards: Annotated[
        int, typer.Option(min=1, max=64, help="Writers of reports; more help on PostgreSQL.")
    ] = 1,
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
    log_level: LogLevel = "info",
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

      reverie-cloud serve --role gateway --port 8772
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
        role=role,
        intake_shards=intake_shards,
        budget=budget,
        aggregation=aggregation,
        publish=publish,
        corpus=corpus,
        helper_url=helper,
        helper_token_file=helper_token_file,
        new_helper=new_helper,
        open_enrolment=open_enrolment,
    )
    with plain_errors(state):
        tls = None if tls_cert is None else load_tls(tls_cert, tls_key)
        if corpus is not None:
            read_contributed(corpus)  # what is wrong with it is said now, not at the first training
    options = ServeOptions(host, port, tick_seconds, runtime, ray_address, tls)
    options = replace(
        options,
        refresh_seconds=refresh_seconds,
        lease_seconds=lease_seconds,
        drain_seconds=drain_seconds,
        trainer_cpus=trainer_cpus,
        open_metrics=loopback and tls is None,
    )

    def announce(listening: Listening) -> None:
        if as_json:
            how: dict[str, object] = {"budget": budget, "aggregation": aggregation}
            embedded = helper is None and aggregation == "two-server" and role == "all"
            how |= {"admin": f"{listening.url}/admin/"}
            print_json(vars(listening) | how | {"embedded_helper": embedded})
        else:
            tell_cloud(listening, budget, aggregation, helper, role)

    configure_logs(log_level)
    with plain_errors(state), exported(version("reverie")):
        run(serve_cloud(config, options, announce))


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
        run(serve_helper(options, announce))


def main() -> None:
    """Entry point of `reverie-cloud`."""
    app()
