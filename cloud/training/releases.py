"""The rows of the releases table as the trainers, the evaluator and the publisher see them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Row, func, select

from cloud.storage import Database, open_blobs
from cloud.storage.tables import releases
from protocol.models.spec import SPECS
from protocol.params import Parameters, decode_full

__all__ = ["Release", "ReleaseUnknown", "Shelf", "next_version"]


class ReleaseUnknown(Exception):
    """No candidate or release with that id."""


@dataclass(frozen=True)
class Release:
    """One candidate or published version. `parameters` is the blob key of its full encoding."""

    id: int
    model: str
    version: int
    parent: int
    status: str
    reason: str
    parameters: str
    sha256: bytes
    manifest: bytes | None
    metrics: Mapping[str, float]
    epsilon: float
    delta: float
    created: float
    policy: Mapping[str, float] | None = None
    """The retrieval policy phones adopt with it; None or empty: the default one."""
    optimiser: str | None = None
    """Blob key of the federated optimiser's state after it; None: there is none."""


class Shelf:
    """Releases in the database and their parameters in the blob folder."""

    def __init__(self, database_url: str, blobs: str | Path) -> None:
        self.database = Database(database_url)
        self.blobs = open_blobs(blobs)

    def close(self) -> None:
        """Give back the database's file handles."""
        self.database.close()

    def get(self, release_id: int) -> Release:
        """The row with this id; ReleaseUnknown otherwise."""
        with self.database.read() as connection:
            row = connection.execute(select(releases).where(releases.c.id == release_id)).first()
        if row is None:
            raise ReleaseUnknown(f"there is no candidate {release_id}")
        return _release(row)

    def published(self, model: str) -> list[Release]:
        """Published versions, newest first."""
        query = (
            select(releases)
            .where(releases.c.model == model, releases.c.status == "published")
            .order_by(releases.c.version.desc())
        )
        with self.database.read() as connection:
            return [_release(row) for row in connection.execute(query)]

    def first(self, model: str) -> Release | None:
        """The lowest version that was ever a candidate."""
        query = select(releases).where(releases.c.model == model).order_by(releases.c.version)
        with self.database.read() as connection:
            row = connection.execute(query.limit(1)).first()
        return None if row is None else _release(row)

    def central_steps(self, model: str) -> int:
        """DP-SGD steps the corpus has been through for this model, in every candidate so far."""
        query = select(releases.c.metrics).where(releases.c.model == model)
        with self.database.read() as connection:
            counts = [metrics.get("central_steps", 0) for metrics in connection.scalars(query)]
        return int(max(counts, default=0))

    def parameters_of(self, release: Release) -> Parameters:
        """The quantised parameters; BlobMissing when the blob folder has lost them."""
        blob = self.blobs.get(release.parameters)
        return decode_full(blob, SPECS[release.model], release.version)


def next_version(connection: Connection, model: str) -> int:
    """One above every version ever tried: a rejected candidate's number is not used again."""
    highest = connection.scalar(
        select(func.max(releases.c.version)).where(releases.c.model == model)
    )
    return int(highest or 0) + 1


def _release(row: Row[Any]) -> Release:
    values = row._asdict()
    return Release(**{name: values[name] for name in Release.__dataclass_fields__})
