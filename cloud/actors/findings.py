"""What the watch looks at, subject by subject: is it raised, calm, or in between?

In between an alarm that stands goes on standing, and none is raised: what comes and goes around
one bound must not ring every hour. Nothing here writes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

import numpy as np
from sqlalchemy import Connection, Row, select

from cloud.actors.drift import (
    CALM_CHANCE,
    FALSE_ALARMS_A_YEAR,
    LEAST_PAST,
    Told,
    compared,
    threshold,
)
from cloud.actors.rollout import refusals
from cloud.releases.tables import rollouts
from cloud.storage.tables import aggregates, releases, rounds
from cloud.training.usage import USAGE_TASKS, noise_of
from privacy.accounting import YEAR
from privacy.streams import USAGE_HISTOGRAMS, Histogram
from protocol.models.spec import SPECS
from protocol.rounds import LOCAL_TASK, TASKS

__all__ = ["WATCHED", "Finding", "Level", "drifts", "failing_rounds", "refused", "rejections"]

Level = Literal["raised", "between", "calm"]

WATCHED: Final = tuple(one for one in USAGE_HISTOGRAMS if not one.name.endswith("_adoption"))
"""The histograms that can drift. What phones say of a release changes with every release, and
`refused` looks after it."""
PAST_ROUNDS = 8
"""Rounds that a histogram is compared with: two months of weekly ones."""
LOOKED_BACK = (PAST_ROUNDS + 1) * len(USAGE_HISTOGRAMS)
"""Usage aggregates read: a local round answers one histogram at a time."""
REFUSED, REFUSED_CALM = 0.25, 0.1
"""Share that surely refused, of the phones that tried a release: half of what withdraws it."""
FAILED_ROUNDS = 2
REJECTED_CANDIDATES = 3

_NOT_SUMMED = ("expired", "refused")
_REASONS: Mapping[str, tuple[str, str]] = {
    "too few": ("too_few_reports", "gather_phones"),
    "too_few": ("too_few_reports", "gather_phones"),
    "implausible": ("implausible_sum", "look_for_poisoning"),
    "the helper answered another batch": ("helper_answered_another", "check_helper"),
    "overlap": ("reports_summed_before", "check_helper"),
    "replay": ("batch_id_reused", "check_helper"),
    "seal": ("sealed_for_another_helper", "check_helper_key"),
    "invalid": ("unproven_reports", "look_for_poisoning"),
}
"""Why a round came to nothing → the code of that, and of what to do."""
_OTHER_REASON = ("helper_refused", "check_helper")


class Finding(NamedTuple):
    """One subject now; ``detail`` holds codes and numbers."""

    kind: str
    subject: str
    level: Level
    detail: Mapping[str, Any]

    @property
    def key(self) -> str:
        """Of its alarm."""
        return f"{self.kind}:{self.subject}"


def drifts(connection: Connection, cadence: float) -> Iterator[Finding]:
    """Every watched histogram whose newest round has a past; ``cadence``: seconds between two."""
    found = _usage(connection)
    for histogram in WATCHED:
        rows = [row for row in found if _has(row, histogram)]
        # A sum of another kind has noise of another kind.
        rows = [row for row in rows if row.task == rows[0].task][: PAST_ROUNDS + 1]
        told = _told(rows, histogram)
        if told.shares.shape[0] > LEAST_PAST:
            yield _drift(rows[0], histogram, told, cadence)


def refused(connection: Connection) -> Iterator[Finding]:
    """Every model of whose release phones have said whether they take it."""
    found = _usage(connection)
    for model in sorted(SPECS):
        histogram = f"{model}_adoption"
        for row in found:
            said = refusals([row.estimates], histogram)
            if said is None:
                continue
            version = _on_trial(connection, model, row.opens)
            if version is not None:
                detail = {"version": version, "share": said.share, "at_least": said.low}
                detail |= {"round": row.round, "phones": row.n, "bound": REFUSED}
                level = _level(said.low, REFUSED, REFUSED_CALM)
                yield Finding("refusals", model, level, {"subject": model} | detail)
            break


def failing_rounds(connection: Connection) -> Iterator[Finding]:
    """Every task of which a round has ended."""
    ended = ("closed", *_NOT_SUMMED)
    for task in TASKS:
        query = select(rounds).where(rounds.c.task == task, rounds.c.status.in_(ended))
        newest = query.order_by(rounds.c.round.desc()).limit(FAILED_ROUNDS)
        rows = connection.execute(newest).all()
        if rows:
            yield _failing(task, rows)


def rejections(connection: Connection) -> Iterator[Finding]:
    """Every model of which a candidate has been judged."""
    for model in sorted(SPECS):
        judged = (releases.c.model == model) & (releases.c.status != "candidate")
        query = select(releases.c.version, releases.c.status).where(judged)
        newest = query.order_by(releases.c.id.desc()).limit(REJECTED_CANDIDATES)
        rows = connection.execute(newest).all()
        if rows:
            failed = [row.status == "rejected" for row in rows]
            versions = sorted(row.version for row in rows)
            detail: dict[str, Any] = {"subject": model, "versions": versions}
            level = _in_a_row(failed, REJECTED_CANDIDATES)
            yield Finding("rejected", model, level, detail)


def _drift(row: Row[Any], histogram: Histogram, told: Told, cadence: float) -> Finding:
    seen = compared(told)
    tests = len(WATCHED) * YEAR / cadence
    bound = threshold(seen.freedom, FALSE_ALARMS_A_YEAR / tests)
    calm = threshold(seen.freedom, CALM_CHANCE)
    distance = float(seen.distance)
    moved = int(np.abs(told.shares[0] - seen.usual).argmax())
    detail = {
        "subject": histogram.name,
        "bin": histogram.bins[moved],
        "share": float(told.shares[0, moved]),
        "usual": float(seen.usual[moved]),
        "round": row.round,
        "phones": row.n,
        "past_rounds": told.shares.shape[0] - 1,
        "distance": distance,
        "bound": bound,
    }
    return Finding("drift", histogram.name, _level(distance, bound, calm), detail)


def _failing(task: str, rows: Sequence[Row[Any]]) -> Finding:
    newest = rows[0]
    reason, todo = _REASONS.get(newest.reason, _OTHER_REASON)
    detail: dict[str, Any] = {
        "subject": task,
        "rounds": sorted(row.round for row in rows),
        "status": newest.status,
        "reason": reason,
        "todo": todo,
        "reports": newest.reports,
        "n_min": newest.n_min,
    }
    failed = [row.status in _NOT_SUMMED for row in rows]
    return Finding("rounds_failing", task, _in_a_row(failed, FAILED_ROUNDS), detail)


def _level(value: float, raised: float, calm: float) -> Level:
    if value > raised:
        return "raised"
    return "calm" if value <= calm else "between"


def _in_a_row(failed: Sequence[bool], enough: int) -> Level:
    """One success is calm; failures, newest first, are raised once there are enough of them."""
    if not failed[0]:
        return "calm"
    return "raised" if len(failed) >= enough and all(failed) else "between"


def _usage(connection: Connection) -> Sequence[Row[Any]]:
    """The newest usage aggregates and when their rounds opened, the newest first."""
    same = (rounds.c.task == aggregates.c.task) & (rounds.c.round == aggregates.c.round)
    told = ("task", "round", "n", "sigma", "estimates", "created")
    columns = [*(aggregates.c[name] for name in told), rounds.c.opens]
    query = (
        select(*columns)
        .join(rounds, same)
        .where(aggregates.c.task.in_(USAGE_TASKS))
        .order_by(aggregates.c.created.desc(), aggregates.c.id.desc())
    )
    found = connection.execute(query.limit(LOOKED_BACK)).all()
    return [row for row in found if row.created > found[0].created - YEAR]


def _has(row: Row[Any], histogram: Histogram) -> bool:
    """Whether an aggregate tells of every bin, and of how well it knows them."""
    entries = [one for one in row.estimates["histograms"] if one["histogram"] == histogram.name]
    known = all(np.isfinite(noise_of(entry)) for entry in entries)
    return known and [entry["bin"] for entry in entries] == list(histogram.bins)


def _told(rows: Sequence[Row[Any]], histogram: Histogram) -> Told:
    shares, variances = [], []
    for row in rows:
        entries = [one for one in row.estimates["histograms"] if one["histogram"] == histogram.name]
        shares.append([float(entry["estimate"]) for entry in entries])
        if row.task == LOCAL_TASK:
            variances.append(float(np.mean([noise_of(entry) ** 2 for entry in entries])))
        else:
            variances.append((row.sigma / row.n) ** 2)
    return Told(
        np.array(shares).reshape(-1, len(histogram.bins)),
        np.array(variances),
        np.array([float(row.n) for row in rows]),
        local=bool(rows) and rows[0].task == LOCAL_TASK,
    )


def _on_trial(connection: Connection, model: str, opens: float) -> int | None:
    """The release that phones of a round could have tried last: a verdict on it stays one on it
    after it was withdrawn."""
    begun = (rollouts.c.model == model) & (rollouts.c.started <= opens)
    newest = select(rollouts.c.version).where(begun).order_by(rollouts.c.started.desc())
    return connection.scalars(newest.limit(1)).first()
