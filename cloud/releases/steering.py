"""What operators move by hand: halt, roll back, approve, advance. The command line and the admin
page both go through here, so that each leaves the same trace: one event "steered" that says who.

A version may be named with every order. It is then carried out on that version or not at all: of
two operators who see the same release and both roll it back, the second does not take the one
before it as well.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from sqlalchemy import Connection, Row, select, update

from cloud.actors.rollout import STAGES, Change, has_other, move_on, withdraw
from cloud.identity import signing_key
from cloud.releases.keys import RoleKeys
from cloud.releases.listing import newest_with, relist, waiting
from cloud.releases.repository import Repository
from cloud.storage import Database, open_blobs
from cloud.storage.journal import note
from cloud.storage.tables import releases

__all__ = ["Order", "Steering"]

Order = Literal["halt", "rollback", "approve", "advance"]
_Move = Callable[[Connection, Row[Any], str, float], Change | None]


class Steering:
    """Carries out operators' orders; all methods may run beside the service and each other.

    Each returns what became of the release, or None when there was nothing to do or it may not be
    done: `refusal` then says why. ``by`` is the operator's name; ``version`` restricts the order to
    that version.

    Args:
        database_url: SQLAlchemy URL. blobs_url: folder or URL of immutable artefacts.
        keys: folder of the online roles' keys. signing_key: file of the cloud's Ed25519 seed.
    """

    def __init__(
        self,
        database_url: str,
        blobs_url: str | Path,
        keys: str | Path,
        signing_key: str | Path,
    ) -> None:
        self._database = Database(database_url)
        self._blobs = open_blobs(blobs_url)
        self._repository = Repository(RoleKeys(keys))
        self._signing_key = signing_key

    def halt(self, model: str, now: float, by: str, *, version: int = 0) -> Change | None:
        """Withdraw the staged release of a model; where there is none, reject the candidate that
        waits. None when there is neither, or phones would have no version to go back to."""
        return self._steer("halt", model, now, by, version)

    def rollback(self, model: str, now: float, by: str, *, version: int = 0) -> Change | None:
        """Withdraw the newest release of a model, staged or not; None when it is the only one."""
        return self._steer("rollback", model, now, by, version)

    def approve(self, model: str, now: float, by: str, *, version: int = 0) -> Change | None:
        """Let the newest candidate that passed go out with the next tick; None when none waits.

        Raises:
            KeyFileUnusable, BlobMissing: it could not be signed, or its parameters are lost.
        """
        return self._steer("approve", model, now, by, version)

    def advance(self, model: str, now: float, by: str, *, version: int = 0) -> Change | None:
        """Let every phone take the staged release now; None when there is none."""
        return self._steer("advance", model, now, by, version)

    def refusal(self, order: Order, model: str, version: int = 0) -> str:
        """Why an order came to nothing, in one line for the operator."""
        with self._database.read() as connection:
            row = _candidate(connection, order, model)
            if row is not None and version not in (0, row.version):
                return f"{model} {version} is not the one to {order} any more: {row.version} is"
            return _why_not(connection, order, model, version)

    def close(self) -> None:
        """Give back the database's file handles."""
        self._database.close()

    def _steer(self, order: Order, model: str, now: float, by: str, version: int) -> Change | None:
        with self._database.write() as connection:
            row = _candidate(connection, order, model)
            if row is None or version not in (0, row.version):
                return None
            change = self._move(order)(connection, row, by, now)
            if change is None:
                return None
            detail = {"what": order, "model": model, "version": row.version, "by": by}
            note(connection, f"steered:{order}:{model}:{row.version}", "steered", now, detail)
            # A candidate is not listed: who lacks the roles' keys can still approve or reject.
            if row.status != "candidate":
                relist(connection, self._repository, now)
        return change

    def _move(self, order: Order) -> _Move:
        moves: dict[Order, _Move] = {
            "halt": _take_back,
            "rollback": _take_back,
            "approve": self._approve,
            "advance": _to_everyone,
        }
        return moves[order]

    def _approve(
        self, connection: Connection, row: Row[Any], _by: str, now: float
    ) -> Change | None:
        # What the tick could not publish is said to the operator, who is there to hear it.
        signing_key(self._signing_key)
        self._blobs.get(row.parameters)
        here = releases.c.id == row.id
        connection.execute(update(releases).where(here).values(approved=now))
        return Change(row.model, row.version, "approved", 0)


def _candidate(connection: Connection, order: Order, model: str) -> Row[Any] | None:
    """The row an order is about; None when there is none."""
    staged = newest_with(connection, model, "staged")
    if order == "advance":
        return staged
    unapproved = [row for row in waiting(connection, model) if row.approved is None]
    if order == "approve":
        return unapproved[0] if unapproved else None
    if order == "rollback":
        return staged or newest_with(connection, model, "published")
    held_back = waiting(connection, model)
    return staged or (held_back[0] if held_back else None)


def _take_back(connection: Connection, row: Row[Any], by: str, now: float) -> Change | None:
    if row.status == "candidate":
        here = releases.c.id == row.id
        values = {"status": "rejected", "reason": f"rejected by {by}"}
        connection.execute(update(releases).where(here).values(**values))
        return Change(row.model, row.version, "rejected", 0)
    if not has_other(connection, row):
        return None
    return withdraw(connection, row, f"withdrawn by {by}", now)


def _to_everyone(connection: Connection, row: Row[Any], _by: str, now: float) -> Change:
    return move_on(connection, row, STAGES[-1], now)


def _why_not(connection: Connection, order: Order, model: str, version: int) -> str:
    if order == "halt":
        return f"no {model} release is on its way, and no candidate waits"
    if order == "advance":
        return f"no {model} release is on its way to all phones"
    if order == "rollback":
        return f"there is no earlier {model} to go back to"
    newest = select(releases).where(releases.c.model == model)
    if version:
        newest = newest.where(releases.c.version == version)
    row = connection.execute(newest.order_by(releases.c.version.desc()).limit(1)).first()
    if row is None:
        return f"there is no {model} {version or 'candidate'}"
    if row.status == "rejected":
        return f"no {model} candidate waits: {row.version} was rejected, {row.reason}"
    if row.status == "candidate" and row.approved is not None:
        return f"{model} {row.version} is approved already: the next tick publishes it"
    if row.status == "candidate":
        return f"{model} {row.version} is not judged yet: the next tick does that"
    return f"no {model} candidate waits: {row.version} is {row.status}"
