"""What is left to do, read from the database: the tick's memory, so that it needs none."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Row, func, select

from cloud.storage.database import Database
from cloud.storage.tables import aggregates, devices, events, releases, rounds, uploads

__all__ = ["never_trained", "pending_candidates", "report", "untrained_aggregates"]


def never_trained(database: Database, model: str) -> bool:
    """Whether the model has no candidate yet, not even a rejected one."""
    query = select(func.count()).select_from(releases).where(releases.c.model == model)
    with database.read() as connection:
        return connection.execute(query).scalar_one() == 0


def untrained_aggregates(database: Database, model: str) -> list[int]:
    """Ids of the model's aggregates that no training step has taken, oldest first."""
    trained = select(releases.c.aggregate).where(releases.c.aggregate.is_not(None))
    query = select(aggregates.c.id).where(
        aggregates.c.task == model, aggregates.c.id.not_in(trained)
    )
    settled = select(events.c.detail).where(events.c.kind.in_(("nothing_learnt", "buffered")))
    with database.read() as connection:
        done = {detail["aggregate"] for detail in connection.scalars(settled)}
        found = connection.scalars(query.order_by(aggregates.c.id)).all()
    return [aggregate for aggregate in found if aggregate not in done]


def pending_candidates(database: Database) -> list[tuple[int, str]]:
    """(candidate id, model) of every candidate that is neither published nor rejected."""
    query = select(releases.c.id, releases.c.model).where(releases.c.status == "candidate")
    with database.read() as connection:
        return [(row.id, row.model) for row in connection.execute(query.order_by(releases.c.id))]


def report(database: Database) -> dict[str, Any]:
    """The state of the whole service as JSON: counts, rounds, estimates, releases, events."""
    with database.read() as connection:
        enrolled = select(func.count()).select_from(devices)
        active = enrolled.where(devices.c.revoked.is_(None))
        reports = select(func.count()).select_from(uploads)
        return {
            "devices": {
                "enrolled": connection.execute(enrolled).scalar_one(),
                "active": connection.execute(active).scalar_one(),
            },
            "reports": connection.execute(reports).scalar_one(),
            "rounds": [
                _round(row)
                for row in connection.execute(
                    select(rounds).order_by(rounds.c.opens, rounds.c.task)
                )
            ],
            "aggregates": [
                _aggregate(row)
                for row in connection.execute(select(aggregates).order_by(aggregates.c.id))
            ],
            "releases": [
                _release(row)
                for row in connection.execute(
                    select(releases).order_by(releases.c.model, releases.c.version)
                )
            ],
            "events": [
                {"at": row.at, "kind": row.kind, **row.detail}
                for row in connection.execute(select(events).order_by(events.c.id))
            ],
        }


def _round(row: Row[Any]) -> dict[str, Any]:
    names = ("task", "round", "status", "reason", "reports", "n_min", "sigma", "clip", "budget")
    more = ("histogram", "epsilon", "base_version", "opens", "closes")
    return {name: getattr(row, name) for name in names + more}


def _aggregate(row: Row[Any]) -> dict[str, Any]:
    names = ("task", "round", "base_version", "n", "sigma", "estimates", "created")
    return {name: getattr(row, name) for name in names}


def _release(row: Row[Any]) -> dict[str, Any]:
    names = ("model", "version", "parent", "status", "reason", "metrics", "epsilon", "delta")
    values = {name: getattr(row, name) for name in names}
    return values | {"created": row.created, "published": row.published}
