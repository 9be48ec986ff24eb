"""`reverie-cloud backup`, `restore` and `forget`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from sqlalchemy import make_url

from cloud.command_line import STATE, Json, State, database_in
from cloud.console import fail, out, plain_errors, print_json
from cloud.storage.backup import Backup, BackupRefused, backup, restore
from cloud.storage.places import places_of
from cloud.storage.retention import forget_device

__all__ = ["app"]

app = typer.Typer()


@app.command("backup")
def backup_command(
    file: Annotated[Path, typer.Argument(help="The file to write, such as cloud.tar.")],
    state: State = STATE,
    as_json: Json = False,
) -> None:
    """Write keys, databases and blobs of the state folder to one file; the cloud may be running.

    The file holds the signing keys: keep it as you keep them. A helper's folder is backed up in
    the same way. A database in PostgreSQL is dumped first, with its own tool:

      pg_dump --format=custom --file=cloud.dump postgresql://…

    Example:

      reverie-cloud backup /backups/cloud.tar
    """
    with plain_errors(file.parent):
        taken = _plainly(lambda: backup(state, file))
        _tell("wrote", file, taken, as_json)
        if not as_json:
            _tell_elsewhere(state)


@app.command("restore")
def restore_command(
    file: Annotated[Path, typer.Argument(help="What `backup` wrote.", exists=True)],
    state: State = STATE,
    as_json: Json = False,
) -> None:
    """Make a state folder from a backup, whole or not at all; the folder must be new or empty.

    A database in PostgreSQL is put back with its own tool: pg_restore --dbname=… cloud.dump

    Example:

      reverie-cloud restore /backups/cloud.tar --state ./cloud
    """
    with plain_errors(state):
        restored = _plainly(lambda: restore(file, state))
    _tell("restored", state, restored, as_json)


@app.command("forget")
def forget_command(
    device_id: Annotated[str, typer.Argument(help="The id `devices` shows.")],
    state: State = STATE,
    as_json: Json = False,
) -> None:
    """Remove everything that names a phone; sums it was part of stay.

    It can enrol again with a new token: to keep a phone out, `revoke` it and let its row be.

    Example:

      reverie-cloud forget 0f3a…
    """
    with database_in(state) as database:
        gone = forget_device(database, device_id)
    if not any(gone):
        fail(f"no device has the id {device_id}: see `reverie-cloud devices`")
    if as_json:
        print_json({"forgotten": device_id, **gone._asdict()})
    else:
        out.print(f"forgot {device_id}: {gone.removed} rows, {gone.unlinked} reports unlinked")


def _plainly(work: Callable[[], Backup]) -> Backup:
    try:
        return work()
    except BackupRefused as refusal:
        fail(str(refusal))
    except OSError as error:
        fail(f"cannot read or write the backup: {error.strerror}")


def _tell(did: str, where: Path, held: Backup, as_json: bool) -> None:
    if as_json:
        print_json({did: str(where), **held._asdict()})
    else:
        databases = ", ".join(held.databases) or "no database"
        out.print(f"{did} {where}: {databases} and {held.files} files, {held.size} bytes")


def _tell_elsewhere(state: Path) -> None:
    places = places_of(state)
    if places.database_url is not None:
        shown = make_url(places.database_url).render_as_string(hide_password=True)
        out.print(f"not in it: the database at {shown}; dump it with pg_dump --format=custom")
    if places.blobs_url is not None:
        out.print(f"not in it: the blobs at {places.blobs_url}")
