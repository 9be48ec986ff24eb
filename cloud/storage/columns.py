"""What SQLAlchemy has no word for in a column's definition."""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger, ColumnElement, Integer
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler

__all__ = ["EmptyBytes", "Whole"]


class EmptyBytes(ColumnElement[bytes]):
    """No bytes, as the default of a column: in SQLite '' would be a text."""

    inherit_cache = True


@compiles(EmptyBytes)
def _empty_bytes(_element: EmptyBytes, compiler: SQLCompiler, **_: Any) -> str:
    return "X''" if compiler.dialect.name == "sqlite" else "''::bytea"


Whole = BigInteger().with_variant(Integer(), "sqlite")
"""A whole number, of 64 bits everywhere: protocol messages carry up to 2^53, and PostgreSQL's
Integer refuses to so much as compare more than 31 bits. SQLite numbers rows by its INTEGER only."""
