"""Which actors a process runs: those every gateway needs, and those that learn and publish."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from cloud.actors.evaluator import Evaluator
from cloud.actors.intake import Intake
from cloud.actors.mailbox import Mailbox
from cloud.actors.partials import Partials
from cloud.actors.publisher import Publisher
from cloud.actors.registry import Registry
from cloud.actors.rollout import Rollout
from cloud.actors.rounds import Rounds
from cloud.actors.runtime import Ref, Runtime
from cloud.actors.watch import Watch
from cloud.config import CloudConfig
from cloud.documents.library import Library
from cloud.helper_client import HelperIdentity
from cloud.training.config import TRAINING, TrainingConfig
from protocol.models.spec import SPECS

__all__ = ["GatewayActors", "LearningActors", "spawn_gateway", "spawn_learning"]


@dataclass(frozen=True)
class GatewayActors:
    """What phones are served from; the intakes share the reports by device."""

    registry: Ref
    intakes: tuple[Ref, ...]
    rounds: Ref
    publisher: Ref
    partials: Ref
    mailbox: Ref
    library: Ref


@dataclass(frozen=True)
class LearningActors:
    """What only the ticking process asks; `trainers` by model, in the order they are asked."""

    evaluator: Ref
    rollout: Ref
    trainers: dict[str, Ref]
    watch: Ref


def spawn_gateway(
    runtime: Runtime, config: CloudConfig, helper: HelperIdentity | None
) -> GatewayActors:
    """The actors of a gateway.

    Of the rounds and the publisher a process of role "gateway" asks only what is shown: it needs
    the signing key, and no key of a role.
    """
    url, blobs, key = config.database_url, config.blobs_url, str(config.signing_key)
    reads_only = config.role == "gateway"
    spawn = runtime.spawn
    return GatewayActors(
        registry=spawn("registry", Registry, url, config.open_enrolment),
        intakes=_spawn_intakes(runtime, config),
        rounds=spawn("rounds", Rounds, url, key, helper, config.budget),
        publisher=spawn(
            "publisher",
            Publisher,
            url,
            blobs,
            key,
            str(config.keys),
            reads_only=reads_only,
            by_hand=config.publish == "by-hand",
        ),
        partials=spawn("partials", Partials, url),
        mailbox=spawn("mailbox", Mailbox, url),
        library=spawn("library", Library, url, blobs, key),
    )


def spawn_learning(
    runtime: Runtime, config: CloudConfig, trainer: Callable[..., Any]
) -> LearningActors:
    """The actors that train, judge and roll out. They are idle in a process that does not tick."""
    url, blobs = config.database_url, config.blobs_url
    spawn = runtime.spawn
    return LearningActors(
        evaluator=spawn("evaluator", Evaluator, url, blobs),
        rollout=spawn("rollout", Rollout, url, str(config.keys), config.budget),
        trainers={
            model: spawn(
                f"trainer-{model}",
                trainer,
                model,
                url,
                blobs,
                config.seed,
                _how(config, model),
            )
            for model in sorted(SPECS)
        },
        watch=spawn("watch", Watch, url, config.budget),
    )


def _how(config: CloudConfig, model: str) -> TrainingConfig:
    corpus = None if config.corpus is None else str(config.corpus.absolute())
    return replace(TRAINING[model], corpus=corpus)


def _spawn_intakes(runtime: Runtime, config: CloudConfig) -> tuple[Ref, ...]:
    count = config.intake_shards
    names = ["intake"] if count == 1 else [f"intake-{number}" for number in range(count)]
    url, key = config.database_url, str(config.signing_key)
    return tuple(runtime.spawn(name, Intake, url, key) for name in names)
