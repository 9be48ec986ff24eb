"""The trainers: from the corpus to a first candidate, from a round of phones to the next one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Row, select

from cloud.storage import insert_once
from cloud.storage.journal import note
from cloud.storage.tables import aggregates, events, releases
from cloud.training.config import TRAINING, TrainingConfig
from cloud.training.corpora import load_corpus
from cloud.training.dpsgd import spent_epsilon, train_private
from cloud.training.federated import federated_average
from cloud.training.releases import Release, Shelf, next_version
from cloud.training.seeds import generator, key_for
from cloud.training.usage import USAGE_TASKS, UsageMix, carried_forward, example_weights
from privacy.estimation import mean_update
from protocol.models.forward import initial_weights
from protocol.models.spec import SPECS, Weights
from protocol.params import Parameters, encode_full, sha256_of

__all__ = ["Trainer", "TrainingRefused"]

_BOOTSTRAP = "bootstrap"
_USAGE_MEMORY = 52
"""Usage aggregates looked back at: a year of weekly rounds, in either way of aggregation."""


class TrainingRefused(Exception):
    """The step cannot be taken; the message says what is missing."""


@dataclass(frozen=True)
class _Aggregate:
    base_version: int
    n: int
    mean: NDArray[np.float64]
    noise: float
    clip: float


class Trainer:
    """Makes candidates for one model; owns nothing but what the database and blobs hold.

    Every method may run twice: the first candidate stored for an input is the one returned.

    Args:
        model: "router" or "dedup".
        database_url: SQLAlchemy URL. blobs: folder of immutable artefacts.
        seed: makes training reproducible, and its noise worthless: simulated worlds only.
        config: TRAINING[model] when None.
    """

    def __init__(
        self,
        model: Literal["router", "dedup"],
        database_url: str,
        blobs: str | Path,
        seed: int | None = None,
        config: TrainingConfig | None = None,
    ) -> None:
        self._spec = SPECS[model]
        self._shelf = Shelf(database_url, blobs)
        self._seed = seed
        self._config = config or TRAINING[model]

    def bootstrap(self, now: float) -> int:
        """Train the first version on the corpus with DP-SGD. Returns its candidate id."""
        known = self._shelf.first(self._spec.name)
        if known is not None:
            return known.id
        start = initial_weights(self._spec, generator(self._key(_BOOTSTRAP, "weights")))
        weights = self._descend(
            start, {}, self._config.steps, self._config.learning_rate, _BOOTSTRAP
        )
        return self._store(weights, None, None, {}, self._config.steps, now)

    def federated_step(self, aggregate_id: int, now: float) -> int | None:
        """Move the published head by one round's mean update, then refresh it on the corpus.

        The refresh happens once usage is known: it weighs the corpus by the fleet's mix of
        languages and layers. Returns the candidate id, or None when nothing on the quantisation
        grid would change (noise explains the whole update).

        Raises:
            TrainingRefused: no such aggregate for this model, or nothing published yet.
        """
        known = self._shelf.of_aggregate(aggregate_id)
        if known is not None:
            return known.id
        if self._settled(aggregate_id):
            return None
        aggregate = self._aggregate(aggregate_id)
        published = self._shelf.published(self._spec.name)
        if not published:
            raise TrainingRefused(f"publish a first {self._spec.name} before a federated step")
        current = published[0]
        weights, kept = self._average(aggregate, published)
        mix = self._usage_before(aggregate_id)
        steps = self._config.refresh_steps if mix else 0
        if mix:
            rate = self._config.learning_rate * self._config.refresh_share
            weights = self._descend(weights, mix, steps, rate, f"aggregate-{aggregate_id}")
        facts = {
            "federated_kept": kept,
            "federated_phones": float(aggregate.n),
            "federated_noise": aggregate.noise,
        }
        if sha256_of(Parameters.of(weights, self._spec, 0)) == current.sha256:
            self._settle(aggregate_id, facts, now)
            return None
        return self._store(weights, current, aggregate_id, facts, steps, now)

    def close(self) -> None:
        """Give back the database's file handles."""
        self._shelf.close()

    def _key(self, *names: str | int) -> int:
        return key_for(self._seed, self._spec.name, *names)

    def _descend(
        self, start: Weights, mix: UsageMix, steps: int, rate: float, purpose: str
    ) -> Weights:
        examples = load_corpus(self._spec.name).train
        return train_private(
            self._spec,
            start,
            examples,
            example_weights(examples, self._spec, mix),
            self._config,
            steps=steps,
            learning_rate=rate,
            key=self._key(purpose, "steps"),
        )

    def _average(self, aggregate: _Aggregate, published: list[Release]) -> tuple[Weights, float]:
        current = self._shelf.parameters_of(published[0]).weights()
        previous = self._shelf.parameters_of(published[1]).weights() if len(published) > 1 else None
        missed = sum(release.version > aggregate.base_version for release in published)
        step = federated_average(
            self._spec,
            current,
            previous,
            aggregate.mean,
            aggregate.noise,
            self._config,
            clip=aggregate.clip,
            staleness=missed,
        )
        return step.weights, step.kept

    def _aggregate(self, aggregate_id: int) -> _Aggregate:
        with self._shelf.database.read() as connection:
            row = connection.execute(
                select(aggregates).where(aggregates.c.id == aggregate_id)
            ).first()
        if row is None or row.task != self._spec.name:
            raise TrainingRefused(f"{aggregate_id} is not an aggregate of {self._spec.name}")
        return _decoded(row)

    def _usage_before(self, aggregate_id: int) -> UsageMix:
        """The newest usage known when that aggregate was made, so that a retry sees the same."""
        query = (
            select(aggregates.c.estimates)
            .where(aggregates.c.task.in_(USAGE_TASKS), aggregates.c.id < aggregate_id)
            .order_by(aggregates.c.id.desc())
        )
        with self._shelf.database.read() as connection:
            return carried_forward(connection.scalars(query.limit(_USAGE_MEMORY)))

    def _settled(self, aggregate_id: int) -> bool:
        query = select(events.c.id).where(events.c.key == self._event_key(aggregate_id))
        with self._shelf.database.read() as connection:
            return connection.scalar(query) is not None

    def _settle(self, aggregate_id: int, facts: Mapping[str, float], now: float) -> None:
        detail = {"model": self._spec.name, "aggregate": aggregate_id, **facts}
        with self._shelf.database.write() as connection:
            note(connection, self._event_key(aggregate_id), "nothing_learnt", now, detail)

    def _event_key(self, aggregate_id: int) -> str:
        return f"nothing_learnt|{self._spec.name}|{aggregate_id}"

    def _store(
        self,
        weights: Weights,
        parent: Release | None,
        aggregate_id: int | None,
        facts: Mapping[str, float],
        steps: int,
        now: float,
    ) -> int:
        """Write the candidate, or find the one another run of this call has written."""
        # Rejected candidates count too: choosing between them looked at the corpus.
        total = steps + self._shelf.central_steps(self._spec.name)
        # A blob without a row is harmless; a row without its blob would not be.
        parameters = Parameters.of(weights, self._spec, 0)
        values: dict[str, Any] = {
            "model": self._spec.name,
            "parent": parent.version if parent else 0,
            "status": "candidate",
            "aggregate": aggregate_id,
            "parameters": self._shelf.blobs.put(encode_full(parameters)),
            "sha256": sha256_of(parameters),
            "metrics": {
                **facts,
                "central_steps": float(total),
                "noise_multiplier": self._config.noise_multiplier,
                "sample_rate": self._config.sampling_rate,
            },
            "epsilon": spent_epsilon(self._config, total),
            "delta": self._config.delta,
            "created": now,
        }
        with self._shelf.database.write() as connection:
            version = 1 if parent is None else next_version(connection, self._spec.name)
            insert_once(connection, releases, values | {"version": version})
        stored = (
            self._shelf.first(self._spec.name)
            if aggregate_id is None
            else self._shelf.of_aggregate(aggregate_id)
        )
        if stored is None:
            raise TrainingRefused(f"the {self._spec.name} candidate was not stored")
        return stored.id


def _decoded(row: Row[Any]) -> _Aggregate:
    total = np.frombuffer(row.total, dtype="<i8")
    mean = mean_update(total, row.n, row.scale, row.sigma)
    return _Aggregate(row.base_version, row.n, mean.mean, mean.noise, row.clip)
