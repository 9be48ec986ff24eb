"""How alembic runs our steps: in the connection and transaction it is given."""

from __future__ import annotations

from typing import Any, Literal

from alembic import context
from alembic.autogenerate.api import AutogenContext

from cloud.storage.columns import EmptyBytes, Whole
from cloud.storage.migrations import version_table


def render_item(kind: str, item: Any, autogen: AutogenContext) -> str | Literal[False]:
    """Our own default and type in a step's source; everything else as alembic writes it."""
    if kind == "server_default" and isinstance(getattr(item, "arg", None), EmptyBytes):
        autogen.imports.add("from cloud.storage.columns import EmptyBytes, Whole")
        return "EmptyBytes()"
    if kind == "type" and item is Whole:
        autogen.imports.add("from cloud.storage.columns import Whole")
        return "Whole"
    return False


tables = context.config.attributes["metadata"]
context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=tables,
    version_table=version_table(tables),
    compare_type=True,
    compare_server_default=True,
    render_as_batch=True,  # SQLite changes a column by copying its table
    render_item=render_item,
)
with context.begin_transaction():
    context.run_migrations()
