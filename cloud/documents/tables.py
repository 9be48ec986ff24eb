"""The table of published documents, under the cloud's metadata."""

from __future__ import annotations

from sqlalchemy import JSON, Column, Float, LargeBinary, String, Table

from cloud.storage.columns import Whole
from cloud.storage.tables import CLOUD

__all__ = ["documents"]

#: Every version ever published. `content` and `whole` are blob keys, `deltas` maps the version a
#: delta starts from to its blob key. `publication` is the signed description phones are shown; of
#: versions other than the newest nobody reads it any more.
documents = Table(
    "documents",
    CLOUD,
    Column("name", String(40), primary_key=True),
    Column("version", Whole, primary_key=True),
    Column("sha256", LargeBinary(32), nullable=False),
    Column("size", Whole, nullable=False),
    Column("records", Whole, nullable=False),
    Column("content", String(64), nullable=False),
    Column("whole", String(64), nullable=False),
    Column("deltas", JSON, nullable=False),
    Column("publication", LargeBinary, nullable=False),
    Column("published", Float, nullable=False),
    Column("expires", Float, nullable=False),
)
