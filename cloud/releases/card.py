"""The model card of a release: what it was made of, what that cost, how good it is, how large.

Made in the transaction that publishes, from what the database holds then; the evaluator wrote the
part on what was measured when it judged the candidate. It holds sums and counts that were
protected before they arrived, the parameters of public rounds and a public corpus: nothing of any
user or phone, so anyone may read it (the sections follow Mitchell et al. 2019, "Model Cards for
Model Reporting").
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from sqlalchemy import Connection, Row, func, select

from cloud.storage.pins import known_pins
from cloud.storage.tables import aggregates, releases, rounds
from cloud.training.config import TRAINING
from cloud.training.usage import USAGE_TASKS
from privacy import BUDGETS
from privacy.accounting import gdp_epsilon, mu_of, rho_units
from protocol.models.spec import SPECS
from protocol.release import Manifest

__all__ = ["FORMAT", "MOST_ROUNDS", "card_of", "complete", "prolonged"]

FORMAT: Final = "reverie/model-card/1"
MOST_ROUNDS: Final = 52
"""Rounds listed one by one, newest first; sums cover all of them."""


def complete(
    connection: Connection, row: Row[Any], manifest: Manifest, now: float
) -> dict[str, Any]:
    """The card of a candidate that is published at `now` (unix seconds) under this manifest."""
    spec, draft = SPECS[row.model], row.card or {}
    taught = _taught(connection, row)
    return {
        "format": FORMAT,
        "model": row.model,
        "version": row.version,
        "parent": row.parent,
        "sha256": row.sha256.hex(),
        "layers": list(spec.layers),
        "outputs": list(spec.outputs),
        "parameters": spec.parameter_count,
        "feature_version": manifest.feature_version,
        "created": row.created,
        "published": now,
        "expires": manifest.expires,
        "data": {
            "corpus": draft.get("corpus", {}),
            "phones": _phones(connection, row, taught),
        },
        "privacy": {
            "central": _central(row),
            "phones": _charged(connection, taught),
        },
        "training": _training(row),
        "evaluation": draft.get("evaluation", {}),
        "sizes": {
            "full": manifest.full.size,
            # JSON's names are text.
            "differences": {
                str(base): manifest.differences[base].size for base in sorted(manifest.differences)
            },
        },
        "policy": dict(row.policy or {}),
    }


def prolonged(card: Mapping[str, Any] | None, expires: float) -> dict[str, Any] | None:
    """The card of a release whose manifest was signed anew."""
    return None if card is None else {**card, "expires": expires}


def card_of(connection: Connection, model: str, version: int = 0) -> dict[str, Any] | None:
    """What is known of a version (the newest everyone may take when 0), with its status and the
    reason for it; None when there is no such version. A candidate's card is its evaluation."""
    query = select(releases).where(releases.c.model == model)
    if version:
        query = query.where(releases.c.version == version)
    else:
        query = query.where(releases.c.status == "published")
    row = connection.execute(query.order_by(releases.c.version.desc()).limit(1)).first()
    if row is None:
        return None
    known = {"model": model, "version": row.version, "parent": row.parent}
    card = row.card or {"evaluation": {}}
    return {**known, **card, "status": row.status, "reason": row.reason}


def _taught(connection: Connection, row: Row[Any]) -> Sequence[Row[Any]]:
    """Every summed round of the model up to the one this version was trained from, newest first.

    Those that taught it nothing are among them: the phones paid for them too.
    """
    if row.aggregate is None:
        return []
    same = (rounds.c.task == aggregates.c.task) & (rounds.c.round == aggregates.c.round)
    query = (
        select(aggregates, rounds.c.sigma.label("asked_sigma"), rounds.c.budget)
        .join(rounds, same, isouter=True)
        .where(aggregates.c.task == row.model, aggregates.c.id <= row.aggregate)
        .order_by(aggregates.c.id.desc())
    )
    return connection.execute(query).all()


def _phones(connection: Connection, row: Row[Any], taught: Sequence[Row[Any]]) -> dict[str, Any]:
    counted = select(func.count()).select_from(aggregates)
    counted = counted.where(
        aggregates.c.task.in_(USAGE_TASKS), aggregates.c.id < (row.aggregate or 0)
    )
    return {
        "rounds": len(taught),
        "reports": sum(one.n for one in taught),
        "usage_rounds": int(connection.scalar(counted) or 0),
        "newest": [
            {
                "round": one.round,
                "phones": one.n,
                "base": one.base_version,
                "noise_std": one.estimates.get("noise_std"),
            }
            for one in taught[:MOST_ROUNDS]
        ],
    }


def _charged(connection: Connection, taught: Sequence[Row[Any]]) -> dict[str, Any]:
    """What one phone has paid that took part in every one of the rounds."""
    name = known_pins(connection).budget
    if name not in BUDGETS or not taught:
        return {"unit": "device", "budget": name, "rounds": len(taught), "epsilon": 0.0}
    budget = BUDGETS[name]
    known = [one for one in taught if one.asked_sigma]
    units = sum(rho_units(one.clip, one.asked_sigma) for one in known)
    return {
        "unit": "device",
        "budget": name,
        "private": budget.private,
        "rounds": len(taught),
        "clip": taught[0].clip,
        "sigma": taught[0].asked_sigma,
        "epsilon": round(gdp_epsilon(mu_of(units), budget.delta), 4) if known else 0.0,
        "delta": budget.delta,
    }


def _central(row: Row[Any]) -> dict[str, Any]:
    config = TRAINING[row.model]
    return {
        "unit": "contributor" if config.corpus else config.public_unit,
        "epsilon": row.epsilon,
        "delta": row.delta,
        "noise_multiplier": row.metrics.get("noise_multiplier", config.noise_multiplier),
        "sample_rate": row.metrics.get("sample_rate", config.sampling_rate),
        "clip": config.clip,
    }


def _training(row: Row[Any]) -> dict[str, Any]:
    config = TRAINING[row.model]
    facts = {name: value for name, value in row.metrics.items() if name.startswith("federated_")}
    return {
        "central_steps": int(row.metrics.get("central_steps", 0)),
        "learning_rate": config.learning_rate,
        "refresh_share": config.refresh_share,
        "momentum": config.momentum,
        "weight_decay": config.weight_decay,
        "optimiser": config.optimiser,
        "server_rate": config.server_rate,
        **facts,
    }
