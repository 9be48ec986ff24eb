"""`python -m cloud.storage.migrations "what changed"`: write the step the tables now need."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from sqlalchemy import MetaData, create_engine

from cloud.storage.migrations import alembic_config, steps, upgrade
from cloud.storage.migrations.check import differences, every_table

__all__ = ["write_step"]

_SLUG_LENGTH = 40


def write_step(metadata: MetaData, message: str) -> Path | None:
    """Write the next step of one set of tables; None when they are as the steps leave them."""
    from alembic import command

    with TemporaryDirectory() as folder:
        engine = create_engine(f"sqlite:///{folder}/as-migrated.db")
        try:
            with engine.begin() as connection:
                if steps(metadata):
                    upgrade(connection, metadata)
                if not differences(connection, metadata):
                    return None
                config = alembic_config(metadata)
                config.attributes["connection"] = connection
                config.set_main_option("file_template", "step_%%(rev)s_%%(slug)s")
                number = int(steps(metadata)[-1]) + 1 if steps(metadata) else 1
                slug = re.sub(r"\W+", "_", message.lower())[:_SLUG_LENGTH].strip("_")
                made = command.revision(
                    config, slug, autogenerate=True, rev_id=f"{number:04d}", head="head"
                )
        finally:
            engine.dispose()
    steps.cache_clear()
    assert made is not None
    assert not isinstance(made, list)
    return Path(made.path)


def main() -> None:
    """Write what is missing, for the cloud and for the helper."""
    if len(sys.argv) != 2 or not sys.argv[1].strip():
        sys.exit('usage: python -m cloud.storage.migrations "what changed"')
    for metadata in every_table():
        written = write_step(metadata, sys.argv[1])
        name = metadata.info["migrations"]
        sys.stdout.write(f"{name}: {written or 'nothing has changed'}\n")


if __name__ == "__main__":
    main()
