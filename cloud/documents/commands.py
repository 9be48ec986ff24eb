"""`reverie-cloud publish knowledge` and `reverie-cloud documents`."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from cloud.command_line import STATE, Json, State, no_cloud
from cloud.config import CloudConfig
from cloud.console import fail, out, plain_errors, print_json, show
from cloud.documents.library import Library, Published
from cloud.documents.reading import FileUnusable, name_of, read_facts
from protocol.errors import DocumentRefused

__all__ = ["app", "publish"]

COLUMNS = ("name", "version", "records", "size", "whole", "deltas", "published", "expires")

app = typer.Typer()
publish = typer.Typer(help="Publish a document, or a release that waits.", no_args_is_help=True)
app.add_typer(publish, name="publish")


@publish.command()
def knowledge(
    file: Annotated[
        Path, typer.Argument(help="JSON lines: id, text, language; tags, time, source.")
    ],
    name: Annotated[str, typer.Option(help="What to call it; else the file's own name.")] = "",
    state: State = STATE,
    as_json: Json = False,
) -> None:
    """Publish facts that everybody may know; phones fetch what changed since the version they have.

    A line is one fact: {"id": "m1", "text": "Line 1 runs from 5:30 to 23:00", "language": "en"},
    with "tags" (a list), "time" (ISO 8601) and "source" if you like. Publishing the same facts
    again, in any order, changes nothing.

    Examples:

      reverie-cloud publish knowledge metro.jsonl

      reverie-cloud publish knowledge facts-2026-05.jsonl --name metro --json
    """
    with plain_errors(state):
        library = _library(state)
        try:
            published = library.publish(name or name_of(file), read_facts(file), time.time())
        except FileUnusable as error:
            fail(str(error))
        except DocumentRefused as refusal:
            fail(refusal.detail)
        finally:
            library.close()
    if as_json:
        print_json(vars(published))
    else:
        _tell(published)


@app.command()
def documents(state: State = STATE, as_json: Json = False) -> None:
    """List the published documents, and what a phone fetches for each.

    Examples:

      reverie-cloud documents

      reverie-cloud documents --json
    """
    with plain_errors(state):
        library = _library(state)
        found = library.listing()
        library.close()
    if as_json:
        print_json(found)
        return
    rows = [row | {"deltas": _range(row["deltas"])} for row in found]
    show("documents", rows, COLUMNS)


def _tell(published: Published) -> None:
    said = f"{published.name} version {published.version}, {published.records} facts"
    if not published.fresh:
        out.print(f"unchanged: {said} are published already", highlight=False)
        return
    out.print(f"published: {said}", highlight=False)
    out.print(f"whole      {published.whole} bytes", highlight=False)
    if published.deltas:
        newest = max(published.deltas)
        out.print(
            f"increments {published.deltas[newest]} bytes from version {newest}; from "
            f"{len(published.deltas)} versions in all",
            highlight=False,
        )
    if published.encoder:
        out.print(f"no increments: {published.encoder}", highlight=False, style="yellow")


def _range(deltas: dict[int, int]) -> str:
    if not deltas:
        return "-"
    return f"{min(deltas.values())}–{max(deltas.values())} from {len(deltas)}"


def _library(state: Path) -> Library:
    config = CloudConfig(state=state)
    if not config.signing_key.exists():
        no_cloud(state)
    return Library(config.database_url, config.blobs_url, config.signing_key)
