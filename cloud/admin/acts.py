"""What an operator may do, each first described and then done once.

A description is made from the state of a moment and names the version it is about; doing it checks
that the version is still the one, so that nobody withdraws what he has not seen.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final, Literal, get_args

import structlog
from sqlalchemy import Connection, Row

from cloud.actors.registry import Registry
from cloud.actors.rollout import Change
from cloud.admin.desk import Desk
from cloud.config import DAY
from cloud.releases.listing import newest_with, waiting
from cloud.releases.steering import Steering
from cloud.storage.facts import version_before
from cloud.storage.journal import note
from cloud.storage.retention import forget_device
from protocol.models.spec import SPECS

__all__ = ["ACTS", "Act", "Changed", "Deed", "Plan", "applies", "perform", "plan"]

log = structlog.get_logger("reverie.cloud.admin")

Act = Literal["halt", "rollback", "approve", "advance", "revoke", "forget", "token"]
ACTS: Final[tuple[Act, ...]] = get_args(Act)
_MODEL_ACTS: Final = frozenset({"halt", "rollback", "approve", "advance"})
TOKEN_BYTES: Final = 16
MARK_BYTES: Final = 8
MOST_DAYS: Final = 365.0
LONGEST_DEVICE_ID: Final = 64


class Changed(Exception):
    """The version it was about is not the one any more."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What an act would do. `target`: a model, a device id, or "new"; only models have versions."""

    act: Act
    target: str
    version: int = 0
    before: int = 0
    status: str = ""


@dataclass(frozen=True, slots=True)
class Deed:
    """What came of it: `done` is False when there was nothing to do. `secret` is shown once."""

    done: bool
    secret: str = ""
    until: float = 0.0
    status: str = ""


def applies(act: Act, target: str) -> bool:
    """Whether the target is of the kind the act is about."""
    if act in _MODEL_ACTS:
        return target in SPECS
    if act == "token":
        return target == "new"
    return target.isascii() and target.isalnum() and len(target) <= LONGEST_DEVICE_ID


def plan(connection: Connection, act: Act, target: str) -> Plan | None:
    """What the act would do now; None when there is nothing to do."""
    if act not in _MODEL_ACTS:
        return Plan(act, target)
    row = _subject(connection, act, target)
    if row is None:
        return None
    before = version_before(connection, target, row.version) or 0
    if act in ("halt", "rollback") and row.status != "candidate" and not before:
        return None
    return Plan(act, target, row.version, before, row.status)


async def perform(desk: Desk, wanted: Plan, by: str, days: float = 0.0) -> Deed:
    """Do it in `by`'s name. Raises Changed when the version has changed since it was planned.

    A plan of version 0 takes whatever version is the newest.
    """
    deed = await asyncio.to_thread(_perform, desk, wanted, by, days, desk.clock())
    outcome = "done" if deed.done else "nothing"
    desk.metrics.steered.labels(act=wanted.act, outcome=outcome).inc()
    log.info("steered", act=wanted.act, outcome=outcome, by=by)
    if deed.done:
        await desk.changed()
    return deed


def _perform(desk: Desk, wanted: Plan, by: str, days: float, now: float) -> Deed:
    if wanted.act in _MODEL_ACTS:
        return _steer(desk, wanted, by, now)
    if wanted.act == "token":
        return _token(desk, by, days, now)
    if wanted.act == "revoke":
        registry = Registry(desk.config.database_url)
        try:
            done = registry.revoke(wanted.target, now)
        finally:
            registry.close()
    else:
        done = any(forget_device(desk.database, wanted.target, desk.bits))
    if done:
        _note(desk, wanted.act, by, now)
    return Deed(done)


def _steer(desk: Desk, wanted: Plan, by: str, now: float) -> Deed:
    with desk.database.read() as connection:
        current = plan(connection, wanted.act, wanted.target)
    if current is None:
        return Deed(False)
    if wanted.version not in (0, current.version):
        raise Changed
    config = desk.config
    steering = Steering(config.database_url, config.blobs_url, config.keys, config.signing_key)
    try:
        orders: dict[str, Callable[..., Change | None]] = {
            "halt": steering.halt,
            "rollback": steering.rollback,
            "approve": steering.approve,
            "advance": steering.advance,
        }
        change = orders[wanted.act](wanted.target, now, by, version=current.version)
    finally:
        steering.close()
    return Deed(change is not None, status="" if change is None else change.status)


def _subject(connection: Connection, act: Act, model: str) -> Row[Any] | None:
    """The release or candidate an act is about, as `Steering` chooses it."""
    staged = newest_with(connection, model, "staged")
    if act == "advance":
        return staged
    if act == "rollback":
        return staged or newest_with(connection, model, "published")
    held = waiting(connection, model)
    if act == "approve":
        return next((row for row in held if row.approved is None), None)
    return staged or next(iter(held), None)


def _token(desk: Desk, by: str, days: float, now: float) -> Deed:
    if not 0.0 < days <= MOST_DAYS:
        raise ValueError(f"a token is good for more than 0 and at most {MOST_DAYS:.0f} days")
    token = desk.bits(TOKEN_BYTES).hex()
    registry = Registry(desk.config.database_url)
    try:
        registry.add_token(sha256(token.encode()).hexdigest(), now, days * DAY)
    finally:
        registry.close()
    _note(desk, "token", by, now)
    return Deed(True, token, now + days * DAY)


def _note(desk: Desk, act: Act, by: str, now: float) -> None:
    """The journal tells who did what; which phone it was is nobody's concern a year later."""
    key = f"steered:{act}:{desk.bits(MARK_BYTES).hex()}"
    with desk.database.write() as connection:
        note(connection, key, "steered", now, {"what": act, "by": by})
