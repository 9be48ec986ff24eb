"""A lease: what one process at a time does, as long as it keeps saying that it is alive.

**Clocks.** Machines disagree about the time, so no two clocks are ever compared. A contender does
not read `until` against its own clock: it watches the row, and takes the lease over once the row
has not changed for `seconds` of its own time. `until` is by its holder's clock: a mark that moves
with every renewal, and something for an operator to read. Clocks may be hours apart; only two that
run at different speeds, or one set forward between two looks, could end a lease too early. The
database's own clock would do as well, but SQLite has none, and tests could not give the time.

**Two holders.** A process may be frozen for a minute and not know that it lost the lease. Nothing
outside the database can prevent that, so nothing here relies on it: every step of a tick is a
transaction that may run twice, under the database's own locks. The lease keeps two processes from
doing the same work for nothing. `epoch` grows with each change of holder, and `held` reads it from
the database: asked between two steps, it ends the work of whoever was away meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, select, update

from cloud.storage.database import Database, insert_once
from cloud.storage.tables import leases

__all__ = ["Lease"]

NOBODY = ""
"""The holder of a lease that was given back."""


def _unknown(_holder: str) -> bool:
    return False


class Lease:
    """One process's claim on one lease.

    Args:
        database: where the `leases` table is.
        name: what is to be done, up to 32 characters.
        holder: who claims it, up to 64 characters, unlike every other process's.
        seconds: how long a holder may say nothing. It should renew three times as often.
        has_ended: whether a holder is known to be dead; then nobody waits for it.

    `now` is seconds of the caller's own clock everywhere; the methods may be called from any
    thread, and wait for the database.
    """

    def __init__(
        self,
        database: Database,
        name: str,
        holder: str,
        seconds: float,
        has_ended: Callable[[str], bool] = _unknown,
    ) -> None:
        self._database, self._name, self._holder = database, name, holder
        self._seconds, self._has_ended = seconds, has_ended
        self._guard = Lock()
        self._epoch: int | None = None
        self._until = 0.0
        self._seen: tuple[tuple[str, int, float], float] | None = None
        """The row as last seen changed, and when."""

    def take(self, now: float) -> int | None:
        """Take or renew the lease. Gives its epoch, or None while another holds it.

        The epoch is the same as long as nobody else has held the lease in between.
        """
        with self._guard:
            self._epoch = self._take(now)
            if self._epoch is not None:
                self._until = now + self._seconds
            return self._epoch

    def held(self, now: float, epoch: int | None = None) -> bool:
        """Whether the lease is this process's, by the database's word.

        Args:
            epoch: the one under which work began; another one means that somebody else had it
                since.
        """
        with self._guard:
            mine = self._epoch
            # Silent for so long, it may be taken over at any moment.
            if mine is None or now >= self._until or (epoch is not None and epoch != mine):
                return False
            with self._database.read() as connection:
                row = self._row(connection)
            return row is not None and (row.holder, row.epoch) == (self._holder, mine)

    def release(self) -> None:
        """Give the lease back, if it is held: the next one need not wait."""
        with self._guard:
            mine, self._epoch = self._epoch, None
            if mine is None:
                return
            here = self._here(self._holder, mine)
            with self._database.write(shared=True) as connection:
                connection.execute(
                    update(leases).where(here).values(holder=NOBODY, until=self._until)
                )

    def _take(self, now: float) -> int | None:
        with self._database.read() as connection:
            row = self._row(connection)
        if row is None:
            return self._create(now)
        if row.holder == self._holder:
            return self._replace(row, row.epoch, now)
        if self._is_free(row, now):
            return self._replace(row, row.epoch + 1, now)
        return None

    def _is_free(self, row: Row[Any], now: float) -> bool:
        if row.holder == NOBODY or self._has_ended(row.holder):
            return True
        shown = (row.holder, row.epoch, row.until)
        # A clock that was set back begins to count anew.
        if self._seen is None or self._seen[0] != shown or now < self._seen[1]:
            self._seen = (shown, now)
        return now - self._seen[1] >= self._seconds

    def _create(self, now: float) -> int | None:
        row = {"name": self._name, "holder": self._holder, "epoch": 1}
        # Beside other writers: a renewal must not wait behind, or hold up, the phones' reports.
        with self._database.write(shared=True) as connection:
            made = insert_once(connection, leases, row | {"until": now + self._seconds})
        return 1 if made else None

    def _replace(self, row: Row[Any], epoch: int, now: float) -> int | None:
        """Write our claim over the row we looked at; None when another did so first."""
        same = self._here(row.holder, row.epoch) & (leases.c.until == row.until)
        values = {"holder": self._holder, "epoch": epoch, "until": now + self._seconds}
        with self._database.write(shared=True) as connection:
            written = connection.execute(update(leases).where(same).values(**values)).rowcount
        return epoch if written == 1 else None

    def _row(self, connection: Connection) -> Row[Any] | None:
        return connection.execute(select(leases).where(leases.c.name == self._name)).first()

    def _here(self, holder: str, epoch: int) -> ColumnElement[bool]:
        return and_(leases.c.name == self._name, leases.c.holder == holder, leases.c.epoch == epoch)
