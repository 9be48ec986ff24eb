"""What the cloud holds, read from its database after the fact: the ground for report and law 3."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import select

from cloud.storage.database import Database
from cloud.storage.tables import aggregates, releases, rounds, uploads
from cloud.training.usage import USAGE_TASKS
from simulator.estimates import UsageSum
from simulator.report import Release, Round

__all__ = ["CloudView", "stored_files", "view_cloud"]


@dataclass(frozen=True)
class CloudView:
    """The cloud's books."""

    rounds: list[Round]
    releases: list[Release]
    held: dict[bytes, int]
    """How often each upload id is stored."""
    held_by_round: dict[tuple[str, int], int]
    counted: dict[tuple[str, int], int]
    """Reports in the sum of each closed round."""
    summed: frozenset[bytes]
    """Uploads that are in the sum of a closed round."""
    sums: list[UsageSum]
    """Every published round of counts."""


def view_cloud(database_url: str) -> CloudView:
    """Read everything once; rounds and releases in order."""
    database = Database(database_url)
    try:
        with database.read() as connection:
            stored = connection.execute(
                select(uploads.c.upload_id, uploads.c.task, uploads.c.round, uploads.c.counted)
            ).all()
            summed = connection.execute(
                select(
                    aggregates.c.task, aggregates.c.round, aggregates.c.n, aggregates.c.estimates
                ).order_by(aggregates.c.task, aggregates.c.round)
            ).all()
            ended = connection.execute(select(rounds).order_by(rounds.c.task, rounds.c.round)).all()
            published = connection.execute(
                select(releases)
                .where(releases.c.status == "published")
                .order_by(releases.c.model, releases.c.version)
            ).all()
    finally:
        database.close()
    ids: dict[tuple[str, int], list[bytes]] = {}
    for row in stored:
        if row.task in USAGE_TASKS:
            ids.setdefault((row.task, row.round), []).append(row.upload_id)
    return CloudView(
        rounds=[Round(row.task, row.round, row.status, row.reports) for row in ended],
        releases=[
            Release(row.model, row.version, row.published, row.metrics.get("accuracy"))
            for row in published
        ],
        held=dict(Counter(row.upload_id for row in stored)),
        held_by_round=dict(Counter((row.task, row.round) for row in stored)),
        counted={(row.task, row.round): row.n for row in summed},
        summed=frozenset(row.upload_id for row in stored if row.counted),
        sums=[
            UsageSum(
                row.task,
                row.round,
                row.n,
                row.estimates.get("histograms", ()),
                sorted(ids.get((row.task, row.round), ())),
            )
            for row in summed
            if row.task in USAGE_TASKS
        ],
    )


def stored_files(folder: Path) -> dict[str, bytes]:
    """Every file under `folder`, by its path there."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
