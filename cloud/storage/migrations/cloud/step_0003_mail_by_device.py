"""Mail is found by the device that asks for it."""

from __future__ import annotations

from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Take the step."""
    with op.batch_alter_table("account_members", schema=None) as batch_op:
        batch_op.create_index("members_by_device", ["device_id"], unique=False)

    with op.batch_alter_table("mail", schema=None) as batch_op:
        batch_op.create_index("mail_by_sender", ["sender", "kind"], unique=False)
