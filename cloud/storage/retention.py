"""What the cloud keeps of single phones, and for how long; what it learnt from all of them stays.

A report's row outlives its body, as the proof that a phone spent budget and was counted. Once a
phone asks to be forgotten, or the round ended long enough ago, the row keeps only what the round's
certificate needs: the random id of the report, and that it was counted. Nothing leads from there
to a phone.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Final, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    Text,
    bindparam,
    cast,
    delete,
    exists,
    select,
    update,
)

from cloud.storage.database import Database
from cloud.storage.journal import note
from cloud.storage.tables import CLOUD, events, rounds, tokens, uploads

__all__ = ["KEPT_SECONDS", "Forgotten", "forget_device", "forget_old"]

DAY = 86_400.0
KEPT_SECONDS: Final = 400 * DAY
"""Longer than the year a ledger looks back: until then a phone restored from an old copy is told
by the receipt of what it spent."""
_STATE_OF_WORK: Final = ("nothing_learnt", "buffered", "reports_forgotten")
"""Lines of the journal that a later step looks up: never pruned."""
_NOBODY: Final = "forgotten-"
"""Begins what stands where a device's id stood; no device's id does."""
_ID_BYTES: Final = 8
_MARK: Final = "reports_forgotten:"


class Forgotten(NamedTuple):
    """How many rows were removed, and how many of reports lost everything that names a phone."""

    removed: int
    unlinked: int


def forget_device(
    database: Database, device_id: str, bits: Callable[[int], bytes] = secrets.token_bytes
) -> Forgotten:
    """Remove one phone. It can enrol again with a new token, as any other; revoked or not.

    Its reports of open rounds are not counted. Letters it sent stay for its account's other
    phones, who alone can read them.
    """
    mine = uploads.c.device_id == device_id
    still_open = exists().where(
        rounds.c.task == uploads.c.task,
        rounds.c.round == uploads.c.round,
        rounds.c.status == "open",
    )
    with database.write() as connection:
        removed = connection.execute(delete(uploads).where(mine & still_open)).rowcount
        unlinked = _unlink(connection, mine, bits)
        for table in CLOUD.sorted_tables:
            if table is not uploads and "device_id" in table.c:
                here = table.c.device_id == device_id
                removed += connection.execute(delete(table).where(here)).rowcount
    return Forgotten(removed, unlinked)


def forget_old(
    database: Database,
    now: float,
    keep: float = KEPT_SECONDS,
    bits: Callable[[int], bytes] = secrets.token_bytes,
) -> Forgotten:
    """Unlink the reports of rounds that ended before ``now - keep``; remove the enrolment tokens
    that expired and the journal's lines from before then. Repeating it does nothing."""
    before = now - keep
    removed = unlinked = 0
    with database.read() as connection:
        due = connection.execute(_due(before)).all()
    for row in due:  # a transaction for each: phones must be able to report meanwhile
        with database.write() as connection:
            here = (uploads.c.task == row.task) & (uploads.c.round == row.round)
            count = _unlink(connection, here, bits)
            detail = {"task": row.task, "round": row.round, "reports": count}
            note(connection, f"{_MARK}{row.task}:{row.round}", "reports_forgotten", now, detail)
        unlinked += count
    old = (events.c.at < before) & events.c.kind.not_in(_STATE_OF_WORK)
    expired = tokens.c.expires < before
    with database.read() as connection:
        stale = connection.scalar(select(exists().where(old) | exists().where(expired)))
    if stale:
        with database.write() as connection:
            removed += connection.execute(delete(tokens).where(expired)).rowcount
            removed += connection.execute(delete(events).where(old)).rowcount
    return Forgotten(removed, unlinked)


def _due(before: float) -> Select[tuple[str, int]]:
    done = exists().where(events.c.key == _MARK + rounds.c.task + ":" + cast(rounds.c.round, Text))
    return (
        select(rounds.c.task, rounds.c.round)
        .where(rounds.c.ended < before, ~done)
        .order_by(rounds.c.ended)
    )


def _unlink(
    connection: Connection, which: ColumnElement[bool], bits: Callable[[int], bytes]
) -> int:
    """Keep report id and count of these rows, and nothing that is a phone's or tells its time."""
    named = which & uploads.c.device_id.not_like(f"{_NOBODY}%")
    found = connection.scalars(select(uploads.c.upload_id).where(named)).all()
    if not found:
        return 0
    changed = update(uploads).where(uploads.c.upload_id == bindparam("known"))
    connection.execute(
        changed.values(sha256=b"", receipt=b"", received=0.0),
        [
            {
                "known": upload_id,
                "upload_id": bits(2 * _ID_BYTES),
                "device_id": _NOBODY + bits(_ID_BYTES).hex(),
            }
            for upload_id in found
        ],
    )
    return len(found)
