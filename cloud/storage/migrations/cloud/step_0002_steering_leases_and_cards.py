"""Leases, operators, alarms; what a release carries beside its parameters."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from cloud.storage.columns import Whole

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Take the step."""
    op.create_table(
        "alarms",
        sa.Column("key", sa.String(length=128), nullable=False),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("raised", sa.Float(), nullable=False),
        sa.Column("seen", sa.Float(), nullable=False),
        sa.Column("cleared", sa.Float(), nullable=True),
        sa.Column("detail", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("key"),
    )
    op.create_table(
        "leases",
        sa.Column("name", sa.String(length=32), nullable=False),
        sa.Column("holder", sa.String(length=64), nullable=False),
        sa.Column("epoch", Whole, nullable=False),
        sa.Column("until", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("name"),
    )
    op.create_table(
        "operators",
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("role", sa.String(length=16), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("created", sa.Float(), nullable=False),
        sa.Column("expires", sa.Float(), nullable=False),
        sa.Column("revoked", sa.Float(), nullable=True),
        sa.PrimaryKeyConstraint("name"),
        sa.UniqueConstraint("sha256"),
    )
    with op.batch_alter_table("releases", schema=None) as batch_op:
        batch_op.add_column(sa.Column("optimiser", sa.String(length=64), nullable=True))
        batch_op.add_column(sa.Column("policy", sa.JSON(), nullable=True))
        batch_op.add_column(sa.Column("card", sa.JSON(), nullable=True))
        batch_op.add_column(sa.Column("approved", sa.Float(), nullable=True))
