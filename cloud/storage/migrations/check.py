"""Whether a database is what the tables say."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any

from sqlalchemy import Connection, MetaData

import cloud
from cloud.storage.migrations import version_table
from cloud.storage.tables import CLOUD, HELPER

__all__ = ["differences", "every_table"]


def every_table() -> tuple[MetaData, MetaData]:
    """The cloud's tables and the helper's, with those of every module of the cloud."""
    for module in pkgutil.walk_packages(cloud.__path__, "cloud."):
        if not module.name.startswith("cloud.storage.migrations."):  # steps are not ours to run
            importlib.import_module(module.name)
    return CLOUD, HELPER


def differences(connection: Connection, metadata: MetaData) -> list[Any]:
    """What alembic would have to change; empty when the schema is exactly the tables."""
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    options = {
        "compare_type": True,
        "compare_server_default": True,
        "version_table": version_table(metadata),
    }
    context = MigrationContext.configure(connection, opts=options)
    return list(compare_metadata(context, metadata))
