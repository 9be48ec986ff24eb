"""`reverie-cloud status | rounds | devices | revoke | token`."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from sqlalchemy import Connection

from cloud.actors.registry import Registry
from cloud.admin.status import status_of
from cloud.command_line import STATE, Json, State, cloud_in, database_in
from cloud.config import DAY
from cloud.console import fail, hint, out, print_json, show
from cloud.releases.lines import waiting_for
from cloud.service import TOKEN_BYTES
from cloud.storage import facts

__all__ = ["app"]

T = TypeVar("T")

OPEN_COLUMNS = ("task", "round", "status", "filled", "n_min", "opens", "closes")
ROUND_COLUMNS = ("task", "round", "status", "reports", "n_min", "opens", "closes", "reason")
RELEASE_COLUMNS = (
    "model", "version", "status", "waiting", "percent", "accuracy", "epsilon", "created"
)  # fmt: skip
ALARM_COLUMNS = ("key", "raised", "seen")
DEVICE_COLUMNS = ("device_id", "enrolled", "revoked")
MOST_ROWS = 100_000

app = typer.Typer()

Limit = Annotated[int, typer.Option(min=1, max=MOST_ROWS, help="Rows to list.")]
After = Annotated[str, typer.Option(help="Go on behind where an earlier list ended.")]


@app.command()
def status(state: State = STATE, as_json: Json = False) -> None:
    """Show phones, reports, open rounds, newest releases, alarms, and whether anybody ticks.

    Example:

      reverie-cloud status --json
    """
    now = time.time()
    found = _read(state, lambda connection: status_of(connection, now))
    if as_json:
        print_json(found)
        return
    devices, reports = found["devices"], found["reports"]
    out.print(f"devices   {devices['active']} active of {devices['enrolled']} enrolled")
    out.print(f"reports   {reports['day']} within a day, {reports['week']} within a week")
    if found["lease"] is not None and found["lease"]["until"] < now:
        out.print("ticks     nobody: the lease has run out, start a `serve --role all`")
    show("open rounds", found["rounds"], OPEN_COLUMNS)
    staged = {row["model"] for row in found["releases"] if row["status"] == "staged"}
    for row in found["releases"]:
        row["accuracy"] = row["metrics"].get("accuracy")
        row["waiting"] = waiting_for(row, staged)
    show("releases", found["releases"], RELEASE_COLUMNS)
    if found["alarms"]:
        show("alarms", found["alarms"], ALARM_COLUMNS)


@app.command()
def rounds(
    state: State = STATE, limit: Limit = facts.PAGE, after: After = "", as_json: Json = False
) -> None:
    """List rounds, newest first, and what came of each.

    Example:

      reverie-cloud rounds --limit 10
    """
    found = _page(state, lambda connection: facts.rounds_page(connection, after, limit))
    print_json(found) if as_json else show("rounds", found, ROUND_COLUMNS)


@app.command()
def devices(
    state: State = STATE, limit: Limit = 1_000, after: After = "", as_json: Json = False
) -> None:
    """List enrolled phones by id.

    Example:

      reverie-cloud devices --limit 100
    """
    found = _page(state, lambda connection: facts.devices_page(connection, after, limit))
    print_json(found) if as_json else show("devices", found, DEVICE_COLUMNS)


@app.command()
def revoke(
    device_id: Annotated[str, typer.Argument(help="The id `devices` shows.")],
    state: State = STATE,
    as_json: Json = False,
) -> None:
    """Shut a phone out from its next session on.

    Example:

      reverie-cloud revoke 0f3a…
    """
    with _registry(state) as registry:
        known = registry.revoke(device_id, time.time())
    if not known:
        fail(f"no device has the id {device_id}: see `reverie-cloud devices`")
    print_json({"revoked": device_id}) if as_json else out.print(f"revoked {device_id}")


@app.command()
def token(
    state: State = STATE,
    days: Annotated[float, typer.Option(min=0.01, help="Days it is good for.")] = 7.0,
    as_json: Json = False,
) -> None:
    """Make an enrolment token for one phone; the running cloud takes it at once.

    Example:

      reverie-cloud token --days 1
    """
    value = os.urandom(TOKEN_BYTES).hex()
    digest = sha256(value.encode()).hexdigest()
    with _registry(state) as registry:
        registry.add_token(digest, time.time(), days * DAY)
    print_json({"token": value}) if as_json else out.print(value, highlight=False)


def _page(state: Path, look: Callable[[Connection], facts.Page]) -> list[dict[str, Any]]:
    try:
        page = _read(state, look)
    except ValueError:
        fail("--after is what an earlier list ended with")
    if page.after is not None:
        hint(f"there are more: --after {page.after}")
    return page.rows


def _read(state: Path, look: Callable[[Connection], T]) -> T:
    with database_in(state) as database, database.read() as connection:
        return look(connection)


@contextmanager
def _registry(state: Path) -> Iterator[Registry]:
    with cloud_in(state) as config:
        registry = Registry(config.database_url)
        try:
            yield registry
        finally:
            registry.close()
