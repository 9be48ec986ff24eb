"""The trainers: from the corpus to a first candidate, from a round of phones to the next one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from cloud.storage import BlobMissing, insert_once
from cloud.storage.tables import releases
from cloud.training.buffer import Aggregate, RoundBuffer
from cloud.training.config import TRAINING, TrainingConfig
from cloud.training.corpora import Examples, load_corpus
from cloud.training.corpora.contributed import with_contributed
from cloud.training.dpsgd import spent_epsilon, train_private
from cloud.training.federated import FederatedStep, RoundMean, federated_step, settled_state
from cloud.training.judging import Judge
from cloud.training.optimiser_state import StateInvalid, decode_state, encode_state
from cloud.training.optimisers import OptimiserState
from cloud.training.policy import carried, tuned_policy
from cloud.training.releases import Release, Shelf
from cloud.training.seeds import generator, key_for
from cloud.training.usage import UsageMix, example_weights
from protocol.models.forward import initial_weights
from protocol.models.spec import SPECS, Weights, head_dimension
from protocol.params import Parameters, encode_full, sha256_of
from protocol.policy import POLICY_MODEL

__all__ = ["Trainer", "TrainingRefused"]

_BOOTSTRAP = "bootstrap"


class TrainingRefused(Exception):
    """The step cannot be taken; the message says what is missing."""


class Trainer:
    """Makes candidates for one model; owns nothing but what the database and blobs hold.

    Every method may run twice: the first candidate stored for an input is the one returned.
    Without a seed, DP-SGD draws batches and exact noise from the system.

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
        self._buffer = RoundBuffer(self._shelf.database, model)
        self._judge = Judge(self._shelf)

    def bootstrap(self, now: float) -> int:
        """Train the first version on the corpus with DP-SGD. Returns its candidate id."""
        known = self._shelf.first(self._spec.name)
        if known is not None:
            return known.id
        start = initial_weights(self._spec, generator(self._key(_BOOTSTRAP, "weights")))
        weights = self._descend(
            start, {}, self._config.steps, self._config.learning_rate, _BOOTSTRAP
        )
        values = self._candidate(weights, None, {}, self._config.steps, now, {})
        with self._shelf.database.write() as connection:
            insert_once(connection, releases, values | {"aggregate": None, "version": 1})
        stored = self._shelf.first(self._spec.name)
        if stored is None:
            raise TrainingRefused(f"the {self._spec.name} candidate was not stored")
        return stored.id

    def federated_step(self, aggregate_ids: Sequence[int], now: float) -> int | None:
        """Move the published head by what rounds of phones taught, then refresh it on the corpus.

        Of the rounds no step has taken yet, the oldest `buffer_most` lead to one candidate. The
        refresh happens once usage is known: it weighs the corpus by the fleet's mix of languages
        and layers. Returns the candidate id, or None when nothing on the quantisation grid would
        change (noise explains the whole update).

        Raises:
            TrainingRefused: not aggregates of this model, or nothing published yet.
            CorpusRefused: the operator's corpus cannot be used.
        """
        known = self._buffer.candidate_of(aggregate_ids)
        if known is not None:
            return known
        ids = self._buffer.waiting(aggregate_ids)[: self._config.buffer_most]
        if not ids:
            return None
        rounds = self._buffer.load(ids)
        if len(rounds) != len(ids):
            raise TrainingRefused(f"{ids} are not all aggregates of {self._spec.name}")
        published = self._shelf.published(self._spec.name)
        if not published:
            raise TrainingRefused(f"publish a first {self._spec.name} before a federated step")
        return self._step(rounds, published, now)

    def close(self) -> None:
        """Give back the database's file handles."""
        self._shelf.close()

    def _key(self, *names: str | int) -> int:
        return key_for(self._seed, self._spec.name, *names)

    def _step(
        self, rounds: Sequence[Aggregate], published: Sequence[Release], now: float
    ) -> int | None:
        current, newest = published[0], rounds[-1].id
        means = [_mean_of(each, published) for each in rounds]
        step = self._average(current, means)
        weights, mix = step.weights, self._buffer.usage_before(newest)
        steps = self._config.refresh_steps if mix else 0
        if mix:
            rate = self._config.learning_rate * self._config.refresh_share
            weights = self._descend(weights, mix, steps, rate, f"aggregate-{newest}")
        weights, share = self._as_far_as_allowed(weights, published)
        facts = _facts(step, means) | {"move_share": share}
        ids = [each.id for each in rounds]
        state = self._kept(step, weights)
        if sha256_of(Parameters.of(weights, self._spec, 0)) == current.sha256:
            self._buffer.settle(ids, facts | {"optimiser": state}, current, now)
            return None
        values = self._candidate(weights, current, facts, steps, now, mix)
        return self._buffer.store(ids, values | {"optimiser": state}, now)

    def _as_far_as_allowed(
        self, target: Weights, published: Sequence[Release]
    ) -> tuple[Weights, float]:
        """The longest part of the move to `target` that the gate lets pass, and its share; all of
        it where no part is, so that the evaluator says why.

        The evaluator judges once more. Of several tries one passes by luck sooner than a single
        one would; what it could lose is bounded by the gate's guard over all versions.
        """
        start = self._shelf.parameters_of(published[0]).weights()
        for share in self._config.shares:
            moved = {
                name: start[name] + np.float32(share) * (target[name] - start[name])
                for name in start
            }
            parameters = Parameters.of(moved, self._spec, 0)
            if sha256_of(parameters) == published[0].sha256:
                break
            answers = self._judge.answers(self._spec.name, parameters)
            if not self._judge.objection(answers, published):
                return moved, share
        return target, 1.0

    def _average(self, current: Release, means: Sequence[RoundMean]) -> FederatedStep:
        weights = self._shelf.parameters_of(current).weights()
        return federated_step(self._spec, weights, means, self._config, self._state_of(current))

    def _state_of(self, release: Release) -> OptimiserState | None:
        """The optimiser's memory at that release; None, a fresh start, where it is lost."""
        key = self._buffer.state_since(release)
        if key is None:
            return None
        try:
            return decode_state(self._shelf.blobs.get(key), head_dimension(self._spec))
        except (BlobMissing, StateInvalid):
            return None

    def _kept(self, step: FederatedStep, weights: Weights) -> str | None:
        """Blob key of what the next step begins with; None when it needs nothing."""
        state = settled_state(step, weights, self._spec, self._config)
        return self._shelf.blobs.put(encode_state(state)) if state.remembers else None

    def _descend(
        self, start: Weights, mix: UsageMix, steps: int, rate: float, purpose: str
    ) -> Weights:
        examples = self._examples()
        return train_private(
            self._spec,
            start,
            examples,
            example_weights(examples, self._spec, mix),
            self._config,
            steps=steps,
            learning_rate=rate,
            key=None if self._seed is None else self._key(purpose, "steps"),
        )

    def _examples(self) -> Examples:
        train = load_corpus(self._spec.name, self._config.public_unit).train
        if self._config.corpus is None:
            return train
        return with_contributed(train, self._config.corpus, self._spec.name)

    def _policy(
        self, parameters: Parameters, mix: UsageMix, parent: Release | None
    ) -> dict[str, float]:
        """What phones adopt a router with: changed only where the fleet's use justifies it."""
        if self._spec.name != POLICY_MODEL:
            return {}
        current = parent.policy if parent else None
        corpus = load_corpus(self._spec.name)
        return carried(tuned_policy(parameters, corpus, mix, current=current))

    def _candidate(
        self,
        weights: Weights,
        parent: Release | None,
        facts: Mapping[str, float],
        steps: int,
        now: float,
        mix: UsageMix,
    ) -> dict[str, Any]:
        """The row of a candidate, without what says from where it was trained."""
        # Rejected candidates count too: choosing between them looked at the corpus.
        total = steps + self._shelf.central_steps(self._spec.name)
        # A blob without a row is harmless; a row without its blob would not be.
        parameters = Parameters.of(weights, self._spec, 0)
        return {
            "model": self._spec.name,
            "parent": parent.version if parent else 0,
            "status": "candidate",
            "parameters": self._shelf.blobs.put(encode_full(parameters)),
            "sha256": sha256_of(parameters),
            "policy": self._policy(parameters, mix, parent),
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


def _mean_of(each: Aggregate, published: Sequence[Release]) -> RoundMean:
    missed = sum(release.version > each.base_version for release in published)
    return RoundMean(each.mean, each.noise, each.n, each.clip, missed)


def _facts(step: FederatedStep, means: Sequence[RoundMean]) -> dict[str, float]:
    return {
        "federated_kept": step.kept,
        "federated_phones": float(sum(each.n for each in means)),
        "federated_noise": step.noise,
        "federated_rounds": float(len(means)),
        "federated_staleness": float(max(each.staleness for each in means)),
    }
