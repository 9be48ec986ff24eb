"""Tables of the release repository, beside the cloud's others in the database of record."""

from __future__ import annotations

from sqlalchemy import JSON, Column, Float, LargeBinary, String, Table, text

from cloud.storage.columns import Whole
from cloud.storage.tables import CLOUD

__all__ = ["listed", "role_files", "rollouts"]

#: Every root ever signed, in order, and the newest file of the other roles.
role_files = Table(
    "role_files",
    CLOUD,
    Column("role", String(16), primary_key=True),
    Column("version", Whole, primary_key=True),
    Column("data", LargeBinary, nullable=False),
    Column("signed", Float, nullable=False),
)

#: What the next targets file says may be installed: name, size and hash of the file.
listed = Table(
    "listed",
    CLOUD,
    Column("name", String(96), primary_key=True),
    Column("length", Whole, nullable=False),
    Column("sha256", LargeBinary(32), nullable=False),
    Column("percent", Whole, nullable=False, default=100, server_default=text("100")),
    Column("withdrawn", JSON, nullable=False),
)

#: How far a release has got: `percent` of the phones since `since`; `started` is when the first
#: could take it. Its row in `releases` is staged -> published, or withdrawn from either.
rollouts = Table(
    "rollouts",
    CLOUD,
    Column("model", String(16), primary_key=True),
    Column("version", Whole, primary_key=True),
    Column("percent", Whole, nullable=False),
    Column("started", Float, nullable=False),
    Column("since", Float, nullable=False),
)
