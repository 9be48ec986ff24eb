"""The helper as an actor: its own key file and its own database, never the leader's."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from sqlalchemy import insert, select

from cloud.helper_client import HelperIdentity
from cloud.identity import ensure_key
from cloud.randomness import bits_for
from cloud.storage.database import Database
from cloud.storage.tables import HELPER, helper_batches, helper_reports
from privacy.budget import BUDGETS
from privacy.errors import BatchRefused
from privacy.secagg import Batch, Helper, MaskSum

__all__ = ["HelperActor", "SqlHelperStore"]

KEY_FILE = "helper.key"
DATABASE_FILE = "helper.db"
_LOOKUP_ITEMS = 500  # bound variables in one IN (...)


class SqlHelperStore:
    """What the helper must never forget (a `privacy.secagg.HelperStore`), in its own database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def seen(self, report_ids: Sequence[bytes]) -> tuple[bytes, ...]:
        """The ids that were summed before."""
        known: list[bytes] = []
        with self._database.read() as connection:
            for start in range(0, len(report_ids), _LOOKUP_ITEMS):
                some = list(report_ids[start : start + _LOOKUP_ITEMS])
                column = helper_reports.c.report_id
                known += connection.scalars(select(column).where(column.in_(some)))
        return tuple(known)

    def reply_for(self, batch_id: bytes) -> bytes | None:
        """The recorded reply of a batch."""
        query = select(helper_batches.c.reply).where(helper_batches.c.batch_id == batch_id)
        with self._database.read() as connection:
            return connection.execute(query).scalar_one_or_none()

    def record(self, batch_id: bytes, report_ids: Sequence[bytes], reply: bytes) -> None:
        """Store all three durably in one transaction, or nothing.

        Raises:
            BatchRefused: the batch ("replay") or a report ("overlap") is known.
        """
        if self.reply_for(batch_id) is not None:
            raise BatchRefused("replay", "the batch id was used before")
        known = self.seen(report_ids)
        if known:
            raise BatchRefused("overlap", "a report was summed before", known)
        rows = [{"report_id": report_id, "batch_id": batch_id} for report_id in report_ids]
        # A rival between the look and the write meets the primary keys, and stores nothing.
        with self._database.write() as connection:
            connection.execute(insert(helper_batches).values(batch_id=batch_id, reply=reply))
            connection.execute(insert(helper_reports), rows)


class HelperActor:
    """Sums masks of whole batches.

    Args:
        state: the helper's own folder; key and database are made in it on first use.
        seed: reproducible noise for a simulated world; None draws from the operating system.
        budget: name of the budget whose floors it holds every batch against.
    """

    def __init__(self, state: str, seed: int | None = None, budget: str = "production") -> None:
        folder = Path(state)
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._key = ensure_key(folder / KEY_FILE, bits_for(seed, "helper-key"))
        self._database = Database(f"sqlite:///{folder.absolute() / DATABASE_FILE}", HELPER)
        self._store = SqlHelperStore(self._database)
        self._seed, self._budget = seed, BUDGETS[budget]

    def identity(self) -> HelperIdentity:
        """The keys phones seal to and certificates are checked with, and the budget's name."""
        helper = self._helper(os.urandom)
        return HelperIdentity(helper.public_key, helper.signing_public_key, self._budget.name)

    def query_key(self, task: str, number: int) -> bytes:
        """The secret that a round's proofs are checked under; for the leader, never for phones."""
        return self._helper(os.urandom).query_key(task, number)

    def sum_masks(self, batch: Batch) -> MaskSum:
        """The noisy sum of the batch's masks; the same batch again gives the same bytes.

        Raises:
            BatchRefused: below the floors, overlapping, replayed, wrongly sealed or unproven.
        """
        try:
            return self._helper(self._bits(batch)).sum_masks(batch)
        except BatchRefused as refusal:
            if refusal.reason != "overlap" or refusal.report_ids:
                raise
            # Named, so that one phone that repeats an id does not cost the others their round.
            known = self._store.seen(batch.report_ids)
            raise BatchRefused("overlap", refusal.detail, known) from None

    def close(self) -> None:
        """Give the file handles back."""
        self._database.close()

    def _helper(self, bits: Callable[[int], bytes]) -> Helper:
        return Helper(self._key, self._store, bits, self._budget)

    def _bits(self, batch: Batch) -> Callable[[int], bytes]:
        # One stream per batch, so that a restarted actor draws the same noise in a seeded world.
        return bits_for(self._seed, f"helper-noise|{batch.batch_id.hex()}")
