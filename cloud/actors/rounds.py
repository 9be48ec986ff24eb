"""The leader of secure aggregation: opens rounds, closes them, keeps only sums.

    open --(closes has passed)--> closing --(mask sum)--> closed
                                     |--(fewer than n_min)--> expired
                                     |--(the helper says no)--> refused

Each arrow is one transaction, so a crash between two of them repeats at most one question to the
helper, who answers the same batch with the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Any, cast

from sqlalchemy import Connection, Row, func, insert, select, update

from cloud.identity import signing_key
from cloud.storage.database import Database
from cloud.storage.journal import note
from cloud.storage.tables import aggregates, releases, rounds, uploads
from privacy.budget import BUDGETS
from privacy.estimation import estimate_histograms, mean_update, total_noise
from privacy.secagg import Batch, MaskSum, SealedShare, masked_hash, sum_masked, unmask
from privacy.secagg.batch import BATCH_ID_BYTES, LARGEST_BATCH
from privacy.streams import USAGE_DIMENSION
from protocol.models.spec import SPECS, head_dimension
from protocol.rounds import TASKS, RoundDescriptor, Task, seal_descriptor
from protocol.update import Report, decode_report

__all__ = ["Rounds", "RoundsEnded"]

RoundsEnded = list[tuple[str, int, str]]
"""(task, round, new status) of every round that a step moved."""


class Rounds:
    """Owner of the rounds and aggregates tables.

    Args:
        database_url: where they are kept.
        signing_key_path: the cloud's Ed25519 key file.
        helper_key: the helper's public X25519 key, 32 bytes; phones seal their seeds to it.
        budget: name of the privacy budget that sets noise, batch size and cadence.
    """

    def __init__(
        self, database_url: str, signing_key_path: str, helper_key: bytes, budget: str
    ) -> None:
        self._database = Database(database_url)
        self._key = signing_key(signing_key_path)
        self._helper_key = helper_key
        self._budget = BUDGETS[budget]

    def descriptors(self) -> list[bytes]:
        """The signed descriptors of the open rounds, in task order."""
        with self._database.read() as connection:
            found = connection.execute(select(rounds).where(rounds.c.status == "open")).all()
        return [row.descriptor for row in sorted(found, key=lambda row: TASKS.index(row.task))]

    def close_due(self, now: float) -> RoundsEnded:
        """Stop taking reports for every round whose time has passed."""
        moved: RoundsEnded = []
        with self._database.write() as connection:
            due = (rounds.c.status == "open") & (rounds.c.closes <= now)
            for row in connection.execute(select(rounds).where(due).order_by(rounds.c.task)).all():
                _move(connection, row, "closing")
                moved.append((row.task, row.round, self._expire_if_few(connection, row, now)))
        return moved

    def batches(self) -> list[Batch]:
        """What the helper is to be asked: one batch for every closing round."""
        with self._database.read() as connection:
            closing = select(rounds).where(rounds.c.status == "closing").order_by(rounds.c.task)
            return [_batch(connection, row) for row in connection.execute(closing).all()]

    def batch(self, task: str, number: int) -> Batch:
        """What the helper is to be asked for one closing round, without the dropped reports."""
        with self._database.read() as connection:
            row = _round(connection, task, number)
            if row is None or row.status != "closing":
                raise LookupError(f"{task} round {number} is not closing")
            return _batch(connection, row)

    def drop(
        self, task: str, number: int, reason: str, report_ids: Sequence[bytes], now: float
    ) -> str:
        """The helper refused the batch: leave out the reports it named. Gives the new status.

        "closing" means that a smaller batch may be asked for; with no report named, or none of
        this round, the round ends as "refused".
        """
        with self._database.write() as connection:
            row = _round(connection, task, number)
            if row is None or row.status != "closing":
                return "" if row is None else cast(str, row.status)
            here = _reports(task, number) & uploads.c.report_id.in_(list(report_ids))
            dropped = connection.execute(update(uploads).where(here).values(body=b"")).rowcount
            if not dropped:
                _end(connection, row, "refused", now, reason=reason)
                return "refused"
            detail = {"reason": reason, "dropped": dropped}
            note(connection, f"dropped:{task}:{number}:{now}", "reports_dropped", now, detail)
            return self._expire_if_few(connection, row, now)

    def settle(self, task: str, number: int, answer: MaskSum, now: float) -> str:
        """Unmask the sum, keep it with its estimates, forget the reports. Gives the new status."""
        with self._database.write() as connection:
            row = _round(connection, task, number)
            if row is None or row.status != "closing":
                return "" if row is None else cast(str, row.status)
            batch = _batch(connection, row)
            if (answer.batch_digest, answer.count) != (batch.digest(), len(batch.shares)):
                _end(connection, row, "refused", now, reason="the helper answered another batch")
                return "refused"
            masked = sum_masked(report.masked for report in _stored(connection, task, number))
            total = unmask(masked, answer.vector)
            sigma = total_noise(row.sigma, answer.count, row.n_min)
            connection.execute(
                insert(aggregates).values(
                    task=task,
                    round=number,
                    base_version=row.base_version,
                    n=answer.count,
                    scale=row.scale,
                    clip=row.clip,
                    sigma=sigma,
                    total=total.astype("<i8").tobytes(),
                    estimates=_estimates(task, total, answer.count, row.scale, sigma),
                    created=now,
                )
            )
            _end(connection, row, "closed", now, reports=answer.count)
        return "closed"

    def open_due(self, now: float, tasks: tuple[Task, ...] = TASKS) -> list[tuple[str, int]]:
        """Open the next round of each of `tasks` that has none, once its model has a release."""
        opened: list[tuple[str, int]] = []
        with self._database.write() as connection:
            busy = set(connection.scalars(select(rounds.c.task).where(rounds.c.status == "open")))
            for task in tasks:
                base = 0 if task == "usage" else _newest(connection, task)
                if task in busy or base is None:
                    continue
                opened.append((task, self._open(connection, task, base, now)))
        return opened

    def close(self) -> None:
        """Give the file handles back."""
        self._database.close()

    def _open(self, connection: Connection, task: Task, base: int, now: float) -> int:
        latest = connection.execute(
            select(rounds).where(rounds.c.task == task).order_by(rounds.c.round.desc()).limit(1)
        ).first()
        # The phones to expect are those that came last time; a round that failed lowers the bar.
        expected = latest.reports if latest is not None and latest.status == "closed" else 0
        terms = self._budget.terms(task, min(expected, LARGEST_BATCH))
        descriptor = RoundDescriptor(
            task=task,
            round=1 if latest is None else latest.round + 1,
            dimension=USAGE_DIMENSION if task == "usage" else head_dimension(SPECS[task]),
            scale=terms.scale,
            clip=terms.clip,
            sigma=terms.sigma,
            n_min=terms.n_min,
            base_version=base,
            helper_key=self._helper_key,
            opens=now,
            closes=now + terms.cadence,
            budget=cast(Any, self._budget.name),
        )
        row = descriptor.model_dump(exclude={"helper_key"})
        blob = seal_descriptor(descriptor, self._key)
        connection.execute(insert(rounds).values(**row, status="open", descriptor=blob))
        return descriptor.round

    def _expire_if_few(self, connection: Connection, row: Row[Any], now: float) -> str:
        n = _count(connection, row.task, row.round)
        if n >= row.n_min:
            return "closing"
        _end(connection, row, "expired", now, reports=n, reason="too few")
        return "expired"


def _round(connection: Connection, task: str, number: int) -> Row[Any] | None:
    here = (rounds.c.task == task) & (rounds.c.round == number)
    return connection.execute(select(rounds).where(here)).first()


def _reports(task: str, number: int) -> Any:
    return (uploads.c.task == task) & (uploads.c.round == number)


def _count(connection: Connection, task: str, number: int) -> int:
    usable = _reports(task, number) & (func.length(uploads.c.body) > 0)
    return connection.execute(select(func.count()).select_from(uploads).where(usable)).scalar_one()


def _stored(connection: Connection, task: str, number: int) -> Iterator[Report]:
    """The reports of a round's batch by report id, one at a time; those over the cap stay out."""
    usable = _reports(task, number) & (func.length(uploads.c.body) > 0)
    query = select(uploads.c.body).where(usable).order_by(uploads.c.report_id).limit(LARGEST_BATCH)
    for body in connection.execution_options(yield_per=256).scalars(query):
        yield decode_report(body)


def _batch(connection: Connection, row: Row[Any]) -> Batch:
    shares = tuple(
        SealedShare(report.report_id, masked_hash(report.masked), report.sealed_seed)
        for report in _stored(connection, row.task, row.round)
    )
    name = sha256(f"reverie/batch/1|{row.task}|{row.round}|".encode())
    for share in shares:
        name.update(share.report_id)
    return Batch(
        batch_id=name.digest()[:BATCH_ID_BYTES],
        task=row.task,
        round=row.round,
        dimension=row.dimension,
        scale=row.scale,
        clip=row.clip,
        sigma=row.sigma,
        n_min=row.n_min,
        shares=shares,
    )


def _estimates(task: str, total: Any, n: int, scale: int, sigma: float) -> dict[str, Any]:
    if task == "usage":
        bins = estimate_histograms(total, n, scale, sigma)
        return {"histograms": [estimate._asdict() for estimate in bins]}
    update = mean_update(total, n, scale, sigma)
    return {"norm": float((update.mean**2).sum() ** 0.5), "noise_std": update.noise}


def _newest(connection: Connection, model: str) -> int | None:
    published = (releases.c.model == model) & (releases.c.status == "published")
    newest = select(func.max(releases.c.version)).where(published)
    return cast("int | None", connection.execute(newest).scalar_one())


def _move(connection: Connection, row: Row[Any], status: str, **values: Any) -> None:
    here = (rounds.c.task == row.task) & (rounds.c.round == row.round)
    connection.execute(update(rounds).where(here).values(status=status, **values))


def _end(connection: Connection, row: Row[Any], status: str, now: float, **values: Any) -> None:
    """End a round and forget what its phones sent: only the sum, if any, outlives it."""
    _move(connection, row, status, ended=now, **values)
    connection.execute(update(uploads).where(_reports(row.task, row.round)).values(body=b""))
    key = f"round:{row.task}:{row.round}"
    detail = {"task": row.task, "round": row.round, "status": status, **values}
    note(connection, key, "round_ended", now, detail)
