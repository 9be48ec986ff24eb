"""`reverie-cloud releases`, `card`, `halt`, `rollback`, `advance` and `publish release`."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.markdown import Markdown

from cloud.actors.rollout import Change
from cloud.command_line import STATE, Json, State, cloud_in, database_in
from cloud.console import fail, out, print_json, show
from cloud.documents.commands import publish
from cloud.releases.card import card_of
from cloud.releases.card_page import markdown
from cloud.releases.lines import COLUMNS, reasons, release_lines
from cloud.releases.steering import Order, Steering
from cloud.storage import BlobMissing

__all__ = ["app"]

OPERATOR = "cli"
"""Who is noted for an order given at the command line."""

app = typer.Typer()

Model = Annotated[Literal["router", "dedup"], typer.Argument(help="Whose release.")]
Only = Annotated[
    int, typer.Option("--version", min=0, help="Only if it is this version; 0 takes any.")
]


@app.command()
def releases(state: State = STATE, as_json: Json = False) -> None:
    """List every candidate and release with its scores, and what waits for whom.

    Examples:

      reverie-cloud releases

      reverie-cloud releases --json
    """
    with database_in(state) as database:
        lines = release_lines(database, cards=as_json)
    if as_json:
        print_json(lines)
        return
    show("releases", lines, COLUMNS)
    for reason in reasons(lines):
        out.print(reason, highlight=False, markup=False)


@app.command()
def card(
    model: Model,
    version: Annotated[int, typer.Argument(min=0, help="0: the newest all may take.")] = 0,
    state: State = STATE,
    as_markdown: Annotated[
        bool, typer.Option("--markdown", help="Print Markdown, for a file.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Show a release's model card: use, limits, metrics, data, privacy, training, sizes.

    Examples:

      reverie-cloud card router

      reverie-cloud card dedup 4 --markdown > dedup-4.md
    """
    with database_in(state) as database, database.read() as connection:
        found = card_of(connection, model, version)
    if found is None:
        fail(f"there is no {model} {version or 'release'}: see `reverie-cloud releases`")
    if as_json:
        print_json(found)
    elif as_markdown:
        typer.echo(markdown(found), nl=False)
    else:
        out.print(Markdown(markdown(found)))


@app.command()
def halt(model: Model, version: Only = 0, state: State = STATE, as_json: Json = False) -> None:
    """Withdraw a release that is on its way to all phones, or reject a candidate that waits.

    Phones that have it go back to the version before.

    Example:

      reverie-cloud halt router
    """
    _order("halt", model, version, state, as_json)


@app.command()
def rollback(model: Model, version: Only = 0, state: State = STATE, as_json: Json = False) -> None:
    """Withdraw the newest release of a model; the one before is the newest again.

    Examples:

      reverie-cloud rollback router

      reverie-cloud rollback router --version 7
    """
    _order("rollback", model, version, state, as_json)


@app.command()
def advance(model: Model, version: Only = 0, state: State = STATE, as_json: Json = False) -> None:
    """Let every phone take a staged release now.

    Example:

      reverie-cloud advance router
    """
    _order("advance", model, version, state, as_json)


@publish.command("release")
def approve(model: Model, version: Only = 0, state: State = STATE, as_json: Json = False) -> None:
    """Let a candidate that passed the gate go out, in a cloud served with --publish by-hand.

    The next tick signs it; `reverie-cloud card MODEL VERSION` shows beforehand what was measured.

    Example:

      reverie-cloud publish release router
    """
    _order("approve", model, version, state, as_json)


def _order(order: Order, model: str, version: int, state: Path, as_json: bool) -> None:
    with _steering(state) as steering:
        change, refusal = _carried_out(steering, order, model, version)
    if change is None:
        fail(refusal)
    if as_json:
        print_json(change._asdict())
    else:
        out.print(_said(change), highlight=False)


def _carried_out(
    steering: Steering, order: Order, model: str, version: int
) -> tuple[Change | None, str]:
    move = getattr(steering, order)
    try:
        change: Change | None = move(model, time.time(), OPERATOR, version=version)
    except BlobMissing:
        return None, "the candidate's parameters are lost: restore the blobs from a backup"
    return change, "" if change else steering.refusal(order, model, version)


def _said(change: Change) -> str:
    ends = {
        "approved": "is approved: the next tick publishes it",
        "published": "goes to every phone now",
    }
    return f"{change.model} {change.version} {ends.get(change.status, f'is {change.status}')}"


@contextmanager
def _steering(state: Path) -> Iterator[Steering]:
    with cloud_in(state) as config:
        steering = Steering(config.database_url, config.blobs_url, config.keys, config.signing_key)
        try:
            yield steering
        finally:
            steering.close()
