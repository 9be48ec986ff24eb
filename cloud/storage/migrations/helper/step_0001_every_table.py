"""Every table, as of the first version with steps; what earlier ones made is completed."""

from __future__ import annotations

import sqlalchemy as sa

from cloud.storage.migrations.adopting import table

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Take the step."""
    table(
        "helper_batches",
        sa.Column("batch_id", sa.LargeBinary(), nullable=False),
        sa.Column("reply", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("batch_id"),
    )
    table(
        "helper_reports",
        sa.Column("report_id", sa.LargeBinary(), nullable=False),
        sa.Column("batch_id", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("report_id"),
    )
