"""The rollout: a release goes to 1 %, 10 %, 100 % of the phones, or is withdrawn.

Phones say through the privacy gate, in their usage counts, whether they adopted or refused what
they were given: the histograms `router_adoption` and `dedup_adoption`. Where those of the rounds
that opened since the release began show, beyond the noise, that too many of the phones that tried
it refused it, it is withdrawn: its row stays, the targets list it no more, the version before is
the newest again, and phones that hold it go back.

What noise hides cannot halt anything: each share is known to 1.96·σ·sqrt(n/n_min + 1)/n. With the
production budget a release that every phone refuses is seen at the first stage from 11,300 phones
on, at the second from 1,130; below, only when all have it.

A fleet where 1 % is less than one phone has no stages: its releases go to everyone at once.

What an operator moves by hand is in cloud/releases/steering.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, func, select, update

from cloud.releases.keys import RoleKeys
from cloud.releases.listing import fleet_size, newest_with, relist, stages_of, waiting
from cloud.releases.repository import Repository
from cloud.releases.tables import rollouts
from cloud.storage import Database
from cloud.storage.journal import note
from cloud.storage.tables import aggregates, releases, rounds
from privacy import BUDGETS
from protocol.models.spec import SPECS

__all__ = [
    "REFUSED_BOUND",
    "STAGES",
    "Change",
    "Refusals",
    "Rollout",
    "first_percent",
    "has_other",
    "move_on",
    "refusals",
    "withdraw",
]

STAGES = (1, 10, 100)
"""Percent of the phones."""
REFUSED_BOUND = 0.5
"""Share of the phones that tried a release and refused it from which it is withdrawn. Phones
refuse whatever is worse for their own few examples, so some refusals are no fault."""


class Change(NamedTuple):
    """What became of a release: ``status`` is "staged", "published" or "withdrawn"; by hand also
    "approved" or "rejected", of a candidate. ``percent`` of the phones may take it now."""

    model: str
    version: int
    status: str
    percent: int


class Refusals(NamedTuple):
    """Of the phones that tried a release, the share that refused it, and the least it can be
    given the 95 % intervals of both counts."""

    share: float
    low: float


class Rollout:
    """Steps releases up, or takes them back; every method may run twice.

    Args:
        database_url: SQLAlchemy URL. keys: folder of the online roles' keys.
        budget: whose usage rounds set the time a stage lasts, unless `stage_seconds` does.
    """

    def __init__(
        self,
        database_url: str,
        keys: str | Path,
        budget: str = "production",
        stage_seconds: float | None = None,
    ) -> None:
        self._database = Database(database_url)
        self._repository = Repository(RoleKeys(keys))
        cadence = BUDGETS[budget].terms("usage").cadence
        self._stage_seconds = cadence if stage_seconds is None else stage_seconds

    def step(self, now: float) -> list[Change]:
        """Withdraw what phones refuse; move what has been at its stage long enough to the next."""
        with self._database.write() as connection:
            steps = [self._step(connection, model, now) for model in sorted(SPECS)]
            changes = [change for change in steps if change is not None]
            if changes:
                relist(connection, self._repository, now)
        return changes

    def staged(self, model: str) -> bool:
        """Whether a release of the model is on its way to everyone, or waits to be."""
        with self._database.read() as connection:
            return newest_with(connection, model, "staged") is not None or bool(
                waiting(connection, model)
            )

    def close(self) -> None:
        """Give back the database's file handles."""
        self._database.close()

    def _step(self, connection: Connection, model: str, now: float) -> Change | None:
        row = newest_with(connection, model, "staged") or newest_with(
            connection, model, "published"
        )
        if row is None or row.version not in (stages := stages_of(connection, model)):
            return None
        stage = stages[row.version]
        found = refusals(_about(connection, stage), f"{model}_adoption")
        if found is not None and found.low > REFUSED_BOUND and has_other(connection, row):
            reason = f"{found.share:.0%} of the phones that tried it refused it"
            return withdraw(connection, row, reason, now)
        if row.status == "staged" and now - stage.since >= self._stage_seconds:
            percent = next(step for step in STAGES if step > stage.percent)
            return move_on(connection, row, percent, now)
        return None


def first_percent(connection: Connection) -> int:
    """The first stage of a new release in a fleet of this size."""
    return STAGES[0] if fleet_size(connection) * STAGES[0] >= 100 else STAGES[-1]


def refusals(newest_first: Iterable[Mapping[str, Any]], histogram: str) -> Refusals | None:
    """What the newest estimates that have the histogram say; None while none has."""
    for estimates in newest_first:
        bins = {
            entry["bin"]: entry
            for entry in estimates.get("histograms", ())
            if entry["histogram"] == histogram
        }
        if {"adopted", "refused"} <= set(bins):
            return _refusals(bins["adopted"], bins["refused"])
    return None


def _refusals(adopted: Mapping[str, float], refused: Mapping[str, float]) -> Refusals:
    tried = max(adopted["estimate"], 0.0) + max(refused["estimate"], 0.0)
    least = refused["low"] + adopted["high"]
    return Refusals(
        max(refused["estimate"], 0.0) / tried if tried > 0.0 else 0.0,
        refused["low"] / least if least > 0.0 else 0.0,
    )


def _about(connection: Connection, stage: Row[Any]) -> list[Mapping[str, Any]]:
    """Estimates of the usage rounds that opened while this version was the last one begun, newest
    first: what phones said of a later one, withdrawn or not, is no word about it."""
    later = select(func.min(rollouts.c.started)).where(
        rollouts.c.model == stage.model, rollouts.c.started > stage.started
    )
    until = connection.scalar(later)
    same = (rounds.c.task == aggregates.c.task) & (rounds.c.round == aggregates.c.round)
    query = (
        select(aggregates.c.estimates)
        .join(rounds, same)
        .where(aggregates.c.task.in_(("usage", "local_usage")), rounds.c.opens >= stage.started)
        .order_by(aggregates.c.created.desc(), aggregates.c.id.desc())
    )
    if until is not None:
        query = query.where(rounds.c.opens < until)
    return list(connection.scalars(query))


def has_other(connection: Connection, row: Row[Any]) -> bool:
    """Whether phones have a version to stay with or go back to."""
    others = select(releases.c.id).where(
        releases.c.model == row.model,
        releases.c.status == "published",
        releases.c.version < row.version,
    )
    return connection.execute(others.limit(1)).first() is not None


def move_on(connection: Connection, row: Row[Any], percent: int, now: float) -> Change:
    """Let so many of the phones take a staged release; `relist` makes it known."""
    status = "published" if percent == STAGES[-1] else "staged"
    here = (rollouts.c.model == row.model) & (rollouts.c.version == row.version)
    connection.execute(update(rollouts).where(here).values(percent=percent, since=now))
    connection.execute(update(releases).where(releases.c.id == row.id).values(status=status))
    detail = {"model": row.model, "version": row.version, "percent": percent}
    key = f"stage:{row.model}:{row.version}:{percent}"
    note(connection, key, "release_stage", now, detail)
    return Change(row.model, row.version, status, percent)


def withdraw(connection: Connection, row: Row[Any], reason: str, now: float) -> Change:
    """Take a release back; `relist` makes it known, and phones that hold it go back."""
    connection.execute(
        update(releases).where(releases.c.id == row.id).values(status="withdrawn", reason=reason)
    )
    detail = {"model": row.model, "version": row.version, "reason": reason}
    note(connection, f"withdrawn:{row.model}:{row.version}", "release_withdrawn", now, detail)
    return Change(row.model, row.version, "withdrawn", 0)
