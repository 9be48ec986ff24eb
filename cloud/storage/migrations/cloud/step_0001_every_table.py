"""Every table, as of the first version with steps; what earlier ones made is completed."""

from __future__ import annotations

import sqlalchemy as sa

from cloud.storage.columns import EmptyBytes, Whole
from cloud.storage.migrations.adopting import index, table

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Take the step."""
    table(
        "account_members",
        sa.Column("account", sa.String(length=32), nullable=False),
        sa.Column("device_id", sa.String(length=32), nullable=False),
        sa.Column("generation", Whole, nullable=False),
        sa.Column("removed", Whole, nullable=False),
        sa.Column("accepted", Whole, nullable=False),
        sa.Column("since", Whole, nullable=False),
        sa.Column("acknowledged", Whole, nullable=False),
        sa.PrimaryKeyConstraint("account", "device_id"),
    )
    table(
        "accounts",
        sa.Column("account", sa.String(length=32), nullable=False),
        sa.Column("created", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("account"),
    )
    table(
        "aggregates",
        sa.Column("id", Whole, autoincrement=True, nullable=False),
        sa.Column("task", sa.String(length=16), nullable=False),
        sa.Column("round", Whole, nullable=False),
        sa.Column("base_version", Whole, nullable=False),
        sa.Column("n", Whole, nullable=False),
        sa.Column("scale", Whole, nullable=False),
        sa.Column("clip", sa.Float(), nullable=False),
        sa.Column("sigma", sa.Float(), nullable=False),
        sa.Column("total", sa.LargeBinary(), nullable=False),
        sa.Column("estimates", sa.JSON(), nullable=False),
        sa.Column("created", sa.Float(), nullable=False),
        sa.Column("certificate", sa.LargeBinary(), server_default=EmptyBytes(), nullable=False),
        sa.Column("helper_key", sa.LargeBinary(), server_default=EmptyBytes(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("task", "round", name="one_aggregate_per_round"),
    )
    table(
        "devices",
        sa.Column("device_id", sa.String(length=32), nullable=False),
        sa.Column("public_key", sa.LargeBinary(length=32), nullable=False),
        sa.Column("enrolled", sa.Float(), nullable=False),
        sa.Column("revoked", sa.Float(), nullable=True),
        sa.PrimaryKeyConstraint("device_id"),
    )
    table(
        "documents",
        sa.Column("name", sa.String(length=40), nullable=False),
        sa.Column("version", Whole, nullable=False),
        sa.Column("sha256", sa.LargeBinary(length=32), nullable=False),
        sa.Column("size", Whole, nullable=False),
        sa.Column("records", Whole, nullable=False),
        sa.Column("content", sa.String(length=64), nullable=False),
        sa.Column("whole", sa.String(length=64), nullable=False),
        sa.Column("deltas", sa.JSON(), nullable=False),
        sa.Column("publication", sa.LargeBinary(), nullable=False),
        sa.Column("published", sa.Float(), nullable=False),
        sa.Column("expires", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("name", "version"),
    )
    table(
        "events",
        sa.Column("id", Whole, autoincrement=True, nullable=False),
        sa.Column("key", sa.String(length=128), nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("detail", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("key"),
    )
    table(
        "listed",
        sa.Column("name", sa.String(length=96), nullable=False),
        sa.Column("length", Whole, nullable=False),
        sa.Column("sha256", sa.LargeBinary(length=32), nullable=False),
        sa.Column("percent", Whole, server_default=sa.text("(100)"), nullable=False),
        sa.Column("withdrawn", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("name"),
    )
    table(
        "mail",
        sa.Column("sequence", Whole, autoincrement=True, nullable=False),
        sa.Column("address", sa.String(length=32), nullable=False),
        sa.Column("sender", sa.String(length=32), nullable=False),
        sa.Column("counter", Whole, nullable=False),
        sa.Column("kind", Whole, nullable=False),
        sa.Column("sha256", sa.LargeBinary(length=32), nullable=False),
        sa.Column("size", Whole, nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.Column("received", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("sequence"),
        sa.UniqueConstraint("address", "sender", "counter", name="one_letter_per_number"),
        sqlite_autoincrement=True,
    )
    index("mail_by_address", "mail", ["address", "sequence"])

    table(
        "mail_numbers",
        sa.Column("address", sa.String(length=32), nullable=False),
        sa.Column("sender", sa.String(length=32), nullable=False),
        sa.Column("newest", Whole, nullable=False),
        sa.Column("sha256", sa.LargeBinary(length=32), nullable=False),
        sa.PrimaryKeyConstraint("address", "sender"),
    )
    table(
        "partial_chunks",
        sa.Column("device_id", sa.String(length=32), nullable=False),
        sa.Column("upload_id", sa.LargeBinary(length=16), nullable=False),
        sa.Column("place", Whole, nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("device_id", "upload_id", "place"),
    )
    table(
        "partials",
        sa.Column("device_id", sa.String(length=32), nullable=False),
        sa.Column("upload_id", sa.LargeBinary(length=16), nullable=False),
        sa.Column("sha256", sa.LargeBinary(length=32), nullable=False),
        sa.Column("size", Whole, nullable=False),
        sa.Column("held", Whole, nullable=False),
        sa.Column("touched", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("device_id", "upload_id"),
    )
    index("partials_touched", "partials", ["touched"])

    table(
        "pins",
        sa.Column("name", sa.String(length=16), nullable=False),
        sa.Column("value", sa.LargeBinary(), nullable=False),
        sa.Column("pinned", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("name"),
    )
    table(
        "releases",
        sa.Column("id", Whole, autoincrement=True, nullable=False),
        sa.Column("model", sa.String(length=16), nullable=False),
        sa.Column("version", Whole, nullable=False),
        sa.Column("parent", Whole, nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("aggregate", Whole, nullable=True),
        sa.Column("parameters", sa.String(length=64), nullable=False),
        sa.Column("sha256", sa.LargeBinary(length=32), nullable=False),
        sa.Column("manifest", sa.LargeBinary(), nullable=True),
        sa.Column("metrics", sa.JSON(), nullable=False),
        sa.Column("epsilon", sa.Float(), nullable=False),
        sa.Column("delta", sa.Float(), nullable=False),
        sa.Column("created", sa.Float(), nullable=False),
        sa.Column("published", sa.Float(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("aggregate"),
        sa.UniqueConstraint("model", "version", name="one_release_per_version"),
    )
    index("releases_by_status", "releases", ["model", "status"])

    table(
        "role_files",
        sa.Column("role", sa.String(length=16), nullable=False),
        sa.Column("version", Whole, nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.Column("signed", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("role", "version"),
    )
    table(
        "rollouts",
        sa.Column("model", sa.String(length=16), nullable=False),
        sa.Column("version", Whole, nullable=False),
        sa.Column("percent", Whole, nullable=False),
        sa.Column("started", sa.Float(), nullable=False),
        sa.Column("since", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("model", "version"),
    )
    table(
        "rounds",
        sa.Column("task", sa.String(length=16), nullable=False),
        sa.Column("round", Whole, nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("dimension", Whole, nullable=False),
        sa.Column("scale", Whole, nullable=False),
        sa.Column("clip", sa.Float(), nullable=False),
        sa.Column("sigma", sa.Float(), nullable=False),
        sa.Column("n_min", Whole, nullable=False),
        sa.Column("base_version", Whole, nullable=False),
        sa.Column("opens", sa.Float(), nullable=False),
        sa.Column("closes", sa.Float(), nullable=False),
        sa.Column("budget", sa.String(length=16), nullable=False),
        sa.Column("descriptor", sa.LargeBinary(), nullable=False),
        sa.Column("reports", Whole, nullable=False),
        sa.Column("ended", sa.Float(), nullable=True),
        sa.Column(
            "histogram", sa.String(length=32), server_default=sa.text("('')"), nullable=False
        ),
        sa.Column("epsilon", sa.Float(), server_default=sa.text("0"), nullable=False),
        sa.Column("query_key", sa.LargeBinary(), server_default=EmptyBytes(), nullable=False),
        sa.PrimaryKeyConstraint("task", "round"),
    )
    table(
        "tokens",
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("created", sa.Float(), nullable=False),
        sa.Column("expires", sa.Float(), nullable=False),
        sa.Column("device_id", sa.String(length=32), nullable=True),
        sa.Column("used", sa.Float(), nullable=True),
        sa.PrimaryKeyConstraint("sha256"),
    )
    table(
        "uploads",
        sa.Column("upload_id", sa.LargeBinary(length=16), nullable=False),
        sa.Column("device_id", sa.String(length=32), nullable=False),
        sa.Column("task", sa.String(length=16), nullable=False),
        sa.Column("round", Whole, nullable=False),
        sa.Column("report_id", sa.LargeBinary(length=16), nullable=False),
        sa.Column("sha256", sa.LargeBinary(length=32), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.Column("received", sa.Float(), nullable=False),
        sa.Column("receipt", sa.LargeBinary(), server_default=EmptyBytes(), nullable=False),
        sa.Column("counted", Whole, server_default=sa.text("0"), nullable=False),
        sa.PrimaryKeyConstraint("upload_id"),
        sa.UniqueConstraint("device_id", "task", "round", name="one_report_per_device_and_round"),
        sa.UniqueConstraint("task", "round", "report_id", name="one_report_id_per_round"),
    )
