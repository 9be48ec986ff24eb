"""The gate before publishing: no phone gets parameters that are worse on held-out examples."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from sqlalchemy import update

from cloud.storage.tables import releases
from cloud.training.corpora import load_corpus
from cloud.training.releases import Release, Shelf
from cloud.training.scoring import Scores, score
from protocol.models.spec import SPECS

__all__ = ["TOLERANCE", "Evaluator", "Verdict"]

TOLERANCE = 0.0
"""Held-out accuracy that a new version may lose: none."""

Verdict = dict[str, Any]
"""{"passed": bool, "reason": str, "accuracy": float, "loss": float}."""


class Evaluator:
    """Scores candidates as phones would run them: quantised, through protocol's forward pass.

    Args:
        database_url: SQLAlchemy URL. blobs: folder of immutable artefacts.
    """

    def __init__(self, database_url: str, blobs: str | Path) -> None:
        self._shelf = Shelf(database_url, blobs)

    def evaluate(self, candidate_id: int, now: float) -> Verdict:
        """Judge a candidate and write its scores; repeating it changes nothing.

        A candidate passes when its accuracy is above the published version's, or equal with a
        smaller loss and other parameters. The first of a model has nothing to lose against.
        """
        candidate = self._shelf.get(candidate_id)
        if candidate.status != "candidate" or "passed" in candidate.metrics:
            return _verdict(candidate)
        scores = self._score(candidate)
        published = self._shelf.published(candidate.model)
        reason = self._objection(candidate, scores, published[0]) if published else ""
        values: dict[str, Any] = {
            "metrics": {
                **candidate.metrics,
                **asdict(scores),
                "passed": float(not reason),
                "evaluated": now,
            },
            "reason": reason,
            "status": "rejected" if reason else "candidate",
        }
        with self._shelf.database.write() as connection:
            connection.execute(
                update(releases)
                .where(releases.c.id == candidate_id, releases.c.status == "candidate")
                .values(**values)
            )
        return _verdict(self._shelf.get(candidate_id))

    def close(self) -> None:
        """Give back the database's file handles."""
        self._shelf.close()

    def _objection(self, candidate: Release, scores: Scores, current: Release) -> str:
        """Why the candidate may not replace `current`; empty when it may."""
        if candidate.version <= current.version:
            return f"overtaken by version {current.version}"
        if candidate.sha256 == current.sha256:
            return "the parameters did not change"
        # Scored again, not read back: both must be judged on the corpus of today.
        known = self._score(current)
        if scores.accuracy < known.accuracy - TOLERANCE:
            return f"accuracy {scores.accuracy:.4f} is under the published {known.accuracy:.4f}"
        if not scores.beats(known):
            return f"accuracy {scores.accuracy:.4f} ties and the loss did not improve"
        return ""

    def _score(self, release: Release) -> Scores:
        corpus = load_corpus(release.model)
        return score(self._shelf.parameters_of(release), SPECS[release.model], corpus)


def _verdict(candidate: Release) -> Verdict:
    return {
        "passed": candidate.metrics.get("passed", 0.0) == 1.0,
        "reason": candidate.reason,
        "accuracy": candidate.metrics.get("accuracy", 0.0),
        "loss": candidate.metrics.get("loss", 0.0),
    }
