"""The leader of aggregation: opens rounds, closes them, keeps only sums.

    open --(closes has passed)--> closing --(the helper's mask sum)--> closed
                                     |--(fewer than n_min)--> expired
                                     |--(the helper says no, or the sum is implausible)--> refused

A local round needs no helper: it goes from open to closed or expired in one step. Each arrow is
one transaction, so a crash between two of them repeats at most one question to the helper, who
answers the same batch with the same bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, cast

from sqlalchemy import ColumnElement, Connection, Row, func, insert, select, update

from cloud.actors.openings import columns_of, local_round, shared_round, shown_until
from cloud.actors.sums import (
    batch_of,
    certified,
    count_usable,
    local_total,
    reports_of,
    stored_ids,
    unmasked,
    usable,
)
from cloud.helper_client import HelperChanged, HelperIdentity
from cloud.identity import signing_key
from cloud.storage.database import Database
from cloud.storage.journal import note
from cloud.storage.tables import aggregates, releases, rounds, uploads
from privacy.budget import BUDGETS
from privacy.errors import BatchRefused, CertificateInvalid
from privacy.secagg import Batch, MaskSum
from protocol.rounds import (
    LOCAL_TASK,
    MODEL_TASKS,
    SHARED_TASKS,
    TASKS,
    Round,
    Task,
    seal_descriptor,
)

__all__ = ["COUNT_TASKS", "WAITING", "Rounds", "RoundsEnded"]

COUNT_TASKS: tuple[Task, ...] = ("usage", LOCAL_TASK)
"""Tasks that need no model, so that phones need not wait for a training to report them."""

WAITING = "waiting"
"""Not a stored status: the round stays closing until an operator has mended the helper."""

_FOR_THE_OPERATOR = frozenset({"floor", "malformed"})
"""Refusals that no choice of reports can mend: the reports are kept until a person has."""

RoundsEnded = list[tuple[str, int, str]]
"""(task, round, new status) of every round that a step moved."""


class Rounds:
    """Owner of the rounds and aggregates tables.

    Args:
        database_url: where they are kept.
        signing_key_path: the cloud's Ed25519 key file.
        helper: the trusted helper's public keys; None opens local rounds only.
        budget: name of the privacy budget that sets noise, batch size and cadence.
    """

    def __init__(
        self,
        database_url: str,
        signing_key_path: str,
        helper: HelperIdentity | None,
        budget: str,
    ) -> None:
        self._database = Database(database_url)
        self._key = signing_key(signing_key_path)
        self._helper = helper
        self._budget = BUDGETS[budget]
        self._tasks: tuple[Task, ...] = (LOCAL_TASK,) if helper is None else SHARED_TASKS

    def descriptors(self, now: float | None = None) -> list[bytes]:
        """The signed descriptors of the open rounds, in task order.

        Rounds of the other way of aggregation are not shown; after a change back they are again.
        With a time, neither is a round that closes so soon that a report might come too late.
        """
        query = select(rounds).where(rounds.c.status == "open", rounds.c.task.in_(self._tasks))
        with self._database.read() as connection:
            found = connection.execute(query).all()
        if now is not None:
            found = [row for row in found if now < shown_until(row.opens, row.closes)]
        return [row.descriptor for row in sorted(found, key=lambda row: TASKS.index(row.task))]

    def close_due(self, now: float) -> RoundsEnded:
        """Stop taking reports for every round whose time has passed; sum the local ones."""
        moved: RoundsEnded = []
        with self._database.write() as connection:
            due = (rounds.c.status == "open") & (rounds.c.closes <= now)
            for row in connection.execute(select(rounds).where(due).order_by(rounds.c.task)).all():
                _move(connection, row, "closing")
                status = _expire_if_few(connection, row, now)
                if status == "closing" and row.task == LOCAL_TASK:
                    status = _close_local(connection, row, now)
                moved.append((row.task, row.round, status))
        return moved

    def closing(self) -> list[tuple[str, int, bool]]:
        """(task, round, whether its query key is missing) of the rounds to ask the helper about."""
        query = select(rounds).where(rounds.c.status == "closing")
        with self._database.read() as connection:
            found = connection.execute(query.order_by(rounds.c.task, rounds.c.round)).all()
        return [
            (row.task, row.round, not row.query_key and row.task not in MODEL_TASKS)
            for row in found
        ]

    def keep_query(self, task: str, number: int, key: bytes) -> None:
        """Keep the first query key of a round: a report answers one query, ever, because two
        answers would tell the helper something of what is in it."""
        first = (rounds.c.task == task) & (rounds.c.round == number) & (rounds.c.query_key == b"")
        with self._database.write() as connection:
            connection.execute(update(rounds).where(first).values(query_key=key))

    def batch(self, task: str, number: int) -> Batch:
        """The question for one closing round, without the reports dropped so far."""
        with self._database.read() as connection:
            row = _round(connection, task, number)
            if row is None or row.status != "closing":
                raise LookupError(f"{task} round {number} is not closing")
            return batch_of(connection, row, row.query_key)

    def drop(
        self, task: str, number: int, reason: str, report_ids: Sequence[bytes], now: float
    ) -> str:
        """The helper refused the batch: leave out the reports it named. Gives the new status.

        "closing" means that a smaller batch may be asked for; "waiting" that only an operator can
        mend it and nothing was lost. With no report of this round named it ends as "refused".
        """
        with self._database.write() as connection:
            row = _round(connection, task, number)
            if row is None or row.status != "closing":
                return "" if row is None else cast(str, row.status)
            if reason in _FOR_THE_OPERATOR:
                _move(connection, row, "closing", reason=reason)
                return WAITING
            named = uploads.c.report_id.in_(list(report_ids))
            here = usable(task, number) & named
            dropped = connection.execute(update(uploads).where(here).values(body=b"")).rowcount
            if not dropped and _some(connection, reports_of(task, number) & named):
                return "closing"  # this very call was carried out before, and its answer lost
            if not dropped:
                _end(connection, row, "refused", now, reason=reason)
                return "refused"
            detail = {"task": task, "round": number, "reason": reason, "dropped": dropped}
            left = count_usable(connection, task, number)
            note(connection, f"dropped:{task}:{number}:{left}", "reports_dropped", now, detail)
            return _expire_if_few(connection, row, now)

    def settle(self, task: str, number: int, asked: bytes, answer: MaskSum, now: float) -> str:
        """Join the two halves, keep the sum with its estimates, forget the reports.

        ``asked``: digest of the batch the helper was asked about. Gives the new status. Raises
        HelperChanged when the trusted helper did not sign the answer: the round stays closing.
        """
        # Summed before the write lock is taken: phones must be able to report meanwhile.
        with self._database.read() as connection:
            row = _round(connection, task, number)
            if row is None or row.status != "closing":
                return "" if row is None else cast(str, row.status)
            ids = stored_ids(connection, task, number)
            found = None
            if self._signed(row, ids, asked, answer):
                with suppress(BatchRefused):  # a vector of another shape than the round's
                    found = unmasked(connection, row, answer)
        with self._database.write() as connection:
            row = _round(connection, task, number)
            if row is None or row.status != "closing":
                return "" if row is None else cast(str, row.status)
            if found is None:
                _end(connection, row, "refused", now, reason="the helper answered another batch")
                return "refused"
            if not found.believable:
                _end(connection, row, "refused", now, reason="implausible")
                return "refused"
            values = {"sigma": found.sigma, "certificate": answer.certificate}
            values |= {"helper_key": self._trusted.signing, "estimates": found.estimates}
            _keep(connection, row, answer.count, found.total, values, now)
        return "closed"

    def open_due(self, now: float, tasks: Sequence[Task] = TASKS) -> list[tuple[str, int]]:
        """Open the next round of each of `tasks` that has none, once its model has a release.

        Only tasks of this cloud's way of aggregation are opened.
        """
        opened: list[tuple[str, int]] = []
        with self._database.write() as connection:
            busy = set(connection.scalars(select(rounds.c.task).where(rounds.c.status == "open")))
            for task in (each for each in self._tasks if each in tasks):
                base = 0 if task in COUNT_TASKS else _newest(connection, task)
                if task in busy or base is None:
                    continue
                opened.append((task, self._open(connection, task, base, now)))
        return opened

    def close(self) -> None:
        """Give the file handles back."""
        self._database.close()

    @property
    def _trusted(self) -> HelperIdentity:
        if self._helper is None:
            raise LookupError("a local cloud has no helper")
        return self._helper

    def _signed(self, row: Row[Any], ids: Sequence[bytes], asked: bytes, answer: MaskSum) -> bool:
        try:
            return certified(row, ids, asked, answer, self._trusted.signing)
        except CertificateInvalid:
            raise HelperChanged from None

    def _open(self, connection: Connection, task: Task, base: int, now: float) -> int:
        latest = connection.execute(
            select(rounds).where(rounds.c.task == task).order_by(rounds.c.round.desc()).limit(1)
        ).first()
        number = 1 if latest is None else latest.round + 1
        descriptor: Round
        if task == LOCAL_TASK:
            descriptor = local_round(self._budget, number, now)
        else:
            # The phones to expect are those that came last time; a failed round lowers the bar.
            expected = latest.reports if latest is not None and latest.status == "closed" else 0
            descriptor = shared_round(
                self._budget,
                self._trusted.sealing,
                task,
                number,
                base=base,
                expected=expected,
                now=now,
            )
        blob = seal_descriptor(descriptor, self._key)
        row = columns_of(descriptor) | {"status": "open", "descriptor": blob}
        connection.execute(insert(rounds).values(**row))
        return number


def _some(connection: Connection, chosen: ColumnElement[bool]) -> bool:
    return (
        connection.execute(select(uploads.c.upload_id).where(chosen).limit(1)).first() is not None
    )


def _expire_if_few(connection: Connection, row: Row[Any], now: float) -> str:
    n = count_usable(connection, row.task, row.round)
    if n >= row.n_min:
        return "closing"
    _end(connection, row, "expired", now, reports=n, reason="too few")
    return "expired"


def _close_local(connection: Connection, row: Row[Any], now: float) -> str:
    found = local_total(connection, row)
    values = {"sigma": 0.0, "estimates": found.estimates}
    _keep(connection, row, found.n, found.counts, values, now)
    return "closed"


def _round(connection: Connection, task: str, number: int) -> Row[Any] | None:
    here = (rounds.c.task == task) & (rounds.c.round == number)
    return connection.execute(select(rounds).where(here)).first()


def _newest(connection: Connection, model: str) -> int | None:
    published = (releases.c.model == model) & (releases.c.status == "published")
    newest = select(func.max(releases.c.version)).where(published)
    return cast("int | None", connection.execute(newest).scalar_one())


def _move(connection: Connection, row: Row[Any], status: str, **values: Any) -> None:
    here = (rounds.c.task == row.task) & (rounds.c.round == row.round)
    connection.execute(update(rounds).where(here).values(status=status, **values))


def _keep(
    connection: Connection, row: Row[Any], n: int, total: Any, values: dict[str, Any], now: float
) -> None:
    """Store a round's sum and end it as closed; remember which reports are in it."""
    connection.execute(
        insert(aggregates).values(
            task=row.task,
            round=row.round,
            base_version=row.base_version,
            n=n,
            scale=row.scale,
            clip=row.clip,
            total=total.astype("<i8").tobytes(),
            created=now,
            **values,
        )
    )
    counted = usable(row.task, row.round)
    if row.task != LOCAL_TASK:  # those over the largest batch were not asked about
        counted &= uploads.c.report_id <= stored_ids(connection, row.task, row.round)[-1]
    connection.execute(update(uploads).where(counted).values(counted=1))
    _end(connection, row, "closed", now, reports=n, reason="")


def _end(connection: Connection, row: Row[Any], status: str, now: float, **values: Any) -> None:
    """End a round and forget what its phones sent: only the sum, if any, outlives it."""
    _move(connection, row, status, ended=now, **values)
    here = reports_of(row.task, row.round)
    connection.execute(update(uploads).where(here).values(body=b""))
    key = f"round:{row.task}:{row.round}"
    detail = {"task": row.task, "round": row.round, "status": status, **values}
    note(connection, key, "round_ended", now, detail)
