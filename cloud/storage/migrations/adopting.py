"""The first step, on a database that has tables already: versions before the steps made them."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

__all__ = ["index", "table"]


def table(name: str, *items: Any, **options: Any) -> None:
    """Make a table, or add the columns that one of an earlier version lacks (each has a default or
    may be null)."""
    here = sa.inspect(op.get_bind())
    if not here.has_table(name):
        op.create_table(name, *items, **options)
        return
    known = {column["name"] for column in here.get_columns(name)}
    for item in items:
        if isinstance(item, sa.Column) and item.name not in known:
            op.add_column(name, item)


def index(name: str, on: str, columns: list[str]) -> None:
    """Make an index unless it is there."""
    op.create_index(name, on, columns, if_not_exists=True)
