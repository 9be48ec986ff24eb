"""From the tables of releases and documents to what the signed targets list.

Of each model two versions can be current: the newest that every phone may take, and a staged one
on its way there. Both are listed as ``models/<model>/<version>``; of a document the description of
the newest version is, as ``knowledge/<name>``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, Row, func, select

from cloud.documents.tables import documents
from cloud.releases.repository import Repository
from cloud.releases.tables import rollouts
from cloud.storage.tables import devices, releases
from protocol.models.spec import SPECS
from protocol.publication import published_name
from protocol.release import target_name

__all__ = ["fleet_size", "newest_with", "relist", "stages_of", "waiting"]

WITHDRAWN_NAMED = 16
"""Withdrawn versions that are named, newest ones: a phone on an older one takes a newer release
all the same."""


def relist(connection: Connection, repository: Repository, now: float) -> None:
    """List every current manifest and description, nothing else, and sign.

    To be called in the transaction that changes what is current.
    """
    wanted = set()
    for model in sorted(SPECS):
        published = newest_with(connection, model, "published")
        staged = newest_with(connection, model, "staged")
        if published is not None:
            withdrawn = _withdrawn(connection, model)
            name = target_name(model, published.version)
            repository.put(connection, name, published.manifest, withdrawn=withdrawn)
            wanted.add(name)
        if staged is not None:
            name = target_name(model, staged.version)
            percent = stages_of(connection, model)[staged.version].percent
            repository.put(connection, name, staged.manifest, percent)
            wanted.add(name)
    for row in _newest_documents(connection):
        repository.put(connection, published_name(row.name), row.publication)
        wanted.add(published_name(row.name))
    for name in repository.names(connection):
        if name not in wanted:
            repository.drop(connection, name)
    repository.sign(connection, now)


def newest_with(connection: Connection, model: str, status: str) -> Row[Any] | None:
    """The newest row of the releases table with this status."""
    query = select(releases).where(releases.c.model == model, releases.c.status == status)
    return connection.execute(query.order_by(releases.c.version.desc()).limit(1)).first()


def waiting(connection: Connection, model: str) -> list[Row[Any]]:
    """The candidates that passed the gate and are not published yet, newest first."""
    query = select(releases).where(releases.c.model == model, releases.c.status == "candidate")
    rows = connection.execute(query.order_by(releases.c.version.desc()))
    return [row for row in rows if row.metrics.get("passed") == 1.0]


def stages_of(connection: Connection, model: str) -> Mapping[int, Row[Any]]:
    """Version → its row of the rollouts table."""
    rows = connection.execute(select(rollouts).where(rollouts.c.model == model))
    return {row.version: row for row in rows}


def fleet_size(connection: Connection) -> int:
    """Phones enrolled and not revoked."""
    query = select(func.count()).select_from(devices).where(devices.c.revoked.is_(None))
    return int(connection.execute(query).scalar_one())


def _newest_documents(connection: Connection) -> list[Row[Any]]:
    newest = select(documents.c.name, func.max(documents.c.version).label("version"))
    top = newest.group_by(documents.c.name).subquery()
    here = (documents.c.name == top.c.name) & (documents.c.version == top.c.version)
    query = select(documents).join(top, here).order_by(documents.c.name)
    return list(connection.execute(query))


def _withdrawn(connection: Connection, model: str) -> list[int]:
    query = select(releases.c.version).where(
        releases.c.model == model, releases.c.status == "withdrawn"
    )
    newest = connection.scalars(query.order_by(releases.c.version.desc()).limit(WITHDRAWN_NAMED))
    return sorted(newest)
