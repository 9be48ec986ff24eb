"""`reverie-cloud operator add | list | revoke`."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from cloud.admin.operators import DEFAULT_DAYS, Operator, OperatorRefused, Operators, Role
from cloud.command_line import STATE, Json, State, database_in
from cloud.config import DAY
from cloud.console import fail, out, print_json, show

__all__ = ["app"]

COLUMNS = ("name", "role", "state", "created", "expires")

app = typer.Typer(
    help="Who may look at the service or steer it, on /admin/ and /v1/admin/.",
    no_args_is_help=True,
)

Name = Annotated[str, typer.Argument(help="A person's or program's name.")]


@app.command()
def add(
    name: Name,
    role: Annotated[
        Role, typer.Option(help="viewer only looks; operator halts, rolls back, revokes.")
    ] = "viewer",
    days: Annotated[float, typer.Option(min=0.01, max=3650, help="Days it is good for.")] = (
        DEFAULT_DAYS
    ),
    state: State = STATE,
    as_json: Json = False,
) -> None:
    """Make a token for one operator; it is shown once and only its hash is kept.

    The running cloud takes it at once. A program uses it as `Authorization: Bearer TOKEN`.

    Examples:

      reverie-cloud operator add lin --role operator --days 30

      reverie-cloud operator add prometheus --days 365
    """
    now = time.time()
    with _operators(state) as operators:
        try:
            token = operators.add(name, role, now, days * DAY, os.urandom)
        except OperatorRefused as refusal:
            fail(str(refusal))
    if as_json:
        print_json({"name": name, "role": role, "token": token, "expires": now + days * DAY})
    else:
        out.print(token, highlight=False, soft_wrap=True)


@app.command("list")
def list_command(state: State = STATE, as_json: Json = False) -> None:
    """List operators: name, role, whether the token still opens anything, and until when.

    Example:

      reverie-cloud operator list
    """
    with _operators(state) as operators:
        rows = [_row(one, time.time()) for one in operators.all()]
    print_json(rows) if as_json else show("operators", rows, COLUMNS)


@app.command()
def revoke(name: Name, state: State = STATE, as_json: Json = False) -> None:
    """End an operator's token and every session made with it, at once and on every gateway.

    Example:

      reverie-cloud operator revoke lin
    """
    with _operators(state) as operators:
        known = operators.revoke(name, time.time())
    if not known:
        fail(f"there is no operator {name}: see `reverie-cloud operator list`")
    print_json({"revoked": name}) if as_json else out.print(f"revoked {name}", highlight=False)


def _row(one: Operator, now: float) -> dict[str, object]:
    state = "active" if one.active(now) else "revoked" if one.revoked is not None else "expired"
    row: dict[str, object] = {"name": one.name, "role": one.role, "state": state}
    return row | {"created": one.created, "expires": one.expires}


@contextmanager
def _operators(state: Path) -> Iterator[Operators]:
    with database_in(state) as database:
        yield Operators(database)
