"""Which rounds of phones a model has learnt from, as the database remembers it.

A step takes several rounds. `releases.aggregate` names the newest of them; the others have a line
"buffered" each in the journal, written in the transaction that writes the candidate. A step that
changed nothing writes a line "nothing_learnt" for each of its rounds. No round is taken twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Row, select

from cloud.storage import insert_once
from cloud.storage.database import Database
from cloud.storage.journal import note
from cloud.storage.tables import aggregates, events, releases
from cloud.training.releases import Release, next_version
from cloud.training.usage import PHONES, USAGE_TASKS, FleetMix, carried_forward
from privacy.estimation import mean_update

__all__ = ["Aggregate", "RoundBuffer"]

_NOTHING, _BUFFERED = "nothing_learnt", "buffered"
_USAGE_MEMORY = 52
"""Usage aggregates looked back at: a year of weekly rounds, in either way of aggregation."""


@dataclass(frozen=True)
class Aggregate:
    """One closed round: mean update float64[d] of `n` phones that trained from `base_version`."""

    id: int
    base_version: int
    n: int
    mean: NDArray[np.float64]
    noise: float
    clip: float


class RoundBuffer:
    """The aggregates of one model."""

    def __init__(self, database: Database, model: str) -> None:
        self._database, self._model = database, model

    def candidate_of(self, ids: Sequence[int]) -> int | None:
        """The newest candidate that was trained from any of these aggregates."""
        with self._database.read() as connection:
            return self._candidate_of(connection, ids)

    def waiting(self, ids: Sequence[int]) -> list[int]:
        """Those of the aggregates that no step has taken, oldest first."""
        with self._database.read() as connection:
            taken = self._taken(connection, ids)
        return [number for number in sorted(set(ids)) if number not in taken]

    def load(self, ids: Sequence[int]) -> list[Aggregate]:
        """The aggregates, oldest first; those that are not the model's are left out."""
        query = select(aggregates).where(aggregates.c.id.in_(ids), aggregates.c.task == self._model)
        with self._database.read() as connection:
            return [_decoded(row) for row in connection.execute(query.order_by(aggregates.c.id))]

    def usage_before(self, newest: int) -> FleetMix:
        """The usage known when that aggregate was made, so that a retry sees the same."""
        query = (
            select(aggregates.c.estimates, aggregates.c.n)
            .where(aggregates.c.task.in_(USAGE_TASKS), aggregates.c.id < newest)
            .order_by(aggregates.c.id.desc())
        )
        with self._database.read() as connection:
            found = connection.execute(query.limit(_USAGE_MEMORY))
            return carried_forward(row.estimates | {PHONES: row.n} for row in found)

    def store(self, ids: Sequence[int], values: Mapping[str, Any], now: float) -> int | None:
        """Write the candidate trained from `ids`, unless another step has taken one of them.

        Returns the id of the candidate that has them: this one, or the other step's; None when
        that one learnt nothing.
        """
        *others, newest = sorted(ids)
        with self._database.write() as connection:
            if not self._taken(connection, ids):
                version = next_version(connection, self._model)
                row = {**values, "aggregate": newest, "version": version}
                insert_once(connection, releases, row)
                for number in others:
                    detail = {"model": self._model, "aggregate": number, "with": newest}
                    note(connection, self._key(_BUFFERED, number), _BUFFERED, now, detail)
            return self._candidate_of(connection, ids)

    def settle(
        self, ids: Sequence[int], facts: Mapping[str, Any], parent: Release, now: float
    ) -> None:
        """Remember that these aggregates changed nothing about `parent`."""
        with self._database.write() as connection:
            if self._taken(connection, ids):
                return
            for number in sorted(ids):
                detail = {"model": self._model, "aggregate": number, "version": parent.version}
                note(connection, self._key(_NOTHING, number), _NOTHING, now, detail | dict(facts))

    def state_since(self, parent: Release) -> str | None:
        """Blob key of the optimiser's state after `parent` and the steps that did not change it."""
        query = (
            select(events.c.detail)
            .where(events.c.kind == _NOTHING, events.c.key.like(f"{_NOTHING}|{self._model}|%"))
            .order_by(events.c.id.desc())
        )
        with self._database.read() as connection:
            for detail in connection.scalars(query):
                if detail.get("version") != parent.version:
                    break
                if detail.get("optimiser"):
                    return str(detail["optimiser"])
        return parent.optimiser

    def _candidate_of(self, connection: Connection, ids: Sequence[int]) -> int | None:
        named = self._notes(connection, _BUFFERED, ids)
        newest = {*ids, *(detail["with"] for detail in named)}
        query = select(releases.c.id).where(
            releases.c.aggregate.in_(newest), releases.c.model == self._model
        )
        return connection.scalar(query.order_by(releases.c.id.desc()).limit(1))

    def _taken(self, connection: Connection, ids: Sequence[int]) -> set[int]:
        query = select(releases.c.aggregate).where(releases.c.aggregate.in_(ids))
        taken = {int(number) for number in connection.scalars(query) if number is not None}
        for kind in (_BUFFERED, _NOTHING):
            taken |= {int(detail["aggregate"]) for detail in self._notes(connection, kind, ids)}
        return taken

    def _notes(self, connection: Connection, kind: str, ids: Sequence[int]) -> list[dict[str, Any]]:
        keys = [self._key(kind, number) for number in ids]
        query = select(events.c.detail).where(events.c.key.in_(keys))
        return list(connection.scalars(query))

    def _key(self, kind: str, number: int) -> str:
        return f"{kind}|{self._model}|{number}"


def _decoded(row: Row[Any]) -> Aggregate:
    total = np.frombuffer(row.total, dtype="<i8")
    mean = mean_update(total, row.n, row.scale, row.sigma)
    return Aggregate(row.id, row.base_version, row.n, mean.mean, mean.noise, row.clip)
