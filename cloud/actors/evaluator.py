"""The gate before publishing: no phone gets parameters that are worse on examples never trained on.

Every verdict comes with the start of the model card: what was measured, on what, beside the version
that was judged against. The publisher completes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sqlalchemy import select, update

from cloud.storage.tables import releases
from cloud.training.corpora import load_corpus
from cloud.training.gate import Rival
from cloud.training.judging import Judge
from cloud.training.releases import Release, Shelf
from cloud.training.scoring import SETS, Answers, Board, Scores

__all__ = ["Evaluator", "Verdict"]

_DIGITS = 4

Verdict = dict[str, Any]
"""{"passed": bool, "reason": str, "accuracy": float, "loss": float}."""


class Evaluator:
    """Scores candidates as phones would run them: quantised, through protocol's forward pass.

    Args:
        database_url: SQLAlchemy URL. blobs: folder of immutable artefacts.
    """

    def __init__(self, database_url: str, blobs: str | Path) -> None:
        self._shelf = Shelf(database_url, blobs)
        self._judge = Judge(self._shelf)

    def evaluate(self, candidate_id: int, now: float) -> Verdict:
        """Judge a candidate and write its scores; repeating it changes nothing.

        What passed waits to be published; should another version be published meanwhile, it is
        judged again against that one. The first of a model has nothing to lose against.
        """
        candidate = self._shelf.get(candidate_id)
        published = self._shelf.published(candidate.model)
        if candidate.status != "candidate" or _stands(candidate, published):
            return _verdict(candidate)
        board = self._judge.board(candidate.model)
        answers = self._judge.answers(candidate.model, self._shelf.parameters_of(candidate))
        reason = self._objection(candidate, answers, published)
        found = {"passed": float(not reason), "evaluated": now, "against": _version(published)}
        metrics = {**candidate.metrics, **asdict(Scores.of(answers, board)), **found}
        before = self._judge.known(published[0]) if published else None
        card = {
            "evaluation": {
                "passed": not reason,
                "reason": reason,
                "evaluated": now,
                "against": int(_version(published)),
                "metrics": _metrics(answers, board, before),
                "slices": _slices(answers, board, before),
            },
            "corpus": _corpus_counts(candidate.model),
        }
        values = {"metrics": metrics, "reason": reason, "card": card}
        with self._shelf.database.write() as connection:
            connection.execute(
                update(releases)
                .where(releases.c.id == candidate_id, releases.c.status == "candidate")
                .values(status="rejected" if reason else "candidate", **values)
            )
        return _verdict(self._shelf.get(candidate_id))

    def close(self) -> None:
        """Give back the database's file handles."""
        self._shelf.close()

    def _objection(self, candidate: Release, answers: Answers, published: Sequence[Release]) -> str:
        """Why the candidate may not be the next version; empty when it may."""
        if self._withdrawn(candidate.model, candidate.parent):
            return f"version {candidate.parent}, which it was trained from, was withdrawn"
        if not published:
            return ""
        current = published[0]
        if candidate.version <= current.version:
            return f"overtaken by version {current.version}"
        if candidate.sha256 == current.sha256:
            return "the parameters did not change"
        return self._judge.objection(answers, published)

    def _withdrawn(self, model: str, version: int) -> bool:
        query = select(releases.c.status).where(
            releases.c.model == model, releases.c.version == version
        )
        with self._shelf.database.read() as connection:
            return connection.scalar(query) == "withdrawn"


def _stands(candidate: Release, published: Sequence[Release]) -> bool:
    """Whether the candidate was judged against the version that is current now."""
    against = candidate.metrics.get("against", _version(published))
    return "passed" in candidate.metrics and against == _version(published)


def _version(published: Sequence[Release]) -> float:
    return float(published[0].version) if published else 0.0


def _metrics(answers: Answers, board: Board, before: Rival | None) -> dict[str, Any]:
    """Figure → value, and the value of the version before where there is one."""
    found: Mapping[str, float] = asdict(Scores.of(answers, board))
    known: Mapping[str, float] = {} if before is None else asdict(before.scores)
    return {
        name: {"value": round(value, _DIGITS)}
        | ({"before": round(known[name], _DIGITS)} if name in known else {})
        for name, value in found.items()
    }


def _slices(answers: Answers, board: Board, before: Rival | None) -> dict[str, Any]:
    """Slice → examples, accuracy, and the accuracy of the version before where there is one."""
    shown: dict[str, Any] = {}
    for name, rows in board.slices.items():
        accuracy = round(float(answers.hits[rows].mean()), _DIGITS)
        shown[name] = {"examples": int(rows.sum()), "accuracy": accuracy}
        if before is not None:
            shown[name]["before"] = round(float(before.answers.hits[rows].mean()), _DIGITS)
    return shown


def _corpus_counts(model: str) -> dict[str, Any]:
    """Set → its examples, the templates they come from, and how many are in each language."""
    corpus = load_corpus(model, "template")
    counts: dict[str, Any] = {}
    for name in ("train", *SETS):
        examples = getattr(corpus, name)
        counts[name] = {
            "examples": len(examples),
            "units": len(set(examples.units.tolist())),
            "languages": {
                tongue: examples.languages.count(tongue) for tongue in sorted({*examples.languages})
            },
        }
    return counts


def _verdict(candidate: Release) -> Verdict:
    return {
        "passed": candidate.metrics.get("passed", 0.0) == 1.0,
        "reason": candidate.reason,
        "accuracy": candidate.metrics.get("accuracy", 0.0),
        "loss": candidate.metrics.get("loss", 0.0),
    }
