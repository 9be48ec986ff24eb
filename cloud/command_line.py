"""What every command of `reverie-cloud` shares: its options, and the cloud they name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from platformdirs import user_data_path

from cloud.config import CloudConfig
from cloud.console import fail, plain_errors
from cloud.storage import Database
from cloud.storage.places import has_cloud

__all__ = ["STATE", "Json", "State", "cloud_in", "database_in", "no_cloud"]

STATE = user_data_path("reverie") / "cloud"
"""Where a cloud keeps its state unless it is told."""

State = Annotated[
    Path,
    typer.Option(help="Folder of keys, database and blobs.", envvar="REVERIE_CLOUD_STATE"),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]


@contextmanager
def cloud_in(state: Path) -> Iterator[CloudConfig]:
    """The configuration of the cloud in `state`; what a user can mend is said in one line."""
    with plain_errors(state):
        if not has_cloud(state):
            no_cloud(state)
        yield CloudConfig(state=state)


@contextmanager
def database_in(state: Path) -> Iterator[Database]:
    """The database of the cloud in `state`, closed in the end."""
    with cloud_in(state) as config:
        database = Database(config.database_url)
        try:
            yield database
        finally:
            database.close()


def no_cloud(state: Path) -> NoReturn:
    """Say that there is none, and how to start one."""
    fail(f"there is no cloud in {state}: start one with `reverie-cloud serve --state {state}`")
