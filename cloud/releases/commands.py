"""`reverie-cloud keys`; the commands of releases are in steer_commands.py."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from cloud.command_line import STATE, Json, State, cloud_in
from cloud.config import CloudConfig
from cloud.console import fail, out, plain_errors, print_json, show
from cloud.releases import steer_commands
from cloud.releases.keys import RoleKeys
from cloud.releases.repository import Repository, majority
from cloud.storage import Database
from protocol.metadata import ROLES, Root, open_role

__all__ = ["app"]

COLUMNS = ("role", "version", "keys", "threshold", "here", "expires")
MOST_ROOT_KEYS = 8

app = typer.Typer()
app.add_typer(steer_commands.app)
keys = typer.Typer(
    help="The keys that sign what phones may install (TUF: root, targets, snapshot, timestamp).",
    no_args_is_help=True,
)
app.add_typer(keys, name="keys")

RootFolder = Annotated[
    Path | None,
    typer.Option("--root", help="Folder of root's keys, when they are kept offline."),
]
RootKeys = Annotated[
    int,
    typer.Option(min=1, max=MOST_ROOT_KEYS, help="Root keys to make; a majority of them signs."),
]


@keys.command("init")
def init(
    state: State = STATE,
    root: RootFolder = None,
    root_keys: RootKeys = 1,
    as_json: Json = False,
) -> None:
    """Make the keys and sign the first root; do it before the first `serve` to keep root offline.

    Without it `serve` makes all four keys in the state folder. Where there is a root already,
    nothing changes.

    Examples:

      reverie-cloud keys init --root /media/usb/reverie --root-keys 3
    """
    with _opened(state, root, make=True) as (database, roles, repository):
        with database.write() as connection:
            if repository.root(connection) is None:
                roles.ensure(os.urandom, root_keys)
            repository.sign(connection, time.time())
        _tell(database, roles, repository, as_json)


@keys.command("show")
def show_keys(state: State = STATE, root: RootFolder = None, as_json: Json = False) -> None:
    """Show each role's file: version, keys, how many must sign, how many are here, expiry.

    Example:

      reverie-cloud keys show --root /media/usb/reverie
    """
    with _opened(state, root) as (database, roles, repository):
        _tell(database, roles, repository, as_json)


@keys.command()
def rotate(
    role: Annotated[
        Literal["targets", "snapshot", "timestamp"], typer.Argument(help="Whose key to replace.")
    ],
    state: State = STATE,
    root: RootFolder = None,
    as_json: Json = False,
) -> None:
    """Replace an online role's key, as after a theft; root's keys must be at hand.

    Phones take the new root when they come next, and what the old key signs counts no more.

    Example:

      reverie-cloud keys rotate timestamp --root /media/usb/reverie
    """
    with _opened(state, root) as (database, roles, repository):
        with database.write() as connection:
            old = repository.rotate(connection, role, os.urandom, time.time())
        roles.discard(role, old)
        _tell(database, roles, repository, as_json)


@keys.command("rotate-root")
def rotate_root(
    state: State = STATE,
    root: RootFolder = None,
    into: Annotated[
        Path | None, typer.Option(help="Folder for the new keys; else where the old ones are.")
    ] = None,
    root_keys: RootKeys = 1,
    as_json: Json = False,
) -> None:
    """Replace root's own keys: the old and the new ones sign, so that phones can follow.

    The old files are left where they are when the new keys go elsewhere: destroy them yourself.

    Examples:

      reverie-cloud keys rotate-root --into /media/usb/reverie --root-keys 3
    """
    with _opened(state, root) as (database, roles, repository):
        target = RoleKeys(state / "keys", into) if into else roles
        with database.write() as connection:
            old = repository.rotate(
                connection,
                "root",
                os.urandom,
                time.time(),
                keys=root_keys,
                threshold=majority(root_keys),
                into=target,
            )
        if into is None:
            roles.discard("root", old)
        _tell(database, target, repository, as_json)


@contextmanager
def _opened(
    state: Path, root: Path | None, *, make: bool = False
) -> Iterator[tuple[Database, RoleKeys, Repository]]:
    with _founded(state) if make else cloud_in(state) as config:
        roles = RoleKeys(config.keys, root)
        database = Database(config.database_url)
        try:
            yield database, roles, Repository(roles)
        finally:
            database.close()


@contextmanager
def _founded(state: Path) -> Iterator[CloudConfig]:
    """The state folder, made if need be: keys may be there before the cloud is."""
    with plain_errors(state):
        state.mkdir(parents=True, exist_ok=True, mode=0o700)
        yield CloudConfig(state=state)


def _tell(database: Database, roles: RoleKeys, repository: Repository, as_json: bool) -> None:
    with database.read() as connection:
        files = {role: data for role, _, data in repository.files(connection)}
        first = repository.first_root(connection)
    if not files:
        fail("nothing is signed yet: run `reverie-cloud keys init`")
    root = open_role(files["root"]).signed
    assert isinstance(root, Root)
    rows: list[dict[str, Any]] = []
    for role in ROLES:
        rule = root.roles[role]
        file = open_role(files[role])
        here = len(roles.named(role, rule.keyids))
        row: dict[str, Any] = {"role": role, "version": file.version}
        row |= {"keys": len(rule.keyids), "threshold": rule.threshold, "here": here}
        row |= {"expires": file.signed.expires}
        rows.append(row)
    pin = sha256(first).hexdigest()
    if as_json:
        print_json({"root_sha256": pin, "roles": rows})
        return
    show("roles", rows, COLUMNS)
    out.print(f"root      {pin}", highlight=False, soft_wrap=True)
