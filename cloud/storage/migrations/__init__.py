"""The database's schema, step by step: every start brings a database up to the newest step.

After a change to a table, one command writes the next step, to be read and committed:

    python -m cloud.storage.migrations "what changed"

Steps are files ``step_NNNN_words.py`` in a folder for each set of tables, with explicit operations
and in one line of descent. They run in the caller's writing transaction, which only one process can
hold, so that any number may start at once. There is no way down: restore a backup instead.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sqlalchemy import Connection, MetaData, inspect

if TYPE_CHECKING:
    from alembic.config import Config

__all__ = ["SchemaRefused", "alembic_config", "head", "steps", "upgrade", "version_table"]

_SETS: Final = ("cloud", "helper")
_HERE = Path(__file__).parent


class SchemaRefused(Exception):
    """The database is a newer version's, or another owner's; one line that says what to do."""


def upgrade(connection: Connection, metadata: MetaData) -> None:
    """Take every step the database has not seen yet.

    Args:
        connection: in a transaction that keeps other writers out.
        metadata: whose steps; `metadata.info["migrations"]` names their folder.

    Raises:
        SchemaRefused: the database has seen a step that this version does not know, or holds the
            other set of tables.
    """
    current = _current(connection, metadata)
    if current == head(metadata):
        return  # without importing alembic: an actor opens its database in milliseconds
    if current is not None and current not in steps(metadata):
        raise SchemaRefused(
            f"the schema has step {current}, this version knows up to {head(metadata)}: "
            "run the newer version, or restore a backup of before"
        )
    from alembic import command

    config = alembic_config(metadata)
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


@lru_cache
def steps(metadata: MetaData) -> tuple[str, ...]:
    """The numbers of the steps, oldest first."""
    return tuple(sorted(file.name.split("_")[1] for file in _folder(metadata).glob("step_*.py")))


def head(metadata: MetaData) -> str:
    """The number of the newest step."""
    return steps(metadata)[-1]


def alembic_config(metadata: MetaData) -> Config:
    """Where alembic finds the steps of these tables, and the tables."""
    from alembic.config import Config

    config = Config()
    # A per cent sign in a path would be read as an interpolation.
    config.set_main_option("script_location", str(_HERE).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.set_main_option("version_locations", str(_folder(metadata)).replace("%", "%%"))
    config.attributes["metadata"] = metadata
    return config


def version_table(metadata: MetaData) -> str:
    """Where the database keeps the number of its newest step."""
    return f"{metadata.info['migrations']}_schema"


def _folder(metadata: MetaData) -> Path:
    return _HERE / str(metadata.info["migrations"])


def _current(connection: Connection, metadata: MetaData) -> str | None:
    ours = version_table(metadata)
    present = {f"{name}_schema" for name in _SETS} & set(inspect(connection).get_table_names())
    if present - {ours}:
        # Whoever holds both can take a phone's report apart.
        raise SchemaRefused("the cloud and its helper must not share a database: give it its own")
    if ours not in present:
        return None
    query = f"SELECT version_num FROM {ours}"  # noqa: S608 - one of two names
    found: str | None = connection.exec_driver_sql(query).scalar()
    return found
